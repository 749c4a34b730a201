"""How a posterior is inferred: one file per way."""

from spinney.inference.crf_loss import crf_loss
from spinney.inference.hinge_loss import hinge_loss
from spinney.inference.kbest import KBest, kbest
from spinney.inference.lp_sparsemap import LPPosterior, lp_sparsemap
from spinney.inference.map import MAP, map
from spinney.inference.marginals import marginals
from spinney.inference.perceptron_loss import perceptron_loss
from spinney.inference.sample_matchings import sample_matchings
from spinney.inference.sparsemap import sparsemap
from spinney.inference.sparsemap_loss import sparsemap_loss

__all__ = [
    "MAP",
    "KBest",
    "LPPosterior",
    "crf_loss",
    "hinge_loss",
    "kbest",
    "lp_sparsemap",
    "map",
    "marginals",
    "perceptron_loss",
    "sample_matchings",
    "sparsemap",
    "sparsemap_loss",
]
