"""The interface of posteriors, on a hand-made one and on inferred ones."""

import math
from dataclasses import replace

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import draw_scores

TREES = sp.DependencyTrees()


@pytest.fixture
def post() -> sp.Posterior:
    """Two sentences of two words: three trees for the first, one for the second."""
    structures = torch.tensor([[0, 1], [2, 0], [0, 0], [0, -1]])
    weights = torch.tensor([0.2, 0.5, 0.3, 1.0], dtype=torch.float64)
    sizes = torch.tensor([3, 1])
    return sp.Posterior(TREES, structures, weights, sizes, (2, 3), torch.tensor([2, 1]))


def test_instance_and_mode(post: sp.Posterior) -> None:
    assert post.instance.tolist() == [0, 0, 0, 1]
    assert post.mode.tolist() == [[2, 0], [0, -1]]


def test_it_cannot_be_changed(post: sp.Posterior) -> None:
    with pytest.raises(AttributeError):
        post.weights = post.weights * 2  # type: ignore[misc]


def test_entropy(post: sp.Posterior) -> None:
    expected = -sum(w * math.log(w) for w in (0.2, 0.5, 0.3))
    assert post.entropy().tolist() == pytest.approx([expected, 0.0])


def test_log_prob(post: sp.Posterior) -> None:
    inside = post.log_prob(torch.tensor([[0, 0], [0, -1]]))
    assert inside.tolist() == pytest.approx([math.log(0.3), 0.0])
    outside = post.log_prob(torch.tensor([[0, 1], [1, -1]]))
    assert outside.tolist() == pytest.approx([math.log(0.2), -math.inf])
    with pytest.raises(ValueError, match=r"expected \(2, 2\), got \(2, 3\)"):
        post.log_prob(torch.zeros(2, 3, dtype=torch.int64))


def test_topk_pads_with_the_mode(post: sp.Posterior) -> None:
    best = post.topk(2)
    assert best.weights.tolist() == [[0.5, 0.3], [1.0, 0.0]]
    assert best.structures.tolist() == [[[2, 0], [0, 0]], [[0, -1], [0, -1]]]
    assert post.topk(5).weights.sum(-1).tolist() == pytest.approx([1.0, 1.0])
    with pytest.raises(ValueError, match="k must be at least 1"):
        post.topk(0)


def test_sample_frequencies(post: sp.Posterior) -> None:
    draws = post.sample(20_000, generator=torch.Generator().manual_seed(0))
    assert draws.shape == (20_000, 2, 2)
    for tree, weight in zip(post.structures[:3], post.weights[:3], strict=True):
        share = (draws[:, 0] == tree).all(-1).double().mean().item()
        assert share == pytest.approx(weight.item(), abs=0.02)
    assert (draws[:, 1] == torch.tensor([0, -1])).all()
    again = post.sample(20_000, generator=torch.Generator().manual_seed(0))
    assert torch.equal(draws, again)
    with pytest.raises(ValueError, match="k must be at least 1"):
        post.sample(0)


def test_expect_values_and_functions(post: sp.Posterior) -> None:
    values = torch.arange(8.0, dtype=torch.float64).reshape(4, 2)
    expected = [[0.2 * 0 + 0.5 * 2 + 0.3 * 4, 0.2 * 1 + 0.5 * 3 + 0.3 * 5], [6.0, 7.0]]
    torch.testing.assert_close(post.expect(values), torch.tensor(expected).double())
    parts = post.expect(lambda structures, instance: TREES.indicator(structures))
    torch.testing.assert_close(parts, post.marginals)
    roots = post.expect(lambda structures, instance: (structures == 0).sum(-1) + 0 * instance)
    assert roots.tolist() == pytest.approx([0.2 + 0.5 + 0.6, 1.0])


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (torch.float32, torch.float32),
        (torch.bfloat16, torch.bfloat16),
        (torch.float64, torch.float64),
        (torch.int64, torch.float64),
        (torch.bool, torch.float64),
        (torch.complex64, torch.complex64),
    ],
)
def test_expect_keeps_the_dtype_of_values(
    post: sp.Posterior, given: torch.dtype, expected: torch.dtype
) -> None:
    result = post.expect(torch.ones(4, 3).to(given))
    assert result.dtype == expected
    torch.testing.assert_close(result, torch.ones(2, 3).to(expected))


