"""Torch modules: SparseMAP, supervised losses, and the parts of a model over latent trees."""

from spinney.nn.encoder import SentenceEncoder
from spinney.nn.latent import LatentTreeEncoder
from spinney.nn.losses import CRFLoss, HingeLoss, PerceptronLoss, SparseMAPLoss
from spinney.nn.scorers import BiaffineArcScorer, BilinearArcScorer, MLPArcScorer
from spinney.nn.sparsemap import SparseMAP
from spinney.nn.structured_attention import StructuredAttention, TreeAttention
from spinney.nn.tree_gru import TreeGRU
from spinney.nn.tree_lstm import ChildSumTreeLSTM

__all__ = [
    "BiaffineArcScorer",
    "BilinearArcScorer",
    "CRFLoss",
    "ChildSumTreeLSTM",
    "HingeLoss",
    "LatentTreeEncoder",
    "MLPArcScorer",
    "PerceptronLoss",
    "SentenceEncoder",
    "SparseMAP",
    "SparseMAPLoss",
    "StructuredAttention",
    "TreeAttention",
    "TreeGRU",
]
