"""The report of runs as one self-contained HTML file."""

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from sparsewood.draw import live_assets
from sparsewood.draw._markup import element, escaped
from sparsewood.lab._files import write_text
from sparsewood.lab.report._figures import (
    learning_curves,
    temperature_curves,
    tree_curves,
)
from sparsewood.lab.report._finding import finding_of
from sparsewood.lab.report._gallery import gallery
from sparsewood.lab.report._lengths import length_curves
from sparsewood.lab.report._results import (
    Paper,
    Told,
    best_of,
    certificates,
    chosen,
    columns_of,
    criterion,
    headline,
    results_table,
    summary,
)
from sparsewood.lab.report._runs import ReportedRun, by_estimator, by_source, name_apart
from sparsewood.lab.study.grid import TRIED
from sparsewood.lab.study.paper_figures import BASELINE
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.measures import SUPPORT
from sparsewood.lab.tasks.targets.classes import ACCURACY


def write_report(
    runs: Iterable[Path],
    out: Path,
    title: str = "Latent trees",
    paper: Paper | None = None,
    told: Told | None = None,
) -> Path:
    """Write the report of one or several runs.

    The page has the finding in one sentence, the results table, learning curves, statistics of the
    tree posteriors by epoch, the temperature curve, sentences with their trees (and live figures if
    the runs have saved scores), and settings. If an estimator was run with several settings, for
    example learning rates, the best on validation is shown. Only the JSON files of the folders are
    read; the page lists what unfinished runs lack.

    Args:
        runs: folders of the runs.
        out: file to write; it is written in full or not at all.
        title: title of the page.
        paper: published figures to show beside the results, `paper[name][test][metric]`; only for
            runs on the same data.
        told: findings of the comparison that made these runs.

    Returns:
        `out`.

    Raises:
        ValueError: if there are no runs, a folder holds no run, or a file is damaged.
    """
    read = [ReportedRun(run) for run in dict.fromkeys(runs)]
    if not read:
        raise ValueError("report: no runs given")
    name_apart(read)
    groups, notes = [], []
    for name, group in by_source(read):
        kept, others = chosen(group)
        groups.append((name, kept))
        notes += others
    if paper is not None and len(groups) > 1:
        names = ", ".join(name for name, _ in groups)
        raise ValueError(
            f"report: the paper's figures are for one data set, the runs are on {names}"
        )
    page = _page(title, groups, notes, paper, told)
    out = Path(out)
    write_text(out, page)
    return out


def _page(
    title: str,
    groups: Sequence[tuple[str, list[ReportedRun]]],
    notes: Sequence[str],
    paper: Paper | None,
    told: Told | None,
) -> str:
    runs = [run for _, group in groups for run in group]
    names = [group[0].label for group in by_estimator(runs).values()]
    count = f"{len(runs)} run{'s' * (len(runs) != 1)}"
    about = f"{count} · {', '.join(names)} · {', '.join(n for n, _ in groups)}"
    body = [
        element(
            "header", element("h1", escaped(title)) + element("p", escaped(about)), class_="top"
        ),
        *(_finding(name if len(groups) > 1 else "", group, told) for name, group in groups),
        _notes(runs, notes),
    ]
    for i, (name, group) in enumerate(groups):
        heading = element("h2", escaped(name), class_="data") if len(groups) > 1 else ""
        body.append(element("section", heading + _sections(group, paper, told), id=f"data-{i}"))
    body.append(_settings(runs))
    version = escaped(str(runs[0].raw_config.get("sparsewood", "")))
    body.append(element("footer", f"sparsewood {version}"))
    css = (files("sparsewood.lab.report") / "page.css").read_text(encoding="utf-8")
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escaped(title)}</title><style>\n{css}</style>"
    )
    content = "\n".join(part for part in body if part)
    script = live_assets() if 'class="sparsewood-live"' in content else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n'
        f"<body><main>\n{content}\n</main>{script}</body>\n</html>\n"
    )


def _finding(name: str, runs: Sequence[ReportedRun], told: Told | None) -> str:
    """The finding of the runs on one data set, with its name if there are several."""
    lead = element("b", escaped(name)) + " " if name else ""
    text = finding_of(runs) if told is None else told.finding
    return element("p", lead + escaped(text), class_="finding")


def _sections(runs: Sequence[ReportedRun], paper: Paper | None, told: Told | None) -> str:
    several = len(runs) > len(by_estimator(runs))
    column = criterion(runs)
    judged = None if column is None else column.measure
    dot = "The large dot marks the best epoch on validation."
    parts = [
        _section(
            "Results",
            results_table(runs, paper, told),
            "Mean ± standard deviation over seeds." if several else "",
        ),
        _tiles(runs),
        _tried(told) if told else "",
        _charts(
            "Accuracy by length" if judged == ACCURACY else "Tests by length",
            length_curves(runs),
            _at_lengths(runs),
        ),
        _charts("Learning", learning_curves(runs), f"One line per seed. {dot}" * several or dot),
        _charts(
            "Trees during training",
            tree_curves(runs),
            "On the validation sentences. Dashed lines are fixed trees, for comparison.",
        ),
        _charts(
            "Temperature at test time",
            temperature_curves(runs),
            _at_temperature(runs),
        ),
        _section("Sentences and their trees", gallery(runs)),
    ]
    return "\n".join(part for part in parts if part)


def _section(title: str, content: str, about: str = "") -> str:
    lead = element("p", escaped(about), class_="about") if about else ""
    return element("section", element("h3", escaped(title)) + lead + content)


