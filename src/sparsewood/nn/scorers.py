"""Arc scorers: word vectors (*batch, n, d) -> arc scores (*batch, n, n + 1), with a learned root.

`scores[..., dependent, head]`: row i is word i + 1, column 0 the root, column j word j. The arc
from a word to itself also gets a score, which no structure reads.
"""

import torch
from torch import Tensor, nn

from sparsewood._internal.batch import BatchShape
from sparsewood.nn._check import check_words
from sparsewood.nn._pairs import score_pairs


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
        return batch.restore(score_pairs(heads, dependents, v))


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
