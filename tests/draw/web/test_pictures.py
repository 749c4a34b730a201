"""The live picture of each family in a browser: weights, cards and names as in Python."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from playwright.sync_api import Page
from torch import Tensor

import sparsewood as sp
from sparsewood.draw import Live, live, live_assets
from sparsewood.draw._sheet import percent
from sparsewood.structures.base import NativeStructure
from tests.full import some_quick

WORDS = ["She", "saw", "the", "man", "here"]
OTHER = ["elle", "vit", "l'", "homme"]
LABELS = ["NOUN", "VERB", "DET"]
# Changes are painted in the next frame.
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
STATE = "document.querySelector('.sparsewood-live').sparsewood.state()"

Name = Callable[..., str]


def span(i: int, j: int) -> str:
    return f"[{' '.join(WORDS[i : j + 1])}]"


def tag(t: int, k: int, step: int) -> str:
    if step == 0:
        return f"{WORDS[t]} is {LABELS[k]}"
    return f"{LABELS[step - 1]} → {LABELS[k]} before {WORDS[t]}"


def segment(t: int, k: int, option: int) -> str:
    if option < 2:  # lengths, then labels before
        return f"{span(t, t + option)} is {LABELS[k]}"
    return f"{LABELS[option - 2]} → {LABELS[k]} before {WORDS[t]}"


def piece(t: int, k: int, option: int) -> str:
    return span(t, t + option) if option < 3 else f"cut before {WORDS[t]}"


def link(i: int, j: int) -> str:
    return f"{WORDS[i]} – {OTHER[j]}"


# The family, the shape of its scores, the name of a part by index, and the given names.
CASES: dict[str, tuple[NativeStructure, tuple[int, ...], Name, tuple[str, ...]]] = {
    "chain": (sp.LinearChain(), (5, 3, 4), tag, ("labels",)),
    "semi_markov": (sp.SemiMarkov(2), (5, 3, 5), segment, ("labels",)),
    "pieces": (sp.SemiMarkov(3), (5, 1, 4), piece, ()),
    "matching": (sp.Matching(), (5, 4), link, ("other",)),
    "partial": (sp.Matching(partial=True), (5, 4), link, ("other",)),
    "transport": (sp.Transport(2, 5, column_least=1), (5, 4), link, ("other",)),
    "alignment": (sp.Alignment(), (5, 4), link, ("other",)),
    "gaps": (sp.Alignment(gaps=True), (5, 4), link, ("other",)),
    "steps": (sp.Alignment(steps=[(1, 0), (1, 1)]), (5, 4), link, ("other",)),
    "binary_trees": (sp.BinaryTrees(), (5, 5), span, ()),
    "labelled": (
        sp.BinaryTrees(labelled=True),
        (5, 5, 3),
        lambda i, j, k: f"{span(i, j)} is {LABELS[k]}",
        ("labels",),
    ),
    "spanning_trees": (
        sp.SpanningTrees(),
        (5, 5),
        lambda i, j: f"{WORDS[j]} – {WORDS[i]}",
        (),
    ),
    "simplex": (sp.Simplex(), (5,), WORDS.__getitem__, ()),
    "subset": (sp.Subset(2), (5,), WORDS.__getitem__, ()),
    "hypercube": (sp.Hypercube(), (5,), WORDS.__getitem__, ()),
}


def scores_of(name: str) -> Tensor:
    generator = torch.Generator().manual_seed(len(name))
    return torch.randn(1, *CASES[name][1], dtype=torch.float64, generator=generator)


def figure_of(
    name: str,
    words: list[str] = WORDS,
    other: list[str] = OTHER,
    labels: list[str] = LABELS,
    temperature: float = 1.0,
) -> Live:
    structure, _, _, given = CASES[name]
    return live(
        scores_of(name),
        structure,
        words,
        other=other if "other" in given else None,
        labels=labels if "labels" in given else None,
        temperature=temperature,
    )


def check_weights(page: Page, scores: Tensor, name: str) -> sp.SparsePosterior:
    """The posterior, after a check that the page's is the same."""
    page.evaluate(PAINTED)
    state = page.evaluate(
        f"(({{weights, structures, marginals, settings}}) => ({{weights: [...weights], "
        f"structures: structures.map((one) => [...one]), marginals: [...marginals], settings}}))"
        f"({STATE})"
    )
    post = sp.sparsemap(scores, CASES[name][0], temperature=state["settings"]["temperature"])
    keys = [tuple(one.flatten().tolist()) for one in post.structures]
    theirs = dict(zip(map(tuple, state["structures"]), state["weights"], strict=True))
    assert theirs == pytest.approx(dict(zip(keys, post.weights.tolist(), strict=True)), abs=1e-9)
    np.testing.assert_allclose(state["marginals"], post.marginals.flatten(), rtol=0, atol=1e-9)
    return post


