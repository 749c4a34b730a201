"""Derivatives in every mode, against central differences and each other."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.exc import Unsupported
from torch.autograd import forward_ad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.testing import assert_close

import sparsewood as sp
from sparsewood.testing import draw_scores

TREES = sp.DependencyTrees()
STEP = 1e-6
SCORES = draw_scores("normal", 2, (3, 4), seed=0)
TEMPERATURE = torch.tensor([0.7, 1.3], dtype=torch.float64)
ALONG = draw_scores("normal", 2, (3, 4), seed=1), torch.tensor([0.4, -0.8], dtype=torch.float64)
GOLD = torch.tensor([[0, 1, 1], [2, 0, 2]])


class Pair(sp.Custom, arrays="numpy"):
    """The best two parts of a row, as 0/1."""

    def best(self, scores: Any) -> Any:
        return (scores.argsort()[::-1].argsort() < 2).astype(int)

    def parts(self, structure: Any) -> Any:
        return structure

    def check(self, shape: tuple[int, ...]) -> None:
        assert len(shape) == 1


def _graph() -> sp.FactorGraph:
    graph = sp.FactorGraph()
    x = graph.variables(3, 4)
    graph.add(TREES, x)
    graph.add(sp.AtMostOne(), x[:, 0])
    return graph


GRAPH = _graph()
NAN = torch.zeros(2, 3, 4).masked_fill(~TREES.reads(SCORES, torch.tensor([3, 2])), torch.nan)


def _padded(x: Tensor, temperature: Tensor) -> Tensor:
    return sp.sparsemap(
        x + NAN, TREES, lengths=torch.tensor([3, 2]), temperature=temperature
    ).marginals


Function = Callable[[Tensor, Tensor], Tensor]
FUNCTIONS: dict[str, Function] = {
    "marginals": lambda x, temperature: sp.sparsemap(x, TREES, temperature=temperature).marginals,
    "weights": lambda x, temperature: sp.sparsemap(x, TREES, temperature=temperature).weights,
    "generic": lambda x, temperature: (
        sp.sparsemap(x, TREES, temperature=temperature, solver="generic").marginals
    ),
    "custom": lambda x, temperature: (
        sp.sparsemap(x.flatten(1), Pair(), temperature=temperature).marginals
    ),
    "padded": _padded,
    "entropy": lambda x, temperature: sp.sparsemap(x, TREES, temperature=temperature).entropy(),
    "graph": lambda x, temperature: sp.lp_sparsemap(x, GRAPH, temperature=temperature).marginals,
    "loss": lambda x, temperature: sp.sparsemap_loss(x / temperature[:, None, None], GOLD, TREES),
    "hinge": lambda x, temperature: sp.hinge_loss(x / temperature[:, None, None], GOLD, TREES),
}
every = pytest.mark.parametrize("name", FUNCTIONS)


@every
def test_forward_mode_is_a_central_difference(name: str) -> None:
    function = FUNCTIONS[name]
    value, slope = jvp(function, (SCORES, TEMPERATURE), ALONG)[:2]
    assert torch.equal(value, function(SCORES, TEMPERATURE))
    ahead, behind = (
        function(SCORES + s * ALONG[0], TEMPERATURE + s * ALONG[1]) for s in (STEP, -STEP)
    )
    assert slope.abs().max() > 1e-3
    assert_close(slope, (ahead - behind) / (2 * STEP), rtol=0, atol=1e-7)
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(*pair) for pair in zip((SCORES, TEMPERATURE), ALONG, strict=True)
        ]
        found = forward_ad.unpack_dual(function(*duals))
        assert_close(found.tangent, slope, rtol=0, atol=0)


@every
def test_jacobians_agree(name: str) -> None:
    function = FUNCTIONS[name]
    plain = torch.autograd.functional.jacobian(function, (SCORES, TEMPERATURE))
    for transform in (jacrev, jacfwd):
        found = transform(function, argnums=(0, 1))(SCORES, TEMPERATURE)
        for ours, expected in zip(found, plain, strict=True):
            assert_close(ours, expected, rtol=0, atol=1e-12)


@every
def test_second_derivatives_agree(name: str) -> None:
    def cubes(x: Tensor, temperature: Tensor) -> Tensor:
        return FUNCTIONS[name](x, temperature).pow(3).sum()

    plain = torch.autograd.functional.hessian(cubes, (SCORES, TEMPERATURE))
    ways = (
        hessian(cubes, argnums=(0, 1)),
        *(
            outer(inner(cubes, argnums=(0, 1)), argnums=(0, 1))
            for outer in (jacrev, jacfwd)
            for inner in (jacrev, jacfwd)
        ),
    )
    for way in ways:
        for rows, expected in zip(way(SCORES, TEMPERATURE), plain, strict=True):
            for block, right in zip(rows, expected, strict=True):
                assert_close(block, right, rtol=0, atol=1e-10)


def test_the_temperature_counts_where_scores_have_no_gradient() -> None:
    """The second derivative of a single marginal with respect to the temperature."""
    temperature = TEMPERATURE.clone().requires_grad_()

    def loss(temperature: Tensor) -> Tensor:
        return sp.sparsemap(SCORES, TREES, temperature=temperature).marginals[:, 0, 0]

    assert torch.autograd.gradcheck(loss, temperature, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(loss, temperature, check_fwd_over_rev=True)


def test_what_has_no_derivative_can_stand_in_a_transform() -> None:
    def total(x: Tensor) -> Tensor:
        return x.sum() * (sp.map(x, TREES).scores.sum() + sp.kbest(x, TREES, 2).scores.sum())

    factor = total(SCORES) / SCORES.sum()
    assert_close(grad(total)(SCORES), factor.expand(SCORES.shape))


@pytest.mark.parametrize("solver", ["native", "generic"])
def test_vmap_is_refused(solver) -> None:
    with pytest.raises(ValueError, match="scores cannot be mapped over by torch.vmap"):
        vmap(lambda x: sp.sparsemap(x, TREES, solver=solver).marginals)(SCORES[None])
    with pytest.raises(ValueError, match="a MAP oracle cannot be mapped over by torch.vmap"):
        vmap(TREES.argmax)(SCORES[None])


def test_forward_mode_is_refused_in_a_graph() -> None:
    torch._dynamo.reset()

    def slope(x: Tensor, along: Tensor) -> Tensor:
        return jvp(lambda x: sp.sparsemap(x, TREES).marginals, (x,), (along,))[1]

    with pytest.raises(Unsupported, match="no forward-mode derivative"):
        torch.compile(slope, fullgraph=True, backend="eager")(SCORES, ALONG[0])


def test_many_directions_are_taken_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = jacrev(FUNCTIONS["marginals"])(SCORES, TEMPERATURE)
    monkeypatch.setattr("sparsewood.inference._derivatives._AT_ONCE", 100)
    assert torch.equal(jacrev(FUNCTIONS["marginals"])(SCORES, TEMPERATURE), whole)
