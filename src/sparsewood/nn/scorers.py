"""Arc scorers: word vectors (*batch, n, d) -> arc scores (*batch, n, n + 1), with a learned root.

`scores[..., dependent, head]`: row i is word i + 1, column 0 the root, column j word j. The arc
from a word to itself also gets a score, which no structure reads.
"""

from typing import Any

import torch
from torch import Tensor, nn

from sparsewood import _native
from sparsewood._internal.batch import BatchShape
from sparsewood._internal.threads import get_num_threads
from sparsewood.nn._check import check_words
from sparsewood.nn._cuda_pairs import backward_pairs, score_pairs, serves

_CHUNK = 1 << 22  # maximum size of a chunk of the hidden layer of an `MLPArcScorer`


class _ArcScorer(nn.Module):
    """Base class with the vector of the root and the check of the input."""

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.input_size = input_size
        self.root = nn.Parameter(torch.empty(input_size))
        nn.init.uniform_(self.root, -(input_size**-0.5), input_size**-0.5)

    def _heads(self, x: Tensor) -> Tensor:
        """The vectors of all heads, the root first: (*batch, n + 1, d)."""
        check_words(x, self.input_size)
        return torch.cat([self.root.to(x.dtype).expand(*x.shape[:-2], 1, -1), x], -2)


