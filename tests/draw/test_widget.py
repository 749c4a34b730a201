"""The widget: its traits, and its script in a browser with a mock model."""

import math
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import torch

import sparsewood as sp
from sparsewood.draw import Live
from sparsewood.draw.widget import LiveWidget

if TYPE_CHECKING:
    from playwright.sync_api import Page

WORDS = "She saw the man".split()

# A mock of anywidget's model, which records saves.
MODEL = """async ([esm, css, state]) => {
  const style = document.head.appendChild(document.createElement("style"));
  style.textContent = css;
  const listeners = [];
  globalThis.saves = 0;
  globalThis.model = {
    state,
    get: (name) => model.state[name],
    set: (name, value) => {
      model.state[name] = value;
      for (const [event, listener] of listeners) if (event === `change:${name}`) listener();
    },
    on: (event, listener) => listeners.push([event, listener]),
    off: (event, listener) => listeners.splice(listeners.findIndex((l) => l[1] === listener), 1),
    save_changes: () => { saves += 1; },
    listeners,
  };
  const url = URL.createObjectURL(new Blob([esm], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  globalThis.end = await widget.render({ model, el: document.body });
}"""


def figure(**options: Any) -> Live:
    scores = torch.randn(4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    scores[0, 2] = -torch.inf
    return sp.draw.live(scores, sp.DependencyTrees(), WORDS, **options)


def answer(state: dict[str, Any], **options: Any) -> sp.SparsePosterior:
    """Python's posterior for the scores of the page."""
    flat = [-math.inf if score is None else score for score in state["scores"]]
    scores = torch.tensor(flat, dtype=torch.float64).reshape(1, 4, 5)
    return sp.sparsemap(scores, sp.DependencyTrees(), **options)


def check(state: dict[str, Any], post: sp.SparsePosterior) -> None:
    assert state["structures"] == post.structures.tolist()
    assert state["weights"] == pytest.approx(post.weights.tolist(), rel=0, abs=1e-9)


@pytest.fixture
def opened(page: "Page") -> "Page":
    """A page with the widget of `figure()` in it."""
    widget = figure().widget()
    state = {name: getattr(widget, name) for name in widget.keys if not name.startswith("_")}
    page.goto("about:blank")
    page.evaluate(
        MODEL, [widget._esm, widget._css, {k: v for k, v in state.items() if k in TRAITS}]
    )
    return page


TRAITS = ("data", "temperature", "most", "scores", "structures", "weights", "pinned")


def test_traits() -> None:
    widget = figure(temperature=0.5, max_support=2).widget()
    assert isinstance(widget, LiveWidget)
    assert set(TRAITS) <= set(widget.keys)
    assert (widget.temperature, widget.most, widget.pinned) == (0.5, 2, [])
    assert widget.data["words"] == WORDS
    assert widget.scores[2] is None
    check(widget.get_state(), answer(widget.get_state(), temperature=0.5, max_support=2))
    heard = []
    widget.observe(lambda change: heard.append(change["new"]), "weights")
    widget.set_state({"weights": [1.0], "structures": [[0, 1, 2, 3]]})
    assert heard == [[1.0]]


def test_an_instance_too_large_to_answer() -> None:
    widget = sp.draw.live(torch.zeros(121), sp.Simplex(), max_active=2).widget()
    assert widget.scores is None


def test_the_reader_drags_and_python_hears(opened: "Page") -> None:
    state = opened.evaluate("model.state")
    check(state, answer(state))
    # As notebooks handle keys outside of editors.
    opened.evaluate("document.addEventListener('keydown', (event) => event.preventDefault())")
    opened.locator("input[type=range]").first.focus()
    for _ in range(5):
        opened.keyboard.press("ArrowRight")
    opened.wait_for_function("model.state.temperature > 1")
    state = opened.evaluate("model.state")
    check(state, answer(state, temperature=state["temperature"]))
    saves = opened.evaluate("saves")
    opened.locator("[data-key]").first.click()
    opened.wait_for_function("model.state.pinned.length === 1")
    assert opened.evaluate("saves") > saves
    assert opened.evaluate("model.state.pinned[0]") in state["structures"]


def test_python_sets_and_the_figure_answers(opened: "Page") -> None:
    opened.evaluate("model.set('temperature', 0.25)")
    state = opened.evaluate("model.state")
    check(state, answer(state, temperature=0.25))
    opened.evaluate("model.set('most', 1)")
    state = opened.evaluate("model.state")
    assert (state["weights"], len(state["structures"])) == ([1.0], 1)
    flat = [float(i) for i in range(20)]
    opened.evaluate("flat => { model.set('most', null); model.set('scores', flat) }", flat)
    state = opened.evaluate("model.state")
    assert state["scores"] == flat
    check(state, answer(state, temperature=0.25))


def test_it_ends(opened: "Page") -> None:
    opened.evaluate("end()")
    assert opened.evaluate("[model.listeners.length, document.body.innerText.trim()]") == [0, ""]


@pytest.mark.full
def test_without_the_extra_it_says_what_to_install() -> None:
    code = """import sys; sys.modules["anywidget"] = None
import torch, sparsewood as sp
sp.draw.live(torch.zeros(2, 3), sp.DependencyTrees()).widget()"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: the widget needs anywidget ")
    assert "(extra [notebook]): " in last
    assert last.endswith("pip install 'anywidget>=0.9'")
