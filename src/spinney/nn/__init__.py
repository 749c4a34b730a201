"""Torch modules: SparseMAP and its loss, and the parts of a model over latent trees."""

from spinney.nn.encoder import SentenceEncoder
from spinney.nn.latent import LatentTreeEncoder
from spinney.nn.scorers import BiaffineArcScorer, BilinearArcScorer, MLPArcScorer
from spinney.nn.sparsemap import SparseMAP, SparseMAPLoss
from spinney.nn.tree_gru import TreeGRU
from spinney.nn.tree_lstm import ChildSumTreeLSTM

__all__ = [
    "BiaffineArcScorer",
    "BilinearArcScorer",
    "ChildSumTreeLSTM",
    "LatentTreeEncoder",
    "MLPArcScorer",
    "SentenceEncoder",
    "SparseMAP",
    "SparseMAPLoss",
    "TreeGRU",
]
