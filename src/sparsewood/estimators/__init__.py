"""How a model learns through a latent structure: one file per estimator."""

from sparsewood.estimators.base import Estimator, Problem
from sparsewood.estimators.fixed import Fixed
from sparsewood.estimators.gibbs import Gibbs
from sparsewood.estimators.given import Given
from sparsewood.estimators.names import name_of, parse
from sparsewood.estimators.sparse_map import SparseMAP
from sparsewood.estimators.top_k import TopK

__all__ = [
    "Estimator",
    "Fixed",
    "Gibbs",
    "Given",
    "Problem",
    "SparseMAP",
    "TopK",
    "name_of",
    "parse",
]
