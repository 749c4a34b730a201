"""Arc scorers against their formulas, one pair at a time."""

import pytest
import torch
from torch import Tensor, nn

import sparsewood as sp
from sparsewood.nn import _pairs

SCORERS = {
    "mlp": lambda: sp.nn.MLPArcScorer(6, 4),
    "bilinear": lambda: sp.nn.BilinearArcScorer(6),
    "biaffine": lambda: sp.nn.BiaffineArcScorer(6, 4),
}


def make(name: str) -> nn.Module:
    torch.manual_seed(0)
    return SCORERS[name]().double()


def words(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def pair_score(scorer: nn.Module, head: Tensor, dependent: Tensor) -> Tensor:
    """The formula in each docstring, for one arc."""
    match scorer:
        case sp.nn.MLPArcScorer():
            hidden = scorer.head.weight @ head + scorer.dependent.weight @ dependent
            return scorer.score.weight[0] @ torch.tanh(hidden + scorer.dependent.bias)
        case sp.nn.BilinearArcScorer():
            return (scorer.arc.weight @ dependent + scorer.arc.bias) @ head
        case sp.nn.BiaffineArcScorer():
            r_d, r_h = scorer.dependent(dependent), scorer.head(head)
            return (scorer.arc.weight @ r_d + scorer.arc.bias) @ r_h
    raise AssertionError


@pytest.mark.parametrize("name", SCORERS)
def test_every_arc_has_the_score_of_the_formula(name: str) -> None:
    scorer, x = make(name), words(2, 3, 6)
    scores = scorer(x)
    assert scores.shape == (2, 3, 4)
    for b in range(2):
        heads = [scorer.root, *x[b]]
        expected = [[pair_score(scorer, h, d) for h in heads] for d in x[b]]
        torch.testing.assert_close(scores[b], torch.stack([torch.stack(row) for row in expected]))


@pytest.mark.parametrize("name", SCORERS)
def test_gradients_of_words_and_parameters(name: str) -> None:
    scorer, x = make(name), words(2, 3, 6).requires_grad_()
    names, values = zip(*scorer.named_parameters(), strict=True)

    def call(x: Tensor, *parameters: Tensor) -> Tensor:
        return torch.func.functional_call(
            scorer, dict(zip(names, parameters, strict=True)), (x,), strict=True
        )

    assert "root" in names
    assert torch.autograd.gradcheck(call, (x, *values))


@pytest.mark.parametrize("limit", [1, 50, 100])
def test_chunks_change_nothing(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, x = make("mlp"), words(2, 5, 6)
    leaves = [x.requires_grad_(), *scorer.parameters()]
    vector = words(2, 5, 6)
    whole = scorer(x)
    expected = torch.autograd.grad(whole, leaves, vector)
    monkeypatch.setattr(_pairs, "_CHUNK", limit)
    chunked = scorer(x)
    torch.testing.assert_close(chunked, whole)
    torch.testing.assert_close(torch.autograd.grad(chunked, leaves, vector), expected)


def test_a_large_hidden_layer_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors saved by autograd have the size of the input, not of all pairs."""
    scorer, x = make("mlp"), words(1, 40, 6)
    pairs = 40 * 41 * 4

    def largest_held() -> int:
        held: list[int] = []
        pack = lambda tensor: held.append(tensor.numel()) or tensor  # noqa: E731
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            scorer(x)
        return max(held)

    assert largest_held() == pairs
    monkeypatch.setattr(_pairs, "_CHUNK", pairs - 1)
    assert largest_held() <= 41 * 6


def test_the_backward_pass_can_be_repeated() -> None:
    scorer, x = make("mlp"), words(2, 3, 6).requires_grad_()
    scores = scorer(x).sum()
    first, second = (torch.autograd.grad(scores, x, retain_graph=True) for _ in range(2))
    assert torch.equal(first[0], second[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_second_derivative_is_refused(dtype: torch.dtype) -> None:
    x = words(2, 3, 6).to(dtype).requires_grad_()
    with pytest.raises(RuntimeError, match="differentiable once"):
        torch.autograd.grad(make("mlp").to(dtype)(x).sum(), x, create_graph=True)


@pytest.mark.parametrize("size", [3, 16, 37])
def test_float32_is_close_to_float64(size: int) -> None:
    """The CPU kernel skips pairs without a gradient."""
    torch.manual_seed(0)
    scorer, x = sp.nn.MLPArcScorer(6, size), 3 * words(4, 9, 6).float()
    vector = torch.randn(4, 9, 10).relu()
    found = []
    for dtype in (torch.float32, torch.float64):
        scorer, x = scorer.to(dtype), x.detach().to(dtype).requires_grad_()
        scores = scorer(x)
        leaves = [x, *scorer.parameters()]
        gradients = torch.autograd.grad(scores, leaves, vector.to(dtype))
        found.append([one.double() for one in (scores, *gradients)])
    for single, double in zip(*found, strict=True):
        torch.testing.assert_close(single, double, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", SCORERS)
def test_autocast_and_an_empty_batch(name: str) -> None:
    scorer = make(name).float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = scorer(words(2, 3, 6).float())
    assert scores.dtype == torch.bfloat16
    scores.sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in scorer.parameters())
    assert scorer(torch.zeros(0, 3, 6)).shape == (0, 3, 4)


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("batch", [(), (2, 3), (2, 0)])
def test_any_batch_dimensions(name: str, batch: tuple[int, ...]) -> None:
    scorer, x = make(name), words(*batch, 4, 6).requires_grad_()
    flat = x.detach().reshape(-1, 4, 6).requires_grad_()
    scores, expected = scorer(x), scorer(flat)
    assert scores.shape == (*batch, 4, 5)
    torch.testing.assert_close(scores, expected.reshape(scores.shape), rtol=0, atol=1e-12)
    weights = torch.linspace(-1, 1, scores.numel(), dtype=x.dtype).reshape(scores.shape)
    (gradient,) = torch.autograd.grad((weights * scores).sum(), x)
    (wanted,) = torch.autograd.grad((weights.reshape(expected.shape) * expected).sum(), flat)
    torch.testing.assert_close(gradient, wanted.reshape(x.shape), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("shape", [(6,), (2, 3, 5), (2, 0, 6)])
def test_a_wrong_shape_is_named(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\(\*batch, n, 6\)") as error:
        make(name)(torch.zeros(shape))
    assert str(shape) in str(error.value)
