"""The same calls for one process and for the processes started by `torchrun`."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from inspect import signature
from typing import Any, TypeVar

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

Result = TypeVar("Result")

# The other processes wait while the first one evaluates.
_TIMEOUT = timedelta(hours=12)


@dataclass(frozen=True)
class World:
    """The processes that train together.

    Attributes:
        rank: rank of this process; the first one evaluates and writes.
        size: number of processes.
        device: device of this process.
    """

    rank: int
    size: int
    device: torch.device

    @property
    def first(self) -> bool:
        return self.rank == 0

    def any(self, *flags: bool) -> list[bool]:
        """For each flag, whether any process has raised it."""
        if self.size == 1:
            return list(flags)
        raised = torch.tensor([int(flag) for flag in flags], device=self.device)
        distributed.all_reduce(raised, distributed.ReduceOp.MAX)
        return [bool(flag) for flag in raised.tolist()]

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, in order of rank."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        distributed.all_gather_object(values, value)
        return values

    def on_first(self, call: Callable[[], Result]) -> Result:
        """The result or error of `call`, which only the first process calls."""
        if self.size == 1:
            return call()
        outcome: list[Any] = [None, None]
        if self.first:
            try:
                outcome[0] = call()
            except Exception as error:
                outcome[1] = error
        distributed.broadcast_object_list(outcome, src=0)
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]


@contextmanager
def world(device: str) -> Iterator[World]:
    """The processes of this run, connected within the context."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    chosen = choose_device(device, int(os.environ.get("LOCAL_RANK", "0")))
    if size == 1:
        yield World(0, 1, chosen)
        return
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    backend = "nccl" if chosen.type == "cuda" else "gloo"
    # Building DistributedDataParallel imports this module, whose functions keep the group that
    # exists by then as a default argument: it would outlive `destroy_process_group`, and its
    # threads the interpreter.
    import_module("torch.distributed.nn.functional")
    distributed.init_process_group(backend, timeout=_TIMEOUT)
    try:
        yield World(distributed.get_rank(), size, chosen)
    finally:
        distributed.destroy_process_group()


def choose_device(name: str, local_rank: int = 0) -> torch.device:
    """The device for "auto", "cpu" or "cuda" in a configuration."""
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise ValueError("device: expected a GPU for 'cuda', found none; use 'cpu' or 'auto'")
    if name == "cpu" or not available:
        return torch.device("cpu")
    return torch.device("cuda", local_rank % torch.cuda.device_count())


def parallel(model: nn.Module) -> DistributedDataParallel:
    """`model` with its gradients averaged over the processes; its buffers never change."""
    known = signature(DistributedDataParallel).parameters
    # PyTorch 2.13 deprecated the older name.
    name = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
    options: dict[str, Any] = {name: False}
    return DistributedDataParallel(model, **options)
