"""The figures of Niculae, Martins & Cardie (2018), and a table beside them."""

from collections.abc import Iterable
from typing import Any

from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.measures import ATTACHMENT, SUPPORT, Measure
from sparsewood.lab.train.rows import labels, short

# The rows of the paper's tables: the estimator, and what the paper calls it.
ROWS = {
    "left_to_right": "left-to-right",
    "flat": "flat",
    "given": "off-line",
    "sparsemap:max_active=10": "latent",
}
BASELINE, LATENT = "flat", "sparsemap:max_active=10"  # whose times the paper compares


def _accuracy(**rows: float) -> dict[str, dict[str, dict[str, float]]]:
    return {row: {"test": {"accuracy": value}} for row, value in rows.items()}


def _ranks(*figures: float) -> dict[str, dict[str, float]]:
    names = ("median_rank", "accuracy_10", "accuracy_100")
    tests = ("seen", "unseen", "concepts")
    return {
        test: dict(zip(names, figures[3 * i : 3 * i + 3], strict=True))
        for i, test in enumerate(tests)
    }


# source -> name of the estimator -> test -> metric. SNLI is trained on all 550,000 pairs there; the
# reverse dictionary on other definitions, with vectors of 500 dimensions.
PAPER: dict[str, dict[str, dict[str, dict[str, float]]]] = {
    "sst": _accuracy(left_to_right=82.10, flat=83.96, given=83.25, sparsemap=84.73),
    "subj": _accuracy(left_to_right=92.71, flat=92.56, given=92.15, sparsemap=92.25),
    "snli": _accuracy(left_to_right=80.98, flat=81.74, given=81.37, sparsemap=81.87),
    "revdict": {
        "left_to_right": _ranks(17, 42.6, 73.8, 43, 33.2, 61.8, 28, 35.9, 66.7),
        "flat": _ranks(18, 45.1, 71.1, 31, 38.2, 65.6, 29, 34.3, 68.2),
        "sparsemap": _ranks(12, 47.5, 74.6, 40, 35.6, 60.1, 20, 38.4, 70.7),
    },
}


def in_order(estimators: Iterable[str]) -> list[str]:
    """Each once: the paper's rows in its order, then the others as they come."""
    paper = [short(row) for row in ROWS]
    return sorted(
        dict.fromkeys(estimators),
        key=lambda row: paper.index(short(row)) if short(row) in paper else len(paper),
    )


def beside() -> str:
    """Whose figures stand beside ours, and what the rows are called there."""
    others = [f"{short(row)} {word}" for row, word in ROWS.items() if word != row.replace("_", "-")]
    return f"Niculae, Martins & Cardie (2018), who call {', '.join(others)}"


def markdown(summary: dict[str, Any], source: str | None = None) -> str:
    """A table in Markdown: mean and spread over seeds, the paper's figures in brackets.

    Args:
        summary: as `train_table` returns it.
        source: the name of the source, for the paper's figures; None leaves them out.
    """
    paper = PAPER.get(source or "", {})
    columns = [
        (test, metric)
        for test, metrics in next(iter(summary["rows"].values()), {"tests": {}})["tests"].items()
        for metric in MEASURES.values()
        if metric.compared and metric.name in metrics
    ]
    several = len({test for test, _ in columns}) > 1
    heads = [(f"{test} " if several else "") + metric.label for test, metric in columns]
    known = any(ATTACHMENT.name in found["validation"] for found in summary["rows"].values())
    names = labels(summary["rows"])
    cells_of = {row: _certified_cell(found) for row, found in summary["rows"].items()}
    solved = any(cells_of.values())
    about = ["validation", "trees kept", *["certified"] * solved, *["attachment"] * known]
    about += ["lr", "seeds", "s/epoch"]
    lines = [["estimator", *heads, *about], ["---", *["---:"] * len(heads + about)]]
    for row, found in summary["rows"].items():
        cells = [
            _cell(found["tests"][test][metric.name], metric)
            + _beside(paper.get(short(row), {}).get(test, {}).get(metric.name), metric)
            for test, metric in columns
        ]
        certified = [cells_of[row]] * solved
        rest = _about(found, MEASURES[summary["criterion"]], certified, known)
        lines.append([names[row], *cells, *rest])
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
    if paper:
        text += f"\nIn brackets: {beside()}.\n"
    return text


def _certified_cell(found: dict[str, Any]) -> str:
    """The sentences of all tests and seeds that are certified, "13 of 1,821"; empty without any.

    Args:
        found: what a summary says of a row.
    """
    of = found.get("certified")
    return f"{of['certified']:,} of {of['sentences']:,}" if of else ""


def _about(
    found: dict[str, Any], criterion: Measure, certified: list[str], known: bool
) -> list[str]:
    """The cells of a row that follow its tests; attachment to heads if they are `known`."""
    validation = found["validation"]
    attachment = validation.get(ATTACHMENT.name)
    attached = "" if attachment is None else ATTACHMENT.text(attachment["mean"])
    return [
        _cell(validation[criterion.name], criterion),
        SUPPORT.text(validation[SUPPORT.name]["mean"]),
        *certified,
        *[attached] * known,
        f"{found['lr']:g}",
        str(len(found["seeds"])),
        f"{found['seconds_per_epoch']:.1f}",
    ]


def _cell(spread: dict[str, Any], metric: Measure) -> str:
    std = "" if spread["std"] is None else f" ± {metric.text(spread['std'])}"
    return f"{metric.text(spread['mean'])}{std}"


def _beside(figure: float | None, metric: Measure) -> str:
    return "" if figure is None else f" ({metric.text(figure)})"
