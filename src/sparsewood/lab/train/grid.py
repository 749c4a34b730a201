"""The summary of a table as cells of text: for a file in Markdown and for a terminal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.measures import ATTACHMENT, SUPPORT, WITHOUT_BRACKETS, Measure
from sparsewood.lab.train.paired import Comparison, how
from sparsewood.lab.train.paper_figures import BASELINE, PAPER, beside
from sparsewood.lab.train.rows import labels, short

VALIDATION, CERTIFIED = "validation", "certified"  # columns that a terminal is too narrow for
AGAINST = f"against {BASELINE}"
_BRACKETS, _AGAINST = "In brackets: ", f"{AGAINST.capitalize()}: "
OPENINGS = (_BRACKETS, _AGAINST)  # of notes


@dataclass(frozen=True)
class Grid:
    """Mean and spread over seeds, the paper's figures in brackets.

    Attributes:
        heads: of the columns but the first, that of the estimators.
        rows: the label of an estimator -> its cells.
        tests: what the first columns are measured on: validation where there is no test.
        notes: what is in brackets, and what the differences are; only where there are some.
    """

    heads: list[str]
    rows: dict[str, list[str]]
    tests: list[str]
    notes: list[str]

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
        notes = [f"{_BRACKETS}{beside()}."] if paper else []
        compared = [one for found in summary["rows"].values() for one in _compared(found).values()]
        if compared:
            notes.append(f"{_AGAINST}{how(compared)}.")
        return cls(
            heads,
            {name: [row.get(head, "") for head in heads] for name, row in cells.items()},
            list(dict.fromkeys(tests)),
            notes,
        )

    def markdown(self) -> str:
        """As a table in Markdown."""
        lines = [["estimator", *self.heads], ["---", *["---:"] * len(self.heads)]]
        lines += [[name, *cells] for name, cells in self.rows.items()]
        text = "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
        return "\n".join([text, *(f"{note}\n" for note in self.notes)])


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
    compared, judged = _compared(found), MEASURES[criterion]
    measured: dict[str, str] = {}
    for test, values in tests.items():
        prefix = f"{test} " if len(tests) > 1 else ""
        for measure in MEASURES.values():
            if measure.compared and measure.name in values:
                figure = paper.get(test, {}).get(measure.name)
                measured[prefix + measure.label] = _cell(values[measure.name], measure, figure)
        head = AGAINST if judged.compared else f"{judged.label} {AGAINST}"
        against = compared.get(test)
        measured[prefix + head] = against.text(judged.digits) if against else ""
    return {
        **measured,
        VALIDATION: _cell(validation[criterion], judged),
        SUPPORT.label: SUPPORT.text(validation[SUPPORT.name]["mean"]),
        CERTIFIED: f"{certified['certified']:,} of {certified['sentences']:,}" if certified else "",
        **attachments,
        "lr": f"{found['lr']:g}",
        "seeds": str(len(found["seeds"])),
        "s/epoch": f"{found['seconds_per_epoch']:.1f}",
    }


def _compared(found: Mapping[str, Any]) -> dict[str, Comparison]:
    """The comparisons with the baseline by test."""
    return {test: Comparison(**told) for test, told in found.get("against", {}).items()}


def _measured(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return found["tests"] or {"validation": found["validation"]}


def _cell(spread: Mapping[str, Any], measure: Measure, paper: float | None = None) -> str:
    std = "" if spread["std"] is None else f" ± {measure.text(spread['std'])}"
    figure = "" if paper is None else f" ({measure.text(paper)})"
    return f"{measure.text(spread['mean'])}{std}{figure}"
