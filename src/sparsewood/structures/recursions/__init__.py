"""Sums over all structures of a family: one file per recursion, each written once.

A recursion takes scores (B, *parts) in float64, in which parts that are forbidden or never read
hold `FORBIDDEN`, and a `Total`, the way alternatives are added up. With `logsumexp` it returns the
log-partition function; with `SampledTotal` the gradient of what it returns is one structure, drawn
from the distribution.
"""

from sparsewood.structures.recursions.shifted import Shifted
from sparsewood.structures.recursions.totals import FORBIDDEN, SampledTotal, Total, logsumexp

__all__ = ["FORBIDDEN", "SampledTotal", "Shifted", "Total", "logsumexp"]
