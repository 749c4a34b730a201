from collections.abc import Callable
from pathlib import Path

import conllu
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsewood.draw import draw
from sparsewood.draw.conllu import form

Trees = Callable[..., st.SearchStrategy[list[int]]]


@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_read_back(tree_heads: Trees, data: st.DataObject) -> None:
    heads = data.draw(tree_heads(max_words=12))
    word = st.text(st.sampled_from("ab_é#=|東\t\n "), max_size=6)
    words = data.draw(st.lists(word, min_size=len(heads), max_size=len(heads)))
    flat = [0] * len(heads)
    first, second = conllu.parse(draw(words, [flat, heads], [0.25, 0.75], heads, "conllu"))
    assert [token["head"] for token in first] == heads
    assert [token["head"] for token in second] == flat
    assert [token["form"] for token in first] == [form(word) for word in words]
    assert [float(block.metadata["weight"]) for block in (first, second)] == [0.75, 0.25]
    assert first.metadata["text"] == " ".join(form(word) for word in words)
    assert first.metadata["agreement"] == f"{len(heads)}/{len(heads)}"
    for token, wanted in zip(second, heads, strict=True):
        assert (token["misc"] or {}).get("GivenHead") == (str(wanted) if wanted else None)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("a\tb\n c", "a b c"),
        ("", "_"),
        ("\n", "_"),
        ("\x1b[31mred\x1b[0m", "·[31mred·[0m"),
        ("\udc80x", "·x"),
        ("می\u200cروم", "می\u200cروم"),
    ],
)
def test_form(word: str, expected: str) -> None:
    assert form(word) == expected


def test_without_given_heads() -> None:
    (block,) = conllu.parse(draw(["a", "b"], [[2, 0]], [1.0], None, "conllu"))
    assert "agreement" not in block.metadata
    assert [token["deprel"] for token in block] == ["dep", "root"]


def test_nothing_raw_is_written(tmp_path: Path) -> None:
    text = draw(["\x1b]0;title\x07", "\ud800", "\x85"], [[0, 1, 1]], [1.0], None, "conllu")
    (tmp_path / "a.conllu").write_text(text, encoding="utf-8")
    (block,) = conllu.parse(text)
    assert [token["form"] for token in block] == ["·]0;title·", "·", "_"]


def test_the_certificate_is_a_comment() -> None:
    text = draw(["a"], [[0]], [1.0], None, "conllu", status="stalled")
    (block,) = conllu.parse(text)
    assert block.metadata["certificate"] == "1 tree, not certified: stalled"


def test_a_word_that_is_not_compared_has_no_given_head() -> None:
    (block,) = conllu.parse(draw(["a", "b", "c"], [[0, 1, 2]], [1.0], [0, 3, -1], "conllu"))
    assert block.metadata["agreement"] == "1/2"
    assert [(token["misc"] or {}).get("GivenHead") for token in block] == [None, "3", None]
