import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsewood.lab.data.text import tokenize


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't know, Mr. Smith.", "I do n't know , Mr. Smith ."),
        ("Ann's 3.5% rate (in the U.S.) isn't well-known...",
         "Ann 's 3.5 % rate ( in the U.S. ) is n't well-known ..."),
        ('"Hello," she said -- \'really\'?', "\" Hello , \" she said -- ' really ' ?"),
        ("It's 1,000 dollars; it costs $5!", "It 's 1,000 dollars ; it costs $ 5 !"),
        ("They'll've gone. The dogs' bowls", "They 'll 've gone . The dogs ' bowls"),
        ("in the '80s", "in the '80s"),
        ("wait...what? a coat,grey", "wait ... what ? a coat , grey"),
        ("see http://x.org/a,b now.", "see http://x.org/a,b now ."),
        ("café—bar “so” he’s", "café — bar “ so ” he ’s"),
        ("", ""),
    ],
)  # fmt: skip
def test_raw_text(text: str, words: str) -> None:
    assert " ".join(tokenize(text)) == words


@pytest.mark.parametrize(
    "text",
    [
        "he does n't , said Ann 's aunt .",
        "she won't say `` no '' -- not at 2 p.m. today .",  # a corpus that keeps contractions
        "-LRB- a few -RRB- of the 1\\/2 !",
        "a well-known cat",
    ],
)
def test_tokenised_text_is_left_alone(text: str) -> None:
    assert " ".join(tokenize(text)) == text


@given(st.text("ab1 .,'\"-nt!?()s’:;$%`", max_size=20) | st.text(max_size=12))
def test_nothing_is_rewritten_and_twice_is_once(text: str) -> None:
    words = tokenize(text)
    assert all(words)
    assert "".join(words) == "".join(text.split())
    assert tokenize(" ".join(words)) == words
