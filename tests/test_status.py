"""Status codes as numbers and names."""

import pytest
import torch

from sparsewood import Status
from sparsewood.status import tally


def test_names_and_numbers() -> None:
    assert [int(code) for code in Status] == [0, 1, 2, 3]
    assert [str(code) for code in Status] == ["solved", "capped", "stalled", "limited"]
    assert Status("capped") is Status(1) is Status.CAPPED
    for wrong in ("over", 4, None):
        with pytest.raises(ValueError, match="is not a valid Status"):
            Status(wrong)


def test_tally() -> None:
    assert tally(torch.tensor([[0, 1], [0, 0]])) == "3 solved, 1 capped"
    assert tally(torch.tensor([2])) == "1 stalled"
