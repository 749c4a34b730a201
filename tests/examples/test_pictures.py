"""The pictures example: each family is drawn, its best structure first."""

import contextlib
import io
import runpy
from pathlib import Path

PATH = Path(__file__).parents[2] / "examples" / "pictures.py"


def test_each_family_is_drawn_as_what_it_is() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(PATH))
    text = out.getvalue()
    assert text.count(", certified") == 10
    best = ["nsubj  root  det  obj", "NOUN  VERB  DET  NOUN", "╭who╮  ╭── what ───╮", "╭─NP─╮"]
    best += ["She ── elle", "–   elle", "○ pear", "├─ Pisa"]
    places = [text.index(line) for line in best]
    assert places == sorted(places)
