"""Measures: names, labels and formats of results, and the validation criterion."""

import math
from dataclasses import dataclass

_HANDY = range(-3, 6)  # powers of ten of numbers that are written with digits after the point


@dataclass(frozen=True)
class Measure:
    """A number measured on a split.

    Attributes:
        name: name in `result.json` and `metrics.jsonl`.
        label: name in tables and reports.
        digits: number of digits after the point.
        unit: "%" or empty.
        higher_is_better: whether higher values are better.
        brief: text in lines of progress, "accuracy {:.2f}"; None leaves it out.
        compared: whether tables of several runs have a column for it.
        title: title of its chart by epoch.
        any_size: values may have any magnitude. Larger ones have fewer digits after the point, and
            very large or small ones are written with `digits` significant digits.
        narrow: heading of a narrow column, on several lines. Default: the label, split at its first
            space.
    """

    name: str
    label: str
    digits: int
    unit: str = ""
    higher_is_better: bool = True
    brief: str | None = None
    compared: bool = False
    title: str = ""
    any_size: bool = False
    narrow: str = ""

    def text(self, value: float, sign: str = "") -> str:
        """The value as text; `sign` "+" also writes the sign of positive values."""
        digits, form = self.digits, "f"
        if self.any_size and value != 0 and math.isfinite(value):
            power = math.floor(math.log10(abs(value)))
            if power in _HANDY:
                digits -= min(max(power, 0), digits)
            else:
                form = "g"
        return f"{value:{sign}.{digits}{form}}"

    @property
    def heading(self) -> str:
        """The heading of a narrow column."""
        return self.narrow or self.label.replace(" ", "\n", 1)


@dataclass(frozen=True)
class MetricSpec:
    """The metrics of a task.

    Attributes:
        criterion: the validation criterion.
        measures: all measures, in the order of tables.
    """

    criterion: Measure
    measures: tuple[Measure, ...]


LOSS = Measure("loss", "loss", 4, higher_is_better=False, brief="loss {:.4f}")

# Of posteriors over trees, in every task.
SUPPORT = Measure(
    "support", "trees kept", 2, brief="trees {:.2f}", title="Trees per sentence, mean"
)
SINGLE = Measure(
    "single", "one tree %", 1, "%", brief="one tree {:.0f} %", title="Sentences with one tree"
)
FLAT = Measure("flat", "flat tree %", 1, "%", title="Mean probability of the flat tree")
AGREEMENT = Measure(
    "agreement", "given arcs %", 1, "%", title="Mean probability of the given trees' arcs"
)
ATTACHMENT = Measure(
    "attachment",
    "attachment",
    1,
    "%",
    title="Attachment of the likeliest tree to the given tree",
    narrow="attach-\nment %",
)
WITHOUT_BRACKETS = Measure(
    "attachment_without_brackets",
    "attachment without brackets",
    1,
    "%",
    brief="attachment without brackets {:.1f}",
    title="Attachment of the likeliest tree to the given tree, without brackets",
    narrow="attach-\nment %\nwithout\nbracket",
)
LEFT_BRANCHING = Measure(
    "left_branching",
    "left-branching %",
    1,
    "%",
    title="Spans of the likeliest binary tree that the left-branching one has",
    narrow="left\nbranch-\ning %",
)
RIGHT_BRANCHING = Measure(
    "right_branching",
    "right-branching %",
    1,
    "%",
    title="Spans of the likeliest binary tree that the right-branching one has",
    narrow="right\nbranch-\ning %",
)
# A model has either dependency trees or binary trees.
DEPENDENCY_TREES = (SUPPORT, SINGLE, FLAT, AGREEMENT, ATTACHMENT, WITHOUT_BRACKETS)
BINARY_TREES = (LEFT_BRANCHING, RIGHT_BRANCHING)
TREES = (*DEPENDENCY_TREES, *BINARY_TREES)
