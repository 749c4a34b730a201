"""The results of runs on the same data: one row per estimator, mean and spread over seeds."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from sparsewood.draw._markup import element, escaped
from sparsewood.lab.report._runs import ReportedRun, by_estimator, style_of
from sparsewood.lab.study.paired import Comparison, compare_runs, how
from sparsewood.lab.study.paper_figures import BASELINE, in_order
from sparsewood.lab.study.rows import learns, setting, short
from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.measures import (
    ATTACHMENT,
    LOSS,
    SUPPORT,
    TREES,
    WITHOUT_BRACKETS,
    Measure,
)

Paper = Mapping[str, Mapping[str, Mapping[str, float]]]  # short name -> test -> metric

_MANY = 2  # with more tests than this, only measures that tables compare are shown
_WIDE = 6  # with more test columns than this, validation is left out


@dataclass(frozen=True)
class Column:
    """A metric of a split."""

    split: str
    measure: Measure

    def of(self, run: ReportedRun) -> float | None:
        value = split_results(run).get(self.split, {}).get(self.measure.name)
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def split_results(run: ReportedRun) -> dict[str, Mapping[str, Any]]:
    """The metrics of validation and of each test; of the best epoch so far for unfinished runs."""
    if run.result is not None:
        return {"validation": run.result.get("validation", {}), **run.result.get("tests", {})}
    best = [record for record in run.metrics if record["epoch"] == run.best_epoch]
    return {"validation": best[0].get("validation", {})} if best else {}


def columns_of(runs: Iterable[ReportedRun]) -> list[Column]:
    """The columns of validation, then of the tests; the loss only if there is nothing else."""
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        for split, values in split_results(run).items():
            found.setdefault(split, {}).update(dict.fromkeys(values))
    columns = []
    for split, names in found.items():
        known = [m for m in MEASURES.values() if m.name in names and m not in TREES]
        columns += [Column(split, m) for m in known if m is not LOSS or len(known) == 1]
    return columns


def criterion(runs: Iterable[ReportedRun]) -> Column | None:
    """The validation criterion; None if no run has completed an epoch."""
    for run in runs:
        if run.task is not None and split_results(run):
            return Column("validation", run.task.metrics.criterion)
    return None


def chosen(runs: Sequence[ReportedRun]) -> tuple[list[ReportedRun], list[str]]:
    """The runs with the best settings of each estimator, and a note if others were tried.

    Settings are compared on validation over their common seeds; without common seeds, the settings
    with the most seeds are shown.
    """
    column = criterion(runs)
    kept: list[ReportedRun] = []
    tried: list[str] = []
    for group in by_estimator(runs).values():
        variants: dict[str, list[ReportedRun]] = {}
        for run in group:
            variants.setdefault(run.settings, []).append(run)
        best = group
        if len(variants) > 1:
            best = _best_variant(list(variants.values()), column)
            tried.append(f"{group[0].label} {len(variants)}")
        kept += best
    if not tried:
        return kept, []
    return kept, [f"Settings tried (the best on validation are shown): {', '.join(tried)}"]


def _best_variant(
    variants: Sequence[list[ReportedRun]], column: Column | None
) -> list[ReportedRun]:
    common = set.intersection(*({run.seed for run in variant} for variant in variants))

    def quality(variant: list[ReportedRun]) -> tuple[int, float, float]:
        runs = [run for run in variant if run.seed in common] or variant
        found = None if column is None else summary(column.of(run) for run in runs)
        lr = float(runs[0].raw_config.get("training", {}).get("lr", 0.0))
        if column is None or found is None:
            return len(runs), -math.inf, -lr
        return len(runs), (found[0] if column.measure.higher_is_better else -found[0]), -lr

    return max(variants, key=quality)


def summary(values: Iterable[float | None]) -> tuple[float, float | None] | None:
    """Mean and sample standard deviation of the known values (None for fewer than two)."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return mean(known), stdev(known) if len(known) > 1 else None


