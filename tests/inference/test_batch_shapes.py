"""Any leading batch dimensions: every call gives the results of the flattened batch."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.base import NativeStructure
from sparsewood.testing import draw_scores
from tests.graphs import limited_trees
from tests.seats import Seats

BATCHES = [(), (2, 3), (1, 1), (3, 1, 2), (0, 3), (2, 0)]


# structure, shape of the parts, lengths of the instances
FAMILIES: dict[str, tuple[sp.Structure, tuple[int, ...], list[int] | list[list[int]] | None]] = {
    "trees": (sp.DependencyTrees(), (3, 4), [3, 1, 2]),
    "single root": (sp.DependencyTrees(single_root=True), (3, 4), [3, 1, 2]),
    "projective": (sp.DependencyTrees(projective=True), (3, 4), [3, 1, 2]),
    "few children": (sp.DependencyTrees(True, True, 1), (3, 4), [3, 1, 2]),
    "labelled": (sp.LabelledDependencyTrees(), (2, 3, 2), [2, 1]),
    "spans": (sp.BinaryTrees(), (3, 3), [3, 1, 2]),
    "labelled spans": (sp.BinaryTrees(labelled=True), (3, 3, 2), [3, 1, 2]),
    "chain": (sp.LinearChain(), (3, 2, 3), [3, 1, 2]),
    "segments": (sp.SemiMarkov(2), (3, 2, 4), [3, 1, 2]),
    "choice": (sp.Simplex(), (4,), [4, 1, 3]),
    "subset": (sp.Subset(2), (4,), [4, 2, 3]),
    "few": (sp.Subset(at_most=2), (4,), [4, 1, 3]),
    "hypercube": (sp.Hypercube(), (3,), [3, 1]),
    "matching": (sp.Matching(), (3, 2), [[3, 2], [1, 2]]),
    "partial matching": (sp.Matching(partial=True), (2, 3), [[2, 3], [2, 1]]),
    "alignment": (sp.Alignment(), (2, 3), [[2, 3], [2, 1]]),
    "gaps": (sp.Alignment(gaps=True), (2, 3), [[2, 3], [2, 1]]),
    "xor": (sp.Xor(), (3,), None),
    "pairwise": (sp.Pairwise(), (3,), None),
    "seats": (Seats(), (4,), None),
}
NO_SUM = ("matching", "partial matching", "xor", "pairwise", "seats")


@dataclass
class Given:
    """A family, and the input of a call in some batch shape."""

    structure: sp.Structure
    scores: Tensor
    lengths: Tensor | None
    temperature: Tensor
    gold: Tensor

    def reshaped(self, batch: tuple[int, ...]) -> "Given":
        def shape(table: Tensor) -> Tensor:
            return table.reshape((*batch, *table.shape[1:]))

        scores = shape(self.scores.detach()).requires_grad_()
        temperature = shape(self.temperature.detach()).requires_grad_()
        lengths = None if self.lengths is None else shape(self.lengths)
        return Given(self.structure, scores, lengths, temperature, shape(self.gold))


def draw(name: str, count: int, with_lengths: bool) -> Given:
    structure, parts, sizes = FAMILIES[name]
    scores = draw_scores("normal", count, parts, seed=0)
    lengths = None
    if with_lengths and sizes is not None:
        table = torch.tensor(sizes)
        lengths = table[torch.arange(count) % len(table)]
    scores.masked_fill_(~structure.reads(scores, lengths), torch.nan)
    temperature = torch.linspace(0.5, 1.5, count, dtype=torch.float64)
    other = draw_scores("normal", count, parts, seed=1)
    gold = sp.map(other, structure, lengths=lengths).structures
    return Given(structure, scores, lengths, temperature, gold)


# Each table with the dimension of its instances; None: a support, which is always flat.
Tables = list[tuple[Tensor, int | None]]


def call_map(x: Given) -> Tables:
    return [(table, 0) for table in sp.map(x.scores, x.structure, lengths=x.lengths)]


def call_kbest(x: Given) -> Tables:
    if not isinstance(x.structure, NativeStructure):
        pytest.skip("no k-best algorithm")
    return [(table, 0) for table in sp.kbest(x.scores, x.structure, 3, lengths=x.lengths)]


def call_sparsemap(x: Given) -> Tables:
    post = sp.sparsemap(x.scores, x.structure, temperature=x.temperature, lengths=x.lengths)
    tables = [post.marginals, post.sizes, post.gap, post.converged, post.mode, *post.topk(2)]
    tables += [post.expect(post.weights.square()), post.entropy(), post.log_prob(post.mode)]
    tables += [] if post.lengths is None else [post.lengths]
    drawn = post.sample(2, generator=torch.Generator().manual_seed(0))
    flat = [post.weights, post.structures, post.instance]
    return [*((table, 0) for table in tables), (drawn, 1), *((table, None) for table in flat)]


def call_marginals(x: Given) -> Tables:
    dist = sp.marginals(x.scores, x.structure, temperature=x.temperature, lengths=x.lengths)
    tables = [dist.log_partition, dist.marginals, dist.entropy(), dist.mode, dist.log_prob(x.gold)]
    other = sp.marginals(x.scores, x.structure, temperature=2 * x.temperature, lengths=x.lengths)
    tables += [dist.kl(other)] + ([] if dist.lengths is None else [dist.lengths])
    assert len(dist) == x.temperature.numel()
    drawn = dist.sample(2, generator=torch.Generator().manual_seed(0))
    return [*((table, 0) for table in tables), (drawn, 1)]


def call_samples(x: Given) -> Tables:
    assert isinstance(x.structure, sp.Matching)
    generator = torch.Generator().manual_seed(0)
    drawn = sp.sample_matchings(
        x.scores,
        x.structure,
        3,
        lengths=x.lengths,
        temperature=x.temperature,
        generator=generator,
    )
    return [(drawn, 1)]


def _loss_call(loss: Callable[..., Tensor]) -> Callable[[Given], Tables]:
    def call(x: Given) -> Tables:
        each = loss(x.scores, x.gold, x.structure, reduction="none", lengths=x.lengths)
        total = loss(x.scores, x.gold, x.structure, reduction="sum", lengths=x.lengths)
        return [(each, 0), (total, None)]

    return call


CALLS: dict[str, Callable[[Given], Tables]] = {
    "map": call_map,
    "kbest": call_kbest,
    "sparsemap": call_sparsemap,
    "marginals": call_marginals,
    "samples": call_samples,
    **{
        loss.__name__: _loss_call(loss)
        for loss in (sp.crf_loss, sp.hinge_loss, sp.perceptron_loss, sp.sparsemap_loss)
    },
}


def _has(name: str, call: str) -> bool:
    if call == "samples":
        return "matching" in name
    return name not in NO_SUM or call not in ("marginals", "crf_loss")


def gradients(tables: Tables, x: Given) -> list[Tensor | None]:
    """Gradients of a weighted sum of all differentiable tables, by scores and temperature."""
    total = torch.zeros((), dtype=torch.float64)
    for table, _ in tables:
        if table.requires_grad:
            flat = table.reshape(-1)
            flat = torch.where(flat.isfinite(), flat, 0)
            total = total + (flat * torch.linspace(-1, 1, len(flat), dtype=flat.dtype)).sum()
    if not total.requires_grad:
        return [None, None]
    return list(torch.autograd.grad(total, [x.scores, x.temperature], allow_unused=True))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_call_answers_as_on_the_flattened_batch(name: str, call: str) -> None:
    if not _has(name, call):
        pytest.skip(f"{name} has no {call}")
    for batch in BATCHES:
        for with_lengths in (False, True):
            flat = draw(name, prod(batch), with_lengths).reshaped((prod(batch),))
            given = flat.reshaped(batch)
            expected, found = CALLS[call](flat), CALLS[call](given)
            for (wanted, _), (table, dim) in zip(expected, found, strict=True):
                if dim is not None:
                    wanted = wanted.reshape((*wanted.shape[:dim], *batch, *wanted.shape[dim + 1 :]))
                assert table.shape == wanted.shape
                assert torch.equal(table, wanted)
            for wanted, gradient in zip(
                gradients(expected, flat), gradients(found, given), strict=True
            ):
                assert (gradient is None) == (wanted is None)
                if wanted is not None and gradient is not None:
                    torch.testing.assert_close(
                        gradient, wanted.reshape(gradient.shape), rtol=0, atol=1e-12
                    )


@pytest.mark.parametrize("batch", [(), (2, 3), (0, 2)])
def test_factor_graphs_of_any_batch_dimensions(batch: tuple[int, ...]) -> None:
    graph, count = limited_trees(3, 1), torch.Size(batch).numel()
    flat = draw_scores("normal", count, (len(graph),), seed=0).requires_grad_()
    scores = flat.detach().reshape((*batch, len(graph))).requires_grad_()
    temperatures = torch.linspace(0.5, 1.5, count, dtype=torch.float64)
    wanted = sp.lp_sparsemap(flat, graph, temperature=temperatures)
    post = sp.lp_sparsemap(scores, graph, temperature=temperatures.reshape(batch))
    assert len(post) == count
    assert torch.equal(post.marginals, wanted.marginals.reshape(scores.shape))
    for name in ("violation", "gap", "rounds", "converged", "tight"):
        assert torch.equal(getattr(post, name), getattr(wanted, name).reshape(batch))
    factor, expected = post.factor(0), wanted.factor(0)
    assert factor.sizes.shape == factor.gap.shape == factor.status.shape == batch
    assert torch.equal(factor.weights, expected.weights)
    assert torch.equal(factor.marginals.reshape(expected.marginals.shape), expected.marginals)
    (gradient,) = torch.autograd.grad(post.marginals.square().sum(), scores)
    (slope,) = torch.autograd.grad(wanted.marginals.square().sum(), flat)
    assert torch.equal(gradient, slope.reshape(scores.shape))
    assert torch.equal(
        sp.lp_sparsemap(scores, graph, start=post).marginals.detach(),
        (sp.lp_sparsemap(flat, graph, start=wanted).marginals.detach().reshape(scores.shape)),
    )
    gold = torch.zeros_like(scores, dtype=torch.int64)
    gold[..., graph.factors[0].variables[:, 0]] = 1
    loss = sp.sparsemap_loss(scores, gold, graph, reduction="none")
    each = sp.sparsemap_loss(flat, gold.reshape(flat.shape), graph, reduction="none")
    assert torch.equal(loss, each.reshape(batch))
