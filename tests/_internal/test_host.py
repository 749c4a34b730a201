"""Remembered host copies of tensors, and transfers of several tensors."""

import copy
import gc
import weakref

import pytest
import torch

from sparsewood._internal.host import host_copy, move, pack, recalled, remember, unpack


def test_a_tensor_on_the_cpu_is_its_own_copy() -> None:
    tensor = torch.arange(3)
    assert host_copy(tensor) is tensor


def test_what_is_remembered_holds_until_one_of_the_two_is_written_to() -> None:
    tensor, host = torch.arange(3), torch.arange(3)
    assert recalled(tensor) is None
    assert remember(tensor, host) is tensor
    assert recalled(tensor) is host
    tensor[0] = 7
    assert recalled(tensor) is None
    remember(tensor, tensor.clone())
    assert recalled(tensor) is not None
    remember(tensor, host)
    host.add_(1)
    assert recalled(tensor) is None


def test_a_write_to_the_buffer_that_a_view_is_of_is_noticed() -> None:
    buffer = torch.arange(6)
    view = remember(buffer[:3], torch.arange(3))
    buffer[5] = 0
    assert recalled(view) is None


def test_it_is_forgotten_with_the_tensor_and_not_copied_with_it() -> None:
    tensor, host = torch.arange(3), torch.arange(3)
    remember(tensor, host)
    assert recalled(copy.deepcopy(tensor)) is None
    kept = weakref.ref(host)
    del tensor, host
    gc.collect()
    assert kept() is None


def test_tensors_without_versions_are_not_remembered() -> None:
    with torch.inference_mode():
        tensor = torch.arange(3)
    other = torch.arange(3)
    assert recalled(remember(tensor, other)) is None
    assert recalled(remember(other, tensor)) is None


def test_packing_keeps_dtypes_shapes_and_values() -> None:
    tensors = [
        torch.randint(9, (3, 5)),
        torch.tensor([True, False, True]),
        torch.randn(2, 2, dtype=torch.float64).T,
        torch.empty(0, 4, dtype=torch.int32),
        torch.tensor(2.5),
    ]
    for found, given in zip(unpack(pack(tensors), tensors), tensors, strict=True):
        assert torch.equal(found, given)
        assert found.dtype == given.dtype


def test_on_the_cpu_nothing_is_moved() -> None:
    tensors = [torch.arange(3), torch.zeros(2)]
    assert all(a is b for a, b in zip(move(tensors, "cpu"), tensors, strict=True))


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_what_was_moved_to_a_gpu_is_known_without_a_copy() -> None:
    tensors = [torch.randint(9, (3, 5)), torch.tensor([True, False]), torch.empty(0)]
    moved = move(tensors, "cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        assert all(host_copy(m) is t for m, t in zip(moved, tensors, strict=True))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    for found, given in zip(moved, tensors, strict=True):
        assert torch.equal(found.cpu(), given)
    other = torch.arange(3, device="cuda")
    assert host_copy(other) is host_copy(other)
    other += 1
    assert host_copy(other).tolist() == [1, 2, 3]
