"""A chart of a few sentences that saves only its states and is recomputed in the backward pass.

Tables hold the contributions of spans to longer spans, laid out so that the parts of all splits of
all spans of one width are a view. The table of left parts has the span of v words that begins with
word i at [b, v - 1, i]; the table of right parts has the span of v words that ends with word j at
[b, n - v, j]. For the spans of w words

    left[:, :w-1, :n-w+1],    right[:, n-w+1:, w-1:]

are the parts (B, w - 1, n - w + 1, .), indexed by the number of words left of the split and by the
first word.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from sparsewood.nn._spans import whole

# (gates of left parts, gates of right parts, c of left parts, c of right parts, direction, noise)
# -> h, c, log-weights
Cell = Callable[..., tuple[Tensor, Tensor, Tensor]]


class _Tables(NamedTuple):
    """(B, n, n, 5 hidden) gates, then (B, n, n, hidden) states c; or the gradients of these."""

    left: Tensor
    right: Tensor
    c_left: Tensor
    c_right: Tensor

    @classmethod
    def zeros(cls, c: Tensor) -> "_Tables":
        """For words with the states c (B, n, hidden)."""
        batch, n, size = c.shape
        gates, states = (batch, n, n, 5 * size), (batch, n, n, size)
        return cls(*(c.new_zeros(shape) for shape in (gates, gates, states, states)))

    def parts(self, width: int) -> list[Tensor]:
        """Views of the parts of all spans of a width, as `Cell` takes them."""
        n = self.left.shape[1]
        first, last = slice(n - width + 1), slice(width - 1, None)
        lefts, rights = slice(width - 1), slice(n - width + 1, None)
        return [
            self.left[:, lefts, first],
            self.right[:, rights, last],
            self.c_left[:, lefts, first],
            self.c_right[:, rights, last],
        ]

    def spans(self, width: int) -> list[Tensor]:
        """Views of the spans of a width (B, n - width + 1, .), in the order of the fields."""
        n = self.left.shape[1]
        left = (slice(None), width - 1, slice(n - width + 1))
        right = (slice(None), n - width, slice(width - 1, None))
        return [self.left[left], self.right[right], self.c_left[left], self.c_right[right]]

    def fill(self, h: Tensor, c: Tensor, weights: Sequence[Tensor]) -> None:
        """Store the spans of a width, given their states h and c (B, spans, hidden)."""
        left, right, bias = weights
        width = self.left.shape[1] - h.shape[1] + 1
        values = linear(h, left, bias), linear(h, right), c, c
        for place, value in zip(self.spans(width), values, strict=True):
            place.copy_(value)


class ForgetfulChart(torch.autograd.Function):
    """The vectors (B, hidden) of sentences, and for each width the log-weights of splits.

    Saves only h and c of all spans. The backward pass rebuilds the graph of one width at a time,
    from the longest spans down.
    """

    @staticmethod
    def forward(
        ctx: Any,
        cell: Cell,
        lengths: Tensor,
        noise: Sequence[Tensor],
        h: Tensor,
        c: Tensor,
        left: Tensor,
        right: Tensor,
        bias: Tensor,
        direction: Tensor,
    ) -> tuple[Tensor, ...]:
        tables, states, splits = _Tables.zeros(c), [(h, c)], list[Tensor]()
        for width in range(2, c.shape[1] + 1):
            tables.fill(*states[-1], (left, right, bias))
            h, c, log_s = cell(*tables.parts(width), direction, _of(noise, width))
            states.append((h, c))
            splits.append(log_s)
        ctx.cell, ctx.noise = cell, noise
        ctx.autocast = c.device.type, torch.is_autocast_enabled(c.device.type)
        ctx.precision = torch.get_autocast_dtype(c.device.type)
        ctx.set_materialize_grads(False)
        hs, cs = zip(*states, strict=True)
        ctx.save_for_backward(lengths, left, right, bias, direction, *hs, *cs)
        return whole(hs, lengths), *splits

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grads: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        lengths, left, right, bias, direction, *states = ctx.saved_tensors
        n = len(states) // 2
        hs, cs = states[:n], states[n:]
        tables = _Tables.zeros(cs[0])
        device, enabled = ctx.autocast
        with torch.autocast(device, ctx.precision, enabled=enabled):
            for h, c in zip(hs, cs, strict=True):
                tables.fill(h, c, (left, right, bias))
        of_vectors, *of_splits = grads
        back, of_h, of_c = _Tables.zeros(cs[0]), torch.empty(0), torch.empty(0)
        found = [torch.zeros_like(x) for x in (left, right, bias, direction)]
        for width in range(n, 0, -1):
            h = hs[width - 1]
            with torch.autocast(device, enabled=False):  # backward may run under autocast
                of_h, of_c = _states_back(back.spans(width), h, (left, right), found)
            if of_vectors is not None:
                of_h[:, 0] += of_vectors * (lengths == width)[:, None]
            if width > 1:
                inputs = [x.detach().requires_grad_() for x in (*tables.parts(width), direction)]
                given = of_h, of_c, of_splits[width - 2]
                parts = _cell_back(ctx.cell, inputs, _of(ctx.noise, width), given)
                for place, part in zip((*back.parts(width), found[3]), parts, strict=True):
                    place += part
        return None, None, None, of_h, of_c, *found


def _of(noise: Sequence[Tensor], width: int) -> Tensor | None:
    return noise[width - 2] if noise else None


def _states_back(
    spans: Sequence[Tensor], h: Tensor, weights: Sequence[Tensor], found: Sequence[Tensor]
) -> tuple[Tensor, Tensor]:
    """The gradients of h and c (B, spans, hidden), given those of their contributions.

    Args:
        spans: gradients of the contributions to longer spans, in the order of `_Tables`.
        h: the states.
        weights: U of left and of right parts.
        found: gradients of the weights and of b, updated in place.
    """
    of_left, of_right, of_c_left, of_c_right = spans
    found[0].addmm_(of_left.flatten(0, 1).T, h.flatten(0, 1))
    found[1].addmm_(of_right.flatten(0, 1).T, h.flatten(0, 1))
    found[2].add_(of_left.sum((0, 1)))
    return of_left @ weights[0] + of_right @ weights[1], of_c_left + of_c_right


def _cell_back(
    cell: Cell, inputs: list[Tensor], noise: Tensor | None, given: Sequence[Tensor | None]
) -> tuple[Tensor, ...]:
    """The gradient of the inputs of a cell, given the gradient of its outputs."""
    with torch.enable_grad():
        outputs = cell(*inputs, noise)
    pairs = [(x, g) for x, g in zip(outputs, given, strict=True) if g is not None]
    used = [(x, g) for x, g in pairs if x.requires_grad]
    return torch.autograd.grad([x for x, _ in used], inputs, [g for _, g in used])
