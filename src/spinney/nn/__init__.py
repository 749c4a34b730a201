"""Torch modules: thin layers over the functions of the same names."""

from spinney.nn.sparsemap import SparseMAP, SparseMAPLoss

__all__ = ["SparseMAP", "SparseMAPLoss"]
