"""Schedules: learning rate, stages, budgets, annealed values, and the end of training."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparsewood.lab.tasks.readers import Reader, from_name, learns_trees
from sparsewood.lab.tasks.targets.classes import ACCURACY

if TYPE_CHECKING:
    from sparsewood.lab.run.config import TrainingConfig

_FORM = re.compile(r"(\w+)=([^:,=]+):([^:,=]+)")


@dataclass
class Schedule:
    """Decays the learning rate after epochs without improvement; too many in a row end training.

    Attributes:
        lr: learning rate of the next epoch.
        best: the best value on validation so far.
        best_epoch: the epoch that reached it; 0 before the first.
        bad: number of epochs since then.
        settled: whether the model has its final form, so that epochs are comparable.
    """

    lr: float
    best: float | None = None
    best_epoch: int = 0
    bad: int = 0
    settled: bool = True

    def update(
        self,
        epoch: int,
        value: float,
        *,
        higher_is_better: bool,
        decay: float,
        settled: bool = True,
    ) -> bool:
        """Add the value of an epoch; returns whether it is the best so far.

        The first settled epoch counts as better than all before. Until then, the rate does not
        decay.
        """
        if settled and not self.settled:
            self.best = None
        self.settled = settled
        better = self.best is None or (value > self.best if higher_is_better else value < self.best)
        if better:
            self.best, self.best_epoch, self.bad = value, epoch, 0
        elif settled:
            self.lr *= decay
            self.bad += 1
        return better

    def over(self, epoch: int, max_epochs: int, patience: int | None) -> bool:
        """Whether training ends after `epoch`."""
        return epoch >= max_epochs or (patience is not None and self.bad >= patience)


def share(done: int, *, warm_up: int = 0, steps: int | None = None) -> float:
    """The factor of the learning rate in the step after `done` steps.

    It rises linearly to 1 over `warm_up` steps and falls linearly to 0 at the end of `steps`, if
    given.
    """
    risen = (done + 1) / warm_up if warm_up else 1.0
    left = 1.0 if steps is None else max(0.0, 1 - done / steps)
    return min(1.0, risen, left)


def rounded(done: float, span: tuple[float, float] | None) -> float:
    """The amount of rounding of a scorer after this share of training, from 0 to 1.

    It rises linearly between the shares of `span`; without `span` it is 0.
    """
    if span is None or done < span[0]:
        return 0.0
    return 1.0 if done >= span[1] else (done - span[0]) / (span[1] - span[0])


def check_stages(config: "TrainingConfig", lengths: Sequence[int]) -> None:
    """Raise ValueError if a stage has no training example; `lengths` are those of all examples."""
    for words in config.short_first[:1]:  # later ones have more
        if words < min(lengths):
            raise ValueError(
                f"training.short_first: no training example has at most {words} words; the "
                f"shortest has {min(lengths)}"
            )


def stage_after(history: Sequence[Mapping[str, Any]], config: "TrainingConfig") -> int | None:
    """The maximum sentence length of the next epoch; None after all stages.

    A stage ends after an epoch with the training accuracy `stage_accuracy`, or after `stage_epochs`
    epochs.

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
    """The number of ordinary epochs, those of no stage."""
    return sum("stage" not in record for record in history)


def _accuracy(record: Mapping[str, Any]) -> float:
    return record["train"][ACCURACY.name]


def epochs_allowed(history: Sequence[Mapping[str, Any]], config: "TrainingConfig") -> int:
    """The total number of ordinary epochs, estimated from those so far.

    This is `max_epochs`, or fewer if `max_seconds` end before: after n epochs in s of S seconds, (S
    - s) n / s more are expected. At least one epoch is ordinary, however long the stages take.

    Args:
        history: the lines of metrics of all epochs so far.
        config: has the budget.
    """
    done, left = ordinary(history), seconds_left(history, config)
    if left is None or not done:
        return config.max_epochs
    taken = _taken(record for record in history if "stage" not in record)
    return min(config.max_epochs, done + math.ceil(left * done / taken))


def seconds_left(history: Iterable[Mapping[str, Any]], config: "TrainingConfig") -> float | None:
    """The rest of `max_seconds` after these epochs; None without a limit."""
    if config.max_seconds is None:
        return None
    return max(0.0, config.max_seconds - _taken(history))


def ended_by_budget(history: Sequence[Mapping[str, Any]], config: "TrainingConfig") -> bool:
    """Whether the budget allows no further epoch; patience may have ended the run before."""
    return ordinary(history) >= epochs_allowed(history, config)


def is_raised(old: "TrainingConfig", new: "TrainingConfig") -> bool:
    """Whether `new` allows more epochs or seconds than `old`, and fewer of neither."""
    seconds = [math.inf if c.max_seconds is None else c.max_seconds for c in (old, new)]
    before, after = (old.max_epochs, seconds[0]), (new.max_epochs, seconds[1])
    return before != after and before[0] <= after[0] and before[1] <= after[1]


def _taken(history: Iterable[Mapping[str, Any]]) -> float:
    return sum(record["seconds"] for record in history)


@dataclass(frozen=True)
class Annealing:
    """An option that changes linearly from one value to another.

    Attributes:
        name: "noise", or an option of the estimator.
        start, end: the values; ints if the option is an integer.
    """

    name: str
    start: float
    end: float

    def at(self, epoch: int, epochs: int) -> float:
        """The value after `epoch` epochs; `end` is reached after `epochs`."""
        value = self.start + (self.end - self.start) * min(1.0, epoch / epochs)
        return round(value) if isinstance(self.start, int) else value


def annealings(texts: Sequence[str], estimator: str) -> list[Annealing]:
    """The annealed options in texts such as "temperature=4:1", of this estimator or of the noise.

    Rows of a table share these texts: they are ignored if no trees are learned, and readers ignore
    the noise on arc scores.

    Raises:
        ValueError: if a text has another form, the estimator has no such numeric option, a value is
            invalid, or an option is named twice.
    """
    found: dict[str, Annealing] = {}
    for text in texts:
        form = _FORM.fullmatch(text)
        if form is None or form[1] in found:
            expected = "NAME=FROM:TO" if form is None else f"{form[1]} once"
            raise ValueError(f"training.anneal: expected {expected}, got {text!r}")
        chosen = from_name(estimator)
        if learns_trees(chosen) and not (form[1] == "noise" and isinstance(chosen, Reader)):
            start, end = (_value(estimator, form[1], value) for value in form.groups()[1:])
            found[form[1]] = Annealing(form[1], start, end)
    return list(found.values())


def _value(estimator: str, option: str, text: str) -> float:
    """The value of an option in `text`."""
    try:
        if option == "noise":
            value = float(text)
        else:
            name, _, rest = estimator.partition(":")
            told = dict(item.split("=") for item in rest.split(",") if item) | {option: text}
            spelled = ",".join(f"{key}={value}" for key, value in told.items())
            value = getattr(from_name(f"{name}:{spelled}"), option)
    except ValueError as error:
        raise ValueError(f"training.anneal: {error}") from None
    if not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(
            f"training.anneal: {option}: expected a number of at least 0, got {text!r}"
        )
    return value
