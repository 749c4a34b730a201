"""The summary of a table as cells of text: for a file in Markdown and for a terminal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.measures import ATTACHMENT, SUPPORT, WITHOUT_BRACKETS, Measure
from sparsewood.lab.train.paper_figures import PAPER, beside
from sparsewood.lab.train.rows import labels, short

VALIDATION, CERTIFIED = "validation", "certified"  # columns that a terminal is too narrow for


@dataclass(frozen=True)
class Grid:
    """Mean and spread over seeds, the paper's figures in brackets.

    Attributes:
        heads: of the columns but the first, that of the estimators.
        rows: the label of an estimator -> its cells.
        tests: what the first columns are measured on: validation where there is no test.
        note: what is in brackets; empty without.
    """

    heads: list[str]
    rows: dict[str, list[str]]
    tests: list[str]
    note: str = ""

    @classmethod
    def of(cls, summary: Mapping[str, Any], source: str | None = None) -> "Grid":
        """The grid of what `train_table` returns.

        Args:
            summary: of the table.
            source: the name of the source, for the paper's figures; None leaves them out.
        """
        paper, names = PAPER.get(source or "", {}), labels(summary["rows"])
        cells = {
            names[row]: _cells(found, summary["criterion"], paper.get(short(row), {}))
            for row, found in summary["rows"].items()
        }
        heads = list(dict.fromkeys(head for row in cells.values() for head in row))
        heads = [head for head in heads if any(row.get(head) for row in cells.values())]
        tests = [test for found in summary["rows"].values() for test in _measured(found)]
        return cls(
            heads,
            {name: [row.get(head, "") for head in heads] for name, row in cells.items()},
            list(dict.fromkeys(tests)),
            f"In brackets: {beside()}." if paper else "",
        )

    def markdown(self) -> str:
        """As a table in Markdown."""
        lines = [["estimator", *self.heads], ["---", *["---:"] * len(self.heads)]]
        lines += [[name, *cells] for name, cells in self.rows.items()]
        text = "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
        return f"{text}\n{self.note}\n" if self.note else text


def _cells(
    found: Mapping[str, Any], criterion: str, paper: Mapping[str, Mapping[str, float]]
) -> dict[str, str]:
    """The cells of a row by the heads of their columns; empty ones where nothing is known."""
    validation, certified = found["validation"], found.get("certified")
    attachments = {
        m.label: m.text(validation[m.name]["mean"]) if m.name in validation else ""
        for m in (ATTACHMENT, WITHOUT_BRACKETS)
    }
    tests = _measured(found)
    measured = {
        f"{test} {measure.label}" if len(tests) > 1 else measure.label: _cell(
            values[measure.name], measure, paper.get(test, {}).get(measure.name)
        )
        for test, values in tests.items()
        for measure in MEASURES.values()
        if measure.compared and measure.name in values
    }
    return {
        **measured,
        VALIDATION: _cell(validation[criterion], MEASURES[criterion]),
        SUPPORT.label: SUPPORT.text(validation[SUPPORT.name]["mean"]),
        CERTIFIED: f"{certified['certified']:,} of {certified['sentences']:,}" if certified else "",
        **attachments,
        "lr": f"{found['lr']:g}",
        "seeds": str(len(found["seeds"])),
        "s/epoch": f"{found['seconds_per_epoch']:.1f}",
    }


def _measured(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return found["tests"] or {"validation": found["validation"]}


def _cell(spread: Mapping[str, Any], measure: Measure, paper: float | None = None) -> str:
    std = "" if spread["std"] is None else f" ± {measure.text(spread['std'])}"
    figure = "" if paper is None else f" ({measure.text(paper)})"
    return f"{measure.text(spread['mean'])}{std}{figure}"
