from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsewood.draw._markup import text_width
from sparsewood.lab.report._axes import short, span, spread_out, ticks, whole_ticks
from sparsewood.lab.report._colours import Mark
from sparsewood.lab.report.charts import Series, line_chart

SVG = "{http://www.w3.org/2000/svg}"
BLUE = Mark("blue")
NUMBER = st.floats(-1e6, 1e6) | st.sampled_from([float("nan"), float("inf")])


def parse(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)


@given(st.lists(st.lists(NUMBER, max_size=8), max_size=4), st.booleans())
def test_lines_stay_inside(lines: list[list[float]], zero: bool) -> None:
    series = [Series(f"<{i}>", BLUE, list(enumerate(ys, 1))) for i, ys in enumerate(lines)]
    root = parse(line_chart(series, "t", "epoch", zero=zero))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    finite = sum(len(line.finite) for line in series)
    circles = points(root)
    assert len(circles) == finite
    for circle in circles:
        assert 0 <= float(circle.attrib["cx"]) <= width
        assert 0 <= float(circle.attrib["cy"]) <= height
    assert all(_inside(text, width) for text in root.iter(f"{SVG}text"))


def points(root: ElementTree.Element) -> list[ElementTree.Element]:
    """The points of lines, which have titles, without the marks beside their names."""
    return [circle for circle in root.iter(f"{SVG}circle") if len(circle)]


def test_the_names_of_many_lines_fit() -> None:
    series = [Series(f"line {i}", BLUE, [(1, i / 40), (2, i / 40)]) for i in range(40)]
    root = parse(line_chart(series, "t", "epoch"))
    _, _, _, height = map(float, root.attrib["viewBox"].split())
    named = [text for text in root.iter(f"{SVG}text") if text.get("class") == "name"]
    heights = sorted(float(text.attrib["y"]) for text in named)
    assert len(named) == 40
    assert heights[0] - float(named[0].attrib["font-size"]) >= 0
    assert heights[-1] <= height
    assert all(b - a >= 12 for a, b in pairwise(heights))


def _inside(text: ElementTree.Element, width: float) -> bool:
    """Whether all of a text is in a picture of this width."""
    long = text_width(text.text or "", float(text.attrib["font-size"]))
    before = {"start": 0.0, "middle": long / 2, "end": long}[text.attrib["text-anchor"]]
    left = float(text.attrib["x"]) - before
    return left >= 0 and left + long <= width


@pytest.mark.parametrize("value", [0.0, 0.0008, 123_456.0])
def test_long_numbers_beside_the_axis_are_not_cut_off(value: float) -> None:
    lines = [Series("sparsemap", BLUE, [(1, 0.0), (2, value)])]
    root = parse(line_chart(lines, "t", "epoch", zero=True, unit="%"))
    _, _, width, _ = map(float, root.attrib["viewBox"].split())
    texts = list(root.iter(f"{SVG}text"))
    assert all(_inside(text, width) for text in texts)
    assert "0%" in [text.text for text in texts]


def test_nothing_but_zeros() -> None:
    low, high = span([0.0, 0.0], zero=True)
    assert (low, high) == (0.0, 1.0)


def test_lines_of_one_name_share_a_label_and_the_best_is_marked() -> None:
    series = [Series("latent", BLUE, [(1, 2.0), (2, 3.0)], (2,), note=f"seed {i}") for i in (0, 1)]
    root = parse(
        line_chart([*series, Series("flat", Mark("orange"), [(1, 2.0)], dashed=True)], "t", "epoch")
    )
    names = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "name"]
    assert names == ["latent", "flat"]
    best = [point for point in points(root) if point.get("class") == "best"]
    assert len(best) == 2
    assert best[1][0].text == "latent (seed 1), 2: 3"


@given(st.lists(st.floats(-1e9, 1e9), max_size=6), st.booleans())
def test_ticks_are_even_and_inside(values: list[float], zero: bool) -> None:
    low, high = span(values, zero=zero)
    marks = ticks(low, high)
    assert 2 <= len(marks) <= 8
    assert all(low - 1e-6 * (high - low) <= mark <= high + 1e-6 * (high - low) for mark in marks)
    steps = [b - a for a, b in pairwise(marks)]
    assert max(steps) == pytest.approx(min(steps), rel=1e-6)


@given(st.integers(0, 500), st.integers(0, 500))
def test_whole_ticks(a: int, b: int) -> None:
    low, high = min(a, b), max(a, b)
    marks = whole_ticks(low, high)
    assert len(marks) <= 7
    assert all(low <= mark <= high for mark in marks)


@given(st.lists(st.floats(0, 100), max_size=6))
def test_labels_are_spread_out(places: list[float]) -> None:
    moved = sorted(spread_out(places, 10, 0, 100))
    assert all(b - a >= 10 - 1e-9 for a, b in pairwise(moved))
    assert all(-1e-9 <= place <= 100 + 1e-9 for place in moved)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.30000000000000004, "0.3"), (12500, "12,500"), (82.5, "82.5")]
)
def test_short(value: float, text: str) -> None:
    assert short(value) == text
