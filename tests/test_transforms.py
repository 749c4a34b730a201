"""Whether torch compiles or transforms what is called."""

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad

from sparsewood._transforms import check_not_mapped, is_transformed


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # torch's own jvp
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
    with pytest.raises(ValueError, match="look cannot be mapped over by torch.vmap"):
        torch.func.vmap(look)(torch.ones(3, 2))
