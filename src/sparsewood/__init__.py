"""Latent structures for PyTorch: exact sparse posteriors over trees and other discrete objects.

>>> import sparsewood as sp
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

from sparsewood._internal import display as _display

if TYPE_CHECKING:
    from sparsewood import nn
    from sparsewood._internal.threads import get_num_threads, set_num_threads
    from sparsewood.calls import count_calls
    from sparsewood.distribution import StructureDistribution
    from sparsewood.draw._module import DrawModule
    from sparsewood.estimators.aimle import AIMLE
    from sparsewood.estimators.base import Estimator
    from sparsewood.estimators.blackbox import Blackbox
    from sparsewood.estimators.fixed import Fixed
    from sparsewood.estimators.gibbs import Gibbs
    from sparsewood.estimators.given import Given
    from sparsewood.estimators.imle import IMLE
    from sparsewood.estimators.map import MAP
    from sparsewood.estimators.perturbed import Perturbed
    from sparsewood.estimators.relaxed import Relaxed
    from sparsewood.estimators.score_function import ScoreFunction
    from sparsewood.estimators.sparse_map import SparseMAP
    from sparsewood.estimators.spigot import Spigot
    from sparsewood.estimators.straight_through import StraightThrough
    from sparsewood.estimators.sum_and_sample import SumAndSample
    from sparsewood.estimators.top_k import TopK
    from sparsewood.forest import Forest
    from sparsewood.inference.crf_loss import crf_loss
    from sparsewood.inference.hinge_loss import hinge_loss
    from sparsewood.inference.kbest import kbest
    from sparsewood.inference.lp_sparsemap import LPPosterior, lp_sparsemap
    from sparsewood.inference.map import map
    from sparsewood.inference.marginals import marginals
    from sparsewood.inference.max_marginals import max_marginals
    from sparsewood.inference.perceptron_loss import perceptron_loss
    from sparsewood.inference.sample_matchings import sample_matchings
    from sparsewood.inference.soft_rank import soft_rank, soft_sort
    from sparsewood.inference.sparsemap import sparsemap
    from sparsewood.inference.sparsemap_loss import sparsemap_loss
    from sparsewood.inference.temperature_path import TemperaturePath, temperature_path
    from sparsewood.pairs import PairPosterior
    from sparsewood.posterior import Posterior
    from sparsewood.soft_posterior import SoftPosterior
    from sparsewood.sparse_posterior import SparsePosterior
    from sparsewood.status import Status, UnconvergedError
    from sparsewood.structures.alignment import Alignment
    from sparsewood.structures.base import Structure
    from sparsewood.structures.binary_trees import BinaryTrees
    from sparsewood.structures.ctc import CTCScores, ctc_scores
    from sparsewood.structures.custom import Custom
    from sparsewood.structures.dependency import DependencyTrees
    from sparsewood.structures.factor_graph import FactorGraph
    from sparsewood.structures.grid_paths import GridPaths
    from sparsewood.structures.hypercube import Hypercube
    from sparsewood.structures.labelled_dependency import LabelledDependencyTrees
    from sparsewood.structures.linear_chain import LinearChain
    from sparsewood.structures.logic import AtMostOne, Budget, Implies, Or, Pairwise, Xor
    from sparsewood.structures.matching import Matching
    from sparsewood.structures.oracle_error import OracleError
    from sparsewood.structures.paths import Paths
    from sparsewood.structures.rankings import Rankings
    from sparsewood.structures.semi_markov import SemiMarkov
    from sparsewood.structures.simplex import Simplex
    from sparsewood.structures.spanning_trees import SpanningTrees
    from sparsewood.structures.subset import Subset
    from sparsewood.structures.transport import Transport

    draw: DrawModule

try:
    __version__ = version("sparsewood")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0.0.0"

__all__ = [
    "AIMLE",
    "IMLE",
    "MAP",
    "Alignment",
    "AtMostOne",
    "BinaryTrees",
    "Blackbox",
    "Budget",
    "CTCScores",
    "Custom",
    "DependencyTrees",
    "Estimator",
    "FactorGraph",
    "Fixed",
    "Forest",
    "Gibbs",
    "Given",
    "GridPaths",
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
    "Paths",
    "Perturbed",
    "Posterior",
    "Rankings",
    "Relaxed",
    "ScoreFunction",
    "SemiMarkov",
    "Simplex",
    "SoftPosterior",
    "SpanningTrees",
    "SparseMAP",
    "SparsePosterior",
    "Spigot",
    "Status",
    "StraightThrough",
    "Structure",
    "StructureDistribution",
    "Subset",
    "SumAndSample",
    "TemperaturePath",
    "TopK",
    "Transport",
    "UnconvergedError",
    "Xor",
    "count_calls",
    "crf_loss",
    "ctc_scores",
    "draw",
    "get_num_threads",
    "hinge_loss",
    "kbest",
    "lp_sparsemap",
    "map",
    "marginals",
    "max_marginals",
    "nn",
    "perceptron_loss",
    "sample_matchings",
    "set_num_threads",
    "soft_rank",
    "soft_sort",
    "sparsemap",
    "sparsemap_loss",
    "temperature_path",
]

# Names are imported on first use, so that the command line prints --help without PyTorch.
_PACKAGES = ("draw", "nn")
_HOMES = (  # where other names are looked up, cheapest imports first
    "_internal.threads",
    "status",
    "calls",
    "structures",
    "forest",
    "posterior",
    "sparse_posterior",
    "soft_posterior",
    "pairs",
    "distribution",
    "inference",
    "estimators",
)


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"sparsewood.{name}")
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"sparsewood.{home}")
            if hasattr(module, name):
                return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module 'sparsewood' has no attribute {name!r}")


def _html(result: "Posterior | Forest") -> str | None:
    return import_module("sparsewood.draw.notebook").html(result)


def _text(result: "Posterior") -> str | None:
    return import_module("sparsewood.draw.notebook").text(result)


def _show(*args: object, **named: object) -> object:
    return import_module("sparsewood.draw.drawings").drawn(*args, **named)


_display.html, _display.text, _display.show = _html, _text, _show


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