def test_expect_refuses_other_lengths(post: sp.Posterior) -> None:
    for values in (torch.ones(3), torch.tensor(1.0)):
        with pytest.raises(ValueError, match=r"values of shape \(4, ...\)"):
            post.expect(values)


def test_one_instance(post: sp.Posterior) -> None:
    assert len(post) == 2
    first, last = post[0], post[-1]
    assert first.structures.tolist() == [[0, 1], [2, 0], [0, 0]]
    assert first.marginals.shape == (1, 2, 3)
    assert last.structures.tolist() == [[0, -1]]
    assert last.lengths is not None
    assert last.lengths.tolist() == [1]
    assert [one.sizes.tolist() for one in post] == [[3], [1]]
    for i in (2, -3):
        with pytest.raises(IndexError, match="of a posterior over 2 instances"):
            post[i]


@pytest.mark.parametrize("batch", [(2, 3), (1, 6, 1), (6,)])
def test_any_batch_shape(batch: tuple[int, ...]) -> None:
    scores, lengths = draw_scores("normal", 6, (4, 5), seed=5), torch.tensor([4, 2, 3, 4, 1, 4])
    flat = sp.sparsemap(scores.requires_grad_(), TREES, lengths=lengths)
    fields = ("sizes", "gap", "status", "calls", "lengths")
    shaped = replace(
        flat,
        **{name: getattr(flat, name).reshape(batch) for name in fields},
        _marginals=None,
    )
    assert len(shaped) == 6
    assert torch.equal(shaped.instance, flat.instance)
    values = torch.randn(len(flat.weights), 2)
    best, known = shaped.topk(3), flat.topk(3)
    pairs = shaped.product(shaped)
    draws = [one.sample(4, generator=torch.Generator().manual_seed(0)) for one in (shaped, flat)]
    for found, expected in (
        (shaped.mode, flat.mode),
        (shaped.marginals, flat.marginals),
        (shaped.expect(values), flat.expect(values)),
        (shaped.expect(values[:, 0]), flat.expect(values[:, 0])),
        (shaped.entropy(), flat.entropy()),
        (shaped.log_prob(shaped.mode), flat.log_prob(flat.mode)),
        (shaped.converged, flat.converged),
        (best.weights, known.weights),
        (best.structures, known.structures),
        (pairs.expect(pairs.weights), flat.product(flat).expect(pairs.weights)),
    ):
        assert found.shape == (*batch, *expected.shape[1:])
        torch.testing.assert_close(found.flatten(0, len(batch) - 1), expected)
    assert draws[0].shape == (4, *batch, 4)
    assert torch.equal(draws[0].reshape(draws[1].shape), draws[1])
    assert torch.equal(shaped.forest().roots, flat.forest().roots)
    for one, other in zip(shaped, flat, strict=True):
        assert torch.equal(one.marginals, other.marginals)
        assert torch.equal(one.status, other.status)
        assert repr(one) == repr(other)
    assert (f"batch {batch}, 6 instances" in repr(shaped)) == (len(batch) > 1)


def test_one_instance_without_a_batch(post: sp.Posterior) -> None:
    first = post[0]
    alone = replace(first, sizes=first.sizes[0], lengths=torch.tensor(2))
    assert len(alone) == 1
    assert alone.mode.tolist() == [2, 0]
    assert alone.marginals.shape == (2, 3)
    assert alone.entropy().shape == alone.log_prob(alone.mode).shape == ()
    assert alone.topk(2).structures.shape == (2, 2)
    assert alone.sample(5).shape == (5, 2)
    assert alone.expect(torch.ones(3, 4)).shape == (4,)
    assert alone.forest().shape == (1, 2)
    assert repr(alone[0]) == repr(alone) == repr(first)
    with pytest.raises(ValueError, match=r"batches of shape \(\) and \(2,\)"):
        alone.product(post)


