"""Short sentences first: stages of training, and when each of them is over."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sparsewood.lab.run.config import TrainingConfig
from sparsewood.lab.tasks.targets.classes import ACCURACY


def check_stages(config: TrainingConfig, lengths: Sequence[int]) -> None:
    """Raise ValueError if a stage has no training example, whose `lengths` are these."""
    for words in config.short_first[:1]:  # later ones have more
        if words < min(lengths):
            raise ValueError(
                f"training.short_first: no training example has at most {words} words; the "
                f"shortest has {min(lengths)}"
            )


def stage_after(history: Sequence[Mapping[str, Any]], config: TrainingConfig) -> int | None:
    """The most words of a sentence in the next epoch; None once the stages are over.

    A stage is over after an epoch whose accuracy on training is `stage_accuracy`, or after
    `stage_epochs` of them.

    Args:
        history: the lines of metrics of all epochs so far.
        config: has the stages.
    """
    for words in config.short_first:
        reached = [_accuracy(record) for record in history if record.get("stage") == words]
        if len(reached) < config.stage_epochs and max(reached, default=0) < config.stage_accuracy:
            return words
    return None


def ordinary(history: Iterable[Mapping[str, Any]]) -> int:
    """How many of these epochs are of no stage."""
    return sum("stage" not in record for record in history)


def given_up(history: Sequence[Mapping[str, Any]], config: TrainingConfig) -> str | None:
    """In a line, that the last epoch ended a stage for want of time; None where it did not."""
    last = history[-1]
    words = last.get("stage")
    if words in (None, stage_after(history, config)):
        return None
    reached = _accuracy(last)
    if reached >= config.stage_accuracy:
        return None
    return (
        f"after epoch {last['epoch']}, sentences of at most {words} words are left behind at "
        f"{ACCURACY.text(reached)} % in training, below {config.stage_accuracy:g} %: "
        f"{config.stage_epochs} epochs are over"
    )


def _accuracy(record: Mapping[str, Any]) -> float:
    return record["train"][ACCURACY.name]
