"""Torch modules: SparseMAP, supervised losses, and layers of models with latent trees."""

from sparsewood.nn.between import BetweenArcScorer
from sparsewood.nn.chart import ChartTreeLSTM
from sparsewood.nn.chart_posterior import ChartPosterior
from sparsewood.nn.cross_attention import CrossAttention
from sparsewood.nn.encoder import SentenceEncoder
from sparsewood.nn.latent import LatentTreeEncoder
from sparsewood.nn.losses import CRFLoss, HingeLoss, PerceptronLoss, SparseMAPLoss
from sparsewood.nn.noise import GumbelNoise
from sparsewood.nn.ordered import OrderedComposer
from sparsewood.nn.scorers import BiaffineArcScorer, BilinearArcScorer, MLPArcScorer
from sparsewood.nn.sentence import BagOfWords, LastState, MeanOfWords
from sparsewood.nn.sparsemap import SparseMAP
from sparsewood.nn.structured_attention import StructuredAttention, TreeAttention
from sparsewood.nn.transformer import TransformerReader
from sparsewood.nn.tree_gru import TreeGRU
from sparsewood.nn.tree_lstm import ChildSumTreeLSTM
from sparsewood.nn.tree_messages import TreeMessages

__all__ = [
    "BagOfWords",
    "BetweenArcScorer",
    "BiaffineArcScorer",
    "BilinearArcScorer",
    "CRFLoss",
    "ChartPosterior",
    "ChartTreeLSTM",
    "ChildSumTreeLSTM",
    "CrossAttention",
    "GumbelNoise",
    "HingeLoss",
    "LastState",
    "LatentTreeEncoder",
    "MLPArcScorer",
    "MeanOfWords",
    "OrderedComposer",
    "PerceptronLoss",
    "SentenceEncoder",
    "SparseMAP",
    "SparseMAPLoss",
    "StructuredAttention",
    "TransformerReader",
    "TreeAttention",
    "TreeGRU",
    "TreeMessages",
]
