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
    from spinney.forest import Forest
    from spinney.inference.loss import sparsemap_loss
    from spinney.inference.sparsemap import sparsemap
    from spinney.pairs import PairPosterior
    from spinney.posterior import SparsePosterior
    from spinney.structures.base import Structure
    from spinney.structures.dependency import DependencyTrees

try:
    __version__ = version("spinney")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0.0.0"

__all__ = [
    "DependencyTrees",
    "Forest",
    "PairPosterior",
    "SparsePosterior",
    "Structure",
    "data",
    "draw",
    "get_num_threads",
    "nn",
    "set_num_threads",
    "sparsemap",
    "sparsemap_loss",
    "tasks",
    "train",
]

# Names are imported when they are first used: the command line answers --help without PyTorch.
_PACKAGES = ("data", "draw", "nn", "tasks", "train")
_MODULE_OF = {
    "DependencyTrees": "spinney.structures.dependency",
    "Forest": "spinney.forest",
    "PairPosterior": "spinney.pairs",
    "SparsePosterior": "spinney.posterior",
    "Structure": "spinney.structures.base",
    "get_num_threads": "spinney._threads",
    "set_num_threads": "spinney._threads",
    "sparsemap": "spinney.inference.sparsemap",
    "sparsemap_loss": "spinney.inference.loss",
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
