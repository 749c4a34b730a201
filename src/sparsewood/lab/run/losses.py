"""Detection of losses that are not finite, in all processes; on a GPU, some steps later."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sparsewood.lab.run.checkpoint import latest
from sparsewood.lab.run.state import TrainingState

_EVERY = 64  # steps between checks on a GPU, as the host has to wait for the loss


class NonFiniteLoss(ValueError):  # noqa: N818 (named after what happened)
    """The loss is NaN or infinite; the message names the batch."""


class _Loss(NamedTuple):
    """The loss of a step, counted from 1, on the examples `rows`."""

    step: int
    rows: Sequence[int]
    value: Tensor


class Losses:
    """The losses of the last steps in this process that have not been checked."""

    def __init__(self, state: TrainingState) -> None:
        self._state = state
        self._every = 1 if state.group.device.type == "cpu" else _EVERY
        self._new: list[_Loss] = []

    def add(self, rows: Sequence[int], value: Tensor) -> None:
        """Add the loss of the next step, on the examples `rows`."""
        self._new.append(_Loss(self._state.step + 1, rows, value))

    @property
    def due(self) -> bool:
        """Whether to check now; the same in all processes."""
        return len(self._new) >= self._every

    def check(self, *flags: bool) -> list[bool]:
        """Raise NonFiniteLoss in all processes if a loss is not finite in one of them.

        Call this before saving: on a GPU, steps have followed since. Returns for each of `flags`
        whether any process has raised it.
        """
        broken = self._broken()
        found, *raised = self._state.group.any(broken is not None, *flags)
        if found:
            raise self._error(broken or self._new[-1])
        self._new.clear()
        return raised

    def refused(self, rows: Sequence[int]) -> NonFiniteLoss:
        """The error of a step without a loss because inference refused its scores."""
        now = _Loss(self._state.step + 1, rows, torch.tensor(torch.nan))
        return self._error(self._broken() or now)

    def refused_validation(self) -> NonFiniteLoss:
        """The error of a validation loss that is not finite."""
        return NonFiniteLoss(
            f"epoch {self._state.epoch + 1}: the loss on validation is not finite. {self._advice()}"
        )

    def _broken(self) -> _Loss | None:
        """The first loss that is not finite."""
        if not self._new:
            return None
        finite = torch.stack([loss.value for loss in self._new]).isfinite().tolist()
        return next((loss for loss, good in zip(self._new, finite, strict=True) if not good), None)

    def _error(self, loss: _Loss) -> NonFiniteLoss:
        return NonFiniteLoss(
            f"epoch {self._state.epoch + 1}, step {loss.step}: the loss is not finite; "
            f"the batch is rows {', '.join(map(str, loss.rows))} of the training split, counted "
            f"from 0. {self._advice()}"
        )

    def _advice(self) -> str:
        kept = latest(self._state.folder / "checkpoints")
        where = f"The last good checkpoint is {kept}." if kept else "There is no checkpoint yet."
        return f"{where} A lower learning rate or clipping may help."
