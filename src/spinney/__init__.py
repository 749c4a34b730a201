"""Latent structures for PyTorch: exact sparse posteriors over trees and other discrete objects.

>>> import spinney as sp
>>> import torch
>>> scores = torch.zeros(1, 3, 4)  # (batch, dependent, head); head 0 is the root
>>> scores[0, 0, 0] = scores[0, 1, 1] = scores[0, 2, 2] = 2.0
>>> post = sp.sparsemap(scores, sp.DependencyTrees())
>>> post.mode.tolist()
[[0, 1, 2]]
"""

from importlib.metadata import PackageNotFoundError, version

from spinney import nn
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
    "get_num_threads",
    "nn",
    "set_num_threads",
    "sparsemap",
    "sparsemap_loss",
]
