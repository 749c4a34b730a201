"""Attention by marginals: its definition for each structure, padding, gradients."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.nn.structured_attention import attend
from sparsewood.testing import draw_scores


@pytest.fixture(params=[sp.Gibbs(), sp.SparseMAP()], ids=repr)
def estimator(request: pytest.FixtureRequest) -> sp.Estimator:
    return request.param


def draw(*shape: int, seed: int = 0) -> Tensor:
    return draw_scores("normal", shape[0], shape[1:], seed)


def test_a_choice_is_plain_attention() -> None:
    scores, values = draw(3, 5), draw(3, 5, 2, seed=1)
    context = sp.nn.StructuredAttention(sp.Simplex(), estimator=sp.Gibbs(temperature=0.5))(
        scores, values
    )
    torch.testing.assert_close(context, ((2 * scores).softmax(-1)[:, None] @ values)[:, 0])


def test_a_sparse_choice_is_sparsemax() -> None:
    scores = torch.tensor([[1.0, 0.6, -3.0]])
    attention = sp.nn.StructuredAttention(sp.Simplex(), estimator=sp.SparseMAP())
    torch.testing.assert_close(attention.weights(scores), torch.tensor([[0.7, 0.3, 0.0]]))


def test_any_estimator_gives_marginals() -> None:
    scores, values = draw(2, 3, 4), draw(2, 3, 2, seed=1)
    best = sp.nn.TreeAttention(2, estimator=sp.TopK(1)).double()
    post = sp.TopK(1)(scores, best.structure)
    torch.testing.assert_close(best.weights(scores), post.marginals)
    assert best(scores, values).shape == (2, 3, 2)


def test_independent_choices_are_sigmoids() -> None:
    scores, values = draw(3, 5), draw(3, 5, 2, seed=1)
    context = sp.nn.StructuredAttention(sp.Hypercube())(scores, values)
    torch.testing.assert_close(context, (scores.sigmoid()[:, None] @ values)[:, 0])


def test_a_subset_sums_to_its_size(estimator: sp.Estimator) -> None:
    weights = sp.nn.StructuredAttention(sp.Subset(2), estimator=estimator).weights(draw(3, 5))
    torch.testing.assert_close(weights.sum(-1), torch.full((3,), 2.0).double())


def test_rows_of_a_matching_attend_to_columns() -> None:
    attention = sp.nn.StructuredAttention(sp.Matching(), estimator=sp.SparseMAP())
    scores, values = draw(2, 3, 4), draw(2, 4, 2, seed=1)
    weights = attention.weights(scores)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3).double())
    torch.testing.assert_close(attention(scores, values), weights @ values)


def test_a_chain_attends_where_it_has_the_state(estimator: sp.Estimator) -> None:
    """Segmentation attention of Kim et al.: a chain of two states, 1 meaning "read this"."""
    chain = sp.LinearChain(penalty="both")
    unary, transition = draw(2, 4, 2), draw(1, 2, 2, seed=1)[0]
    scores, values = chain.pack(unary, transition), draw(2, 4, 3, seed=2)
    attention = sp.nn.StructuredAttention(chain, estimator=estimator, state=1)
    weights = attention.weights(scores)
    other = sp.nn.StructuredAttention(chain, estimator=estimator, state=0).weights(scores)
    torch.testing.assert_close(weights + other, torch.ones(2, 4).double())
    torch.testing.assert_close(attention(scores, values), (weights[:, None] @ values)[:, 0])
    if estimator == sp.Gibbs():
        states = chain.enumerate(4, 2)
        used = torch.where(chain.indicator(states, (4, 2, 3)).bool(), scores[:, None], 0)
        p = used.flatten(2).sum(-1).softmax(-1)
        torch.testing.assert_close(weights, p @ states.double())


def test_segments_attend_to_what_they_cover(estimator: sp.Estimator) -> None:
    family, shape = sp.SemiMarkov(3), (5, 2, 5)
    scores = draw(2, *shape)
    total = sum(
        sp.nn.StructuredAttention(family, estimator=estimator, state=k).weights(scores)
        for k in (0, 1)
    )
    torch.testing.assert_close(total, torch.ones(2, 5).double())  # each position is in one segment
    certain = torch.tensor([[[3, 1], [0, -1], [0, -1], [1, 0], [1, 1]]])
    sure = 100 * family.indicator(certain, shape)
    weights = sp.nn.StructuredAttention(family, estimator=estimator, state=1).weights(sure)
    torch.testing.assert_close(weights, torch.tensor([[1.0, 1, 1, 0, 1]]).double())


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("projective", [False, True])
def test_words_attend_to_their_heads_and_children(
    projective: bool, single_root: bool, estimator: sp.Estimator
) -> None:
    trees = sp.DependencyTrees(projective=projective, single_root=single_root)
    attention = sp.nn.TreeAttention(3, trees, children=True, estimator=estimator).double()
    scores, values = draw(2, 4, 5), draw(2, 4, 3, seed=1)
    arcs = attention.weights(scores)
    torch.testing.assert_close(arcs.sum(-1), torch.ones(2, 4).double())
    context = attention(scores, values)
    for i in range(4):
        heads = arcs[:, i, :1] * attention.root + sum(
            arcs[:, i, j + 1, None] * values[:, j] for j in range(4)
        )
        children = sum(arcs[:, j, i + 1, None] * values[:, j] for j in range(4))
        torch.testing.assert_close(context[:, i], torch.cat([heads, torch.as_tensor(children)], -1))
    plain = sp.nn.TreeAttention(3, trees, estimator=estimator).double()
    plain.load_state_dict(attention.state_dict())
    torch.testing.assert_close(plain(scores, values), context[..., :3])


def test_a_certain_tree(estimator: sp.Estimator) -> None:
    attention = sp.nn.TreeAttention(2, children=True, estimator=estimator)
    heads = torch.tensor([[2, 0, 2]])
    scores = 60 * sp.DependencyTrees().indicator(heads, (3, 4)).float()
    values = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [3.0, 3.0]]])
    context = attention(scores, values)
    root = attention.root.detach()
    torch.testing.assert_close(
        context[0, :, :2].detach(), torch.stack([values[0, 1], root, values[0, 1]])
    )
    torch.testing.assert_close(
        context[0, :, 2:].detach(),
        torch.stack([values[0, 0] * 0, values[0, 0] + values[0, 2], root * 0]),
    )


def test_labels_are_summed_over(estimator: sp.Estimator) -> None:
    attention = sp.nn.TreeAttention(2, sp.LabelledDependencyTrees(), estimator=estimator).double()
    scores, values = draw(2, 3, 4, 3), draw(2, 3, 2, seed=1)
    weights = attention.weights(scores)
    assert weights.shape == (2, 3, 4)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3).double())
    assert attention(scores, values).shape == (2, 3, 2)


def test_padding_is_never_attended(estimator: sp.Estimator) -> None:
    trees, lengths = sp.DependencyTrees(single_root=True), torch.tensor([4, 2])
    attention = sp.nn.TreeAttention(3, trees, children=True, estimator=estimator).double()
    scores, values = draw(2, 4, 5), draw(2, 4, 3, seed=1)
    unread = ~trees.reads(scores, lengths)
    scores = scores.masked_fill(unread, torch.nan).requires_grad_()
    values[1, 2:] = torch.nan
    values.requires_grad_()
    context = attention(scores, values, lengths)
    assert (context[1, 2:] == 0).all()
    torch.testing.assert_close(context[1:, :2], attention(scores[1:, :2, :3], values[1:, :2]))
    by_scores, by_values = torch.autograd.grad(context.square().sum(), (scores, values))
    assert by_scores.isfinite().all()
    assert (by_scores[unread] == 0).all()
    assert by_values.isfinite().all()
    assert (by_values[1, 2:] == 0).all()
    items = sp.nn.StructuredAttention(sp.Simplex(), estimator=estimator)
    bare = draw(2, 4, seed=3)
    bare[1, 2:] = torch.nan
    both = items(bare, values, lengths)
    torch.testing.assert_close(both[1:], items(bare[1:, :2], values[1:, :2]))


@pytest.mark.parametrize("batch", [(), (2, 3), (3, 0)])
def test_any_batch_dimensions(estimator: sp.Estimator, batch: tuple[int, ...]) -> None:
    count = torch.Size(batch).numel()
    chain, segments = sp.LinearChain(), sp.SemiMarkov(2)
    modules: list[tuple[sp.nn.StructuredAttention, tuple[int, ...], tuple[int, ...]]] = [
        (sp.nn.StructuredAttention(sp.Simplex(), estimator=estimator), (4,), (4, 2)),
        (sp.nn.StructuredAttention(sp.Alignment(), estimator=estimator), (3, 4), (4, 2)),
        (sp.nn.StructuredAttention(chain, estimator=estimator, state=1), (3, 2, 3), (3, 2)),
        (sp.nn.StructuredAttention(segments, estimator=estimator, state=0), (3, 2, 4), (3, 2)),
        (sp.nn.TreeAttention(2, children=True, estimator=estimator).double(), (3, 4), (3, 2)),
    ]
    for module, parts, value in modules:
        scores, values = draw(count, *parts), draw(count, *value, seed=1)
        wanted = module(scores, values)
        deep = scores.reshape((*batch, *parts)), values.reshape((*batch, *value))
        context = module(*deep)
        assert context.shape == (*batch, *wanted.shape[1:])
        torch.testing.assert_close(context, wanted.reshape(context.shape), rtol=0, atol=1e-12)
        weights = module.weights(deep[0])
        assert torch.equal(weights, module.weights(scores).reshape(weights.shape))
    if len(batch) > 1:
        with pytest.raises(ValueError, match=r"values: expected"):
            modules[0][0](draw(count, 4).reshape(*batch, 4), draw(count, 4, 2))


def test_gradients(estimator: sp.Estimator) -> None:
    attention = sp.nn.TreeAttention(2, children=True, estimator=estimator).double()
    scores, values = draw(2, 3, 4).requires_grad_(), draw(2, 3, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(attention, (scores, values))
    chain = sp.nn.StructuredAttention(sp.LinearChain(), estimator=estimator, state=1)
    assert torch.autograd.gradcheck(chain, (draw(2, 3, 2, 3).requires_grad_(), values))


def test_it_compiles_into_one_graph(estimator: sp.Estimator) -> None:
    attention = sp.nn.TreeAttention(2, estimator=estimator).double()
    inputs = draw(2, 3, 4), draw(2, 3, 2, seed=1), torch.tensor([3, 2])
    torch._dynamo.reset()
    compiled = torch.compile(attention, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*inputs), attention(*inputs))


def test_dtypes(estimator: sp.Estimator) -> None:
    attention = sp.nn.TreeAttention(2, estimator=estimator)
    scores, values = draw(2, 3, 4).float(), draw(2, 3, 2).bfloat16()
    assert attention.weights(scores).dtype == torch.float32
    assert attention(scores, values).dtype == torch.bfloat16


def test_what_is_refused() -> None:
    choice = sp.Simplex()
    cases: list[tuple[dict[str, Any], str]] = [
        ({"structure": sp.BinaryTrees()}, "select single values"),
        ({"structure": sp.LinearChain()}, "expected the state"),
        ({"structure": choice, "state": 1}, "it has no states"),
    ]
    for options, message in cases:
        with pytest.raises(ValueError, match=message):
            sp.nn.StructuredAttention(**options)
    with pytest.raises(ValueError, match="state: expected 0 to 1"):
        sp.nn.StructuredAttention(sp.LinearChain(), state=2).weights(draw(1, 3, 2, 3))
    with pytest.raises(ValueError, match=r"values: expected \(2, 3, d\)"):
        attend(torch.ones(2, 3), torch.ones(2, 4, 5), torch.Size([2]))
    for values in (torch.ones(2, 3, 3, dtype=torch.int64), None):
        with pytest.raises(ValueError, match="values: expected a tensor of a floating dtype"):
            sp.nn.StructuredAttention(choice)(draw(2, 3), values)
        with pytest.raises(ValueError, match="values: expected a tensor of a floating dtype"):
            sp.nn.TreeAttention(3)(draw(2, 3, 4), values)
    with pytest.raises(ValueError, match=r"values: expected \(\*batch, n, 3\)"):
        sp.nn.TreeAttention(3)(draw(2, 3, 4), draw(2, 3, 2))
    with pytest.raises(ValueError, match="expected dependency trees"):
        sp.nn.TreeAttention(3, choice)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_no_instances(shape: tuple[int, ...]) -> None:
    context = attend(torch.ones(0, *shape), torch.ones(0, 3, 5), torch.Size([0]))
    assert context.shape == (0, *shape[:-1], 5)


def test_a_module_can_be_saved(tmp_path: Path) -> None:
    attention = sp.nn.TreeAttention(3, estimator=sp.SparseMAP())
    torch.save(attention, tmp_path / "attention.pt")
    loaded = torch.load(tmp_path / "attention.pt", weights_only=False)
    scores, values = draw(2, 3, 4), draw(2, 3, 3)
    assert torch.equal(loaded(scores, values), attention(scores, values))


def test_repr_says_the_options() -> None:
    chain, estimator = sp.LinearChain(), sp.Gibbs(temperature=0.5)
    attention = sp.nn.StructuredAttention(chain, estimator=estimator, state=1)
    assert repr(attention) == f"StructuredAttention({chain}, Gibbs(temperature=0.5), state=1)"


def test_a_batch_of_choices_is_ordinary_attention() -> None:
    queries, keys, values = (draw(2, 4, n, 8, seed=n) for n in (3, 5, 6))
    values = values[..., :5, :]
    context = sp.nn.StructuredAttention(sp.Simplex())(queries @ keys.mT / 8**0.5, values)
    expected = torch.nn.functional.scaled_dot_product_attention(queries, keys, values)
    torch.testing.assert_close(context, expected)
    lengths = torch.tensor([5, 2])  # (B,) of keys, for all heads and queries
    context = sp.nn.StructuredAttention(sp.Simplex())(queries @ keys.mT / 8**0.5, values, lengths)
    seen = (torch.arange(5) < lengths[:, None])[:, None, None]
    masked = torch.nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=seen)
    torch.testing.assert_close(context, masked)


def test_the_shapes_that_values_may_have_are_named() -> None:
    with pytest.raises(
        ValueError,
        match=r"values: expected \(2, 4, 3, 5, d\) or \(2, 4, 5, d\) or \(2, 5, d\) or \(5, d\) "
        r"for attention of shape \(2, 4, 3, 5\), got \(2, 3, 5, 8\)",
    ):
        sp.nn.StructuredAttention(sp.Simplex())(draw(2, 4, 3, 5), draw(2, 3, 5, 8))