def headline(columns: Sequence[Column]) -> Column | None:
    """The main column: the first of the first test, otherwise of validation."""
    tests = [column for column in columns if column.split != "validation"]
    return next(iter(tests or columns), None)


def best_of(
    groups: Sequence[Sequence[ReportedRun]], column: Column | None
) -> Sequence[ReportedRun]:
    """The group with the best mean in this column; the first group if there is no column."""

    def quality(group: Sequence[ReportedRun]) -> float:
        found = None if column is None else summary(column.of(run) for run in group)
        if column is None or found is None:
            return -math.inf
        return found[0] if column.measure.higher_is_better else -found[0]

    return max(groups, key=quality, default=[])


@dataclass(frozen=True)
class Told:
    """The findings of a comparison.

    Attributes:
        finding: one or two sentences.
        baseline: the estimator to compare with.
        tried: the label of an estimator -> the results of its tries.
    """

    finding: str
    baseline: str
    tried: Mapping[str, str]


def results_table(
    runs: Sequence[ReportedRun], paper: Paper | None = None, told: Told | None = None
) -> str:
    """The table as HTML; the best of each column is bold, the paper's figures are below ours.

    For a comparison it also has the settings chosen on validation.
    """
    baseline = BASELINE if told is None else told.baseline
    columns = columns_of(runs)
    if told is not None:  # there is much else to show
        judged = criterion(runs)
        columns = [c for c in columns if c.measure.compared or c == judged]
    tests = [column for column in columns if column.split != "validation"]
    if len({column.split for column in tests}) > _MANY:
        tests = [c for c in tests if c.measure.compared or c.measure == tests[0].measure]
        columns = [c for c in columns if c.split == "validation" or c in tests]
    if len(tests) > _WIDE:
        columns = tests
    rows = by_estimator(runs)
    run = [short(row) for row in rows]
    rows |= {name: [] for name in paper or {} if name not in run}
    best = {column: _best(column, rows) for column in columns}
    against = _against(rows, columns, baseline)
    costs = _costs(rows, baseline)
    name = rows[baseline][0].label if rows.get(baseline) else baseline
    body = []
    for row in in_order(rows):
        group = rows[row]
        chosen = "" if told is None or not group else _chosen(group[0])
        cells = [_name(group[0].label if group else row, len(group), chosen)]
        for column in columns:
            text = _cell(column, group, best[column])
            if found := against.get((row, column)):
                gain = element("span", found.text(column.measure))
                text += element("small", f"{gain} against {escaped(name)}")
            cells.append(element("td", text + _paper(paper, short(row), column)))
        cells += [element("td", cell.get(row, "–")) for cell in costs.values()]
        style = group[0].style if group else style_of(row) or ""
        body.append(element("tr", "".join(cells), class_=style + " learns" * learns(row)))
    head = _head(columns, list(costs))
    table = element("table", head + element("tbody", "".join(body)), class_="results")
    note = f"Against {escaped(name)}: {how(against.values())}." if against else ""
    return element("div", table, class_="scroll") + element("p", note, class_="about") * bool(note)


def _head(columns: Sequence[Column], names: Sequence[str]) -> str:
    splits: dict[str, int] = {}
    for column in columns:
        splits[column.split] = splits.get(column.split, 0) + 1
    over = [element("th", escaped(split), colspan=n) for split, n in splits.items()]
    labels = [*(column.measure.label for column in columns), *names]
    under = [element("th", escaped(x), scope="col") for x in labels]
    return element(
        "thead",
        element(
            "tr",
            f"<th></th>{''.join(over)}<th colspan='{len(names)}'>trees and cost</th>",
            class_="over",
        )
        + element("tr", f"<th class='left'>estimator</th>{''.join(under)}"),
    )


def _name(label: str, seeds: int, chosen: str = "") -> str:
    count = "not run" if seeds == 0 else f"{seeds} seed{'s' * (seeds != 1)}"
    chip = element("span", "", class_="chip")
    small = element("small", count) + element("small", escaped(chosen)) * bool(chosen)
    return element("th", f"{chip}{escaped(label)}{small}", scope="row", class_="left")


