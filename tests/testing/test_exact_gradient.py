"""The exact gradient, against recursions, solver and finite differences."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import sparsewood as sp
from sparsewood.testing import draw_scores, exact_gradient
from sparsewood.testing.exact_gradient import Distribution

Loss = Callable[[Tensor], Tensor]
CASES = [
    (sp.DependencyTrees(), (3, 4), None),
    (sp.LinearChain(), (3, 2, 3), (3, 2)),
    (sp.LinearChain("both"), (3, 2, 3), (3, 2)),
    (sp.Matching(), (4, 4), None),
    (sp.Alignment(), (3, 3), None),
    (sp.LabelledDependencyTrees(), (2, 3, 2), (2, 2)),
    (sp.Subset(2), (5,), None),
    (sp.Xor(), (4,), None),
]
families = pytest.mark.parametrize(("structure", "shape", "size"), CASES, ids=str)


def network(shape: tuple[int, ...]) -> Loss:
    """A loss that is not linear in the parts."""
    generator = torch.Generator().manual_seed(1)
    width = torch.Size(shape).numel()
    first = torch.randn(width, 8, dtype=torch.float64, generator=generator)
    last = torch.randn(8, dtype=torch.float64, generator=generator)
    return lambda parts: (parts.flatten(1).double() @ first).tanh() @ last


def differences(value: Callable[[Tensor], Tensor], scores: Tensor, step: float = 1e-5) -> Tensor:
    """The gradient of the sum of `value` by central differences."""
    slopes = []
    for unit in torch.eye(scores.numel(), dtype=scores.dtype):
        move = step * unit.reshape(scores.shape)
        slopes.append((value(scores + move) - value(scores - move)).sum() / (2 * step))
    return torch.stack(slopes).reshape(scores.shape)


@families
def test_gibbs_by_differences(structure: sp.Structure, shape: tuple[int, ...], size: tuple) -> None:
    scores = draw_scores("normal", 2, shape, seed=0)
    loss = network(shape)
    for temperature in (1.0, 0.5):
        found = exact_gradient(scores, structure, loss, size=size, temperature=temperature)
        expected = differences(
            lambda x, temperature=temperature: (
                exact_gradient(x, structure, loss, size=size, temperature=temperature).value
            ),
            scores,
        )
        assert_close(found.gradient, expected, rtol=1e-6, atol=1e-8)


@families
def test_a_linear_loss_is_one_of_the_marginals(
    structure: sp.Structure, shape: tuple[int, ...], size: tuple
) -> None:
    if isinstance(structure, sp.Matching | sp.Xor):
        pytest.skip("no sum over all structures is known")
    scores = draw_scores("normal", 3, shape, seed=1).requires_grad_()
    weight = draw_scores("normal", 1, shape, seed=2)
    found = exact_gradient(scores, structure, lambda m: (m * weight).flatten(1).sum(-1), size=size)
    value = (weight * sp.marginals(scores, structure).marginals).flatten(1).sum(-1)
    assert_close(found.value, value.detach())
    assert_close(found.gradient, torch.autograd.grad(value.sum(), scores)[0])


@families
@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_sparsemap_as_the_library_has_it(
    structure: sp.Structure, shape: tuple[int, ...], size: tuple, temperature: float
) -> None:
    scores = draw_scores("normal", 4, shape, seed=3).requires_grad_()
    loss = network(shape)
    post = sp.sparsemap(scores, structure, temperature=temperature)
    value = post.expect(loss(post.parts.detach()))
    found = exact_gradient(
        scores, structure, loss, "sparsemap", size=size, temperature=temperature, support=post
    )
    assert_close(found.value, value.detach(), rtol=1e-9, atol=1e-9)
    expected = torch.autograd.grad(value.sum(), scores)[0]
    assert_close(found.gradient, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("structure", "shape"),
    [(sp.Matching(), (3, 3)), (sp.Simplex(), (4,)), (sp.Alignment(), (2, 3))],
)
def test_sparsemap_alone_and_by_differences(
    structure: sp.Structure, shape: tuple[int, ...]
) -> None:
    scores = draw_scores("normal", 5, shape, seed=4)
    loss = network(shape)

    def value(x: Tensor) -> Tensor:
        return exact_gradient(x, structure, loss, "sparsemap").value

    found = exact_gradient(scores, structure, loss, "sparsemap")
    assert_close(found.gradient, differences(value, scores), rtol=1e-6, atol=1e-8)
    post = sp.sparsemap(scores, structure)
    assert_close(found.value, post.expect(loss(post.parts)))
    assert (post.sizes > 1).any()


@pytest.mark.parametrize("distribution", ["gibbs", "sparsemap"])
def test_forbidden_parts_are_out_of_it(distribution: Distribution) -> None:
    scores = draw_scores("normal", 1, (3, 3), seed=5)
    scores[0, 0, 1] = -torch.inf
    low = scores.nan_to_num(neginf=-100.0)
    loss = network((3, 3))
    found = exact_gradient(scores, sp.Matching(), loss, distribution)
    near = exact_gradient(low, sp.Matching(), loss, distribution)
    assert_close(found.value, near.value)
    assert_close(found.gradient, near.gradient)
    assert found.gradient[0, 0, 1] == 0


def test_batch_dimensions_dtype_and_padding() -> None:
    scores = draw_scores("normal", 6, (3, 4), seed=6).float()
    scores[:, 0, 1] = torch.nan  # no word is its own head
    trees, loss = sp.DependencyTrees(), network((3, 4))
    flat = exact_gradient(scores, trees, loss)
    assert flat.value.dtype == flat.gradient.dtype == torch.float32
    assert flat.gradient.isfinite().all()
    deep = exact_gradient(scores.reshape(2, 3, 3, 4), trees, loss)
    assert torch.equal(deep.gradient, flat.gradient.reshape(2, 3, 3, 4))
    assert torch.equal(deep.value, flat.value.reshape(2, 3))
    alone = exact_gradient(scores[0], trees, loss)
    assert alone.value.shape == ()
    none = exact_gradient(scores[:0], trees, loss)
    assert none.value.shape == (0,)
    assert none.gradient.shape == (0, 3, 4)


def test_what_cannot_be_asked() -> None:
    trees, chain, loss = sp.DependencyTrees(), sp.LinearChain(), network((2, 3))
    scores = torch.zeros(2, 2, 3, dtype=torch.float64)
    with pytest.raises(ValueError, match='"gibbs" or "sparsemap", got "?\'top'):
        exact_gradient(scores, trees, loss, "top")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="temperature must be positive"):
        exact_gradient(scores, trees, loss, temperature=0.0)
    with pytest.raises(ValueError, match=r"loss: expected shape \(3,\).* got \(3, 2, 3\)"):
        exact_gradient(scores, trees, lambda parts: parts)
    with pytest.raises(ValueError, match="size: LinearChain.* does not accept .*'states'"):
        exact_gradient(torch.zeros(1, 2, 2, 3), chain, loss)
    with pytest.raises(ValueError, match=r"size: expected parts \(2, 3\), \(3,\) gives \(3, 4\)"):
        exact_gradient(scores, trees, loss, size=(3,))
    with pytest.raises(ValueError, match="instance 1 has no structure left"):
        exact_gradient(torch.stack([scores[0], scores[1] - torch.inf]), trees, loss)
    with pytest.raises(ValueError, match="parts carry no penalty"):
        exact_gradient(torch.zeros(1, 2, 2, 3), chain, loss, "sparsemap", size=(2, 2))
    equal = torch.zeros(1, 4, 4, dtype=torch.float64)
    with pytest.raises(ValueError, match="instance 0: the probabilities of SparseMAP are not uni"):
        exact_gradient(equal, sp.Matching(), loss, "sparsemap")


def test_a_support_has_to_be_optimal() -> None:
    scores = draw_scores("normal", 2, (4, 4), seed=7)
    matching, loss = sp.Matching(), network((4, 4))
    for support, message in (
        (sp.sparsemap(scores[:1], matching), r"batch shape \(2,\), got \(1,\)"),
        (sp.sparsemap(-scores, matching), "structures of instance 0 are not optimal"),
        (sp.TopK(24)(scores, matching), "structures of instance 0 are affinely dependent"),
    ):
        with pytest.raises(ValueError, match=message):
            exact_gradient(scores, matching, loss, "sparsemap", support=support)
