"""Each family has its own picture, in every format, whatever the names."""

from collections.abc import Callable
from itertools import combinations
from typing import get_args
from xml.etree import ElementTree

import pytest
import torch

import sparsewood as sp
from sparsewood.draw import Drawing, Format, posterior_text, show
from sparsewood.draw._sheet import Picture
from sparsewood.draw.arcs import Arcs
from sparsewood.draw.brackets import Brackets
from sparsewood.draw.edges import Edges
from sparsewood.draw.families import FAMILIES
from sparsewood.draw.items import Items, Ranking
from sparsewood.draw.links import AlignmentPath, Pairing, Shipment
from sparsewood.draw.listing import Listing
from sparsewood.draw.routes import GridRoute, Route
from sparsewood.draw.segments import Segments
from sparsewood.draw.tags import Tags
from sparsewood.structures.base import Structure
from tests.seats import Seats

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ["She", "saw", "the", "man"]
OTHER = ["elle", "vit", "l'", "homme", "ici"]
LABELS = ["NOUN", "a long label", "X"]


# The family, the shape of its scores, its picture, and its names.
CASES: dict[str, tuple[Structure, tuple[int, ...], type[Picture], tuple[str, ...]]] = {
    "trees": (sp.DependencyTrees(), (4, 5), Arcs, ("words",)),
    "projective": (sp.DependencyTrees(projective=True), (4, 5), Arcs, ("words",)),
    "labelled": (sp.LabelledDependencyTrees(), (4, 5, 3), Arcs, ("words", "labels")),
    "chain": (sp.LinearChain(), (4, 3, 4), Tags, ("words", "labels")),
    "semi-markov": (sp.SemiMarkov(2), (4, 3, 5), Segments, ("words", "labels")),
    "binary": (sp.BinaryTrees(), (4, 4), Brackets, ("words",)),
    "labelled-binary": (sp.BinaryTrees(labelled=True), (4, 4, 3), Brackets, ("words", "labels")),
    "spanning": (sp.SpanningTrees(), (4, 4), Edges, ("words",)),
    "matching": (sp.Matching(), (4, 5), Pairing, ("words", "other")),
    "partial": (sp.Matching(partial=True), (4, 5), Pairing, ("words", "other")),
    "transport": (sp.Transport(2, 3, column_least=0), (4, 5), Shipment, ("words", "other")),
    "flows": (sp.Transport(5, 4, pair_capacity=None), (4, 5), Shipment, ("words", "other")),
    "alignment": (sp.Alignment(), (4, 5), AlignmentPath, ("words", "other")),
    "gaps": (sp.Alignment(gaps=True), (4, 5), AlignmentPath, ("words", "other")),
    "speech": (sp.Alignment(steps="speech"), (4, 5), AlignmentPath, ("words", "other")),
    "paths": (sp.Paths.grid(3, 3), (12,), Route, ()),
    "grid-paths": (sp.GridPaths(), (4, 5), GridRoute, ()),
    "simplex": (sp.Simplex(), (4,), Items, ("words",)),
    "subset": (sp.Subset(2), (4,), Items, ("words",)),
    "hypercube": (sp.Hypercube(), (4,), Items, ("words",)),
    "rankings": (sp.Rankings(), (4,), Ranking, ("words",)),
    "budget": (sp.Budget(2), (4,), Listing, ()),
    "custom": (Seats(), (4,), Listing, ()),
}
NAMES = {"words": WORDS, "other": OTHER, "labels": LABELS}


def posterior(name: str, seed: int = 0) -> sp.SparsePosterior:
    structure, shape, _, _ = CASES[name]
    scores = torch.randn(1, *shape, generator=torch.Generator().manual_seed(seed))
    if structure.costs_only:
        scores = -scores.abs()
    return sp.sparsemap(scores, structure)


def drawing(name: str, rename: Callable[[str], str] = str, seed: int = 0) -> Drawing:
    names = {key: [rename(text) for text in NAMES[key]] for key in CASES[name][3]}
    return show(posterior(name, seed), **names)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", CASES)
def test_the_picture_is_that_of_the_family(name: str) -> None:
    sheet = drawing(name).sheet
    assert {type(picture) for picture in sheet.pictures} == {CASES[name][2]}
    assert list(sheet.weights) == sorted(posterior(name).weights.tolist(), reverse=True)


def test_every_picture_is_tested() -> None:
    assert {type(case[0]) for case in CASES.values()} >= set(FAMILIES) - {Structure}


@pytest.mark.parametrize("form", [form for form in get_args(Format) if form != "conllu"])
@pytest.mark.parametrize("name", CASES)
def test_every_format_names_everything(name: str, form: Format) -> None:
    picture = drawing(name).to(form)
    if form in ("svg", "html"):
        ElementTree.fromstring(picture.partition("<body>")[2].partition("</body>")[0] or picture)
        picture = picture.replace("&#x27;", "'")
    wanted = [*WORDS, *OTHER] if "other" in CASES[name][3] else WORDS if CASES[name][3] else []
    assert [word for word in wanted if word not in picture] == []
    assert ", certified" in picture


@pytest.mark.parametrize("name", ["trees", "labelled"])
def test_conllu_holds_dependency_trees(name: str) -> None:
    lines = drawing(name).to("conllu").splitlines()
    assert lines[1].endswith(", certified")
    columns = [line.split("\t") for line in lines[3:7]]
    assert [column[1] for column in columns] == WORDS
    if name == "labelled":
        first = drawing(name).sheet.pictures[0]
        assert isinstance(first, Arcs)
        assert tuple(column[7] for column in columns) == first.labels


