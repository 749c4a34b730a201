"""Inference: one file per algorithm or loss."""

from sparsewood.inference.crf_loss import crf_loss
from sparsewood.inference.hinge_loss import hinge_loss
from sparsewood.inference.kbest import KBest, kbest
from sparsewood.inference.lp_sparsemap import LPPosterior, lp_sparsemap
from sparsewood.inference.map import Best, map
from sparsewood.inference.marginals import marginals
from sparsewood.inference.max_marginals import max_marginals
from sparsewood.inference.perceptron_loss import perceptron_loss
from sparsewood.inference.sample_matchings import sample_matchings
from sparsewood.inference.soft_rank import soft_rank, soft_sort
from sparsewood.inference.sparsemap import sparsemap
from sparsewood.inference.sparsemap_loss import sparsemap_loss
from sparsewood.inference.temperature_path import TemperaturePath, temperature_path

__all__ = [
    "Best",
    "KBest",
    "LPPosterior",
    "TemperaturePath",
    "crf_loss",
    "hinge_loss",
    "kbest",
    "lp_sparsemap",
    "map",
    "marginals",
    "max_marginals",
    "perceptron_loss",
    "sample_matchings",
    "soft_rank",
    "soft_sort",
    "sparsemap",
    "sparsemap_loss",
    "temperature_path",
]
