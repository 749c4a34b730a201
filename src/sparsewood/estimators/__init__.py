"""How a model learns through a latent structure: one file per estimator."""

from sparsewood.estimators.base import Estimator, Problem
from sparsewood.estimators.fixed import Fixed
from sparsewood.estimators.gibbs import Gibbs
from sparsewood.estimators.given import Given
from sparsewood.estimators.map import MAP
from sparsewood.estimators.names import name_of, parse
from sparsewood.estimators.score_function import ScoreFunction
from sparsewood.estimators.sparse_map import SparseMAP
from sparsewood.estimators.straight_through import StraightThrough
from sparsewood.estimators.top_k import TopK

__all__ = [
    "MAP",
    "Estimator",
    "Fixed",
    "Gibbs",
    "Given",
    "Problem",
    "ScoreFunction",
    "SparseMAP",
    "StraightThrough",
    "TopK",
    "name_of",
    "parse",
]
