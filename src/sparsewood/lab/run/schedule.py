"""When training ends, and what changes until then: rates, stages, budgets, annealed numbers."""

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
    """The learning rate falls after each epoch without a new best; too many in a row end it.

    Attributes:
        lr: of the next epoch.
        best: the best value on validation so far.
        best_epoch: the epoch that reached it; 0 before the first.
        bad: epochs since then.
        settled: whether the model is what it is going to be, so that epochs compare.
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
        """Take the value of an epoch into account; whether it is the best so far.

        The first settled epoch is better than all before. Until then the rate does not fall.
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
    """The share of the learning rate that the step after `done` others takes.

    It rises evenly to 1 in `warm_up` steps, and falls evenly to 0 at the end of `steps`, if given.
    """
    risen = (done + 1) / warm_up if warm_up else 1.0
    left = 1.0 if steps is None else max(0.0, 1 - done / steps)
    return min(1.0, risen, left)


def rounded(done: float, span: tuple[float, float] | None) -> float:
    """How far the steps of a scorer are rounded when this share of training is done, from 0 to 1.

    Evenly more between the shares of `span`; never, where that is None.
    """
    if span is None or done < span[0]:
        return 0.0
    return 1.0 if done >= span[1] else (done - span[0]) / (span[1] - span[0])


def check_stages(config: "TrainingConfig", lengths: Sequence[int]) -> None:
    """Raise ValueError if a stage has no training example, whose `lengths` are these."""
    for words in config.short_first[:1]:  # later ones have more
        if words < min(lengths):
            raise ValueError(
                f"training.short_first: no training example has at most {words} words; the "
                f"shortest has {min(lengths)}"
            )


def stage_after(history: Sequence[Mapping[str, Any]], config: "TrainingConfig") -> int | None:
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


def _accuracy(record: Mapping[str, Any]) -> float:
    return record["train"][ACCURACY.name]


def epochs_allowed(history: Sequence[Mapping[str, Any]], config: "TrainingConfig") -> int:
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


def seconds_left(history: Iterable[Mapping[str, Any]], config: "TrainingConfig") -> float | None:
    """What is left of `max_seconds` after these epochs; None without such a limit."""
    if config.max_seconds is None:
        return None
    return max(0.0, config.max_seconds - _taken(history))


def ended_by_budget(history: Sequence[Mapping[str, Any]], config: "TrainingConfig") -> bool:
    """Whether no epoch is allowed after these; patience may have ended the run before."""
    return ordinary(history) >= epochs_allowed(history, config)


def is_raised(old: "TrainingConfig", new: "TrainingConfig") -> bool:
    """Whether `new` allows more epochs or seconds than `old`, and less of neither."""
    seconds = [math.inf if c.max_seconds is None else c.max_seconds for c in (old, new)]
    before, after = (old.max_epochs, seconds[0]), (new.max_epochs, seconds[1])
    return before != after and before[0] <= after[0] and before[1] <= after[1]


def _taken(history: Iterable[Mapping[str, Any]]) -> float:
    return sum(record["seconds"] for record in history)


@dataclass(frozen=True)
class Annealing:
    """A number that goes evenly from one value to another.

    Attributes:
        name: "noise", or an option of the estimator.
        start, end: the values; ints where the option is a whole number.
    """

    name: str
    start: float
    end: float

    def at(self, epoch: int, epochs: int) -> float:
        """The value after `epoch` epochs; `end` is reached after `epochs`."""
        value = self.start + (self.end - self.start) * min(1.0, epoch / epochs)
        return round(value) if isinstance(self.start, int) else value


def annealings(texts: Sequence[str], estimator: str) -> list[Annealing]:
    """What texts such as "temperature=4:1" change of the estimator of this name, or of the noise.

    Rows of a table share these texts, so they have no effect where no trees are learned, and the
    noise on arc scores has none on a reader.

    Raises:
        ValueError: if one is not of that form, names what is no number of the estimator, or gives
            it a value that it cannot have; or if two name the same.
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
    """The value of an option as `text` has it."""
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
