"""Charts on a GPU: `native/cuda/chart.cuh`, one warp per instance."""

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from sparsewood import _native
from sparsewood._internal.cuda import Argument, Kernels, Program, load
from sparsewood.structures._kernels import at_once

# The header of each chart and the struct in it.
CHARTS = {
    "projective_trees": ("projective_trees", "ProjectiveTrees<false>"),
    "projective_trees_single_root": ("projective_trees", "ProjectiveTrees<true>"),
    "binary_spans": ("binary_spans", "BinarySpans"),
    "alignment_paths": ("alignment_steps", "AlignmentPaths"),
    "gapped_steps": ("alignment_steps", "GappedSteps"),
    "monotone_steps": ("monotone_steps", "MonotoneSteps"),
    "chain_states": ("segment_chart", "ChainStates"),
    "segment_states": ("segment_chart", "SegmentStates"),
    "few_children": ("few_children", "FewChildren<false>"),
    "few_children_single_root": ("few_children", "FewChildren<true>"),
    "item_sets": ("item_sets", "ItemSets"),
}
_LANES = 32


@cache
def chart_program(chart: str) -> Program:
    """The kernels of a chart."""
    header, struct = CHARTS[chart]
    source = f"""#include "sums/{header}.h"
namespace sparsewood {{
using Chosen = {struct};
}}
#include "cuda/chart.cuh"
"""
    return Program(source, ("chart_sums", "chart_hessian", "chart_samples"))


@dataclass(frozen=True)
class ChartKernels:
    """The kernels of a chart for one batch of scores (B, *steps), float64."""

    chart: str
    kernels: Kernels
    scores: Tensor
    sizes: Tensor  # (B, d) int64
    full: tuple[int, ...]  # the largest sizes

    @classmethod
    def of(
        cls, chart: str, scores: Tensor, sizes: Tensor, full: tuple[int, ...]
    ) -> "ChartKernels | None":
        """None: there are no kernels for the device of the scores."""
        kernels = load(chart_program(chart), scores.device)
        if kernels is None:
            return None
        return cls(chart, kernels, scores.detach().contiguous(), sizes.contiguous(), full)

    def sums(self, log_sums: Tensor, marginals: Tensor) -> None:
        """Write log-sums (B,) and marginals, which are 0 before."""
        self._launch("chart_sums", log_sums, marginals)

    def hessian(self, direction: Tensor, product: Tensor) -> None:
        """Write the derivative of the marginals along `direction`."""
        self._launch("chart_hessian", direction.contiguous(), product, with_rates=True)

    def sample(self, seeds: Tensor, samples: Tensor) -> None:
        """Mark structures in `samples` (n, B, *steps), 0 before, drawn from `seeds` (n, B)."""
        lanes = min(_LANES, len(seeds))
        sizes = lanes, len(seeds), len(self.scores)
        self._launch("chart_samples", *sizes, seeds, samples, marks=lanes)

    def _launch(self, name: str, *more: Argument, with_rates: bool = False, marks: int = 0) -> None:
        """Run a kernel, with memory for so many marks per cell."""
        shape = tuple(self.scores.shape[1:])
        share, cells = _native.measure_chart(self.chart, self.full, shape, with_rates)
        share += -(-marks * cells // 64) * 64
        count = len(self.scores)
        turn = at_once(share, count, self.scores.device)
        memory = self.scores.new_empty(turn * share, dtype=torch.uint8)
        layout = self.sizes.shape[1], *shape, *(1,) * (3 - len(shape))
        for first in range(0, count, turn):
            grid = min(turn, count - first)
            room = self.scores, self.sizes, *layout, memory, share, first
            self.kernels.launch(name, grid, _LANES, *room, *more)
