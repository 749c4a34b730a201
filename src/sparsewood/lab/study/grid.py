"""The summary of a table as cells of text, for Markdown and for a terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparsewood.lab.study.paired import Comparison, how
from sparsewood.lab.study.paper_figures import BASELINE, PAPER, beside
from sparsewood.lab.study.rows import labels, setting, short
from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.measures import ATTACHMENT, SUPPORT, WITHOUT_BRACKETS, Measure

_VALIDATION, _CERTIFIED, _SETTING = "validation", "certified", "setting"
TRAINING_TREES, _TRAINED, _EACH_SEED = "trees in training", "s trained", "each seed"
# Columns that are left out on a terminal.
ASIDE = (_VALIDATION, _CERTIFIED, _SETTING, _TRAINED, _EACH_SEED)
_BRACKETS, _AGAINST = "In brackets: ", "Against "
_COUNTED, _COMPOSER = "Trees, calls: ", "Composer: "
OPENINGS = (_BRACKETS, _AGAINST, _COUNTED, _COMPOSER)  # first words of notes
_CALLS = (
    f"{_COUNTED}per example in training; calls count oracle calls, sums over all trees and samples."
)
TRIED = "Tried on validation with the first seed; * marks the choice:"


@dataclass(frozen=True)
class Grid:
    """Mean and spread over seeds, with the paper's figures in brackets.

    Attributes:
        heads: headings of the columns, except the first, the estimators.
        rows: the label of an estimator -> its cells.
        tests: splits of the first columns: tests, or validation if there are no tests.
        against: end of the headings of columns that compare rows with the baseline.
        notes: explanations of brackets and differences, if there are any.
    """

    heads: list[str]
    rows: dict[str, list[str]]
    tests: list[str]
    against: str
    notes: list[str]

    @classmethod
    def of(cls, summary: Mapping[str, Any], source: str | None = None) -> "Grid":
        """The grid of a result of `train_table` or `train_comparison`.

        Args:
            summary: summary of the table.
            source: the name of the source, for the paper's figures; None leaves them out.
        """
        paper, names = PAPER.get(source or "", {}), labels(summary["rows"])
        baseline = summary.get("baseline", BASELINE)
        baseline = names.get(baseline, baseline)
        against = f"against {baseline}"
        cells = {
            names[row]: _cells(found, summary["criterion"], against, paper.get(short(row), {}))
            for row, found in summary["rows"].items()
        }
        heads = list(dict.fromkeys(head for row in cells.values() for head in row))
        heads = [head for head in heads if any(row.get(head) for row in cells.values())]
        tests = [test for found in summary["rows"].values() for test in _measured(found)]
        notes = [f"{_BRACKETS}{beside()}."] if paper else []
        compared = [one for found in summary["rows"].values() for one in _compared(found).values()]
        if compared:
            notes.append(f"{_AGAINST}{baseline}: {how(compared)}.")
        if "calls" in heads:
            notes.append(_CALLS)
        notes += _composers(summary["rows"], names)
        return cls(
            heads,
            {name: [row.get(head, "") for head in heads] for name, row in cells.items()},
            list(dict.fromkeys(tests)),
            against,
            notes,
        )

    def markdown(self) -> str:
        """The grid in Markdown; with several tests, one table per test and one for the other
        columns.
        """
        rest, tables = list(range(len(self.heads))), list[str]()
        for test in self.tests if len(self.tests) > 1 else ():
            own = [i for i in rest if self.heads[i].startswith(f"{test} ")]
            rest = [i for i in rest if i not in own]
            tables.append(self._table(test, own, f"{test} "))
        tables.append(self._table("estimator", rest))
        return "\n".join([*tables, *(f"{note}\n" for note in self.notes)])

    def _table(self, first: str, columns: Sequence[int], prefix: str = "") -> str:
        """A table of some columns, with headings without `prefix`; `first` is the heading of the
        first.
        """
        heads = [self.heads[i].removeprefix(prefix) for i in columns]
        lines = [[first, *heads], ["---", *["---:"] * len(heads)]]
        lines += [[name, *(cells[i] for i in columns)] for name, cells in self.rows.items()]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def comparison_markdown(summary: Mapping[str, Any]) -> str:
    """A result of `train_comparison` in Markdown: the finding, the grid and all tries."""
    tried = "".join(f"- {name}: {told}\n" for name, told in tries(summary).items())
    return "\n".join([f"{summary['finding']}\n", Grid.of(summary).markdown(), f"{TRIED}\n", tried])


def _composers(rows: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    """A note on rows with another composer than the first row: soft parts need one."""
    used = {name: row["composer"] for name, row in rows.items() if "composer" in row}
    first = next(iter(used.values()), None)
    others = {name: composer for name, composer in used.items() if composer != first}
    if not others:
        return []
    listed = ", ".join(f"{names[name]} with {composer}" for name, composer in others.items())
    return [f"{_COMPOSER}{listed}; the others with {first}."]


def _cells(
    found: Mapping[str, Any],
    criterion: str,
    against: str,
    paper: Mapping[str, Mapping[str, float]],
) -> dict[str, str]:
    """The cells of a row by heading; empty if unknown."""
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
        head = against if judged.compared else f"{judged.label} {against}"
        one = compared.get(test)
        measured[prefix + head] = one.text(judged) if one else ""
    return {
        **measured,
        _VALIDATION: _cell(validation[criterion], judged),
        SUPPORT.label: SUPPORT.text(validation[SUPPORT.name]["mean"])
        if SUPPORT.name in validation
        else "",
        _CERTIFIED: f"{certified['certified']:,} of {certified['sentences']:,}"
        if certified
        else "",
        **attachments,
        "lr": f"{found['lr']:g}" if "lr" in found else "",
        "seeds": str(len(found["seeds"])),
        **(_chosen(found, judged) if "tried" in found else {}),
        "s/epoch": f"{found['seconds_per_epoch']:.1f}",
    }


def _chosen(found: Mapping[str, Any], judged: Measure) -> dict[str, str]:
    """The settings of a row of a comparison, its cost, and the criterion of every seed."""
    lr, values = found["parser_lr"], next(iter(_measured(found).values()))[judged.name]["values"]
    return {
        TRAINING_TREES: SUPPORT.text(found["training_support"]),
        "calls": f"{found['calls']:.1f}",
        "parser lr": "" if lr is None else f"{lr:g}",
        _SETTING: setting(found["estimator"]),
        "epochs": f"{found['epochs']:g}",
        _TRAINED: f"{found['seconds']:.0f}",
        _EACH_SEED: ", ".join(map(judged.text, values)),
    }


def tries(summary: Mapping[str, Any]) -> dict[str, str]:
    """The results of the tries of each row of a comparison, by label; * marks the choice.

    "eta=10.0, parser lr 0.0001: 61.20, 0.0003: 64.90; eta=100.0: 66.10*", the latter at the best
    rate.
    """
    names, measure = labels(summary["rows"]), MEASURES[summary["criterion"]]
    told: dict[str, str] = {}
    for name, found in summary["rows"].items():
        rates, settings = [], []
        first = found["tried"][0]["estimator"]
        for one in found["tried"]:
            chosen = all(one[key] == found[key] for key in ("estimator", "parser_lr"))
            score = measure.text(one["validation"]) + "*" * chosen
            if one["parser_lr"] is None:
                settings.append(score)
            elif one["estimator"] == first:
                rates.append(f"{one['parser_lr']:g}: {score}")
            else:
                settings.append(f"{setting(one['estimator']) or 'default'}: {score}")
        begun = f"{setting(first)}, " if setting(first) else ""
        by_rate = f"{begun}parser lr {', '.join(rates)}" if rates else ""
        told[names[name]] = "; ".join(filter(None, (by_rate, ", ".join(settings))))
    return told


def _compared(found: Mapping[str, Any]) -> dict[str, Comparison]:
    """The comparisons with the baseline by test."""
    return {test: Comparison(**told) for test, told in found.get("against", {}).items()}


def _measured(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return found["tests"] or {"validation": found["validation"]}


def _cell(spread: Mapping[str, Any], measure: Measure, paper: float | None = None) -> str:
    std = "" if spread["std"] is None else f" ± {measure.text(spread['std'])}"
    figure = "" if paper is None else f" ({measure.text(paper)})"
    return f"{measure.text(spread['mean'])}{std}{figure}"
