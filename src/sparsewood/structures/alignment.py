"""Monotone alignments of rows with columns."""

from dataclasses import dataclass, field
from math import comb

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood._internal.batch import given_shape, name_instance
from sparsewood._internal.host import host_copy
from sparsewood.structures._bipartite import Bipartite, check_sides
from sparsewood.structures._steps import (
    Pairs,
    are_paths,
    count_paths,
    leads,
    list_paths,
    read_steps,
    steps_named,
)
from sparsewood.structures.base import Native, OwnParts
from sparsewood.structures.recursions import Shifted, Total
from sparsewood.structures.recursions.alignment import (
    gap_steps,
    gapped_alignments,
    path_steps,
    shift_gapped,
    shift_paths,
    steps_of_gapped,
    steps_of_paths,
    warping_paths,
)
from sparsewood.structures.recursions.chart_sums import Chart
from sparsewood.structures.recursions.monotone import Steps
from sparsewood.structures.recursions.path_lines import line_sums

_ENUMERATE_MAX = 6


@dataclass(frozen=True)
class Alignment(OwnParts, Bipartite):
    """Monotone alignments of a sequence of `n` rows with one of `m` columns.

    The parts are cells: `scores[b, i, j]`, shape (B, n, m), scores row `i` aligned with column `j`.
    An alignment is a 0/1 matrix, (n, m) int64; padding holds 0. `lengths` is (B, 2): the rows and
    columns of each instance.

    Without gaps an alignment is a path from cell (0, 0) to cell (n - 1, m - 1) by steps of (1, 0),
    (0, 1) and (1, 1); its parts are the cells it visits (dynamic time warping, Sakoe & Chiba 1978).
    With gaps it is any set of cells that increase strictly in both sequences; unaligned rows and
    columns score 0 (Needleman & Wunsch 1970). The MAP oracle takes O(n m), times the number of
    steps.

    Other paths are given by their `steps`, pairs (rows, columns) of whole numbers from 0 to 3, such
    as `[(1, 1), (1, 2), (2, 1)]` (Sakoe & Chiba 1978, table I, without weights), or by name:

    - "warping", "global": paths as above, without gaps and with gaps;
    - "speech": steps (0, 1) and (1, 1). Rows are tokens and columns are frames; each frame belongs
      to one token, every token has a frame, and the order is kept (monotonic alignment search; Kim
      et al. 2020, "Glow-TTS", section 3.2). There must be at least as many columns as rows;
    - "ctc": steps (0, 1), (1, 1) and (2, 1). Rows are labels (odd) and blanks (even), columns are
      frames; a step of two rows leads from label to label, and the first and last blanks may be
      left out (connectionist temporal classification; Graves et al. 2006, section 4.1). See
      `ctc_scores`, which also keeps equal labels apart.

    Args:
        gaps: rows and columns may be left unaligned.
        steps: a name, or pairs (rows, columns). Default: "warping", or "global" with `gaps`.

    Example:
        >>> scores = torch.tensor([[[1.0, -1.0, -1.0], [-1.0, -1.0, 2.0]]])
        >>> sp.Alignment().argmax(scores)
        tensor([[[1, 1, 0],
                 [0, 0, 1]]])
        >>> sp.Alignment(gaps=True).argmax(scores)
        tensor([[[1, 0, 0],
                 [0, 0, 1]]])
        >>> sp.Alignment(steps="speech").argmax(scores)
        tensor([[[1, 1, 0],
                 [0, 0, 1]]])
    """

    gaps: bool = False
    steps: str | Pairs | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.steps is None:
            return
        steps = read_steps(self.steps)
        if self.gaps and steps != "global":
            raise ValueError(f'Alignment: gaps=True needs steps "global" or None, got {steps!r}')
        if steps in ("warping", "global"):
            object.__setattr__(self, "gaps", steps == "global")
            steps = None
        object.__setattr__(self, "steps", steps)

    def __repr__(self) -> str:
        if self.steps is None:
            return f"Alignment(gaps={self.gaps})"
        return f"Alignment(steps={self.steps!r})"

    @property
    def _path(self) -> Steps | None:
        """The steps, if they are not those of warping or of global alignments."""
        return None if self.steps is None else steps_named(self.steps)

    def validate(self, scores: Tensor, lengths: Tensor | None = None) -> None:
        super().validate(scores, lengths)
        path = self._path
        if path is None or torch.compiler.is_compiling():
            return
        sizes = [tuple(scores.shape[1:])]
        if lengths is not None:
            sizes = host_copy(lengths).tolist()
        bad = next((b for b, size in enumerate(sizes) if not leads(path, *size)), None)
        if bad is not None:
            where = "" if lengths is None else f"{name_instance(bad, len(scores))}: "
            raise ValueError(
                f"{where}{self} has no path through {sizes[bad][0]} rows and {sizes[bad][1]} "
                f"columns{self._needs()} (scores of shape {given_shape(scores.shape)})"
            )

    def _needs(self) -> str:
        """What sizes the steps need."""
        if self.steps == "speech":
            return ": expected at least as many columns (frames) as rows (tokens)"
        if self.steps == "ctc":
            return ": expected 2 L + 1 rows and at least L columns for L labels"
        return ""

    def contains(
        self, structures: Tensor, shape: tuple[int, ...], lengths: Tensor | None = None
    ) -> Tensor:
        """Which of (T, n, m) 0/1 matrices are alignments of this family: (T,)."""
        cells = structures == 1
        legal = (cells & self.reads(structures, lengths)) | (structures == 0)
        if self._path is not None:
            return legal.flatten(1).all(-1) & are_paths(cells, self._path, lengths)
        if self.gaps:
            legal &= ~cells | (_up_right(cells) == 1)  # it counts only itself
            return legal.flatten(1).all(-1)
        above = _up_right(cells)[:, :-1, 1:] == 0
        legal &= ~cells | pad(above, (0, 1, 1, 0), value=True)
        around = pad(cells, (1, 0, 1, 0))
        reached = around[:, :-1, 1:] | around[:, 1:, :-1] | around[:, :-1, :-1]
        reached[:, 0, 0] = True
        legal &= ~cells | reached
        if lengths is None:
            end = cells[:, -1, -1]
        else:
            row, column = (lengths.to(cells.device) - 1).unbind(-1)
            end = cells[torch.arange(len(cells), device=cells.device), row, column]
        return legal.flatten(1).all(-1) & cells[:, 0, 0] & end

    def count(self, n: int, m: int) -> int:
        """`C(n + m, n)` with gaps, the Delannoy number of (n - 1, m - 1) without; otherwise by
        recursion, `C(m - 1, n - 1)` for speech."""
        check_sides(n, m)
        if self._path is not None:
            return count_paths(self._path, n, m)
        if self.gaps:
            return comb(n + m, n)
        return sum(comb(n - 1, k) * comb(m - 1, k) * 2**k for k in range(min(n, m)))

    def enumerate(self, n: int, m: int) -> Tensor:
        """Every alignment, (count(n, m), n, m) int64; n and m at most 6."""
        check_sides(n, m, _ENUMERATE_MAX)
        if self._path is not None:
            cells = list_paths(self._path, n, m)
        else:
            cells = _gapped(n, m) if self.gaps else _paths(n, m)
        everything = torch.zeros(len(cells), n, m, dtype=torch.int64)
        for one, chosen in zip(everything, cells, strict=True):
            for i, j in chosen:
                one[i, j] = 1
        return everything

    def log_partition(self, scores: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        if self._path is not None:
            return self._path.sum(self._path.scores(scores), lengths, total)
        steps = gap_steps(scores) if self.gaps else path_steps(scores)
        return self.sum_steps(steps, lengths, total)

    def shift(self, scores: Tensor, lengths: Tensor | None) -> Shifted:
        if self._path is not None:
            return self._path.shift(scores, lengths)
        return shift_gapped(scores) if self.gaps else shift_paths(scores, lengths)

    def sum_steps(self, steps: Tensor, lengths: Tensor | None, total: Total) -> Tensor:
        if self._path is not None:
            return self._path.sum(steps, lengths, total)
        if self.gaps:
            return gapped_alignments(steps, total)
        return warping_paths(steps, lengths, total)

    def chart(self, steps: Tensor, lengths: Tensor | None) -> Chart | None:
        full = tuple(steps.shape[2:])
        if self.gaps or lengths is None:  # with gaps, padding is skipped by steps of its own
            lengths = torch.tensor(full, device=steps.device).expand(len(steps), 2)
        if self._path is not None:
            bits = self._path.bits
            sizes = torch.cat([lengths, lengths.new_full((len(steps), 1), bits)], 1)
            return Chart("monotone_steps", sizes, (*full, bits))
        return Chart("gapped_steps" if self.gaps else "alignment_paths", lengths, full)

    def part_sums(self, scores: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor] | None:
        path = self._path
        if path is None:
            return None

        def marginals(cells: Tensor) -> Tensor:
            steps = path.shift(cells, lengths).scores
            found = self.sums(steps, lengths)[1]
            assert found is not None
            return self.parts_of(found)

        return line_sums(scores, lengths, path, marginals)

    def steps_of(self, parts: Tensor) -> Tensor:
        if self._path is not None:
            return self._path.taken(parts)
        return steps_of_gapped(parts) if self.gaps else steps_of_paths(parts)

    def parts_of(self, steps: Tensor) -> Tensor:
        return steps[:, 2] if self.gaps else steps.sum(1)

    @property
    def native(self) -> Native:
        if self._path is not None:
            return Native("monotone", self._path.native_options)
        return Native("alignment", (self.gaps,))


def _up_right(cells: Tensor) -> Tensor:
    """How many cells are in rows <= i and columns >= j, for each (i, j): (T, n, m) int64."""
    return cells.long().cumsum(1).flip(2).cumsum(2).flip(2)


def _paths(n: int, m: int) -> list[list[tuple[int, int]]]:
    """The cells of every path to (n - 1, m - 1)."""
    if n == 1 and m == 1:
        return [[(0, 0)]]
    steps = [(i, j) for i, j in ((n - 1, m - 1), (n - 1, m), (n, m - 1)) if i > 0 and j > 0]
    return [[*path, (n - 1, m - 1)] for i, j in steps for path in _paths(i, j)]


def _gapped(n: int, m: int) -> list[list[tuple[int, int]]]:
    """The cells of every strictly increasing set in the first `n` rows and `m` columns."""
    if n == 0:
        return [[]]
    ends = [[*rest, (n - 1, j)] for j in range(m) for rest in _gapped(n - 1, j)]
    return _gapped(n - 1, m) + ends
