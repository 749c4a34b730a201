"""The example near the top of a report: its likeliest tree, drawn large."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparsewood.draw._markup import element, escaped
from sparsewood.draw._sheet import percent
from sparsewood.draw.svg import picture_svg
from sparsewood.lab.report._gallery import KEY, right_answer, run_of, side_name, verdict
from sparsewood.lab.report._runs import ReportedRun
from sparsewood.lab.run.gallery import side_sheet

_WORDS = range(6, 13)  # preferred number of words: they are readable on a telephone
_LARGE = {1: 2.0, 2: 1.5}  # the scale of drawings by their number, if there is room


def shown_example(runs: Sequence[ReportedRun]) -> str:
    """An example of the gallery as HTML; empty without one that has trees.

    It has few words, the deepest tree among these, and was predicted correctly, if one was.
    """
    run = run_of(runs)
    examples = [] if run is None else run.gallery
    having = [one for one in examples if all(side["trees"] for side in one["sides"])]
    if run is None or not having:
        return ""
    example = max(having, key=lambda one: _quality(one, run))
    sides = example["sides"]
    drawn = [_drawn(side, k, len(sides)) for k, side in enumerate(sides)]
    key = KEY if any(side.get("given") and "heads" in side["trees"][0] for side in sides) else ""
    look = {True: "example right", False: "example wrong", None: "example"}[
        right_answer(example, run)
    ]
    about = f"One of the validation examples of the {run.label} model with seed {run.seed}."
    return element(
        "section",
        element("h3", "One example")
        + element("p", escaped(about) + key, class_="about")
        + element("article", verdict(example, run) + "".join(drawn), class_=f"{look} shown"),
    )


def _quality(example: Mapping[str, Any], run: ReportedRun) -> tuple[bool, bool, int]:
    """Better examples have greater values."""
    short = all(len(side["words"]) in _WORDS for side in example["sides"])
    depth = max(_depth(side["trees"][0].get("heads", [])) for side in example["sides"])
    return right_answer(example, run) is not False, short, depth


def _depth(heads: Sequence[int]) -> int:
    """The number of words on the longest way to the root; 0 for binary trees."""
    level, depth = {0}, 0
    while level := {word for word, head in enumerate(heads, 1) if head in level}:
        depth += 1
    return depth


def _drawn(side: Mapping[str, Any], k: int, count: int) -> str:
    """The likeliest tree of a side, with its probability."""
    sheet = side_sheet(side, side.get("given"), most=1)
    (picture,) = sheet.pictures
    kept = len(side["trees"])
    said = f"Its most probable tree of {kept}" if kept > 1 else "Its only tree"
    told = f"{said}, with probability {percent(sheet.weights[0])}."
    if picture.note:
        said = picture.note.replace("✓", "All").replace(" as", " heads as")
        told += f" {said}"
        told += "; other heads are not compared." if None in (picture.agrees or ()) else "."
    width = f"--width:{_LARGE.get(count, 1.0) * picture.panel().width:.0f}px"
    large = element("div", picture_svg(picture, sheet.weights[0]), class_="large", style=width)
    return side_name(k, count) + large + element("p", element("small", escaped(told)))
