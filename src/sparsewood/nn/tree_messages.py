"""Message passing along the arcs of trees, hard or soft."""

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from sparsewood._internal.numbers import check_whole
from sparsewood.nn._check import check_lengths, check_words, root_vector
from sparsewood.posterior import Posterior


class TreeMessages(nn.Module):
    """All words send messages to their heads, in several steps; the result is read at the root.

    The reader of Paulus et al. (2020), "Gradient estimation with stochastic softmax tricks",
    appendix on list operations. The initial states are W v + b of the word vectors v; the root has
    a zero or learned input vector. Then, `steps` times, with a_cp the weight of the arc from word c
    to its head p (1 in a tree and 0 outside, or soft):

        x_p <- x_p + sum_c a_cp relu(W_2 relu(W_1 [x_c; x_p] + b_1) + b_2)

    A word reaches the root if it is at most `steps` arcs away. Unlike composition over a forest,
    this is differentiable in all arcs, including those outside the tree, and accepts soft arcs. It
    therefore works with estimators that give no trees, such as `Gibbs`.

        reader = TreeMessages(60, 60)
        vectors = reader(x, posterior.parts, posterior.instance, posterior.lengths)   # (T, 60)
        vectors = reader.read(x, posterior)                                           # the same

    Arcs that are 0 or 1 and need no gradient cost one message per arc; otherwise one per pair of
    words, (T, n, n + 1, hidden_size) numbers in each step.

    Args:
        input_size: dimensions of a word vector.
        hidden_size: dimensions of a state and of both layers of a message.
        steps: number of message-passing steps.
        root: the input vector of the root, which has no word: "zero", or "learned".
    """

    reads_soft: ClassVar[bool] = True
    reads_parts: ClassVar[bool] = True

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        steps: int = 5,
        *,
        root: Literal["zero", "learned"] = "zero",
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.steps = check_whole("steps", steps)
        self.input = nn.Linear(input_size, hidden_size)
        self.root = root_vector(root, input_size)
        # W_1 [x_c; x_p] = A x_c + B x_p: two products per word, a sum per pair.
        self.child = nn.Linear(hidden_size, hidden_size)
        self.parent = nn.Linear(hidden_size, hidden_size, bias=False)
        self.outer = nn.Linear(hidden_size, hidden_size)

    def forward(
        self,
        x: Tensor,
        arcs: Tensor,
        instance: Tensor | None = None,
        lengths: Tensor | None = None,
    ) -> Tensor:
        """The state of the root under each of T sets of arcs.

        Args:
            x: (B, n, input_size) word vectors; not read beyond the lengths.
            arcs: (T, n, n + 1) floating, soft or hard. `arcs[t, i, j]` is the arc from word i + 1
                to head j, where 0 is the root. Arcs of padding and from a word to itself are not
                read.
            instance: (T,) int64, the sentence of each set of arcs. Default: T = B, one each.
            lengths: (B,) number of words of each sentence. Default: n.

        Returns:
            (T, hidden_size), differentiable with respect to words and arcs.
        """
        check_words(x, self.input_size)
        instance = _check_arcs(x, arcs, instance)
        batch, n = x.shape[:2]
        sizes = check_lengths(lengths, batch, n, x.device)
        inside = torch.arange(n, device=x.device) < sizes[:, None]
        states = self._start(x.masked_fill(~inside[..., None], 0)).index_select(0, instance)
        arcs = torch.where(_read_arcs(inside)[instance], arcs, 0).to(states.dtype)
        # A compiled graph cannot branch on whether arcs are hard.
        soft = arcs.requires_grad or torch.compiler.is_compiling()
        hard = not soft and bool(((arcs == 0) | (arcs == 1)).all())
        return self._along_edges(states, arcs) if hard else self._across_pairs(states, arcs)

    def read(self, x: Tensor, posterior: Posterior) -> Tensor:
        """The vectors (T, hidden_size) of a posterior's trees, or of its soft parts."""
        lengths = None if posterior.lengths is None else posterior.lengths.flatten()
        return self(x, posterior.parts, posterior.instance, lengths)

    def _start(self, x: Tensor) -> Tensor:
        """(B, n + 1, hidden), the root first."""
        root = x.new_zeros(self.input_size) if self.root is None else self.root.to(x.dtype)
        return self.input(torch.cat([root.expand(len(x), 1, -1), x], 1))

    def _along_edges(self, states: Tensor, arcs: Tensor) -> Tensor:
        """One message per arc that is 1."""
        nodes = states.shape[1]
        tree, word, head = arcs.nonzero().unbind(1)
        child, parent = tree * nodes + word + 1, tree * nodes + head
        states = states.flatten(0, 1)
        for _ in range(self.steps):
            below = self.child(states).index_select(0, child)
            inner = below + self.parent(states).index_select(0, parent)
            states = states.index_add(0, parent, self._message(inner))
        return states[::nodes]

    def _across_pairs(self, states: Tensor, arcs: Tensor) -> Tensor:
        """One message per pair of a word and another word or the root."""
        weights = arcs.transpose(1, 2).unsqueeze(2)  # (T, n + 1, 1, n)
        for step in range(self.steps):
            if step == self.steps - 1:  # messages to words no longer matter
                weights = weights[:, :1]
            heads = states[:, : weights.shape[1]]
            # (T, heads, n, hidden)
            inner = self.child(states[:, 1:])[:, None] + self.parent(heads)[:, :, None]
            states = heads + (weights @ self._message(inner)).squeeze(2)
        return states[:, 0]

    def _message(self, inner: Tensor) -> Tensor:
        return self.outer(inner.relu_()).relu_()  # in place: both are large

    def extra_repr(self) -> str:
        root = "zero" if self.root is None else "learned"
        return f"{self.input_size}, {self.hidden_size}, steps={self.steps}, root={root!r}"


def _check_arcs(x: Tensor, arcs: Tensor, instance: Tensor | None) -> Tensor:
    """The sentence (T,) of each set of arcs, checked against the words x (B, n, d)."""
    batch, n = x.shape[:2]
    if arcs.shape[1:] != (n, n + 1) or arcs.device != x.device or not arcs.is_floating_point():
        raise ValueError(
            f"arcs: expected floating (T, {n}, {n + 1}) on {x.device} for word vectors of shape "
            f"{tuple(x.shape)}, got {arcs.dtype} of shape {tuple(arcs.shape)} on {arcs.device}"
        )
    if instance is None:
        instance = torch.arange(batch, device=x.device)
    if instance.shape != arcs.shape[:1] or instance.dtype != torch.int64:
        raise ValueError(
            f"instance: expected int64 of shape ({len(arcs)},) for arcs of shape "
            f"{tuple(arcs.shape)} over {batch} sentences, got {instance.dtype} of shape "
            f"{tuple(instance.shape)}"
        )
    if torch.compiler.is_compiling():
        return instance
    if ((instance < 0) | (instance >= batch)).any():
        raise ValueError(f"instance: expected 0 to {batch - 1}, got {instance.tolist()}")
    return instance


def _read_arcs(inside: Tensor) -> Tensor:
    """(B, n, n + 1) bool: arcs between words of a sentence and to its root."""
    n = inside.shape[1]
    heads = nn.functional.pad(inside, (1, 0), value=True)
    others = torch.ones(n, n, dtype=torch.bool, device=inside.device).fill_diagonal_(False)
    return inside[:, :, None] & heads[:, None] & nn.functional.pad(others, (1, 0), value=True)