def test_conllu_holds_nothing_else() -> None:
    with pytest.raises(ValueError, match="expected dependency trees, got taggings"):
        drawing("chain").to("conllu")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        (name, form)
        for name, (_, _, panel, _) in CASES.items()
        for form in get_args(Format)
        if form != "conllu" or panel is Arcs
    ],
)
def test_no_name_reaches_a_terminal_or_a_file_raw(name: str, form: Format) -> None:
    picture = drawing(name, lambda text: f"\x1b[31m{text}\x00\udc80\u202e\x9b\u2028\ufffe").to(form)
    picture.encode("utf-8")
    layout = picture.replace("\n", "").replace("\t", "" if form == "conllu" else "\t")
    assert all(c.isprintable() for c in layout)
    if form == "svg":
        ElementTree.fromstring(picture)


def boxes(panel: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of each text."""
    found = []
    for text in panel.iter(f"{SVG}text"):
        x, half = float(text.attrib["x"]), float(text.attrib["textLength"]) / 2
        y, size = float(text.attrib["y"]), float(text.get("font-size", 15))
        found.append((x - half, y - 0.7 * size, x + half, y + 0.15 * size))
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_no_text_overlaps_or_is_cut(name: str, seed: int) -> None:
    fragment = ElementTree.fromstring(drawing(name, seed=seed)._repr_html_())
    panels = list(fragment.iter(f"{SVG}svg"))
    assert panels
    for panel in panels:
        _, _, width, height = map(float, panel.attrib["viewBox"].split())
        texts = boxes(panel)
        for left, top, right, bottom in texts:
            assert left >= 0
            assert top >= 0
            assert right <= width
            assert bottom <= height
        for a, b in combinations(texts, 2):
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3]])
def test_numbers_stand_in_for_names(name: str) -> None:
    text = repr(show(posterior(name)))
    first = 1 if CASES[name][2] is Arcs else 0
    assert all(str(number) in text for number in range(first, 4))


def test_padding_is_not_drawn() -> None:
    scores = torch.randn(2, 5, 3, 4, generator=torch.Generator().manual_seed(0))
    post = sp.sparsemap(scores, sp.LinearChain(), lengths=torch.tensor([5, 2]))
    assert "saw" in repr(show(post, WORDS[:2], instance=1))
    sides = torch.tensor([[2, 3]])
    aligned = sp.sparsemap(scores[:1, :, :, 0], sp.Alignment(), lengths=sides)
    assert "l'" in repr(show(aligned, WORDS[:2], other=OTHER[:3]))
    with pytest.raises(ValueError, match="other: expected 3 names, got 5"):
        show(aligned, WORDS[:2], other=OTHER)


def test_a_factor_of_a_graph_is_drawn_as_its_family() -> None:
    graph = sp.FactorGraph()
    x = graph.variables(2, 2)
    number = graph.add(sp.Matching(), x)
    post = sp.lp_sparsemap(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), graph)
    assert "a ── x" in repr(show(post.factor(number), ["a", "b"], other=["x", "y"]))
    with pytest.raises(TypeError, match="show: expected a Posterior, got LPPosterior"):
        show(post)  # pyright: ignore[reportArgumentType]
    best = sp.kbest(torch.zeros(1, 3), sp.Simplex(), 2)
    with pytest.raises(TypeError, match="show: expected a Posterior, got KBest"):
        show(best)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("name", "names", "message"),
    [
        ("trees", {"words": WORDS[:3]}, "words: expected 4 names, got 3"),
        (
            "trees",
            {"other": OTHER},
            r"other: expected None: DependencyTrees\(.*\) is drawn with words and given",
        ),
        ("chain", {"labels": ["a"]}, "labels: expected 3 names, got 1"),
        ("chain", {"given": [0, 1]}, r"given: expected \(4,\), got \(2,\)"),
        ("chain", {"given": [0, 1, 2, 3]}, "given: label 3 at 3, expected 0 to 2"),
        ("labelled", {"given": [0, 1, 1, 1]}, r"given: expected \(4, 2\), got \(4,\)"),
        ("binary", {"labels": LABELS}, "labels: expected None, as BinaryTrees"),
        ("custom", {"words": WORDS}, "words: expected None: .* is drawn with numbers"),
    ],
)
def test_names_that_do_not_fit(name: str, names: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        show(posterior(name), **names)  # pyright: ignore[reportArgumentType]


def test_a_string_is_no_sequence_of_words() -> None:
    with pytest.raises(TypeError, match="words: expected a sequence of strings, got 'abcd'"):
        show(posterior("trees"), "abcd")


def test_what_is_given_is_compared() -> None:
    post = posterior("chain")
    text = posterior_text(post, WORDS, given=post.mode[0].tolist(), labels=LABELS)
    assert text.splitlines()[2].endswith("✓ as given")
    assert text.splitlines()[5].split() == ["✓"] * 4
    labelled = posterior("labelled")
    given = labelled.mode[0].clone()
    given[0, 1] = (given[0, 1] + 1) % 3  # another label on the same arc
    drawn = show(labelled, WORDS, given=given, labels=LABELS)
    assert drawn.sheet.pictures[0].note == "3 of 4 as given"
    assert "GivenDeprel=" in drawn.to("conllu")


def test_a_capped_posterior_says_so() -> None:
    scores = torch.randn(1, 6, 7, generator=torch.Generator().manual_seed(1))
    drawn = show(sp.sparsemap(scores, sp.DependencyTrees(), max_active=2))
    caption = f"2 trees, not certified: capped (gap {drawn.sheet.gap:.1e})"
    assert repr(drawn).splitlines()[0] == caption
    for form in get_args(Format):
        assert caption in drawn.to(form)
    assert caption in drawn._repr_html_()
