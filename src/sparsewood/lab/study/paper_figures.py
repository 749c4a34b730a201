"""The results of Niculae, Martins & Cardie (2018), and our names of its rows."""

from collections.abc import Iterable

from sparsewood.lab.study.rows import short

# The rows of the paper's tables: the estimator, and its name in the paper.
ROWS = {
    "left-to-right": "left-to-right",
    "flat": "flat",
    "given": "off-line",
    "sparsemap:max_active=10": "latent",
}
BASELINE, LATENT = "flat", "sparsemap:max_active=10"  # the rows whose times the paper compares


def _accuracy(**rows: float) -> dict[str, dict[str, dict[str, float]]]:
    return {row.replace("_", "-"): {"test": {"accuracy": x}} for row, x in rows.items()}


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
        "left-to-right": _ranks(17, 42.6, 73.8, 43, 33.2, 61.8, 28, 35.9, 66.7),
        "flat": _ranks(18, 45.1, 71.1, 31, 38.2, 65.6, 29, 34.3, 68.2),
        "sparsemap": _ranks(12, 47.5, 74.6, 40, 35.6, 60.1, 20, 38.4, 70.7),
    },
}


def in_order(estimators: Iterable[str]) -> list[str]:
    """Each estimator once: the paper's rows in its order, then the others in the given order."""
    paper = [short(row) for row in ROWS]
    return sorted(
        dict.fromkeys(estimators),
        key=lambda row: paper.index(short(row)) if short(row) in paper else len(paper),
    )


def beside() -> str:
    """The source of the figures beside ours, with its names of the rows."""
    others = [f"{short(row)} {word}" for row, word in ROWS.items() if word != row]
    return f"Niculae, Martins & Cardie (2018), who call {', '.join(others)}"