def _charts(title: str, figures: Sequence[str], about: str) -> str:
    if not figures:
        return ""
    return _section(title, element("div", "".join(figures), class_="grid"), about)


def _tried(told: Told) -> str:
    """The settings tried on validation, one line per estimator."""
    rows = [[name, tries] for name, tries in told.tried.items()]
    return _section("Tries", _table(rows), TRIED)


def _tiles(runs: Sequence[ReportedRun]) -> str:
    """The main numbers."""
    rows = by_estimator(runs)
    column = headline(columns_of(runs))
    latent = best_of([group for group in rows.values() if group[0].latent], column)
    baseline = rows.get(BASELINE, [])
    tiles = []
    if column is not None:
        measure = column.measure
        ours = summary(column.of(run) for run in latent)
        theirs = summary(column.of(run) for run in baseline)
        if ours is not None:
            name = f"{column.split} {measure.label}, {latent[0].label}"
            tiles.append((measure.text(ours[0]), name))
        if ours is not None and theirs is not None:
            name = f"against {BASELINE}" + ", lower is better" * (not measure.higher_is_better)
            more = measure.text(ours[0] - theirs[0], "+")
            tiles.append((more.replace("-", "−"), name))
    last = [run.history("validation", SUPPORT.name)[-1:] for run in latent]
    support = summary(points[0][1] for points in last if points)
    if support is not None:
        tiles.append((f"{support[0]:.1f}", "trees per sentence in the last epoch"))
    certified = certificates(latent)
    if certified is not None:
        name = f"of {certified.sentences:,} sentences certified"
        name += f", {certified.others}" if certified.others else ""
        tiles.append((f"{certified.certified:,}", name))
    seconds = [summary(run.mean("seconds") for run in group) for group in (latent, baseline)]
    if seconds[0] and seconds[1] and seconds[1][0]:
        ratio = seconds[0][0] / seconds[1][0]
        tiles.append((f"{ratio:.1f}×", f"time per epoch, {BASELINE} = 1"))
    boxes = [element("div", f"<b>{escaped(a)}</b>{escaped(b)}", class_="tile") for a, b in tiles]
    return element("div", "".join(boxes), class_="tiles") if boxes else ""


def _at_lengths(runs: Sequence[ReportedRun]) -> str:
    """The text about the charts by length."""
    text = "All tests together. The lengths seen in training are shaded."
    several = len(runs) > len(by_estimator(runs))
    return f"Mean over seeds, with a band from the worst to the best. {text}" if several else text


def _at_temperature(runs: Sequence[ReportedRun]) -> str:
    """The text about the choice of the temperature and the certificates at it."""
    text = (
        "Scores are divided by the temperature: at a low one, a sentence keeps one tree, at a high "
        "one many. The large dot marks the chosen temperature."
    )
    searches = [(run.result or {}).get("temperature_search") for run in runs]
    if any(isinstance(search, Mapping) for search in searches):
        text += (
            " The temperature of training is kept unless another is significantly better on "
            "validation."
        )
    results = [run.result for run in runs if run.result is not None]
    found = Certificates.total(Certificates.of(r.get("validation", {})) for r in results)
    return text if found is None or not found.others else f"{text} There: {found}."


def _notes(runs: Sequence[ReportedRun], notes: Sequence[str]) -> str:
    """Remarks on what is missing or left out."""
    lines = list(notes)
    for run, folder in zip(runs, _folders(runs), strict=True):
        name = f"{folder} ({run.label}, seed {run.seed})"
        lines += [f"{name}: {note}" for note in run.notes]
    items = [element("li", escaped(line)) for line in lines]
    return element("ul", "".join(items), class_="notes") if items else ""


def _folders(runs: Sequence[ReportedRun]) -> list[str]:
    """The name of each run: its path below the common folder."""
    paths = [run.folder.absolute() for run in runs]
    parent = Path(os.path.commonpath([path.parent for path in paths]))
    return [path.relative_to(parent).as_posix() for path in paths]


def _settings(runs: Sequence[ReportedRun]) -> str:
    """Configuration and environment: common entries first, then differences."""
    return _section(
        "Settings",
        _compare("Configuration", runs, [_flat(run.raw_config) for run in runs])
        + _compare("Environment", runs, [_flat(run.environment) for run in runs]),
    )


def _compare(
    title: str, runs: Sequence[ReportedRun], described: Sequence[Mapping[str, str]]
) -> str:
    names = list(dict.fromkeys(name for flat in described for name in flat))
    values = {name: [flat.get(name, "–") for flat in described] for name in names}
    shared = [name for name in names if len(set(values[name])) == 1]
    differing = [name for name in names if name not in shared]
    if not names:
        return element("p", f"{title} is not recorded.", class_="missing")
    tables = _table([[name, values[name][0]] for name in shared])
    if differing:
        rows = [
            [folder, *(values[name][i] for name in differing)]
            for i, folder in enumerate(_folders(runs))
        ]
        tables += _table(rows, ["run", *differing])
    return element("details", element("summary", title) + tables)


def _table(rows: Sequence[Sequence[str]], head: Sequence[str] = ()) -> str:
    lines = [element("tr", "".join(element("th", escaped(name)) for name in head))] if head else []
    lines += [element("tr", "".join(element("td", escaped(cell)) for cell in row)) for row in rows]
    return element("div", element("table", "".join(lines), class_="plain"), class_="scroll")


def _flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested dictionaries as one, with names joined by dots."""
    flat: dict[str, str] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            words = isinstance(value, list)
            flat[f"{prefix}{key}"] = " ".join(map(str, value)) if words else str(value)
    return flat
