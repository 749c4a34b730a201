"""The report of runs as one self-contained HTML file."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from sparsewood.draw import live_assets
from sparsewood.draw._markup import element, escaped
from sparsewood.lab._files import write_text
from sparsewood.lab.report._colours import css
from sparsewood.lab.report._example import shown_example
from sparsewood.lab.report._figures import (
    learning_curves,
    temperature_curves,
    tree_curves,
)
from sparsewood.lab.report._finding import Finding, finding_of
from sparsewood.lab.report._gallery import gallery
from sparsewood.lab.report._lengths import length_curves
from sparsewood.lab.report._results import Paper, Told, chosen, criterion
from sparsewood.lab.report._runs import ReportedRun, by_estimator, by_source, name_apart
from sparsewood.lab.report._settings import folders_of, plain_table, settings
from sparsewood.lab.report._tables import costs_table, results_table
from sparsewood.lab.study.grid import TRIED
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.targets.classes import ACCURACY

_NAMED = 6  # with more estimators than this, the heading has their number


def write_report(
    runs: Iterable[Path],
    out: Path,
    title: str = "Latent trees",
    paper: Paper | None = None,
    told: Told | None = None,
) -> Path:
    """Write the report of one or several runs.

    The page has, in this order, the task and the finding in a sentence each, an example with its
    tree, accuracy by length, the results table, learning curves, statistics of the tree posteriors
    by epoch, the temperature curve, sentences with their trees (and live figures if the runs have
    saved scores), and settings. If an estimator was run with several settings, for
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
    groups = []
    for name, group in by_source(read):
        kept, others = chosen(group)
        groups.append((name, kept, others))
    if paper is not None and len(groups) > 1:
        names = ", ".join(name for name, *_ in groups)
        raise ValueError(
            f"report: the paper's figures are for one data set, the runs are on {names}"
        )
    page = _page(title, groups, paper, told)
    out = Path(out)
    write_text(out, page)
    return out


def _page(
    title: str,
    groups: Sequence[tuple[str, list[ReportedRun], str]],
    paper: Paper | None,
    told: Told | None,
) -> str:
    runs = [run for _, group, _ in groups for run in group]
    names = [group[0].label for group in by_estimator(runs).values()]
    named = ", ".join(names) if len(names) <= _NAMED else f"{len(names)} estimators"
    count = f"{len(runs)} run{'s' * (len(runs) != 1)}"
    about = f"{', '.join(name for name, *_ in groups)} · {named} · {count}"
    top = element("h1", escaped(title)) + element("p", escaped(about))
    body = [element("header", top, class_="top"), _notes(runs)]
    for i, (name, group, tried) in enumerate(groups):
        heading = element("h2", escaped(name), class_="data") if len(groups) > 1 else ""
        body.append(
            element("section", heading + _sections(group, paper, told, tried), id=f"data-{i}")
        )
    body.append(_section("Settings", settings(runs)))
    version = escaped(str(runs[0].raw_config.get("sparsewood", "")))
    body.append(element("footer", f"sparsewood {version}"))
    style = f"{css()}\n{(files('sparsewood.lab.report') / 'page.css').read_text('utf-8')}"
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escaped(title)}</title><style>\n{style}</style>"
    )
    content = "\n".join(part for part in body if part)
    script = live_assets() if 'class="sparsewood-live"' in content else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n'
        f"<body><main>\n{content}\n</main>{script}</body>\n</html>\n"
    )


def _finding(runs: Sequence[ReportedRun], told: Told | None) -> str:
    """The task, what limits the claim, the claim, and its numbers."""
    found = finding_of(runs) if told is None else Finding(told.finding)
    task = runs[0].asked
    return (
        element("p", element("b", "The task.") + " " + escaped(task), class_="task") * bool(task)
        + element("p", escaped(found.caveat), class_="caveat") * bool(found.caveat)
        + element("p", escaped(found.said).replace(" %", "&nbsp;%"), class_="finding")
        + element("p", escaped(found.numbers), class_="about") * bool(found.numbers)
    )


def _sections(
    runs: Sequence[ReportedRun], paper: Paper | None, told: Told | None, tried: str
) -> str:
    several = len(runs) > len(by_estimator(runs))
    column = criterion(runs)
    judged = None if column is None else column.measure
    dot = "The large mark is the best epoch on validation."
    examples = gallery(runs)  # first, as it checks them
    parts = [
        _finding(runs, told),
        shown_example(runs),
        _charts(
            "Accuracy by length" if judged == ACCURACY else "Tests by length",
            length_curves(runs),
            _at_lengths(runs),
        ),
        _section(
            "Results",
            results_table(runs, paper, told),
            " ".join(filter(None, ["Mean ± standard deviation over seeds." * several, tried])),
        ),
        _tried(told) if told else "",
        _section("Trees and cost", costs_table(runs, told)),
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
        _section("Sentences and their trees", examples),
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
    return _section("Tries", plain_table(rows), TRIED)


def _at_lengths(runs: Sequence[ReportedRun]) -> str:
    """The text about the charts by length."""
    text = "All tests together. The lengths seen in training are shaded."
    several = len(runs) > len(by_estimator(runs))
    return f"Mean over seeds, with a band from the worst to the best. {text}" if several else text


def _at_temperature(runs: Sequence[ReportedRun]) -> str:
    """The text about the choice of the temperature and the certificates at it."""
    text = (
        "Scores are divided by the temperature: at a low one, a sentence keeps one tree, at a high "
        "one many. The large mark is the chosen temperature."
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


def _notes(runs: Sequence[ReportedRun]) -> str:
    """Remarks on what is missing."""
    lines: list[str] = []
    for run, folder in zip(runs, folders_of(runs), strict=True):
        name = f"{folder} ({run.label}, seed {run.seed})"
        lines += [f"{name}: {note}" for note in run.notes]
    items = [element("li", escaped(line)) for line in lines]
    return element("ul", "".join(items), class_="notes") if items else ""
