"""The live figure in a browser: results, interaction, and robustness."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.draw import Live, live, live_assets, show
from sparsewood.status import Status
from tests.full import some_quick

if TYPE_CHECKING:
    from playwright.sync_api import Page

WORDS = "She saw the old man with a telescope".split()
TREES = sp.DependencyTrees(single_root=True)
FIGURE = "document.querySelector('.sparsewood-live').sparsewood"
SLIDER = "input[aria-label='Temperature, logarithmic']"
MOST = "input[aria-label='Maximum number of trees']"
CARDS = ".sparsewood-sparsemap .sparsewood-card"
HOSTILE = [
    "<script>alert(1)</script>",
    "</script>",
    "<img src=x onerror=alert(1)>",
    "שלום\u202e",
    "e\u0301\u0323",
    "👩‍👩‍👧",
    "\ud800\x07",
    "&amp;\"'",
]


@pytest.fixture(scope="module")
def scores() -> Tensor:
    generator = torch.Generator().manual_seed(4)
    return 1.5 * torch.randn(8, 9, dtype=torch.float64, generator=generator)


def opened(page: "Page", figure: Live, folder: Path) -> None:
    figure.save(folder / "figure.html")
    page.goto((folder / "figure.html").as_uri())
    page.wait_for_function(FIGURE)


def state(page: "Page") -> dict[str, Any]:
    """The state of the figure after it has painted the last change."""
    return page.evaluate(
        f"""async () => {{
            await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
            const state = {FIGURE}.state();
            const plain = (value) => ArrayBuffer.isView(value) ? [...value] : value;
            return JSON.parse(JSON.stringify(state, (_, value) =>
                value === -Infinity ? null : plain(value)));
        }}"""
    )


def check(found: dict[str, Any], post: sp.SparsePosterior) -> None:
    """The same trees and weights, marginals, temperature."""
    answer = dict(zip(map(tuple, found["structures"]), found["weights"], strict=True))
    trees = map(tuple, post.structures.tolist())
    expected = dict(zip(trees, post.weights.tolist(), strict=True))
    assert answer == pytest.approx(expected, abs=1e-9)
    assert found["marginals"] == pytest.approx(post.marginals.flatten().tolist(), abs=1e-9)
    assert found["temperature"] == pytest.approx(float(post.temperature), rel=1e-9)
    assert found["status"] == str(Status(int(post.status)))


def on_arc(page: "Page", part: int) -> tuple[float, float]:
    """A point of the page in the middle of an arc."""
    x, y = page.evaluate(
        """(part) => {
            const path = document.querySelector(`[data-part="${part}"] .sparsewood-hit`);
            path.scrollIntoView({block: "center"});
            const at = path.getPointAtLength(path.getTotalLength() / 2);
            const {x, y} = at.matrixTransform(path.getScreenCTM());
            return [x, y];
        }""",
        part,
    )
    return x, y


@pytest.mark.parametrize("width", some_quick([400, 800, 1280]))
def test_twenty_words_are_readable_in_every_column(
    page: "Page", tmp_path: Path, width: int
) -> None:
    generator = torch.Generator().manual_seed(2)
    words = [f"word{i}" for i in range(20)]
    page.set_viewport_size({"width": width, "height": 900})
    opened(page, live(torch.randn(20, 21, generator=generator), TREES, words), tmp_path)
    for title in ("SparseMAP", "k best", "MAP"):
        tab = page.get_by_role("button", name=title, exact=True)
        if tab.is_visible():
            tab.click()
        card = page.get_by_role("region", name=title, exact=True).locator(".sparsewood-card").first
        drawn = card.locator("svg text").evaluate_all(
            """texts => texts.map(text => {
                const {width, height} = text.getBoundingClientRect();
                return [text.textContent, Math.min(width, height)];
            })"""
        )
        assert [text for text, _ in drawn] == words
        assert min(size for _, size in drawn) >= 9


@pytest.mark.full
def test_a_page_does_not_grow_much_while_one_scrolls(
    page: "Page", scores: Tensor, tmp_path: Path
) -> None:
    figures = [live(scores, TREES, WORDS), live(torch.randn(4), sp.Subset(2))] * 3
    fragments = "".join(figure.fragment() for figure in figures)
    (tmp_path / "page.html").write_text(f"<main>{fragments}</main>{live_assets()}", "utf-8")
    page.goto((tmp_path / "page.html").as_uri())
    height = "document.documentElement.scrollHeight"
    before = page.evaluate(height)
    for i in range(len(figures)):
        page.locator(".sparsewood-live").nth(i).scroll_into_view_if_needed()
        page.wait_for_function(f"document.querySelectorAll('.sparsewood-live')[{i}].sparsewood")
    assert 0.7 < page.evaluate(height) / before < 1.3
    assert not page.locator(".sparsewood-live[style*=height]").count()


@pytest.mark.full
def test_a_part_has_its_own_name(page: "Page", scores: Tensor, tmp_path: Path) -> None:
    opened(page, live(scores, TREES, WORDS), tmp_path)
    hint = "Hover over an arc to see the trees that use it; drag it to change its score."
    assert page.get_by_text(hint).is_visible()
    opened(page, live(torch.randn(4), sp.Subset(2)), tmp_path)
    assert page.get_by_text("Hover over an item to see the sets that use it").is_visible()


@pytest.mark.full
def test_sliders_answer_as_python_does(page: "Page", scores: Tensor, tmp_path: Path) -> None:
    opened(page, live(scores, TREES, WORDS), tmp_path)
    check(state(page), sp.sparsemap(scores, TREES))
    box = page.locator(SLIDER).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    temperatures = []
    for share in (0.4, 0.55, 0.62):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        found = state(page)
        temperatures.append(found["settings"]["temperature"])
        check(found, sp.sparsemap(scores, TREES, temperature=temperatures[-1]))
    page.mouse.up()
    assert temperatures == sorted(set(temperatures))
    page.get_by_label("Temperature", exact=True).fill("3.7")
    page.keyboard.press("Enter")
    for most in (9, 4, 2, 1):
        page.locator(MOST).fill(str(most))
        found = state(page)
        check(found, sp.sparsemap(scores, TREES, temperature=3.7, max_support=most))
        assert len(found["structures"]) <= most
    page.locator(MOST).fill("3")
    page.get_by_label("stop early").check()
    found = state(page)
    capped = sp.sparsemap(scores, TREES, temperature=3.7, max_active=3)
    assert sorted(found["weights"]) == pytest.approx(sorted(capped.weights.tolist()), abs=1e-9)
    assert found["status"] == "capped"
    assert "not certified: capped (gap" in page.locator(".sparsewood-certificate").inner_text()

    page.evaluate(f"{FIGURE}.session.limit = 5")  # a small limit, to be fast
    page.evaluate(f"{FIGURE}.set({{most: null}})")
    assert len(state(page)["structures"]) == 5
    assert "figures show at most 5" in page.locator(".sparsewood-certificate").inner_text()


def test_scores_by_key_drag_and_text(page: "Page", scores: Tensor, tmp_path: Path) -> None:
    opened(page, live(scores, TREES, WORDS), tmp_path)
    part = 2 * 9 + 4  # old -> the
    page.get_by_label("word", exact=True).select_option("the")
    page.get_by_label("head", exact=True).select_option("old")
    assert state(page)["chosen"] == part

    arc = page.locator(f".sparsewood-part[data-part='{part}']")
    arc.focus()
    for key in ("ArrowUp", "Shift+ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    found = state(page)
    changed = scores.clone()
    changed[2, 4] = found["scores"][part]
    assert changed[2, 4] > scores[2, 4]
    check(found, sp.sparsemap(changed, TREES))

    page.evaluate(f"{FIGURE}.focus({part})")
    x, y = on_arc(page, part)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 40)
    page.mouse.move(x, y + 60)
    dragged = state(page)
    page.mouse.up()
    assert dragged["chosen"] == part
    assert dragged["scores"][part] < found["scores"][part]
    changed[2, 4] = dragged["scores"][part]
    check(dragged, sp.sparsemap(changed, TREES))

    page.get_by_label("Score", exact=True).fill("-2.4567891")
    page.keyboard.press("Enter")
    changed[2, 4] = -2.4567891
    found = state(page)
    assert found["scores"][part] == -2.4567891
    check(found, sp.sparsemap(changed, TREES))
    arc.focus()
    page.keyboard.press("Delete")
    changed[2, 4] = -torch.inf
    found = state(page)
    assert found["marginals"][part] == 0
    check(found, sp.sparsemap(changed, TREES))
    page.evaluate(f"{FIGURE}.set({{scores: {FIGURE}.state().scores.map(() => -Infinity)}})")
    assert "No tree is left" in page.locator(".sparsewood-warning").inner_text()
    page.get_by_role("button", name="Reset scores").click()
    check(state(page), sp.sparsemap(scores, TREES))


@pytest.mark.full
def test_cards_light_pin_and_compare(page: "Page", scores: Tensor, tmp_path: Path) -> None:
    opened(page, live(scores, TREES, WORDS, temperature=2.0), tmp_path)
    post = sp.sparsemap(scores, TREES, temperature=2.0)
    order = post.weights.argsort(descending=True, stable=True)
    trees = post.structures[order]
    page.locator(".sparsewood-sparsemap .sparsewood-more").click()
    assert page.locator(CARDS).count() == len(trees)
    part = page.evaluate(f"[...{FIGURE}.state().marginals].findIndex((m) => m > .2 && m < .8)")
    word, head = divmod(part, 9)
    page.mouse.move(*on_arc(page, part))
    lit = page.locator(CARDS).evaluate_all(
        "(cards) => cards.map((card) => card.classList.contains('sparsewood-lit'))"
    )
    assert lit == (trees[:, word] == head).tolist()
    assert True in lit
    assert page.locator(f"{CARDS}.sparsewood-dim").count() == lit.count(False)
    page.mouse.move(0, 0)
    assert page.locator(".sparsewood-dim").count() == 0

    last = page.locator(CARDS).last
    key = last.get_attribute("data-key")
    last.click()
    assert last.get_attribute("aria-pressed") == "true"
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    assert page.locator(".sparsewood-over > g").count() == len(WORDS)
    page.locator(MOST).fill("1")
    assert state(page)["pinned"] == [key]
    left = page.locator(f"{CARDS}[data-key='{key}']")
    assert "weight 0" in left.inner_text()
    assert page.locator(CARDS).count() == 2

    page.locator(MOST).fill("5")
    best = sp.kbest(scores, TREES, 5)
    found = state(page)
    assert [one["score"] for one in found["best"]] == pytest.approx(best.scores.tolist(), abs=1e-9)
    shown = page.locator(".sparsewood-best .sparsewood-card")
    keys = [",".join(map(str, heads)) for heads in best.structures.tolist()]
    assert [card.get_attribute("data-key") for card in shown.all()] == keys
    top = page.locator(".sparsewood-map .sparsewood-card")
    assert [card.get_attribute("data-key") for card in top.all()] == keys[:1]


@pytest.mark.full
def test_copies(page: "Page", scores: Tensor, tmp_path: Path) -> None:
    given = [2, 0, 5, 5, 2, 2, 8, -1]
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    words = [*WORDS[:6], "a_b &", "<i>"]
    opened(page, live(scores, TREES, words, given=given), tmp_path)
    drawn = show(sp.sparsemap(scores[None], TREES), words, given=given)
    texts = {}
    for form in ("picture-svg", "picture-tikz", "svg", "tikz", "conllu"):
        page.locator(f"[data-copy='{form}']").click()
        box = page.get_by_label("Text to copy")
        assert box.is_visible()
        texts[form] = box.input_value()
        assert texts[form] == page.evaluate(f"{FIGURE}.text('{form}')")
    assert texts["conllu"] == drawn.to("conllu")
    for form in ("picture-svg", "svg"):
        root = ET.fromstring(texts[form])
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        written = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        assert set(words) <= set(written)
    trees = len(drawn.sheet.pictures)
    assert texts["tikz"].count(r"\begin{tikzpicture}") == trees
    assert texts["tikz"].count(r"\end{tikzpicture}") == trees
    assert r"{a\_b \symbol{38}}" in texts["picture-tikz"]
    assert "sparsewooddiffer, dashed" in texts["picture-tikz"]


def test_hostile_words_stay_words(page: "Page", tmp_path: Path) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    scores = torch.randn(8, 9, generator=torch.Generator().manual_seed(0))
    opened(page, live(scores, sp.DependencyTrees(), HOSTILE, title="</title><script>"), tmp_path)
    page.locator("details summary").click()
    for part in page.locator(".sparsewood-part").all()[:3]:
        part.focus()
        page.keyboard.press("ArrowUp")
    state(page)
    figure = page.locator(".sparsewood-live")
    assert figure.locator("script, img, i[onerror]").count() == 0
    drawn = figure.locator(".sparsewood-summary text").all_text_contents()
    assert drawn == [*HOSTILE[:3], "שלום·", *HOSTILE[4:6], "··", HOSTILE[7]]


def test_what_is_too_large_is_drawn_once(page: "Page", tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(4_999)] + ["</script><script>alert(1)</script>"]
    figure = live(torch.arange(5_000.0), sp.Subset(3), words)
    figure.save(tmp_path / "large.html")
    page.goto((tmp_path / "large.html").as_uri())
    page.wait_for_function("globalThis.sparsewood")
    note = page.locator(".sparsewood-note")
    assert "5,000 words" in note.inner_text()
    assert page.locator(".sparsewood-trees").count() == 1
    assert page.evaluate(FIGURE) is None


@pytest.mark.full
def test_two_figures_on_a_narrow_page(page: "Page", scores: Tensor, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 400, "height": 700})
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    tags = torch.randn(6, 3, 4, generator=torch.Generator().manual_seed(1))
    figures = [live(scores, TREES, WORDS), live(tags, sp.LinearChain(), WORDS[:6])]
    content = "".join(figure.fragment() for figure in figures) + live_assets()
    head = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Two</title>'
    (tmp_path / "two.html").write_text(head + content, encoding="utf-8")
    page.goto((tmp_path / "two.html").as_uri())
    page.locator(".sparsewood-live").last.scroll_into_view_if_needed()
    page.wait_for_function(
        "[...document.querySelectorAll('.sparsewood-live')].every((one) => one.sparsewood)"
    )
    assert page.evaluate("document.scrollingElement.scrollWidth") == 400
    before = page.locator(".sparsewood-live").last.evaluate(
        "(one) => [...one.sparsewood.state().weights]"
    )
    page.locator(SLIDER).first.fill("2")
    page.locator("input[type=radio]").nth(0).evaluate("(radio) => radio.click()")
    check(state(page), sp.sparsemap(scores, TREES, temperature=4.0))
    after = page.locator(".sparsewood-live").last.evaluate(
        "(one) => [...one.sparsewood.state().weights]"
    )
    assert after == before
    assert page.locator("input[type=radio]:checked").count() == 2

    first = page.locator(".sparsewood-live").first
    assert first.locator("section:visible").count() == 1
    first.get_by_role("button", name="MAP", exact=True).click()
    assert first.locator(".sparsewood-map .sparsewood-card").is_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth") == 400
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, textarea, [role=button]")]
            .filter((one) => !(one.ariaLabel || one.labels?.[0]?.textContent || one.textContent))
            .filter((one) => one.checkVisibility())
            .map((one) => one.outerHTML)"""
    )
    assert nameless == []
    reached = first.locator(".sparsewood-part[tabindex='0']")
    assert reached.count() == 1
    reached.focus()
    parts = []
    for _ in range(4):
        parts.append(page.evaluate("Number(document.activeElement.dataset.part)"))
        page.keyboard.press("ArrowRight")
    assert parts == sorted(set(parts))
