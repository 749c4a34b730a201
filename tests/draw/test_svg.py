"""The picture is measured: nothing overlaps or leaves the frame, and all arcs are drawn."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from sparsewood.draw import draw
from sparsewood.draw._markup import text_width
from sparsewood.draw.arcs import Arcs
from sparsewood.draw.svg import picture_svg

SVG = "{http://www.w3.org/2000/svg}"
WORD = st.text(st.sampled_from("ab W<&'\"é東\u0301\n\x00"), max_size=9)
Trees = Callable[..., st.SearchStrategy[list[int]]]


def tree_svg(heads: Sequence[int], words: Sequence[str], given: Sequence[int] | None = None) -> str:
    wanted = None if given is None else tuple(given)
    return picture_svg(Arcs(tuple(words), tuple(heads), given=wanted))


def parse(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)


def frame(root: ElementTree.Element) -> tuple[float, float]:
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    return width, height


def boxes(root: ElementTree.Element) -> list[tuple[float, float, float]]:
    """Left, right and baseline of each word."""
    found = []
    for text in root.iter(f"{SVG}text"):
        x, half = float(text.attrib["x"]), float(text.attrib.get("textLength", 0)) / 2
        found.append((x - half, x + half, float(text.attrib["y"])))
    return found


def arcs(root: ElementTree.Element) -> list[list[tuple[float, float]]]:
    """The corners of the line of each arc and root arrow."""
    lines = []
    for group in root.iter(f"{SVG}g"):
        if not group.get("class", "").startswith("sparsewood-"):
            continue
        path = group.find(f"{SVG}path")
        assert path is not None
        lines.append(corners(path.attrib["d"]))
    return lines


def corners(path: str) -> list[tuple[float, float]]:
    x = y = 0.0
    found = []
    for command, rest in re.findall(r"([MVHq])([^MVHq]*)", path):
        values = [float(value) for value in rest.split()]
        if command == "M":
            x, y = values
        elif command == "V":
            (y,) = values
        elif command == "H":
            (x,) = values
        else:
            x, y = x + values[2], y + values[3]
        found.append((x, y))
    return found


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_words_apart_and_lines_inside(tree_heads: Trees, data: st.DataObject) -> None:
    heads = data.draw(tree_heads())
    words = data.draw(st.lists(WORD, min_size=len(heads), max_size=len(heads)))
    root = parse(tree_svg(heads, words))
    width, height = frame(root)
    spans = boxes(root)
    assert len(spans) == sum(word != "" for word in words)
    for (_, end, _), (start, _, _) in pairwise(spans):
        assert end < start
    for left, right, baseline in spans:
        assert 0 <= left <= right <= width
        assert 0 <= baseline <= height
    lines = arcs(root)
    assert len(lines) == len(heads)
    for line in lines:
        for x, y in line:
            assert 0 <= x <= width
            assert y >= 0
            assert all(y < baseline - 10 for _, _, baseline in spans)  # above every word


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_arcs_end_on_their_words(tree_heads: Trees, data: st.DataObject) -> None:
    heads = data.draw(tree_heads(max_words=20))
    words = [f"w{i}" for i in range(len(heads))]
    root = parse(tree_svg(heads, words))
    spans = boxes(root)

    def word_at(x: float) -> int:
        return min(range(len(spans)), key=lambda i: abs((spans[i][0] + spans[i][1]) / 2 - x)) + 1

    read = {}
    for line in arcs(root):
        straight = len(line) == 2
        read[word_at(line[-1][0])] = 0 if straight else word_at(line[0][0])
    assert [read[word] for word in range(1, len(heads) + 1)] == heads


def test_arcs_that_do_not_cross_in_the_tree_do_not_cross_in_the_picture() -> None:
    heads = [2, 0, 4, 2, 4, 7, 5]
    lines = arcs(parse(tree_svg(heads, "She saw the man with the telescope".split())))

    def segments(line: list[tuple[float, float]]) -> list[tuple[float, ...]]:
        return [(*map(min, a, b), *map(max, a, b)) for a, b in pairwise(line)]

    for i, one in enumerate(lines):
        for other in lines[:i]:
            for a in segments(one):
                for b in segments(other):
                    apart = a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]
                    assert apart


def test_agreement_has_its_own_style() -> None:
    root = parse(tree_svg([2, 0, 2], ["a", "b", "c"], given=[2, 0, 1]))
    kinds = [g.attrib["class"] for g in root.iter(f"{SVG}g") if "class" in g.attrib]
    assert sorted(kinds) == ["sparsewood-agree", "sparsewood-agree", "sparsewood-differ"]
    dashed = [p for p in root.iter(f"{SVG}path") if "stroke-dasharray" in p.attrib]
    assert len(dashed) == 1


def test_title_tells_the_tree() -> None:
    root = parse(picture_svg(Arcs(("<b>", "&"), (2, 0)), weight=0.531))
    assert root[0].text == "Dependency tree with probability 53.1%: & → <b>, root → &"


def test_trees_one_under_another() -> None:
    words = ["a", "b", "c"]
    trees, weights = [[0, 1, 1], [0, 0, 0], [2, 3, 0]], [0.2, 0.7, 0.1]
    root = parse(draw(words, trees, weights, [0, 1, 1], "svg"))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert [text for text in texts if text and "%" in text] == ["70.0%", "20.0%", "10.0%"]
    assert "✓ as given" in texts
    assert texts.count("b") == 3
    places = [g.attrib["transform"] for g in root.iter(f"{SVG}g") if "transform" in g.attrib]
    heights = [float(place.rstrip(")").split()[1]) for place in places]
    assert heights == sorted(heights)
    assert len(set(heights)) == 3
    _, height = frame(root)
    assert heights[-1] < height


def test_sixty_words_of_one_head_stay_low() -> None:
    _, height = frame(parse(tree_svg([0] + [1] * 59, ["word"] * 60)))
    assert height < 330


def test_widths_grow_with_the_text() -> None:
    assert text_width("", 10) == 0
    assert text_width("i", 10) < text_width("n", 10) < text_width("W", 10) <= text_width("東", 10)


def test_the_caption_stands_above_the_pictures() -> None:
    root = parse(draw(["a", "b"], [[0, 1]], [1.0], None, "svg", status="capped"))
    first, *others = root.iter(f"{SVG}text")
    assert first.text == "1 tree, not certified: capped"
    assert first.attrib["fill"] == "#d5601c"
    place = next(g.attrib["transform"] for g in root.iter(f"{SVG}g") if "transform" in g.attrib)
    assert float(place.rstrip(")").split()[1]) > float(first.attrib["y"])
    assert frame(root)[0] >= 4 + text_width(first.text, 13)
    assert others
