"""Small instances of several families, with all their structures: what losses are tested on."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import draw_scores

# structure, shape of the parts of an instance, what `enumerate` is given for it
_FAMILIES = {
    "trees": (sp.DependencyTrees(), (3, 4), (3,)),
    "projective": (sp.DependencyTrees(projective=True, single_root=True), (4, 5), (4,)),
    "chain": (sp.LinearChain(), (3, 2, 3), (3, 2)),
    "chain-both": (sp.LinearChain(penalty="both"), (2, 3, 4), (2, 3)),
    "choice": (sp.Simplex(), (4,), (4,)),
    "subset": (sp.Subset(2), (4,), (4,)),
    "labelled": (sp.LabelledDependencyTrees(), (2, 3, 2), (2, 2)),
    "segments": (sp.SemiMarkov(2), (3, 2, 4), (3, 2)),
    "spans": (sp.BinaryTrees(), (4, 4), (4,)),
    "alignment": (sp.Alignment(), (3, 3), (3, 3)),
    "matching": (sp.Matching(), (3, 3), (3, 3)),
}
_NO_SUM = {"matching"}  # the sum over all structures is not known


def _family(name: str) -> SimpleNamespace:
    structure, shape, size = _FAMILIES[name]
    everything = structure.enumerate(*size)
    columns = structure.indicator(everything, shape)

    def draw(batch: int, seed: int, kind: str = "normal") -> Tensor:
        scores = draw_scores(kind, batch, shape, seed)
        reads = structure.reads(scores)
        return scores.masked_fill(~reads, torch.nan)

    def gold(batch: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return everything[torch.randint(len(everything), (batch,), generator=generator)]

    def totals(theta: Tensor) -> Tensor:
        """The score of every structure: (B, *parts) -> (B, count)."""
        used = torch.where(columns.bool(), theta[:, None], 0)
        return used.flatten(2).sum(-1)

    def indicator(structures: Tensor) -> Tensor:
        return structure.indicator(structures, shape)

    return SimpleNamespace(
        name=name,
        structure=structure,
        shape=shape,
        columns=columns,
        draw=draw,
        gold=gold,
        totals=totals,
        indicator=indicator,
    )


@pytest.fixture(params=_FAMILIES)
def family(request: pytest.FixtureRequest) -> SimpleNamespace:
    """A family: `draw(batch, seed)` scores, `gold(batch, seed)` structures, `totals(theta)`."""
    return _family(request.param)


@pytest.fixture(params=[name for name in _FAMILIES if name not in _NO_SUM])
def summed(request: pytest.FixtureRequest) -> SimpleNamespace:
    """A family over which sums are known."""
    return _family(request.param)


_LOSSES = [sp.crf_loss, sp.perceptron_loss, sp.hinge_loss, sp.sparsemap_loss]
_CASES = [
    (name, loss)
    for name in _FAMILIES
    for loss in _LOSSES
    if not (name in _NO_SUM and loss is sp.crf_loss)
]


@pytest.fixture(params=_CASES, ids=lambda case: f"{case[0]}-{case[1].__name__}")
def case(request: pytest.FixtureRequest) -> tuple[SimpleNamespace, Callable[..., Tensor]]:
    """A family and a loss that it has."""
    name, loss = request.param
    return _family(name), loss


@pytest.fixture(params=_LOSSES, ids=lambda loss: loss.__name__)
def loss(request: pytest.FixtureRequest) -> Callable[..., Tensor]:
    """One of the four losses."""
    return request.param
