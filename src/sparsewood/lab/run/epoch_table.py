"""The epochs of a run as rows of a table that fits the terminal."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sparsewood.lab.tasks.build import MEASURES
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.measures import LOSS, SINGLE, SUPPORT, Measure

BEST = "*"
_GAP = 2  # spaces between columns

Record = Mapping[str, Any]


@dataclass(frozen=True)
class _Column:
    """One column.

    Attributes:
        heading: one line or several.
        rank: a narrow terminal leaves out columns with the highest ranks first.
        cell: the text of an epoch, given the time left.
        group: heading above adjacent columns of the same group.
        width: minimum width.
    """

    heading: str
    rank: int
    cell: Callable[[Record, str], str]
    group: str = ""
    width: int = 0


class EpochTable:
    """The lines of a table; its columns depend on the first epoch and on the width.

    Args:
        record: the line of metrics of the first epoch that is shown.
        width: characters of a line.
    """

    def __init__(self, record: Record, width: int) -> None:
        columns = _columns(record)
        while len(columns) > 1 and sum(_widths(columns, record)) > width:
            columns.remove(max(columns, key=lambda column: column.rank))
        self._columns, self._widths = columns, _widths(columns, record)

    def head(self) -> list[str]:
        """The lines above the first epoch."""
        headings = [column.heading.split("\n") for column in self._columns]
        depth = max(map(len, headings))
        level = [[""] * (depth - len(lines)) + lines for lines in headings]
        return [self._groups(), *(self._joined(line) for line in zip(*level, strict=True))]

    def row(self, record: Record, left: str = "") -> str:
        """The line of an epoch, with the maximum time `left`."""
        return self._joined([column.cell(record, left) for column in self._columns])

    def _groups(self) -> str:
        line, place, last = "", 0, ""
        for column, width in zip(self._columns, self._widths, strict=True):
            if column.group not in ("", last):
                line = line.ljust(max(place + _GAP, len(line) + _GAP)) + column.group
            last, place = column.group, place + width
        return line

    def _joined(self, cells: Iterable[str]) -> str:
        pairs = zip(cells, self._widths, strict=True)
        return "".join(cell.rjust(width) for cell, width in pairs).rstrip()


def _widths(columns: list[_Column], record: Record) -> list[int]:
    """The widths of columns, including the gap before all except the first."""
    return [
        max(c.width, len(c.cell(record, "")), *map(len, c.heading.split("\n"))) + _GAP * (i > 0)
        for i, c in enumerate(columns)
    ]


def _columns(record: Record) -> list[_Column]:
    """All columns that an epoch can fill, for a terminal of any width."""
    staged = "stage" in record
    return [
        _Column("epoch", 0, _epoch, width=9 if staged else 5),
        *_measured("train", record["train"], loss=5, answers=7),
        *_measured("validation", record["validation"], loss=3, answers=2),
        *_of_trees(record["validation"]),
        _Column("lr", 10, lambda record, _: f"{record['lr']:.3g}", width=7),
        _Column("s per\nepoch", 4, lambda record, _: f"{record['seconds']:.1f}", width=6),
        _Column("at most\nleft", 6, lambda _, left: left, width=7),
        _Column("", 1, lambda record, _: BEST * record["best"], width=1),
    ]


def _epoch(record: Record, _: str) -> str:
    stage = record.get("stage")
    return f"{record['epoch']}" if stage is None else f"{record['epoch']} (≤{stage})"


def _measured(split: str, values: Record, loss: int, answers: int) -> list[_Column]:
    """The columns of the loss and of metrics of answers, with these ranks."""
    return [
        _Column(m.heading, loss if m is LOSS else answers, _cell(split, m), split, width=6)
        for m in MEASURES.values()
        if m.name in values and (m is LOSS or (m.compared and m.brief))
    ]


def _of_trees(values: Record) -> list[_Column]:
    """The columns of tree statistics on validation."""
    found = [
        _Column(m.heading, rank, _cell("validation", m), "validation", width=5)
        for m, rank in ((SUPPORT, 8), (SINGLE, 11))
        if m.name in values
    ]
    if Certificates.of(values) is not None:
        found.append(_Column("certi-\nfied", 9, _certified, "validation", width=5))
    return found


def _cell(split: str, measure: Measure) -> Callable[[Record, str], str]:
    return lambda record, _: measure.text(record[split][measure.name])


def _certified(record: Record, _: str) -> str:
    found = Certificates.of(record["validation"])
    return "" if found is None else f"{found.percent:.0f} %"
