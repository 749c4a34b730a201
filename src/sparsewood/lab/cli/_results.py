"""Metrics as tables for the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.markup import escape
from rich.table import Table

from sparsewood.lab.run.by_length import bin_name
from sparsewood.lab.tasks import MEASURES, Certificates
from sparsewood.lab.tasks.alignments import DECODINGS
from sparsewood.lab.tasks.measures import AGREEMENT, BINARY_TREES, FLAT, LOSS, SINGLE
from sparsewood.lab.tasks.targets.classes import MACRO_F1

_MATRIX = 10  # maximum number of labels shown as a matrix
_CONFUSED = 10  # for more labels: maximum number of confused pairs listed
_ROOMY = 8  # number of columns that fit a terminal with two spaces between them
# The table by length leaves these out.
_ASIDE = (LOSS, MACRO_F1, SINGLE, FLAT, AGREEMENT, *BINARY_TREES)
_MANY_UNKNOWN = 10.0  # percent of the words
_CAPPED = (
    "capped: these sentences need more trees than max_active allows; the weights are the best "
    "ones for the trees kept. Exact: --estimator sparsemap:max_support=10 (as few trees) or "
    "sparsemap:max_active=none"
)
_ACROSS = 60  # characters for the names above a matrix


def results_table(result: Mapping[str, Any]) -> Table:
    """The result of a run: one row per split."""
    title = f"best epoch {result['best_epoch']} of {result['epochs']}"
    if result["temperature_curve"]:
        title += f", temperature {result['temperature']:g}"
    return splits_table({"validation": result["validation"], **result["tests"]}, title)


def splits_table(splits: Mapping[str, Mapping[str, Any]], title: str | None = None) -> Table:
    """One row per split, one column per metric."""
    found = [m for m in MEASURES.values() if any(m.name in values for values in splits.values())]
    table = _table("split", title)
    if len(found) > _ROOMY:
        table.padding = 0
    for measure in found:
        table.add_column(measure.heading, justify="right")
    for split, values in splits.items():
        table.add_row(split, *(m.text(values[m.name]) if m.name in values else "" for m in found))
    return table


def lengths_table(by_length: Mapping[str, Any]) -> Table:
    """One row per bin of lengths, with the metrics of the answers and attachment."""
    bins: Sequence[Mapping[str, Any]] = by_length["bins"]
    known = [m for m in MEASURES.values() if any(m.name in values for values in bins)]
    found = [m for m in known if m not in _ASIDE] or known
    table = _table(by_length["unit"], _trained(by_length))
    for heading in ("examples", *(measure.heading for measure in found)):
        table.add_column(heading, justify="right")
    for values in bins:
        cells = (m.text(values[m.name]) if m.name in values else "" for m in found)
        table.add_row(bin_name(values), f"{values['examples']:,}", *cells)
    return table


def _trained(by_length: Mapping[str, Any]) -> str:
    if by_length["training"] is None:
        return f"by {by_length['unit']}"
    low, high = by_length["training"]
    return f"by {by_length['unit']}, trained on {low} to {high}"


def remarks(splits: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """One line per split: the number of certified sentences and the share of unknown words."""
    lines = []
    for split, values in splits.items():
        certificates = Certificates.of(values)
        told = [] if certificates is None else [str(certificates)]
        if "unknown" in values:
            told.append(f"unknown words {values['unknown']:.1f} %")
        lines += [f"{split}: {'; '.join(told)}"] if told else []
    return lines


def advice(splits: Mapping[str, Mapping[str, Any]], vectors: str | None = None) -> list[str]:
    """Explanations of remarks that look like a failure, with what to do about them.

    Args:
        splits: as of `remarks`.
        vectors: the file of the model's word vectors, if any.
    """
    lines = []
    if any(values.get("capped") for values in splits.values()):
        lines.append(_CAPPED)
    unknown = {split: values.get("unknown", 0.0) for split, values in splits.items()}
    worst = max(unknown, key=unknown.__getitem__)
    if unknown[worst] >= _MANY_UNKNOWN:
        known = "knows only words of the training data; --vectors FILE (GloVe, for example)"
        what = f"{known} or --encoder hf:NAME knows more"
        if vectors is not None:
            what = f"has no vectors for them in {vectors}; a larger file, or --encoder hf:NAME, has"
        lines.append(f"unknown words: {unknown[worst]:.0f} % of {worst}; the model {what}")
    return lines


def confusion_table(split: str, confusion: Mapping[str, Mapping[str, int]]) -> Group | None:
    """The confusion matrix, correct labels in rows; for many labels, the most frequent mistakes.

    None if there are many labels and no mistakes.
    """
    labels = list(dict.fromkeys([*confusion, *(p for row in confusion.values() for p in row)]))
    if len(labels) <= _MATRIX:
        table = _table("correct \\ predicted")
        width = max(4, _ACROSS // len(labels) - 2)
        for label in labels:
            short = label if len(label) <= width else f"{label[: width - 1]}…"
            table.add_column(escape(short), justify="right", no_wrap=True)
        for label in labels:
            row = confusion.get(label, {})
            table.add_row(escape(label), *(str(row.get(other, "·")) for other in labels))
        return Group(f"{split}, examples", table)
    mistakes = [
        (n, label, other)
        for label, row in confusion.items()
        for other, n in row.items()
        if other != label
    ]
    if not mistakes:
        return None
    table = _table("right")
    table.add_column("predicted")
    table.add_column("examples", justify="right")
    for n, label, other in sorted(mistakes, key=lambda mistake: -mistake[0])[:_CONFUSED]:
        table.add_row(escape(label), escape(other), f"{n:,}")
    return Group(f"{split}, most frequent mistakes among {len(labels)} labels", table)


def alignments_table(scores: Mapping[str, Mapping[str, float]]) -> Table:
    """The scores of links between words, by how they were decoded from attention."""
    table = _table("links")
    columns = {"precision": "precision", "recall": "recall", "f1": "F1", "f1_possible": "F1*"}
    for name in ("links", *columns.values()):
        table.add_column(name, justify="right", no_wrap=True)
    for name, values in scores.items():
        cells = (f"{values[key]:.2f}" for key in columns)
        table.add_row(DECODINGS[name], f"{values['links']:,.0f}", *cells)
    return table


def _table(first: str, title: str | None = None) -> Table:
    return Table(
        first,
        title=title,
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
