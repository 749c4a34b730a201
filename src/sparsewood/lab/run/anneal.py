"""Numbers of the estimator, and the noise on its scores, that change from epoch to epoch."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sparsewood.lab.tasks.readers import Reader, learns_trees, parse

_FORM = re.compile(r"(\w+)=([^:,=]+):([^:,=]+)")


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

    None at all where no trees are learned: as other options of latent trees, they have no say
    there, and a table may hold baselines.

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
        if learns_trees(parse(estimator)):
            start, end = (_value(estimator, form[1], value) for value in form.groups()[1:])
            found[form[1]] = Annealing(form[1], start, end)
    return list(found.values())


def _value(estimator: str, option: str, text: str) -> float:
    """The value of an option as `text` has it."""
    try:
        if option == "noise" and not isinstance(parse(estimator), Reader):
            value = float(text)
        else:
            name, _, rest = estimator.partition(":")
            told = dict(item.split("=") for item in rest.split(",") if item) | {option: text}
            spelled = ",".join(f"{key}={value}" for key, value in told.items())
            value = getattr(parse(f"{name}:{spelled}"), option)
    except ValueError as error:
        raise ValueError(f"training.anneal: {error}") from None
    if not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(
            f"training.anneal: {option}: expected a number of at least 0, got {text!r}"
        )
    return value
