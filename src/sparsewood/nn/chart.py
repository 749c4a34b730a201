"""A TreeLSTM over all binary trees of a sentence: a chart of soft splits."""

from collections.abc import Sequence
from math import log
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, linear, one_hot, pad

from sparsewood._internal.numbers import check_choice, check_real
from sparsewood.nn._chart_tables import ForgetfulChart
from sparsewood.nn._check import masked_words
from sparsewood.nn._spans import left_parts, right_parts, whole
from sparsewood.nn.chart_posterior import ChartPosterior

Choice = Literal["soft", "straight-through", "gumbel"]

_ROOM = 2**29  # maximum numbers held by charts
_HELD = 14  # state-sized vectors saved per split for the backward pass
_FILLED = 32  # state-sized vectors per pair of words while a chart is recomputed


class _Level(NamedTuple):
    """The spans of one width, indexed by their first word: (B, spans, .) each."""

    left: Tensor  # contribution to the gates of a span as its left part
    right: Tensor
    c: Tensor


class ChartTreeLSTM(nn.Module):
    """The unsupervised TreeLSTM of Maillard, Clark & Yogatama (2017; 2019), section 3.

    "Jointly learning sentence embeddings and syntax with unsupervised Tree-LSTMs." The binary
    TreeLSTM of Tai, Socher & Manning (2015), section 3.2, fills a chart as CKY does. A word x has

        i, o, u = sigmoid(W_i x + b_i), sigmoid(W_o x + b_o), tanh(W_u x + b_u)
        c = i * u,    h = o * tanh(c)

    and the words i to j, split after word k into a left part L and a right part R,

        i, o, u = as above with U [h_L; h_R] in the place of W x
        f_L, f_R = sigmoid(U_f [h_L; h_R] + b_f + 1)           one for each part
        c_k = i * u + f_L * c_L + f_R * c_R,    h_k = o * tanh(c_k)
        e_k = cos(w, h_k),    s = softmax(e / temperature)     over the splits k
        h = sum_k s_k h_k,    c = sum_k s_k c_k

    with a learned vector w. The result is the h of the whole sentence. The weights s define a
    distribution over trees, split from the top down: `ChartPosterior`. With choice
    "straight-through", the best split has weight 1 and the gradient is that of s (Bengio, Léonard &
    Courville 2013). With "gumbel" (Jang, Gu & Poole 2017; Choi, Yoo & Lee 2018), training uses the
    best split of e / temperature + Gumbel noise, a sample from s, with the gradient of the softmax
    of the noisy energies.

    The chart is computed width by width, for all splits, spans and sentences at once; the products
    with U are computed once per span. O(n^3) time and memory. If the memory would exceed 2 GiB of
    float32 numbers, sentences of similar length are processed in smaller groups, of which only h
    and c are saved; the rest is recomputed in the backward pass, which is then not differentiable.

        chart = ChartTreeLSTM(300, 300)
        vectors, posterior = chart(x, lengths)               # (B, 300)
        posterior.mode                                       # (B, n, n), encoded as BinaryTrees

    Args:
        input_size: dimensions of a word vector.
        hidden_size: dimensions of a state.
        choice: how splits are chosen: "soft", "straight-through" or "gumbel".
        temperature: temperature of the softmax over splits; may be changed at any time. Cosines are
            within [-1, 1], so at temperature 1 all splits have similar weights. The authors start
            there and divide it by 1.75 per epoch.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        choice: Choice = "soft",
        temperature: float = 0.125,
    ) -> None:
        super().__init__()
        check_choice("choice", choice, Choice)
        check_real("temperature", temperature, positive=True)
        self.input_size, self.hidden_size = input_size, hidden_size
        self.choice, self.temperature = choice, temperature
        self.input = nn.Linear(input_size, 5 * hidden_size)  # W and b: rows i, o, u, f_L, f_R
        self.parts = nn.Linear(hidden_size, 10 * hidden_size, bias=False)  # U of h_L, then of h_R
        self.direction = nn.Parameter(torch.randn(hidden_size))  # w

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, ChartPosterior]:
        """The vector of each sentence, and the posterior over its binary trees.

        Args:
            x: (B, n, input_size) word vectors; any values beyond `lengths`.
            lengths: (B,) number of words of each sentence. Default: n.

        Returns:
            (B, hidden_size), and the posterior.
        """
        words, lengths = masked_words(x, lengths, self.input_size)
        batch, n = x.shape[:2]
        noise = self._noise(batch, n, x)
        if batch * self._held(n) <= _ROOM:
            vectors, *splits = self._read(words, lengths, noise)
        else:
            vectors, *splits = self._in_groups(words, lengths, noise)
        return vectors, ChartPosterior(tuple(splits), lengths, n)

    def _held(self, n: int) -> int:
        """Approximate numbers that the chart of n words saves for the backward pass."""
        return _HELD * self.hidden_size * (n**3 + 5 * n) // 6  # n^3 / 6 splits, and the words

    def _in_groups(self, x: Tensor, lengths: Tensor, noise: list[Tensor]) -> list[Tensor]:
        """`_read`, for groups of sentences, the longest first."""
        longest, order = lengths.cpu().sort(descending=True, stable=True)
        weights = *self.parts.weight.chunk(2), self.input.bias, self.direction
        found, start = list[list[Tensor]](), 0
        while start < len(order):
            n = int(longest[start])
            count = max(1, _ROOM // (_FILLED * self.hidden_size * n**2))
            rows = order[start : start + count].to(x.device)
            start += count
            own = [g[rows, :, : n - k] for k, g in enumerate(noise[: n - 1], 1)]
            vectors, *splits = ForgetfulChart.apply(
                self._cell, lengths[rows], own, *self._words(x[rows, :n]), *weights
            )
            found.append([vectors, *_widened(splits, x.shape[1], vectors)])
        back = order.argsort().to(x.device)
        return [torch.cat(parts)[back] for parts in zip(*found, strict=True)]

    def _read(self, x: Tensor, lengths: Tensor, noise: list[Tensor]) -> tuple[Tensor, ...]:
        """The vectors (B, hidden), and for each width the log-weights of splits."""
        h, c = self._words(x)
        states, splits, levels = [h], list[Tensor](), [self._level(h, c)]
        for width in range(2, x.shape[1] + 1):
            lefts, rights, cs = zip(*levels, strict=True)
            parts = left_parts(lefts), right_parts(rights), left_parts(cs), right_parts(cs)
            h, c, log_s = self._cell(*parts, self.direction, noise[width - 2] if noise else None)
            states.append(h)
            splits.append(log_s)
            levels.append(self._level(h, c))
        return whole(states, lengths), *splits

    def _words(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The states h and c of single words (B, n, hidden)."""
        gates = self.input(x)
        gates = gates.to(torch.promote_types(gates.dtype, torch.float32))
        i, o, u = gates.chunk(5, -1)[:3]
        c = i.sigmoid() * u.tanh()
        return o.sigmoid() * c.tanh(), c

    def _level(self, h: Tensor, c: Tensor) -> _Level:
        """The contributions of spans with states h and c (B, spans, hidden) to longer spans."""
        of_left, of_right = self.parts.weight.chunk(2)
        left, right = linear(h, of_left, self.input.bias), linear(h, of_right)
        return _Level(left.to(c.dtype), right.to(c.dtype), c)

    def _noise(self, batch: int, n: int, x: Tensor) -> list[Tensor]:
        """For each width from 2, the noise added to the energies of splits; empty if there is none.

        Drawn before the chart is computed, so that recomputation uses the same noise.
        """
        if self.choice != "gumbel" or not self.training:
            return []
        dtype = torch.promote_types(x.dtype, torch.float32)
        sizes = [(batch, width - 1, n - width + 1) for width in range(2, n + 1)]
        return [-torch.empty(s, dtype=dtype, device=x.device).exponential_().log() for s in sizes]

    def _cell(
        self,
        left: Tensor,
        right: Tensor,
        c_left: Tensor,
        c_right: Tensor,
        direction: Tensor,
        noise: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The spans of one width, given the contributions of both parts of their splits.

        Returns:
            h and c (B, spans, hidden), and the log-weights of the splits (B, k, spans).
        """
        i, o, u, f_left, f_right = (left + right).chunk(5, -1)
        c = i.sigmoid() * u.tanh()
        c = c + (f_left + 1).sigmoid() * c_left
        c = c + (f_right + 1).sigmoid() * c_right
        h = o.sigmoid() * c.tanh()
        energy = cosine_similarity(h, direction.to(h.dtype), -1) / self.temperature
        log_s, s = self._weights(energy if noise is None else energy + noise)
        return (s[..., None] * h).sum(1), (s[..., None] * c).sum(1), log_s

    def _weights(self, energy: Tensor) -> tuple[Tensor, Tensor]:
        """The log-weights and weights s of splits (B, k, spans)."""
        log_s = energy.log_softmax(1)
        s = log_s.exp()
        if self.choice == "soft":
            return log_s, s
        best = one_hot(energy.argmax(1), energy.shape[1]).movedim(-1, 1).to(s.dtype)
        return best.log(), best + (s - s.detach())

    def extra_repr(self) -> str:
        return (
            f"{self.input_size}, {self.hidden_size}, choice={self.choice!r}, "
            f"temperature={self.temperature:g}"
        )


def _widened(splits: Sequence[Tensor], n: int, like: Tensor) -> list[Tensor]:
    """Log-weights of the splits of shorter sentences, padded to n words.

    All splits of spans beyond a sentence have equal weights.
    """
    found = list[Tensor]()
    for k in range(1, n):
        even, spans = -log(k), n - k
        if k <= len(splits):
            found.append(pad(splits[k - 1], (0, spans - splits[k - 1].shape[2]), value=even))
        else:
            found.append(like.new_full((len(like), k, spans), even))
    return found
