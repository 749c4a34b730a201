"""Attention between two sentences, as in ESIM."""

from typing import Literal, overload

import torch
from torch import Tensor, nn

from sparsewood.estimators.base import Estimator, check_estimator
from sparsewood.estimators.sparse_map import SparseMAP
from sparsewood.nn._check import masked_words
from sparsewood.nn.structured_attention import attend
from sparsewood.structures._bipartite import Bipartite

Lengths = tuple[Tensor | None, Tensor | None]


class CrossAttention(nn.Module):
    """Combines each word with the words it attends to in the other sentence, as in ESIM (Chen et
    al. 2017, "Enhanced LSTM for natural language inference", sections 3.2 and 3.3).

    With a_i and b_j the word vectors of the two sentences, scores e_ij = <a_i, b_j>, and attention
    A (n, m) and B (m, n),

        a'_i = relu(W [a_i; ã_i; a_i - ã_i; a_i * ã_i] + c),     ã_i = sum_j A_ij b_j
        b'_j = relu(W [b_j; b̃_j; b_j - b̃_j; b_j * b̃_j] + c),     b̃_j = sum_i B_ji a_i

    As in the paper, A is a softmax over the rows of e and B a softmax over its columns. Given a
    structure, such as `Matching()`, the pairing of words is one latent structure of both sentences:
    A is its marginals and B = A^T. A word without a partner attends to nothing, ã_i = 0.

    Args:
        size: size of a word vector.
        output_size: size of an output vector. Default: `size`.
        structure: a family of pairs, `Matching` or `Alignment`; None for two softmaxes.
        estimator: estimator of its marginals.
    """

    def __init__(
        self,
        size: int,
        output_size: int | None = None,
        *,
        structure: Bipartite | None = None,
        estimator: Estimator = SparseMAP(),
    ) -> None:
        super().__init__()
        check_estimator(estimator)
        if structure is not None and not isinstance(structure, Bipartite):
            raise ValueError(f"structure: expected pairs of rows and columns, got {structure}")
        self.size = size
        self.structure = structure
        self.estimator = estimator
        self.join = nn.Linear(4 * size, size if output_size is None else output_size)

    @overload
    def forward(
        self,
        a: Tensor,
        b: Tensor,
        lengths: Lengths = ...,
        *,
        return_weights: Literal[False] = False,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def forward(
        self,
        a: Tensor,
        b: Tensor,
        lengths: Lengths = ...,
        *,
        return_weights: Literal[True],
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
    def forward(
        self,
        a: Tensor,
        b: Tensor,
        lengths: Lengths = (None, None),
        *,
        return_weights: bool = False,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, ...]:
        """The words of both sentences, combined with their attention to the other sentence.

        Args:
            a, b: (B, n, size) and (B, m, size) word vectors; any values beyond `lengths`.
            lengths: (B,) number of words of each sentence, for both sides. Default: full size.
            return_weights: whether to also return the attention weights.
            generator: random number generator for the estimator.

        Returns:
            (B, n, output_size) and (B, m, output_size); with `return_weights` also A (B, n, m) and
            B (B, m, n), zero in the columns of padding.
        """
        (a, n), (b, m) = (
            masked_words(x, sizes, self.size) for x, sizes in zip((a, b), lengths, strict=True)
        )
        if len(a) != len(b):
            raise ValueError(
                f"expected two batches of equal size, got word vectors of shape "
                f"{tuple(a.shape)} and {tuple(b.shape)}"
            )
        weights = to_b, to_a = self._weights(a @ b.mT, n, m, generator)
        joined = (
            self._joined(a, attend(to_b, b, n.shape)),
            self._joined(b, attend(to_a, a, m.shape)),
        )
        return (*joined, *weights) if return_weights else joined

    def _weights(
        self, scores: Tensor, n: Tensor, m: Tensor, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:
        """(B, n, m) and (B, m, n), attention of each word to the words of the other sentence."""
        if self.structure is not None:
            sizes = torch.stack([n, m], -1)
            pairs = self.estimator(scores, self.structure, sizes, generator=generator).marginals
            return pairs, pairs.mT
        return _softmax(scores, m), _softmax(scores.mT, n)

    def _joined(self, x: Tensor, other: Tensor) -> Tensor:
        return self.join(torch.cat([x, other, x - other, x * other], -1)).relu()

    def extra_repr(self) -> str:
        kind = "softmax" if self.structure is None else f"{self.structure}, {self.estimator}"
        return f"{self.size}, {kind}"


def _softmax(scores: Tensor, columns: Tensor) -> Tensor:
    """Softmax over the first `columns` (B,) entries of each row of (B, n, m); zero elsewhere."""
    inside = torch.arange(scores.shape[-1], device=scores.device) < columns[:, None]
    return scores.masked_fill(~inside[:, None], -torch.inf).softmax(-1)