def _chosen(run: ReportedRun) -> str:
    """The settings chosen on validation: of the estimator, and the parser's learning rate."""
    lr = run.raw_config.get("training", {}).get("parser_lr")
    parts = (setting(run.estimator), "" if lr is None else f"parser lr {lr:g}")
    return ", ".join(filter(None, parts))


def _cell(column: Column, group: Sequence[ReportedRun], best: float | None) -> str:
    found = summary(column.of(run) for run in group)
    if found is None:
        return "–"
    average, spread = found
    text = column.measure.text(average)
    if spread is not None:
        text += f"<span class='spread'> ± {column.measure.text(spread)}</span>"
    return element("strong", text) if average == best else text


def _best(column: Column, rows: Mapping[str, Sequence[ReportedRun]]) -> float | None:
    found = [summary(column.of(run) for run in group) for group in rows.values()]
    means = [item[0] for item in found if item is not None]
    if len(means) < 2:
        return None
    return max(means) if column.measure.higher_is_better else min(means)


def _against(
    rows: Mapping[str, Sequence[ReportedRun]], columns: Sequence[Column], baseline: str
) -> dict[tuple[str, Column], Comparison]:
    """The differences to the baseline in the columns of the criterion."""
    judged = criterion(run for group in rows.values() for run in group)
    shown = {c.split: c for c in columns if judged is not None and c.measure == judged.measure}
    found: dict[tuple[str, Column], Comparison] = {}
    for row, group in rows.items():
        if row != baseline:
            compared = compare_runs(group, rows.get(baseline, []))
            found |= {(row, shown[test]): one for test, one in compared.items() if test in shown}
    return found


def _paper(paper: Paper | None, row: str, column: Column) -> str:
    value = (paper or {}).get(row, {}).get(column.split, {}).get(column.measure.name)
    return "" if value is None else element("small", f"paper {column.measure.text(value)}")


def certificates(group: Iterable[ReportedRun]) -> Certificates | None:
    """The certificates of the tests, or of validation if there are no tests."""
    found = []
    for run in group:
        splits = split_results(run)
        tests = [values for split, values in splits.items() if split != "validation"]
        found += [Certificates.of(values) for values in tests or splits.values()]
    return Certificates.total(found)


def _certified(group: Sequence[ReportedRun]) -> str:
    found = certificates(group)
    if found is None:
        return "–"
    others = element("small", found.others) if found.others else ""
    return f"{found.certified:,} of {found.sentences:,}{others}"


def _costs(rows: Mapping[str, Sequence[ReportedRun]], baseline: str) -> dict[str, dict[str, str]]:
    """The columns of trees and cost: heading -> row -> cell, the mean over seeds."""

    def column(
        of: Callable[[ReportedRun], float | None], form: Callable[[float], str]
    ) -> dict[str, str]:
        means = {row: summary(map(of, group)) for row, group in rows.items()}
        return {row: form(found[0]) for row, found in means.items() if found is not None}

    def validated(measure: Measure) -> dict[str, str]:
        return column(Column("validation", measure).of, measure.text)

    unit = summary(run.mean("seconds") for run in rows.get(baseline, []))
    seconds = unit[0] if unit is not None and unit[0] else math.inf
    ratio = column(lambda run: run.mean("seconds"), lambda value: f"{value / seconds:.2f}×")
    optional = {m.label: validated(m) for m in (ATTACHMENT, WITHOUT_BRACKETS)}
    optional["calls"] = column(lambda run: run.mean("calls"), "{:,.1f}".format)
    speed = column(lambda run: run.mean("sentences_per_second"), "{:,.0f}".format)
    return {
        "trees": validated(SUPPORT),
        "certified": {row: _certified(group) for row, group in rows.items()},
        **{head: cells for head, cells in optional.items() if cells},
        "sentences/s": speed,
        **({f"epoch / {short(baseline)}": ratio} if seconds < math.inf else {}),
    }
