"""The page in a browser."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

import pytest
import torch

from sparsewood.lab.data.typed import typed_sentence
from sparsewood.lab.serve.answer import Served, answer
from sparsewood.lab.serve.limits import RequestLimits
from sparsewood.lab.tasks.solved import live_side

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Serves = Callable[..., Served]
Serving = Callable[..., str]
SENTENCE = "a small wood of oaks shades nobody ."
STATE = """element => {
    const {structures, weights} = element.sparsewood.state();
    return {structures: structures.map(s => [...s]), weights: [...weights]};
}"""


def _ask(page: "Page", text: str) -> None:
    page.get_by_label("sentence", exact=True).fill(text)
    page.get_by_label("sentence", exact=True).press("Enter")
    _answered(page)


def _answered(page: "Page") -> None:
    page.locator("#answer[aria-busy=false]").wait_for()


def _figure(page: "Page") -> dict[str, Any]:
    """What the figure of the page has solved for."""
    page.wait_for_function("document.querySelector('.sparsewood-live')?.sparsewood")
    return page.locator(".sparsewood-live").evaluate(STATE)


def test_a_sentence_is_typed(page: "Page", serves: Serves, serving: Serving) -> None:
    runs = serves("flat"), serves("sparsemap:max_active=5")
    page.goto(serving(*runs))
    _ask(page, SENTENCE)
    said = [answer(run, [typed_sentence(SENTENCE)]) for run in runs]
    for one in said:
        card = page.get_by_role("article", name=one["name"])
        told = " ".join(f"{label} {100 * p:.1f} %" for label, p in one["prediction"].items())
        assert " ".join(card.locator(".bars").inner_text().split()) == told
    assert page.get_by_role("article", name="flat").locator("img").count() == 1
    assert "5 trees" in page.locator("#state").inner_text()
    found = _figure(page)
    (side,) = said[1]["sides"]
    figure = live_side({**side["figure"], "structure": {}, "max_active": 5, "max_support": None})
    assert figure is not None
    post = figure.posterior
    assert found["structures"] == post.structures.tolist()
    torch.testing.assert_close(
        torch.tensor(found["weights"], dtype=torch.float64), post.weights, rtol=0, atol=1e-9
    )


@pytest.mark.full
def test_readers_have_brackets_or_no_trees(page: "Page", serves: Serves, serving: Serving) -> None:
    chart = serves("chart")
    page.goto(serving(chart, serves("bow")))
    _ask(page, "a small wood")
    assert page.locator("#state").inner_text().endswith("no trees")
    image = page.get_by_role("article", name="chart").locator("img")
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    (tree,) = answer(chart, [typed_sentence("a small wood")])["sides"][0]["trees"]
    drawn = "((a small) wood)" if [0, 1] in tree["spans"] else "(a (small wood))"
    assert (image.get_attribute("alt") or "").endswith(f"%: {drawn}")
    card = page.get_by_role("article", name="bow")
    assert "read without a tree" in card.inner_text()
    assert card.locator("img").count() == 0


@pytest.mark.full
def test_a_prediction_at_the_temperature_of_the_figure(
    page: "Page", serves: Serves, serving: Serving
) -> None:
    page.goto(serving(serves("flat"), serves()))
    _ask(page, SENTENCE)
    assert len(_figure(page)["weights"]) == 10
    temperature = page.locator(".sparsewood-live").get_by_label("Temperature", exact=True)
    temperature.fill("0.000001")
    temperature.press("Enter")
    with page.expect_response("**/answer"):
        page.get_by_role("button", name="Predict at temperature 0.000001").click()
    page.locator("#state").get_by_text("1 tree;").wait_for()
    _answered(page)
    assert len(_figure(page)["weights"]) == 1
    assert page.get_by_text("temperature 0.000001").count() == 1


@pytest.mark.full
def test_a_link_repeats_the_question(page: "Page", serves: Serves, serving: Serving) -> None:
    address = serving(serves())
    page.goto(f"{address}/#q={quote_plus('a wood & oaks')}&temperature=0.000001")
    _answered(page)
    assert page.get_by_label("sentence", exact=True).input_value() == "a wood & oaks"
    assert "1 tree" in page.locator("#state").inner_text()
    page.get_by_role("spinbutton", name="temperature").fill("")
    _ask(page, "oaks here")
    assert page.url == f"{address}/#q=oaks+here"
    page.go_back()
    page.wait_for_function("document.querySelector('textarea').value === 'a wood & oaks'")
    _answered(page)
    assert page.get_by_role("spinbutton", name="temperature").input_value() == "0.000001"


def test_hostile_text_stays_inert(page: "Page", serves: Serves, serving: Serving) -> None:
    hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script> \u202eoaks\u0000'
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.goto(serving(serves("flat"), serves(), examples=[(hostile,)]))
    page.get_by_role("button", name="<img").click()
    _answered(page)
    _figure(page)
    assert "<script>" in page.locator(".unknown").first.inner_text()
    assert page.locator("main script, main img[src=x]").count() == 0


def test_list_operations(browser: "Browser", operations: Served, serving: Serving) -> None:
    page = browser.new_page()  # a refusal is an error on the console
    page.goto(serving(operations))
    field = page.get_by_label("list operation", exact=True)
    page.get_by_role("button", name="[MAX 2 9 [MIN 4 7] 0]").click()
    _answered(page)
    assert page.locator(".unknown").count() == 0
    field.fill("[max 2 9")
    field.press("Enter")
    told = "list operation: '[MAX' has no closing ']', at character 1: ▸[max 2 9"
    page.locator("#state").get_by_text(told).wait_for()
    page.close()


@pytest.mark.full
def test_pairs(page: "Page", serves: Serves, serving: Serving) -> None:
    page.goto(serving(serves(task="nli")))
    page.get_by_label("premise", exact=True).fill("a small wood")
    page.get_by_role("button", name="Answer").click()
    assert page.locator("#state").inner_text() == "Type a hypothesis."
    page.get_by_label("hypothesis", exact=True).fill("oaks")
    page.keyboard.press("Enter")
    _answered(page)
    assert page.get_by_role("heading", name="premise").count() == 1
    assert page.locator(".sparsewood-live").count() == 2


def test_a_text_that_is_too_long_is_told_before_it_is_sent(
    page: "Page", serves: Serves, operations: Served, serving: Serving
) -> None:
    limits = RequestLimits(words=10, characters=60)
    page.goto(serving(serves("flat"), limits=limits))
    field, room = page.get_by_label("sentence", exact=True), page.locator(".room")
    for text, told in (
        ("a small wood", ""),
        ("a " * 9, "9 of at most 10 words"),
        ("a " * 11, "11 of at most 10 words: too long, shorten it"),
        ("a" * 61, "61 of at most 60 characters: too long, shorten it"),
    ):
        field.fill(text)
        assert room.inner_text() == told
    field.press("Enter")
    assert "expected at most 10 words and 60 characters" in page.locator("#state").inner_text()
    page.goto(serving(operations, limits=limits))
    page.get_by_label("list operation", exact=True).fill("[max 1,2[min 3 4]5]")
    assert room.inner_text() == "9 of at most 10 words"


def test_the_legend_of_reports(page: "Page", operations: Served, serving: Serving) -> None:
    page.goto(serving(operations))
    page.get_by_label("list operation", exact=True).fill("[max 1 2]")
    page.keyboard.press("Enter")
    _answered(page)
    legend = "Solid blue arcs agree with the given tree, dashed orange arcs differ."
    assert legend in page.get_by_role("article").inner_text()


def test_what_goes_wrong_is_told(browser: "Browser", serves: Serves, serving: Serving) -> None:
    page = browser.new_page()  # a refusal is an error on the console
    page.goto(serving(serves(), limits=RequestLimits(words=5)))
    _ask(page, "oaks")
    assert page.get_by_role("article").count() == 1
    with page.expect_response("**/answer") as refused:
        _ask(page, "far, far, far, far")  # 4 words, until commas are split off
    assert refused.value.status == 422
    told = "sentence: expected at most 5 words and 4,000 characters, got 7 words and 18 characters"
    page.locator("#state").get_by_text(told).wait_for()
    assert page.get_by_role("article").count() == 0
    _ask(page, "oak " * 1715)
    told = "at most 5 words and 4,000 characters, got 1,715 words and 6,859 characters"
    page.locator("#state").get_by_text(told).wait_for()
    assert len(page.get_by_label("sentence", exact=True).input_value()) == 6860
    page.close()


def test_a_number_has_no_bar(page: "Page", serves: Serves, serving: Serving) -> None:
    page.goto(serving(serves("flat", task="nli-number")))
    for side in ("premise", "hypothesis"):
        page.get_by_label(side, exact=True).fill(SENTENCE)
    page.get_by_label("hypothesis", exact=True).press("Enter")
    _answered(page)
    name, value = page.locator("#answer .told").inner_text().split()
    assert name == "number"
    assert 1000 < float(value) < 3000  # in the unit of the data
    assert page.locator("#state").inner_text().startswith(f"flat: number {value}, ")
    assert page.locator("#answer .bar").count() == 0


@pytest.mark.full
def test_labels_that_are_told(page: "Page", serves: Serves, serving: Serving) -> None:
    served = serves("flat", task="classify-labels")
    output = served.model.get_submodule("output")
    assert isinstance(output, torch.nn.Linear)
    with torch.no_grad():
        output.weight.zero_()
        output.bias.copy_(torch.tensor([2.0, -2.0]))
    page.goto(serving(served))
    _ask(page, SENTENCE)
    assert page.locator("#state").inner_text() == "flat: old 88.1 %, 1 tree"
    assert page.locator("#answer .bar").count() == 2
    with torch.no_grad():
        output.bias.fill_(-2.0)
    _ask(page, SENTENCE)
    assert page.locator("#state").inner_text() == "flat: no label, 1 tree"
