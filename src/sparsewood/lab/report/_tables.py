"""The tables of a report: one row per estimator, mean and spread over seeds."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from sparsewood.draw._markup import element, escaped
from sparsewood.lab.report._colours import chip, mark_of
from sparsewood.lab.report._results import (
    Column,
    Paper,
    Told,
    columns_of,
    criterion,
    split_results,
    summary,
)
from sparsewood.lab.report._runs import ReportedRun, by_estimator
from sparsewood.lab.study.paired import Comparison, compare_runs, how
from sparsewood.lab.study.paper_figures import BASELINE, in_order
from sparsewood.lab.study.rows import learns, setting, short
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.measures import ATTACHMENT, SUPPORT, WITHOUT_BRACKETS, Measure
from sparsewood.lab.tasks.task import PLUS

_MANY = 2  # with more tests than this, only measures that tables compare are shown
_WIDE = 6  # with more test columns than this, validation is left out
_FIXED = {  # estimators whose trees are fixed: what these are
    "flat": "all words below one",
    "left-to-right": "a chain",
    "given": "the given trees",
}


def results_table(
    runs: Sequence[ReportedRun], paper: Paper | None = None, told: Told | None = None
) -> str:
    """The table as HTML; the best of each column is bold, the paper's figures are below ours.

    For a comparison it also has the settings chosen on validation.
    """
    baseline = BASELINE if told is None else told.baseline
    columns = _shown(runs, told)
    rows = by_estimator(runs)
    run = [short(row) for row in rows]
    rows |= {name: [] for name in paper or {} if name not in run}
    best = {column: _best(column, rows) for column in columns}
    against = _against(rows, columns, baseline)
    name = rows[baseline][0].label if rows.get(baseline) else baseline
    body = []
    for row in in_order(rows):
        group = rows[row]
        chosen = "" if told is None or not group else _chosen(group[0])
        cells = [_name(row, group, chosen)]
        for column in columns:
            text = _cell(column, group, best[column])
            if found := against.get((row, column)):
                gain = element("span", found.text(column.measure))
                text += element("small", f"{gain} against {escaped(name)}")
            cells.append(element("td", text + _paper(paper, short(row), column)))
        body.append(_row(row, group, cells))
    note = f"Against {escaped(name)}: {how(against.values())}." if against else ""
    return _table(_head(columns), body) + element("p", note, class_="about") * bool(note)


def costs_table(runs: Sequence[ReportedRun], told: Told | None = None) -> str:
    """The trees of each estimator, and what they cost, as HTML."""
    rows = by_estimator(runs)
    costs = _costs(rows, BASELINE if told is None else told.baseline)
    heads = "".join(element("th", escaped(name), scope="col") for name in costs)
    body = []
    for row in in_order(rows):
        cells = [element("td", cell.get(row, "–")) for cell in costs.values()]
        body.append(_row(row, rows[row], [_name(row, rows[row]), *cells]))
    head = element("thead", element("tr", f"<th class='left'>estimator</th>{heads}"))
    return _table(head, body)


def _shown(runs: Sequence[ReportedRun], told: Told | None) -> list[Column]:
    """The columns that there is room for, those of the tests first."""
    columns = columns_of(runs)
    if told is not None:  # there is much else to show
        judged = criterion(runs)
        columns = [c for c in columns if c.measure.compared or c == judged]
    tests = [column for column in columns if column.split != "validation"]
    if len({column.split for column in tests}) > _MANY:
        tests = [c for c in tests if c.measure.compared or c.measure == tests[0].measure]
        told_of = {column.measure for column in tests}
        validated = [c for c in columns if c.split == "validation" and c.measure in told_of]
        columns = [*tests, *validated]
    return tests if len(tests) > _WIDE else columns


def _table(head: str, body: Sequence[str]) -> str:
    table = element("table", head + element("tbody", "".join(body)), class_="results")
    return element("div", table, class_="scroll")


def _row(row: str, group: Sequence[ReportedRun], cells: Sequence[str]) -> str:
    style = (group[0].mark if group else mark_of(row)).style
    return element("tr", "".join(cells), class_=style + " learns" * learns(row))


def _head(columns: Sequence[Column]) -> str:
    splits: dict[str, int] = {}
    for column in columns:
        splits[column.split] = splits.get(column.split, 0) + 1
    over = [element("th", escaped(split), colspan=n) for split, n in splits.items()]
    under = [element("th", escaped(column.measure.label), scope="col") for column in columns]
    return element(
        "thead",
        element("tr", f"<th></th>{''.join(over)}", class_="over")
        + element("tr", f"<th class='left'>estimator</th>{''.join(under)}"),
    )


def _name(row: str, group: Sequence[ReportedRun], chosen: str = "") -> str:
    """The heading of a row: the name, where its trees come from, and the number of seeds."""
    label, mark = (group[0].label, group[0].mark) if group else (row, mark_of(row))
    seeds = len(group)
    count = "not run" if seeds == 0 else f"{seeds} seed{'s' * (seeds != 1)}"
    trees = "learned trees" if learns(row) else _FIXED.get(short(row).partition(PLUS)[0], "")
    small = [", ".join(filter(None, [trees, count])), chosen]
    told = "".join(element("small", escaped(text)) for text in small if text)
    return element("th", f"{chip(mark)}{escaped(label)}{told}", scope="row", class_="left")


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
