"""Sums over all structures of a family: one file per recursion, each written once.

A recursion takes scores (B, *parts) in float64, with `FORBIDDEN` at parts that are forbidden or
never read, and a `Total`, the operator that sums alternatives. With `logsumexp` it returns the
log-partition function; with `SampledTotal` the gradient of the result is one structure sampled
from the distribution.

Charts in native code (`chart_sums`) do the same much faster for most families. The recursions serve
graphs that are compiled, transforms, and derivatives beyond the second.
"""

from sparsewood.structures.recursions.shifted import Shifted
from sparsewood.structures.recursions.totals import FORBIDDEN, SampledTotal, Total, logsumexp

__all__ = ["FORBIDDEN", "SampledTotal", "Shifted", "Total", "logsumexp"]
