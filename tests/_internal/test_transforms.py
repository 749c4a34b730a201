"""Whether torch compiles or transforms what is called."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad

import sparsewood as sp
from sparsewood._internal.transforms import check_not_mapped, is_transformed
from sparsewood.testing import draw_scores
from tests.graphs import limited_trees


def test_transforms_are_seen() -> None:
    x = torch.ones(2)
    seen = []

    def look(x: Tensor) -> Tensor:
        seen.append(is_transformed(x))
        return x.sum()

    look(x)
    torch.func.grad(look)(x)
    torch.func.jvp(look, (x,), (x,))
    with forward_ad.dual_level():
        look(x)
        look(forward_ad.make_dual(x, x))
    assert seen == [False, True, True, False, True]


def test_maps_are_refused() -> None:
    def look(x: Tensor) -> Tensor:
        check_not_mapped("look", x)
        return x

    look(torch.ones(3))
    for mapped in (look, torch.func.grad(lambda x: look(x).sum())):
        with pytest.raises(ValueError, match="look cannot be mapped over by torch.vmap"):
            torch.func.vmap(mapped)(torch.ones(3, 2))


TREES = sp.DependencyTrees()
GOLD = torch.tensor([[0, 1, 1], [2, 0, 2]])
CALLS: dict[str, Callable[[Tensor], object]] = {
    "map": lambda x: sp.map(x, TREES).scores,
    "kbest": lambda x: sp.kbest(x, TREES, 2).scores,
    "max_marginals": lambda x: sp.max_marginals(x, TREES),
    "marginals": lambda x: sp.marginals(x, TREES).marginals,
    "sparsemap": lambda x: sp.sparsemap(x, TREES).marginals,
    "temperature_path": lambda x: sp.temperature_path(x, TREES),
    "sample_matchings": lambda x: sp.sample_matchings(x, sp.Matching()),
    "sparsemap_loss": lambda x: sp.sparsemap_loss(x, GOLD, TREES),
    "crf_loss": lambda x: sp.crf_loss(x, GOLD, TREES),
    "hinge_loss": lambda x: sp.hinge_loss(x, GOLD, TREES),
    "perceptron_loss": lambda x: sp.perceptron_loss(x, GOLD, TREES),
    "lp_sparsemap": lambda x: sp.lp_sparsemap(x, limited_trees(3, 2)).marginals,
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_refuses_to_be_mapped(name: str) -> None:
    message = "scores cannot be mapped over by torch.vmap: scores may have any number of leading"
    with pytest.raises(ValueError, match=message):
        torch.func.vmap(CALLS[name])(torch.zeros(4, 2, 3, 4))
    lengths = torch.tensor([[3, 2], [1, 3]])
    with pytest.raises(ValueError, match="lengths cannot be mapped over by torch.vmap"):
        torch.func.vmap(lambda n: sp.map(torch.zeros(2, 3, 4), TREES, lengths=n).scores)(lengths)


@pytest.mark.parametrize(
    ("structure", "shape"),
    [
        (sp.DependencyTrees(), (3, 4)),
        (sp.DependencyTrees(projective=True), (3, 4)),
        (sp.LinearChain(), (3, 2, 3)),
        (sp.SpanningTrees(), (4, 4)),
    ],
    ids=str,
)
def test_sums_in_inference_mode(structure: sp.Structure, shape: tuple[int, ...]) -> None:
    def ask(scores: Tensor) -> list[Tensor]:
        dist = sp.marginals(scores, structure, temperature=torch.tensor(2.0))
        samples = dist.sample(3, generator=torch.Generator().manual_seed(0))
        loss = sp.crf_loss(scores, dist.mode, structure, lengths=None)
        return [dist.log_partition, dist.marginals, dist.entropy(), samples, loss]

    scores = draw_scores("normal", 2, shape, seed=0).requires_grad_()
    expected = ask(scores)
    with torch.inference_mode():
        for given in (scores, scores * 1):  # created before, and created here
            found = ask(given)
            assert not any(answer.requires_grad for answer in found)
            for answer, same in zip(found, expected, strict=True):
                assert torch.equal(answer, same)
