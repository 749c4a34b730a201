"""Latent structures for PyTorch: exact sparse posteriors over trees and other discrete objects.

>>> import spinney as sp
>>> import torch
>>> scores = torch.zeros(1, 3, 4)  # (batch, dependent, head); head 0 is the root
>>> scores[0, 0, 0] = scores[0, 1, 1] = scores[0, 2, 2] = 2.0
>>> post = sp.sparsemap(scores, sp.DependencyTrees())
>>> post.mode.tolist()
[[0, 1, 2]]
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spinney import data, draw, nn, tasks, train
    from spinney._threads import get_num_threads, set_num_threads
    from spinney.distribution import StructureDistribution
    from spinney.forest import Forest
    from spinney.inference.crf_loss import crf_loss
    from spinney.inference.hinge_loss import hinge_loss
    from spinney.inference.kbest import kbest
    from spinney.inference.lp_sparsemap import LPPosterior, lp_sparsemap
    from spinney.inference.map import map
    from spinney.inference.marginals import marginals
    from spinney.inference.perceptron_loss import perceptron_loss
    from spinney.inference.sample_matchings import sample_matchings
    from spinney.inference.sparsemap import sparsemap
    from spinney.inference.sparsemap_loss import sparsemap_loss
    from spinney.pairs import PairPosterior
    from spinney.posterior import SparsePosterior
    from spinney.structures.alignment import Alignment
    from spinney.structures.base import Structure
    from spinney.structures.binary_trees import BinaryTrees
    from spinney.structures.branching_trees import BranchingTrees
    from spinney.structures.custom import Custom
    from spinney.structures.dependency import DependencyTrees
    from spinney.structures.factor_graph import FactorGraph
    from spinney.structures.hypercube import Hypercube
    from spinney.structures.labelled_dependency import LabelledDependencyTrees
    from spinney.structures.linear_chain import LinearChain
    from spinney.structures.logic import AtMostOne, Budget, Implies, Or, Pairwise, Xor
    from spinney.structures.matching import Matching
    from spinney.structures.oracle_error import OracleError
    from spinney.structures.semi_markov import SemiMarkov
    from spinney.structures.simplex import Simplex
    from spinney.structures.subset import Subset

try:
    __version__ = version("spinney")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0.0.0"

__all__ = [
    "Alignment",
    "AtMostOne",
    "BinaryTrees",
    "BranchingTrees",
    "Budget",
    "Custom",
    "DependencyTrees",
    "FactorGraph",
    "Forest",
    "Hypercube",
    "Implies",
    "LPPosterior",
    "LabelledDependencyTrees",
    "LinearChain",
    "Matching",
    "Or",
    "OracleError",
    "PairPosterior",
    "Pairwise",
    "SemiMarkov",
    "Simplex",
    "SparsePosterior",
    "Structure",
    "StructureDistribution",
    "Subset",
    "Xor",
    "crf_loss",
    "data",
    "draw",
    "get_num_threads",
    "hinge_loss",
    "kbest",
    "lp_sparsemap",
    "map",
    "marginals",
    "nn",
    "perceptron_loss",
    "sample_matchings",
    "set_num_threads",
    "sparsemap",
    "sparsemap_loss",
    "tasks",
    "train",
]

# Names are imported when they are first used: the command line answers --help without PyTorch.
_PACKAGES = ("data", "draw", "nn", "tasks", "train")
_MODULE_OF = {
    "Alignment": "spinney.structures.alignment",
    "AtMostOne": "spinney.structures.logic",
    "BinaryTrees": "spinney.structures.binary_trees",
    "BranchingTrees": "spinney.structures.branching_trees",
    "Budget": "spinney.structures.logic",
    "Custom": "spinney.structures.custom",
    "DependencyTrees": "spinney.structures.dependency",
    "FactorGraph": "spinney.structures.factor_graph",
    "Forest": "spinney.forest",
    "Hypercube": "spinney.structures.hypercube",
    "Implies": "spinney.structures.logic",
    "LPPosterior": "spinney.inference.lp_sparsemap",
    "LabelledDependencyTrees": "spinney.structures.labelled_dependency",
    "LinearChain": "spinney.structures.linear_chain",
    "Matching": "spinney.structures.matching",
    "Or": "spinney.structures.logic",
    "OracleError": "spinney.structures.oracle_error",
    "PairPosterior": "spinney.pairs",
    "Pairwise": "spinney.structures.logic",
    "SemiMarkov": "spinney.structures.semi_markov",
    "Simplex": "spinney.structures.simplex",
    "SparsePosterior": "spinney.posterior",
    "Structure": "spinney.structures.base",
    "StructureDistribution": "spinney.distribution",
    "Subset": "spinney.structures.subset",
    "Xor": "spinney.structures.logic",
    "crf_loss": "spinney.inference.crf_loss",
    "get_num_threads": "spinney._threads",
    "hinge_loss": "spinney.inference.hinge_loss",
    "kbest": "spinney.inference.kbest",
    "lp_sparsemap": "spinney.inference.lp_sparsemap",
    "map": "spinney.inference.map",
    "marginals": "spinney.inference.marginals",
    "perceptron_loss": "spinney.inference.perceptron_loss",
    "sample_matchings": "spinney.inference.sample_matchings",
    "set_num_threads": "spinney._threads",
    "sparsemap": "spinney.inference.sparsemap",
    "sparsemap_loss": "spinney.inference.sparsemap_loss",
}


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"spinney.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'spinney' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
