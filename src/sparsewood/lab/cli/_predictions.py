"""Predictions as files: tables, JSON lines, a JSON list."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sparsewood.lab.tasks import TASKS, TreeModel

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".json": "json",
    ".txt": "text",
    **dict.fromkeys((".svg", ".html", ".htm", ".tex", ".conllu", ".pdf", ".png")),
}
TABLES = ("csv", "tsv")


class PredictionTable:
    """The rows of a table of predictions: place, texts, answer, and a number per label.

    Args:
        model: the model that made the predictions.
        form: "csv", or "tsv", where a tab or a line feed in a text becomes a space.
        ranks: number of best answers with a pair of columns each, if there are too many labels for
            one column each.
    """

    def __init__(self, model: TreeModel, form: str, ranks: int) -> None:
        task = TASKS[model.task]
        self._form, self._sides = form, len(task.sides)
        self._answer = {"class": "label", "number": "number", "labels": "labels"}[task.answer]
        self._labels = [] if task.few or task.answer == "number" else model.labels
        self._ranks = ranks if task.few else 0

    def head(self) -> str:
        """The first line."""
        texts = [f"text{i or ''}" for i in (0, *range(2, self._sides + 1))]
        ranked = [f"{name}{i + 1}" for i in range(self._ranks) for name in ("answer", "value")]
        numbers = [f"p({label})" for label in self._labels]
        return self._line(["where", *texts, self._answer, *numbers, *ranked])

    def row(self, told: Mapping[str, Any], texts: Sequence[str]) -> str:
        """The row of an answer, given as JSON, to these texts."""
        prediction: Mapping[str, float] = told["prediction"]
        answer = told[self._answer]
        said = "|".join(answer) if isinstance(answer, list) else answer
        ranked = [cell for pair in list(prediction.items())[: self._ranks] for cell in pair]
        numbers = [prediction[label] for label in self._labels]
        return self._line([told.get("where", ""), *texts, said, *numbers, *ranked])

    def _line(self, cells: Sequence[object]) -> str:
        if self._form == "tsv":
            return "\t".join(" ".join(str(cell).split()) for cell in cells)
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(cells)
        return text.getvalue()


def as_list(lines: Sequence[str]) -> str:
    """Lines of JSON as one list."""
    return "[\n" + ",\n".join(lines) + "\n]\n"


def as_json(told: Mapping[str, Any]) -> str:
    """One line of JSON."""
    return json.dumps(told, ensure_ascii=False)
