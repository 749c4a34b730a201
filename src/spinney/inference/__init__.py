"""How a posterior is inferred: one file per way."""

from spinney.inference.loss import sparsemap_loss
from spinney.inference.sparsemap import sparsemap

__all__ = ["sparsemap", "sparsemap_loss"]
