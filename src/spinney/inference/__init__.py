"""How a posterior is inferred: one file per way."""

from spinney.inference.crf_loss import crf_loss
from spinney.inference.hinge_loss import hinge_loss
from spinney.inference.perceptron_loss import perceptron_loss
from spinney.inference.sparsemap import sparsemap
from spinney.inference.sparsemap_loss import sparsemap_loss

__all__ = ["crf_loss", "hinge_loss", "perceptron_loss", "sparsemap", "sparsemap_loss"]
