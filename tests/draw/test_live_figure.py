"""Live figures from Python: their data, their page, and the static drawing."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
import torch

import sparsewood as sp
from sparsewood.draw import Live, live

WORDS = ["She", "saw", "the", "man"]


@pytest.fixture(scope="module")
def figure() -> Live:
    scores = torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(3), requires_grad=True)
    trees = sp.DependencyTrees(single_root=True)
    return live(scores, trees, WORDS, instance=1, temperature=0.5, max_support=3)


def data_of(markup: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json">(.*?)</script>', markup, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_data_say_how_it_begins(figure: Live) -> None:
    assert figure.data["words"] == WORDS
    assert (figure.data["temperature"], figure.data["most"]) == (0.5, 3)
    assert (figure.data["cap"], figure.data["title"]) == ("support", "She saw the man")
    one = live(torch.zeros(2, 3), sp.DependencyTrees(), max_active=2, title="Two")
    assert (one.data["most"], one.data["cap"], one.data["title"]) == (2, "active", "Two")
    all_ = live(torch.zeros(2, 3), sp.DependencyTrees())
    assert (all_.data["most"], all_.data["cap"]) == (None, "support")
    assert all_.data["title"].startswith("DependencyTrees(")


def test_posterior_is_what_it_begins_with(figure: Live) -> None:
    assert len(figure.posterior.weights) <= 3
    assert not figure.posterior.weights.requires_grad
    assert figure.posterior.temperature.item() <= 0.5


def test_fragment_holds_data_and_a_drawing(figure: Live) -> None:
    fragment = figure.fragment()
    assert fragment.startswith('<div class="sparsewood-live"><script type="application/json">')
    assert data_of(fragment) == json.loads(json.dumps(figure.data))
    assert fragment.count('class="sparsewood-tree"') == len(figure.posterior.weights)


def test_nothing_in_a_word_ends_the_script() -> None:
    words = ["</script><b>", "<!--", "\ud800", "\u202e"]
    fragment = live(torch.zeros(4, 5), sp.DependencyTrees(), words).fragment()
    assert data_of(fragment)["words"] == words
    assert "<b>" not in fragment
    assert "<!--" not in fragment
    fragment.encode()


def test_page_needs_nothing_else(figure: Live, tmp_path: Path) -> None:
    page = figure.page()
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>She saw the man</title>" in page
    assert not re.search(r'(?:src|href)="', page)
    figure.save(tmp_path / "figure.html")
    assert (tmp_path / "figure.html").read_text(encoding="utf-8") == page
    assert [path.name for path in tmp_path.iterdir()] == ["figure.html"]
    with pytest.raises(FileNotFoundError):
        figure.save(tmp_path / "nowhere" / "figure.html")


def test_shows_itself(figure: Live) -> None:
    frame = figure._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    found = re.search(r'srcdoc="([^"]*)"', frame)
    assert found is not None
    assert data_of(unescape(found[1]))["words"] == WORDS
    assert repr(figure).startswith("Live(DependencyTrees(")


def test_what_is_too_large_says_so() -> None:
    trees = torch.zeros(130, 131)
    trees[:, 0] = 9.0
    fragment = live(trees, sp.DependencyTrees()).fragment()
    assert "130 words and 17,030 parts" in fragment
    assert data_of(fragment)["scores"] is None
    assert fragment.count('class="sparsewood-tree"') == 1


def test_what_does_not_fit_is_named() -> None:
    scores, trees = torch.zeros(2, 3), sp.DependencyTrees()
    with pytest.raises(ValueError, match="live: temperature must be positive and finite, got 0"):
        live(scores, trees, temperature=0)
    with pytest.raises(ValueError, match="live: max_support must be at least 1, got 0"):
        live(scores, trees, max_support=0)
    with pytest.raises(ValueError, match="expected max_support or max_active, got both"):
        live(scores, trees, max_support=2, max_active=2)
    with pytest.raises(ValueError, match="scores: expected a tensor of a floating dtype, got list"):
        live([[0.0, 1.0]], trees)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="live: words: expected 2 names, got 3"):
        live(scores, trees, ["a", "b", "c"])