def check_parts(page: Page, post: sp.SparsePosterior, name: str) -> None:
    """Each part in use is drawn once with its name, and highlights the cards that use it."""
    folded = page.locator('.sparsewood-sparsemap .sparsewood-more[aria-expanded="false"]')
    if folded.is_visible():
        folded.dispatch_event("click")  # a pointer would highlight the card that moves below it
        page.evaluate(PAINTED)
    drawn = page.evaluate(
        """() => [...document.querySelectorAll(".sparsewood-summary [data-part]")].map((group) => {
            group.scrollIntoView({block: "nearest"});
            const box = group.querySelector("rect.sparsewood-hit")?.getBoundingClientRect();
            const clientX = box ? box.x + box.width / 2 : -1; // lines may cross: at none of them
            const clientY = box ? box.y + box.height / 2 : -1;
            const moved = {bubbles: true, clientX, clientY};
            group.dispatchEvent(new PointerEvent("pointermove", moved));
            const lit = document.querySelectorAll(".sparsewood-sparsemap .sparsewood-lit");
            return [Number(group.dataset.part), group.getAttribute("aria-label"),
                    [...lit].map((card) => card.dataset.key)];
        })"""
    )
    parts = [part for part, _, _ in drawn]
    marginals = post.marginals.flatten()
    assert len(set(parts)) == len(parts)
    assert set(marginals.nonzero().flatten().tolist()) <= set(parts)
    keys = [",".join(map(str, one.flatten().tolist())) for one in post.structures]
    _, shape, name_of, _ = CASES[name]
    for part, label, lit in drawn:
        places = np.unravel_index(part, shape)
        share = percent(float(marginals[part]))
        assert label.startswith(f"{name_of(*map(int, places))}, marginal {share}, score ")
        users = post.parts.flatten(1)[:, part] > 0
        assert set(lit) == {key for key, uses in zip(keys, users.tolist(), strict=True) if uses}


def check_copies(page: Page, post: sp.SparsePosterior, name: str) -> None:
    """Copied text is complete: all words, all structures."""
    forms = ["picture-svg", "svg", "picture-tikz", "tikz"]
    figure = STATE.removesuffix("state()")
    picture, structures, *tikz = [page.evaluate(f"{figure}text('{form}')") for form in forms]
    for svg in (picture, structures):
        assert set(WORDS) <= set(ElementTree.fromstring(svg).itertext())
    counts = [text.count("\\begin{tikzpicture}") for text in tikz]
    assert counts == [1, len(post.weights)]


@pytest.mark.parametrize("name", some_quick(CASES, *list(CASES)[::8]))
def test_answers_are_those_of_python(name: str, page: Page, tmp_path: Path) -> None:
    scores = scores_of(name)
    path = tmp_path / "figure.html"
    figure_of(name).save(path)
    page.goto(path.as_uri())
    page.wait_for_selector(".sparsewood-card")
    check_weights(page, scores, name)

    slider = page.get_by_label("Temperature, logarithmic")
    box = slider.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.56 * box["width"], box["y"] + box["height"] / 2, steps=3)
    page.mouse.up()
    page.wait_for_function(f"{STATE}.settings.temperature > 1.5")
    post = check_weights(page, scores, name)
    assert len(post.weights) > 1
    check_parts(page, post, name)

    part = int(post.parts.flatten(1).sum(0).argmax())
    page.locator(f'.sparsewood-summary [data-part="{part}"]').focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Shift+ArrowUp")
    before = float(scores.flatten()[part])
    page.wait_for_function(f"{STATE}.scores[{part}] > {before}")
    raised = scores.clone()
    raised.view(-1)[part] = page.evaluate(f"{STATE}.scores[{part}]")
    post = check_weights(page, raised, name)
    check_parts(page, post, name)
    check_copies(page, post, name)


# Left, top, right, bottom of each picture and of its texts.
TEXTS = """(figure) => [...figure.querySelectorAll(".sparsewood-summary svg, .sparsewood-card svg")]
    .map((svg) => {
        const {x, y, width, height} = svg.viewBox.baseVal;
        const texts = [...svg.querySelectorAll("text")].map((text) => {
            const number = (name) => Number(text.getAttribute(name) ?? 0);
            const [size, wide, base] = ["font-size", "textLength", "y"].map(number);
            const share = {start: 0, middle: 0.5, end: 1}[text.getAttribute("text-anchor")];
            const left = number("x") - share * wide;
            return [left, base - 0.7 * size, left + wide, base + 0.15 * size];
        });
        return [[x, y, x + width, y + height], texts];
    })"""


@pytest.mark.full
@pytest.mark.parametrize("width", [400, 1100])
def test_no_text_overlaps_or_is_cut(width: int, page: Page, tmp_path: Path) -> None:
    words = ["<script>alert(1)</script>", "الكلمة", "\u202e\x07", "a", "Donaudampfschiff"]
    other = ["</text>", "שלום", "日本語のことば", "b"]
    labels = ["a long label with words", "&amp;", "ل"]
    figures = [figure_of(name, words, other, labels, temperature=4.0) for name in CASES]
    path = tmp_path / "figures.html"
    content = "".join(figure.fragment() for figure in figures) + live_assets()
    path.write_text(f'<!DOCTYPE html><meta charset="utf-8">{content}', encoding="utf-8")
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(path.as_uri())
    for i, name in enumerate(CASES):
        figure = page.locator(".sparsewood-live").nth(i)
        figure.scroll_into_view_if_needed()  # figures are mounted when visible
        figure.locator(".sparsewood-card").first.wait_for()
        pictures = figure.evaluate(TEXTS)
        assert len(pictures) > 2
        for (left, top, right, bottom), texts in pictures:
            for a in texts:
                inside = (a[0] - left, a[1] - top, right - a[2], bottom - a[3])
                assert min(inside) > -0.1, name
            for a, b in combinations(texts, 2):
                assert max(a[0] - b[2], b[0] - a[2], a[1] - b[3], b[1] - a[3]) > -0.1, name
