"""A composition that reads the children of a node one after another, batched over all nodes.

The state of a node starts as the state of its word and is updated with each child:

    s_j0 = the state of the word        s_jt = cell(s_j(t-1), h_c),  c the t-th child of j

and h_j is the last of them. There is one state per word and one per distinct reading, i.e. pair of
a state and the child it reads; nodes of one word whose first children are equal share readings. An
edge is read once the previous edge and its child are finished; all edges read at the same time form
one step. A forest takes as many steps as its slowest tree, at most n.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import torch
from torch import Tensor

from sparsewood.forest import Forest
from sparsewood.nn._levels import add_product, multiply

_native_layer_norm = torch.ops.aten.native_layer_norm
_layer_norm_backward = torch.ops.aten.native_layer_norm_backward
EPS = 1e-5  # of the normalisation


@dataclass(frozen=True)
class Steps:
    """The readings of each step. States are rows; the words and a root come first.

    sources: (2R,), for each of R readings, in order, the rows of the previous state and of the
    child. last: (N,), the row of each node's state. bounds: the first reading of each step.
    """

    sources: Tensor
    last: Tensor
    bounds: tuple[int, ...]

    @classmethod
    def of(cls, forest: Forest) -> "Steps":
        """The steps of a forest, planned on the CPU."""
        children, parents = forest.children.cpu(), forest.parents.cpu()
        time = _times(forest, forest.child_offsets.cpu(), children, parents)
        last = forest.row.cpu().clone()
        first, far = len(forest.words) + 1, len(forest.words) + 1 + len(children)
        sources, bounds = [children.new_empty(0, 2)], [0]
        for edges in time.argsort(stable=True).split(time.bincount().tolist()):
            parent = parents[edges]
            pair, which = (last[parent] * far + last[children[edges]]).unique(return_inverse=True)
            last[parent] = first + bounds[-1] + which
            sources.append(torch.stack([pair // far, pair % far], 1))
            bounds.append(bounds[-1] + len(pair))
        device = forest.row.device
        return cls(torch.cat(sources).flatten().to(device), last.to(device), tuple(bounds))


def _times(forest: Forest, offsets: Tensor, children: Tensor, parents: Tensor) -> Tensor:
    """(E,) the step that reads each edge: after the previous edge and after the child."""
    done = torch.full((forest.num_nodes,), -1)
    time = torch.empty_like(children)
    # time_t - t is the running maximum of done(child) - t + 1. Offsets larger than any time
    # restart it for each parent.
    apart = parents * (2 * len(children) + 2) - (torch.arange(len(children)) - offsets[parents])
    for level in forest.levels[1:]:
        edges = slice(level.first_edge, level.last_edge)
        ready = done[children[edges]] + apart[edges]
        time[edges] = ready.cummax(0).values - apart[edges] + 1
        done[level.begin : level.end] = time[offsets[level.begin + 1 : level.end + 1] - 1]
    return time


def _read(words: Tensor, forest: Forest, dtype: torch.dtype, *weights: Tensor) -> Tensor:
    """(W + 1, hidden) states of the words and of a root -> (N, hidden) states of all nodes.

    The weights are those of `OrderedComposer`, in the order of its formula. Matrix products use
    `dtype`.
    """
    steps = Steps.of(forest)
    return cast(Tensor, Read.apply(words, steps, dtype, *weights)).index_select(0, steps.last)


# The number of steps depends on the trees, which a compiled graph cannot trace.
read = cast("Callable[..., Tensor]", torch.compiler.disable(_read))


class Read(torch.autograd.Function):
    """As `read`, but returns the states (W + 1 + R, hidden) of words and readings, in order."""

    @staticmethod
    def forward(ctx: Any, words: Tensor, steps: Steps, dtype: torch.dtype, *weights: Tensor) -> Any:
        w1, b1, w2, b2, gain, shift = weights
        hidden, readings, rows = words.shape[1], steps.bounds[-1], len(words)
        states = words.new_empty(rows + readings, hidden)
        states[:rows] = words
        pairs = words.new_empty(readings, 2 * hidden)
        inner = b1.to(words.dtype).repeat(readings, 1)
        gates = b2.to(words.dtype).repeat(readings, 1)
        mixed = words.new_empty(readings, hidden)
        w1, w2 = w1.to(dtype).t(), w2.to(dtype).t()
        affine = ([hidden], gain.to(words.dtype), shift.to(words.dtype))
        with torch.autocast(words.device.type, enabled=False):
            for begin, end in pairwise(steps.bounds):
                sources = steps.sources[2 * begin : 2 * end]
                pair = torch.index_select(
                    states, 0, sources, out=pairs[begin:end].view(-1, hidden)
                ).view(-1, 2, hidden)
                add_product(pairs[begin:end], w1, out=inner[begin:end])
                gate = gates[begin:end]
                add_product(torch.nn.functional.gelu(inner[begin:end]), w2, out=gate)
                gate[:, : 3 * hidden].sigmoid_()
                f, i, g, v = gate.split(hidden, 1)
                mix = torch.mul(f, pair[:, 0], out=mixed[begin:end])
                mix.addcmul_(i, pair[:, 1]).addcmul_(g, v)
                states[rows + begin : rows + end] = _native_layer_norm(mix, *affine, EPS)[0]
        ctx.save_for_backward(pairs, inner, gates, mixed, *weights)
        ctx.steps, ctx.rows, ctx.dtype = steps, rows, dtype
        return states

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("a forest is differentiable once: not with create_graph=True")
        pairs, inner, gates, mixed, w1, b1, w2, b2, gain, shift = ctx.saved_tensors
        steps, rows, hidden = ctx.steps, ctx.rows, mixed.shape[1]
        on_states = gradients[0].to(mixed.dtype, copy=True).contiguous()
        on_inner, on_gates = torch.empty_like(inner), torch.empty_like(gates)
        first, second = w1.to(ctx.dtype), w2.to(ctx.dtype)
        affine = (gain.to(mixed.dtype), shift.to(mixed.dtype))
        moments = _native_layer_norm(mixed, [hidden], *affine, EPS)[1:]
        with torch.autocast(mixed.device.type, enabled=False):
            for begin, end in reversed(list(pairwise(steps.bounds))):
                here = slice(begin, end)
                pair = pairs[here].view(-1, 2, hidden)
                on_mix = _layer_norm_backward(
                    on_states[rows + begin : rows + end],
                    mixed[here],
                    [hidden],
                    *(moment[here] for moment in moments),
                    *affine,
                    [True, False, False],
                )[0]
                f, i, g, v = gates[here].split(hidden, 1)
                on_f, on_i, on_g, on_v = on_gates[here].split(hidden, 1)
                on_f.copy_(on_mix * pair[:, 0] * f * (1 - f))
                on_i.copy_(on_mix * pair[:, 1] * i * (1 - i))
                on_g.copy_(on_mix * v * g * (1 - g))
                torch.mul(on_mix, g, out=on_v)
                multiply(on_gates[here], second, out=on_inner[here])
                on_inner[here] = torch.ops.aten.gelu_backward(on_inner[here], inner[here])
                on_pair = torch.stack([on_mix * f, on_mix * i], 1).view(-1, 2 * hidden)
                add_product(on_inner[here], first, out=on_pair)
                sources = steps.sources[2 * begin : 2 * end]
                on_states.index_add_(0, sources, on_pair.view(-1, hidden))
            on_norm = _layer_norm_backward(
                on_states[rows:], mixed, [hidden], *moments, *affine, [False, True, True]
            )[1:]
            on_w1, on_w2 = inner.new_empty(w1.shape), inner.new_empty(w2.shape)
            multiply(on_inner.t(), pairs.to(ctx.dtype), out=on_w1)
            multiply(on_gates.t(), torch.nn.functional.gelu(inner).to(ctx.dtype), out=on_w2)
        on = (on_w1, on_inner.sum(0), on_w2, on_gates.sum(0), *on_norm)
        weights = (w1, b1, w2, b2, gain, shift)
        return (
            on_states[:rows],
            None,
            None,
            *(one.to(weight.dtype) for one, weight in zip(on, weights, strict=True)),
        )