def test_parts_that_carry_a_gradient(post: sp.Posterior) -> None:
    assert torch.equal(post.parts, TREES.indicator(post.structures))
    soft = (0.5 * post.parts).requires_grad_()
    bent = post.with_parts(soft)
    assert bent.parts is soft
    torch.testing.assert_close(bent.marginals, 0.5 * post.marginals)
    torch.testing.assert_close(bent[0].marginals, bent.marginals[:1])
    (slope,) = torch.autograd.grad(bent.marginals.sum(), soft)
    torch.testing.assert_close(slope, post.weights[:, None, None].expand_as(soft))
    with pytest.raises(ValueError, match=r"expected \(4, 2, 3\), got \(3, 2, 3\)"):
        post.with_parts(soft[1:])


def test_repr(post: sp.Posterior) -> None:
    assert repr(post) == f"Posterior({TREES}, 2 instances, 1 to 3 structures each)"
    few = sp.sparsemap(torch.zeros(2, 2, 3), TREES, max_support=1)
    assert "2 instances, 1 structure each, " in repr(few)
    assert repr(post[0]).splitlines() == [
        f"Posterior({TREES}, 3 structures)",
        "  0.5000  [2, 0]",
        "  0.3000  [0, 0]",
        "  0.2000  [0, 1]",
    ]


def test_repr_of_a_large_support_ends() -> None:
    one = sp.sparsemap(draw_scores("normal", 1, (12, 13), seed=0) / 10, TREES)
    assert int(one.sizes) > 5
    assert repr(one).splitlines()[-1] == f"  ... {int(one.sizes) - 5} more"


def test_everything_of_an_empty_batch() -> None:
    empty = sp.sparsemap(torch.zeros(0, 3, 4), TREES)
    assert len(empty) == 0
    assert list(empty) == []
    assert empty.mode.shape == (0, 3)
    assert empty.sample(2).shape == (2, 0, 3)
    assert empty.topk(2).structures.shape == (0, 2, 3)
    assert empty.entropy().shape == empty.log_prob(empty.mode).shape == (0,)
    assert empty.expect(torch.zeros(0, 5)).shape == (0, 5)
    assert "0 instances" in repr(empty)


@pytest.mark.parametrize(
    ("structure", "shape"),
    [
        (sp.Simplex(), (3,)),
        (sp.LinearChain(), (3, 2, 3)),
        (sp.Matching(), (3, 4)),
        (sp.LabelledDependencyTrees(), (3, 4, 2)),
        (sp.Subset(2), (3,)),
    ],
)
def test_a_forest_needs_trees(structure: sp.Structure, shape: tuple[int, ...]) -> None:
    post = sp.sparsemap(torch.zeros(1, *shape), structure)
    with pytest.raises(
        ValueError, match=f"forest: expected trees .* of {type(structure).__name__}"
    ):
        post.forest()


def test_gradients_reach_the_scores() -> None:
    scores = draw_scores("normal", 3, (4, 5), seed=3).requires_grad_()
    post = sp.sparsemap(scores, TREES)
    values = torch.randn(len(post.weights), 2, dtype=torch.float64, requires_grad=True)
    outputs = {
        "entropy": post.entropy(),
        "log_prob": post.log_prob(post.mode),
        "expect": post.expect(values),
        "topk": post.topk(2).weights,
        "one": post[1].weights.square(),
    }
    for name, output in outputs.items():
        (gradient,) = torch.autograd.grad(output.square().sum(), scores, retain_graph=True)
        assert gradient.isfinite().all(), name
        assert gradient.abs().sum() > 0, name
    (gradient,) = torch.autograd.grad(post.expect(values).sum(), values)
    torch.testing.assert_close(gradient, post.weights[:, None].expand(-1, 2))


def test_sixteen_bits() -> None:
    post = sp.sparsemap(draw_scores("normal", 2, (6, 7), seed=0).half(), TREES)
    assert post.entropy().isfinite().all()
    assert post.sample(3).shape == (3, 2, 6)
    assert post.expect(torch.ones(len(post.weights))).dtype == torch.float32
