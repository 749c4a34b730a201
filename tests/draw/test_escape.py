import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from sparsewood.draw._escape import printable


@given(st.text(st.characters(codec=None)))  # lone surrogates included
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    shown = printable(text)
    shown.encode("utf-8")
    assert len(shown) == len(text)
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cs", "Cn", "Zl", "Zp"}


def test_spelling_is_kept() -> None:
    assert printable("naïve 東京 e\u0301 می\u200cروم") == "naïve 東京 e\u0301 می\u200cروم"


def test_what_turns_the_direction_of_writing_is_replaced() -> None:
    assert printable("a\u202eb\u2066c") == "a·b·c"
