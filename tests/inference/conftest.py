"""The losses that share tests."""

from collections.abc import Callable

import pytest
from torch import Tensor

import sparsewood as sp

_LOSSES = [sp.crf_loss, sp.perceptron_loss, sp.hinge_loss, sp.sparsemap_loss]


@pytest.fixture(params=_LOSSES, ids=lambda loss: loss.__name__)
def loss(request: pytest.FixtureRequest) -> Callable[..., Tensor]:
    """One of the four losses."""
    return request.param
