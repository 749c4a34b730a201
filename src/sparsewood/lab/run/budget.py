"""How long a run may train: epochs, seconds, or both."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sparsewood.lab.run.config import TrainingConfig
from sparsewood.lab.run.stages import ordinary


def epochs_allowed(history: Sequence[Mapping[str, Any]], config: TrainingConfig) -> int:
    """How many epochs of no stage there are in all, as far as those so far tell.

    `max_epochs`, or fewer where `max_seconds` are over before: once n epochs have taken s seconds
    of S, (S - s) n / s more are foretold. At least one epoch is of no stage, however long stages
    take.

    Args:
        history: the lines of metrics of all epochs so far.
        config: has the budget.
    """
    done, left = ordinary(history), seconds_left(history, config)
    if left is None or not done:
        return config.max_epochs
    taken = _taken(record for record in history if "stage" not in record)
    return min(config.max_epochs, done + math.ceil(left * done / taken))


def seconds_left(history: Iterable[Mapping[str, Any]], config: TrainingConfig) -> float | None:
    """What is left of `max_seconds` after these epochs; None without such a limit."""
    if config.max_seconds is None:
        return None
    return max(0.0, config.max_seconds - _taken(history))


def ended_by_budget(history: Sequence[Mapping[str, Any]], config: TrainingConfig) -> bool:
    """Whether no epoch is allowed after these; patience may have ended the run before."""
    return ordinary(history) >= epochs_allowed(history, config)


def is_raised(old: TrainingConfig, new: TrainingConfig) -> bool:
    """Whether `new` allows more epochs or seconds than `old`, and less of neither."""
    seconds = [math.inf if c.max_seconds is None else c.max_seconds for c in (old, new)]
    before, after = (old.max_epochs, seconds[0]), (new.max_epochs, seconds[1])
    return before != after and before[0] <= after[0] and before[1] <= after[1]


def _taken(history: Iterable[Mapping[str, Any]]) -> float:
    return sum(record["seconds"] for record in history)
