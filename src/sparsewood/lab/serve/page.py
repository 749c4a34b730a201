"""The page of the server and its assets, all kept in memory."""

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from sparsewood.draw._bundle import module, style
from sparsewood.lab.serve.answer import Served
from sparsewood.lab.serve.limits import RequestLimits
from sparsewood.lab.tasks import TASKS

_OPERATIONS = ("list operation",), ("[MAX 2 9 [MIN 4 7] 0]",)

Assets = dict[str, tuple[str, bytes]]


def assets(
    runs: Sequence[Served], examples: Sequence[Sequence[str]], limits: RequestLimits
) -> Assets:
    """The media type and the content of each path.

    Args:
        runs: the runs that answer.
        examples: example questions of the page.
        limits: limits of requests, which the page checks.
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
    }
    return {path: (kind, text.encode()) for path, (kind, text) in texts.items()}


def _setup(
    runs: Sequence[Served], examples: Sequence[Sequence[str]], limits: RequestLimits
) -> dict[str, Any]:
    """The settings of the script of the page."""
    model = runs[0].model
    task = TASKS[model.task]
    names, example = _OPERATIONS if model.reads_operations else (task.sides, task.example)
    return {
        "task": task.name,
        "sides": names,
        "runs": [
            {"name": run.name, "variant": run.variant, "temperature": run.model.temperature}
            for run in runs
        ],
        "examples": [list(question) for question in examples] or [example],
        "probabilities": "%" in (task.form or ""),
        "answer": task.answer,
        "operations": model.reads_operations,
        "characters": limits.characters,
        "words": limits.words,
    }


def _file(name: str) -> str:
    return (files("sparsewood.lab.serve") / name).read_text(encoding="utf-8")
