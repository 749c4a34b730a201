"""The page that questions are typed into, and what it is made of: all of it kept in memory."""

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from sparsewood.draw._bundle import module, style
from sparsewood.lab.serve.answer import Served
from sparsewood.lab.serve.limits import Limits
from sparsewood.lab.tasks import TASKS

# What the sentences of a task are called, and a question of it, whatever its target.
_TASKS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "classify": (("sentence",), ("a gripping film about nothing much",)),
    "nli": (
        ("premise", "hypothesis"),
        ("Two girls are playing in the snow.", "Somebody is outside."),
    ),
    "revdict": (("definition",), ("a small wood",)),
    "parse": (("sentence",), ("She saw the man with the telescope.",)),
}
_OPERATIONS = ("list operation",), ("[MAX 2 9 [MIN 4 7] 0]",)

Assets = dict[str, tuple[str, bytes]]


def assets(runs: Sequence[Served], examples: Sequence[Sequence[str]], limits: Limits) -> Assets:
    """The media type and the content of each path of the server.

    Args:
        runs: that answer.
        examples: questions that the page offers.
        limits: of what is answered, which the page tells.
    """
    setup = json.dumps(_setup(runs, examples, limits)).replace("<", r"\u003c")
    page = _file("page.html").replace("{{setup}}", setup)
    html, js, css = "text/html; charset=utf-8", "text/javascript; charset=utf-8", "text/css"
    texts = {
        "/": (html, page),
        "/page.js": (js, _file("page.js")),
        "/page.css": (css, _file("page.css")),
        "/live.js": (js, module()),
        "/live.css": (css, style()),
        "/docs": (html, _file("docs.html")),
        "/docs.js": (js, _file("docs.js")),
    }
    return {path: (kind, text.encode()) for path, (kind, text) in texts.items()}


def _setup(
    runs: Sequence[Served], examples: Sequence[Sequence[str]], limits: Limits
) -> dict[str, Any]:
    """What the script of the page is told."""
    task = runs[0].model.task
    operations = runs[0].model.reads_operations
    names, example = _OPERATIONS if operations else _TASKS[task.partition("-")[0]]
    return {
        "task": task,
        "sides": names,
        "runs": [
            {"name": run.name, "variant": run.variant, "temperature": run.model.temperature}
            for run in runs
        ],
        "examples": [list(question) for question in examples] or [example],
        "probabilities": "%" in (TASKS[task].form or ""),
        "answer": TASKS[task].answer,
        "characters": limits.characters,
        "words": limits.words,
    }


def _file(name: str) -> str:
    return (files("sparsewood.lab.serve") / name).read_text(encoding="utf-8")
