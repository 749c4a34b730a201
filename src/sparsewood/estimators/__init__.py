"""Gradient estimators for models with a latent structure, one file each."""

from sparsewood.estimators.aimle import AIMLE
from sparsewood.estimators.base import Estimator, Problem
from sparsewood.estimators.blackbox import Blackbox
from sparsewood.estimators.fixed import Fixed
from sparsewood.estimators.gibbs import Gibbs
from sparsewood.estimators.given import Given
from sparsewood.estimators.imle import IMLE
from sparsewood.estimators.map import MAP
from sparsewood.estimators.names import name_of, parse
from sparsewood.estimators.perturbed import Perturbed
from sparsewood.estimators.relaxed import Relaxed
from sparsewood.estimators.score_function import ScoreFunction
from sparsewood.estimators.sparse_map import SparseMAP
from sparsewood.estimators.spigot import Spigot
from sparsewood.estimators.straight_through import StraightThrough
from sparsewood.estimators.sum_and_sample import SumAndSample
from sparsewood.estimators.top_k import TopK

__all__ = [
    "AIMLE",
    "IMLE",
    "MAP",
    "Blackbox",
    "Estimator",
    "Fixed",
    "Gibbs",
    "Given",
    "Perturbed",
    "Problem",
    "Relaxed",
    "ScoreFunction",
    "SparseMAP",
    "Spigot",
    "StraightThrough",
    "SumAndSample",
    "TopK",
    "name_of",
    "parse",
]
