"""The gallery of a report in a real browser: its figures answer, and answer as Python does."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

import sparsewood as sp
from sparsewood.lab.report import write_report

if TYPE_CHECKING:
    from playwright.sync_api import Page

WriteRun = Callable[..., Path]
EVIL = "</script><script>document.title = 'hostile'</script>"
STATE = """element => {
  const { structures, weights, settings, temperature, status } = element.sparsewood.state();
  const plain = structures.map((structure) => Array.from(structure));
  return { structures: plain, weights: Array.from(weights), settings, temperature, status };
}"""


@pytest.fixture
def scored(tmp_path: Path, write_run: WriteRun) -> tuple[Path, list[dict[str, Any]]]:
    """A run whose gallery knows the scores of its sentences, and the sides of that."""
    run = write_run(tmp_path / "run", epochs=2)
    examples = json.loads((run / "gallery.json").read_text())
    generator = torch.Generator().manual_seed(0)
    for i, example in enumerate(examples):
        for side in example["sides"]:
            n = len(side["words"])
            side["words"][0] = EVIL if i == 0 else "first"
            scores = torch.randn(n, n + 1, generator=generator)
            post = sp.sparsemap(scores[None], sp.DependencyTrees(), max_active=4)
            pairs = zip(post.structures.tolist(), post.weights.tolist(), strict=True)
            side["trees"] = [{"heads": heads, "weight": weight} for heads, weight in pairs]
            side |= {"scores": scores.flatten().tolist(), "structure": {}, "temperature": 1.0}
            side |= {"max_active": 4, "max_support": None, "gap": 0.0, "status": "solved"}
    (run / "gallery.json").write_text(json.dumps(examples))
    return run, [example["sides"][0] for example in examples]


def solve(side: dict[str, Any], temperature: float) -> sp.SparsePosterior:
    n = len(side["words"])
    scores = torch.tensor(side["scores"], dtype=torch.float64).reshape(1, n, n + 1)
    return sp.sparsemap(scores, sp.DependencyTrees(), temperature=temperature, max_active=4)


def test_a_figure_answers_as_python_does(
    tmp_path: Path, scored: tuple[Path, list[dict[str, Any]]], page: "Page"
) -> None:
    run, sides = scored
    out = write_report([run], tmp_path / "report.html")
    assert out.read_text(encoding="utf-8").count("const SPARSEWOOD_WASM") == 1
    page.goto(out.as_uri())
    page.get_by_text("3 more examples").click()
    figures = page.locator(".sparsewood-live")
    assert figures.count() == len(sides)
    last = figures.nth(len(sides) - 1)
    assert last.evaluate("element => element.sparsewood") is None  # far from view: not yet mounted
    for i in (0, len(sides) - 1):
        figure = figures.nth(i)
        assert not figure.is_visible()  # the trees are; a figure is much higher
        page.get_by_text("Change the scores and the temperature").nth(i).click()
        slider = figure.locator("input[type=range]").first
        slider.focus()
        before = figure.evaluate(STATE)
        for _ in range(8):
            page.keyboard.press("ArrowLeft")
        page.wait_for_function(
            "([i, t]) => document.querySelectorAll('.sparsewood-live')[i].sparsewood.state()"
            ".temperature < t",
            arg=[i, before["temperature"]],
        )
        for state in (before, figure.evaluate(STATE)):
            post = solve(sides[i], state["settings"]["temperature"])
            assert state["structures"] == post.structures.tolist()
            assert state["weights"] == pytest.approx(post.weights.tolist(), rel=0, abs=1e-9)
            assert state["status"] == str(sp.Status(int(post.status)))
    assert page.title() == "Latent trees"
    assert page.get_by_text(EVIL).count() > 0


def test_without_scripts_it_shows_the_trees(
    tmp_path: Path, scored: tuple[Path, list[dict[str, Any]]]
) -> None:
    run, sides = scored
    text = write_report([run], tmp_path / "report.html").read_text(encoding="utf-8")
    still = [part.partition('<details class="play">')[0] for part in text.split("<article")[2:]]
    drawn = [part.count('class="sparsewood-tree"') for part in still]
    assert drawn == [len(side["trees"]) for side in sides]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [0.0]}, "example 0: scores: expected 4 \\* 5 for 4 words, got 1"),
        ({"structure": {"crossing": 1}}, "example 0: structure"),
        ({"temperature": -1}, "example 0: .*temperature"),
        ({"scores": ["a"] * 20}, "example 0: "),
    ],
)
def test_damaged_scores(
    tmp_path: Path,
    scored: tuple[Path, list[dict[str, Any]]],
    change: dict[str, Any],
    message: str,
) -> None:
    run, _ = scored
    examples = json.loads((run / "gallery.json").read_text())
    examples[0]["sides"][0] |= change
    (run / "gallery.json").write_text(json.dumps(examples))
    with pytest.raises(ValueError, match=f"gallery.json: {message}"):
        write_report([run], tmp_path / "report.html")