class MLPArcScorer(_ArcScorer):
    """One hidden layer over each pair of words (Kiperwasser & Goldberg 2016, section 4):

        score(h, d) = v^T tanh(W_h x_h + W_d x_d + b)

    The hidden layer of all pairs has B n (n + 1) hidden_size numbers. In float32 on the CPU, and on
    a GPU with kernels, it is never stored: the backward pass recomputes it for pairs that have a
    gradient. Elsewhere it is saved for the backward pass if it has at most 2^22 numbers. A larger
    layer is computed in chunks of dependents and recomputed in the backward pass: besides input and
    output, the larger of 2^22 and B (n + 1) hidden_size numbers are held at a time, and none
    between the passes. Differentiable once.

    Args:
        input_size: d, the size of a word vector.
        hidden_size: size of the hidden layer; 100 in the paper.
    """

    def __init__(self, input_size: int, hidden_size: int = 100) -> None:
        super().__init__(input_size)
        self.head = nn.Linear(input_size, hidden_size, bias=False)
        self.dependent = nn.Linear(input_size, hidden_size)
        self.score = nn.Linear(hidden_size, 1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(*batch, n, d) -> (*batch, n, n + 1)."""
        batch = BatchShape(x.shape[:-2])
        heads, dependents = (
            batch.flatten("word vectors", table)
            for table in (self.head(self._heads(x)), self.dependent(x))
        )
        v = self.score.weight[0].to(heads.dtype)
        native = heads.dtype == torch.float32 and heads.device.type == "cpu" and not serves(heads)
        pairs = _NativeTanh if native and not torch.compiler.is_compiling() else _PairwiseTanh
        scores: Any = pairs.apply(heads, dependents, v)
        return batch.restore(scores)


class BilinearArcScorer(_ArcScorer):
    """score(h, d) = x_d^T W x_h + u^T x_h: a matrix product; stores nothing of size n^2 d.

    Args:
        input_size: d, the size of a word vector.
    """

    def __init__(self, input_size: int) -> None:
        super().__init__(input_size)
        self.arc = nn.Linear(input_size, input_size)  # W, with u as its bias

    def forward(self, x: Tensor) -> Tensor:
        """(*batch, n, d) -> (*batch, n, n + 1)."""
        heads = self._heads(x)
        return self.arc(x) @ heads.mT


class BiaffineArcScorer(_ArcScorer):
    """The deep biaffine attention of Dozat & Manning (2017, section 2.2):

        score(h, d) = r_d^T U r_h + u^T r_h,   r_h = MLP_head(x_h),   r_d = MLP_dep(x_d)

    Both MLPs have one layer, leaky ReLU with slope 0.1 and dropout. Stores nothing of size n^2 d.

    Args:
        input_size: d, the size of a word vector.
        hidden_size: size of r_h and r_d.
        dropout: dropout on r_h and r_d; 0.33 in the paper.
    """

    def __init__(self, input_size: int, hidden_size: int, *, dropout: float = 0.0) -> None:
        super().__init__(input_size)
        self.head, self.dependent = (
            nn.Sequential(
                nn.Linear(input_size, hidden_size), nn.LeakyReLU(0.1), nn.Dropout(dropout)
            )
            for _ in range(2)
        )
        self.arc = nn.Linear(hidden_size, hidden_size)  # U, with u as its bias

    def forward(self, x: Tensor) -> Tensor:
        """(*batch, n, d) -> (*batch, n, n + 1)."""
        heads = self.head(self._heads(x))
        return self.arc(self.dependent(x)) @ heads.mT


class _NativeTanh(torch.autograd.Function):
    """`_PairwiseTanh` in float32 on the CPU; its formulas: native/nn/pairs_tanh.h."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, dependents: Tensor, v: Tensor) -> Tensor:
        heads, dependents, v = (t.detach().contiguous() for t in (heads, dependents, v))
        scores = dependents.new_empty(*dependents.shape[:2], heads.shape[1])
        tensors = (heads, dependents, v, scores)
        arrays = (t.numpy() for t in tensors)
        _native.score_pairs(*arrays, threads=_threads(scores.numel() * len(v)))
        ctx.save_for_backward(heads, dependents, v)
        return scores

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        _refuse_second_derivative("MLPArcScorer")
        on_scores = gradients[0].contiguous()
        heads, dependents, v = ctx.saved_tensors
        on_heads, on_dependents = torch.zeros_like(heads), torch.zeros_like(dependents)
        on_v = v.new_zeros(len(heads), len(v))
        tensors = (heads, dependents, v, on_scores, on_heads, on_dependents, on_v)
        arrays = (t.numpy() for t in tensors)
        _native.pass_to_pairs(*arrays, threads=_threads(on_scores.numel() * len(v)))
        return on_heads, on_dependents, on_v.sum(0)


def _threads(numbers: int) -> int:
    """Number of threads for a hidden layer of this size: one per 2^20 numbers."""
    return max(1, min(get_num_threads(), numbers >> 20))


def _refuse_second_derivative(module: str) -> None:
    # `once_differentiable` would miss derivatives through the saved tensors.
    if torch.is_grad_enabled():
        raise RuntimeError(f"{module} is differentiable once: not with create_graph=True")


class _PairwiseTanh(torch.autograd.Function):
    """v^T tanh(heads + dependents) for all pairs: (B, m, k), (B, n, k), (k,) -> (B, n, m)."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, dependents: Tensor, v: Tensor) -> Tensor:
        ctx.by_kernels = serves(heads)
        if ctx.by_kernels:
            ctx.save_for_backward(heads, dependents, v, None)
            return score_pairs(heads, dependents, v)
        hidden = None
        scores = dependents.new_empty(*dependents.shape[:2], heads.shape[1])
        chunks = _chunks(heads, dependents)
        for rows in chunks:
            hidden = _hidden(heads, dependents[:, rows])
            scores[:, rows] = hidden @ v
        kept = hidden if len(chunks) == 1 else None
        ctx.save_for_backward(heads, dependents, v, kept)
        return scores

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        _refuse_second_derivative("MLPArcScorer")
        (on_scores,) = gradients
        heads, dependents, v, kept = ctx.saved_tensors
        if ctx.by_kernels:
            return backward_pairs(heads, dependents, v, on_scores)
        on_heads, on_dependents = torch.zeros_like(heads), torch.zeros_like(dependents)
        on_v = torch.zeros_like(v)
        for rows in _chunks(heads, dependents):
            hidden = _hidden(heads, dependents[:, rows]) if kept is None else kept
            on_rows = on_scores[:, rows].contiguous()
            on_v += on_rows.flatten() @ hidden.flatten(0, 2)
            # The factor v is common to all pairs, so it is applied after the sums.
            slope = torch.ops.aten.tanh_backward(on_rows[..., None].expand_as(hidden), hidden)
            on_heads += slope.sum(1)
            on_dependents[:, rows] = slope.sum(2)
        return on_heads * v, on_dependents * v, on_v


def _chunks(heads: Tensor, dependents: Tensor) -> list[slice]:
    """Slices of dependents whose hidden layer has at most `_CHUNK` numbers, at least one each."""
    n = dependents.shape[1]
    step = max(1, _CHUNK // max(1, heads.numel()))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _hidden(heads: Tensor, dependents: Tensor) -> Tensor:
    """tanh of the sum for each pair: (B, m, k), (B, r, k) -> (B, r, m, k)."""
    return (dependents[:, :, None] + heads[:, None]).tanh_()
