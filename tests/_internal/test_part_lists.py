"""Lists of parts as tables."""

import sys

import pytest
import torch

from sparsewood._internal.part_lists import PartLists

LISTS = PartLists(torch.tensor([[0, 5], [3, -1], [-1, -1]]), (2, 3))


def test_tables() -> None:
    tables = LISTS.tables()
    assert tables.dtype == torch.int64
    assert tables.tolist() == [[[1, 0, 0], [0, 0, 1]], [[0, 0, 0], [1, 0, 0]], [[0] * 3] * 2]
    assert torch.equal(LISTS.tables(torch.float16), tables.half())


def test_some_of_them() -> None:
    index = torch.tensor([[2, 0], [1, 1]])
    assert torch.equal(LISTS[index].tables(), LISTS.tables()[index])
    assert torch.equal(LISTS[1:].tables(), LISTS.tables()[1:])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not say")
def test_tables_that_do_not_fit() -> None:
    wide = PartLists(torch.zeros(3, 1, dtype=torch.int64), (2**20, 2**30))
    message = (
        r"^structures of shape \(3, 1048576, 1073741824\) take 25,769,803,776 MiB as torch.int64"
    )
    with pytest.raises(MemoryError, match=message):
        wide.tables()


def test_an_allocation_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("can't allocate memory")

    monkeypatch.setattr(torch, "zeros", refuse)
    with pytest.raises(MemoryError, match=r"shape \(3, 2, 3\) take 0 MiB") as caught:
        LISTS.tables()
    assert isinstance(caught.value.__cause__, RuntimeError)
