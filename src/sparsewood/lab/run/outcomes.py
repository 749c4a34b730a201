"""Outcomes: the criterion of each example, in the order of the split."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparsewood.lab._files import write_text
from sparsewood.lab.data.batches import Split
from sparsewood.lab.run.reproducibility import as_bytes
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.tasks.task import Model

FILE = "outcomes.json"
_DIGITS = 6  # significant digits of outcomes other than correct and wrong
_WRONG, _RIGHT = 0.0, 100.0


class Gathered:
    """The outcomes of a model, gathered batch by batch."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._outcomes: list[Tensor] = []
        self._rows: list[Tensor] = []

    def add(self, output: Output, batch: Any) -> None:
        """Add a batch."""
        found = self._model.outcomes(output, batch)
        if found is not None:
            self._outcomes.append(found.cpu())
            self._rows.append(batch.rows)

    def in_order(self) -> Tensor | None:
        """(n,) in the order of the split; None if examples have no outcomes."""
        if not self._outcomes:
            return None
        return torch.cat(self._outcomes)[torch.cat(self._rows).argsort()]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes of a split, as saved by a run.

    Attributes:
        items: a hash of the examples' words and labels; outcomes with the same hash can be paired.
        values: (n,) the criterion of each example.
    """

    items: str
    values: NDArray[numpy.float64]

    @classmethod
    def of(cls, split: Split, gathered: Gathered) -> "Outcomes | None":
        """The outcomes of all examples of `split`; None if examples have none."""
        values = gathered.in_order()
        if values is None:
            return None
        digest = blake2b(digest_size=8)
        for part in as_bytes(split.examples, heads=False):
            digest.update(part)
        return cls(digest.hexdigest(), values.double().numpy())

    def to_json(self) -> dict[str, Any]:
        """Correct and wrong answers as a string of 1 and 0, other outcomes as numbers."""
        values = self.values.tolist()
        if all(value in (_WRONG, _RIGHT) for value in values):
            told: Any = "".join("1" if value else "0" for value in values)
        else:
            told = [float(f"{value:.{_DIGITS}g}") for value in values]
        return {"items": self.items, "outcomes": told}

    @classmethod
    def from_json(cls, data: object) -> "Outcomes":
        """The inverse of `to_json`.

        Raises:
            ValueError: if `data` has another form.
        """
        told = data.get("outcomes") if isinstance(data, Mapping) else None
        if isinstance(told, str) and told and not told.strip("01"):
            values = [_RIGHT if answer == "1" else _WRONG for answer in told]
        elif isinstance(told, list) and told and all(map(_is_number, told)):
            values = told
        else:
            raise ValueError('expected "outcomes", a string of 0 and 1 or a list of numbers')
        items = data.get("items") if isinstance(data, Mapping) else None
        if not isinstance(items, str):
            raise ValueError('expected "items", a hash')
        return cls(items, numpy.array(values, dtype=numpy.float64))


def write_outcomes(folder: Path, splits: Mapping[str, Outcomes]) -> None:
    """Write the outcomes of each split to the folder of a run, one line each."""
    lines = [f"{json.dumps(n)}: {json.dumps(found.to_json())}" for n, found in splits.items()]
    write_text(folder / FILE, "{\n" + ",\n".join(lines) + "\n}\n")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
