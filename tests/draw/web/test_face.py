"""sparsewood.js in a browser: results equal to Python's, and clear errors."""

from base64 import b64encode
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Page
from torch import Tensor

import sparsewood as sp
from sparsewood.status import Status
from sparsewood.structures.base import NativeStructure
from sparsewood.testing import draw_scores
from tests.families import FAMILIES
from tests.wasm import WEB

KINDS = ("normal", "integers", "equal")
REQUESTS: tuple[dict[str, Any], ...] = (
    {},
    {"temperature": 0.4, "weights": "canonical"},
    {"max_support": 3},
)
CASES = list(product(FAMILIES, KINDS, REQUESTS))
NAMES = {"max_support": "maxSupport", "temperature": "temperature"}
SOLVE = """async (cases) => {
  const plain = (answer) => Object.fromEntries(Object.entries(answer).map(([name, value]) =>
    [name, ArrayBuffer.isView(value) ? Array.from(value)
      : Array.isArray(value) ? value.map((one) => Array.from(one)) : value]));
  return cases.map(([problem, request]) => ({
    sparsemap: plain(solver.sparsemap(problem, request)),
    kbest: plain(solver.kbest(problem, 4)),
    map: plain(solver.map(problem)),
  }));
}"""


@pytest.fixture
def face(page: Page, tmp_path: Path) -> Page:
    """A page, opened from disk, that has loaded the solver."""
    script = (WEB / "sparsewood.js").read_text(encoding="utf-8").replace("export class", "class")
    core = b64encode((WEB / "sparsewood.wasm").read_bytes()).decode()
    file = tmp_path / "face.html"
    file.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><script type="module">{script}\n'
        f'const bytes = Uint8Array.from(atob("{core}"), (letter) => letter.charCodeAt(0));\n'
        "globalThis.solver = await Solver.load(bytes);</script>",
        encoding="utf-8",
    )
    page.goto(file.as_uri())
    page.wait_for_function("globalThis.solver !== undefined")
    return page


def problem_of(scores: Tensor, structure: NativeStructure) -> dict[str, Any]:
    """One instance (*parts) in the format of sparsewood.js."""
    shape = tuple(scores.shape)
    family, options = structure.native
    return {
        "family": family,
        "options": [int(option) for option in options],
        "shape": list(shape),
        "size": list(structure.full_size(shape)),
        "event": list(structure.event_shape(shape)),
        "scores": structure.restrict(scores[None])[0].flatten().tolist(),
    }


def request_of(request: dict[str, Any]) -> dict[str, Any]:
    caps = {NAMES[name]: value for name, value in request.items() if name != "weights"}
    return caps | {"canonical": request.get("weights") == "canonical"}


@pytest.mark.full
def test_two_hundred_problems_of_all_families(face: Page):
    drawn = [draw_scores(kind, 1, FAMILIES[name].shape, 7) for name, kind, _ in CASES]
    asked = [
        [problem_of(scores[0], FAMILIES[name].structure), request_of(request)]
        for scores, (name, _, request) in zip(drawn, CASES, strict=True)
    ]
    answers = face.evaluate(SOLVE, asked)
    assert len(answers) == len(CASES) > 200
    for answer, scores, (name, kind, request) in zip(answers, drawn, CASES, strict=True):
        structure = FAMILIES[name].structure
        check_posterior(answer["sparsemap"], sp.sparsemap(scores, structure, **request))
        best = sp.kbest(scores, structure, 4)
        there = best.scores[0].isfinite()
        same = int(there.sum()) if kind == "normal" else 1  # of equals the first alone is the same
        check_same(answer["kbest"]["structures"][:same], best.structures[0, :same])
        close(answer["kbest"]["scores"], best.scores[0, there])
        check_same(answer["map"]["structures"], sp.map(scores, structure).structures)


def check_posterior(found: dict[str, Any], wanted: sp.SparsePosterior) -> None:
    check_same(found["structures"], wanted.structures)
    close(found["weights"], wanted.weights)
    close(found["marginals"], wanted.marginals.flatten())
    assert abs(found["gap"] - float(wanted.gap)) <= 1e-12
    assert found["temperature"] == pytest.approx(float(wanted.temperature), rel=1e-12)
    assert found["status"] == Status(int(wanted.status)).name.lower()
    assert found["calls"] == int(wanted.calls)
    assert found["canonical"] == bool(wanted.canonical)


def check_same(structures: list[list[int]], wanted: Tensor) -> None:
    assert structures == wanted.reshape(len(wanted), -1).tolist()


def close(found: list[float], wanted: Tensor) -> None:
    given = torch.tensor(found, dtype=torch.float64)
    torch.testing.assert_close(given, wanted.detach(), rtol=1e-12, atol=1e-12)


# Changes to a problem of two words, the call, and the error.
WRONG = [
    ("{family: 'heaps'}", "no native family is called heaps"),
    ("{family: 'toString'}", "no native family is called toString"),
    ("{options: [0]}", "trees: expected 2 options, got (0)"),
    ("{shape: [2, 2]}", "trees: shape: expected (2, 3), got (2, 2)"),
    ("{shape: [2.5, 3.5]}", "a side of the shape must be a whole number of at least 1"),
    ("{size: [3]}", "trees: size: expected (2), got (3)"),
    ("{scores: [1, 2]}", "trees: number of scores: expected (6), got (2)"),
    ("{event: [3]}", "numbers of an event: expected (2), got (3)"),
    ("{scores: [NaN, 0, 0, 0, 0, 0]}", "scores[0, 0, 0] is NaN"),
    ("{scores: Array(6).fill(-Infinity)}", "instance 0 has no structure left"),
    ("{}, {temperature: 0}", "temperature must be positive and finite, got 0"),
    ("{}, {tol: NaN}", "tol must be at least 0 and finite, got NaN"),
    ("{}, {maxActive: -1}", "maxActive must be a whole number of at least 0, got -1"),
    ("{}, {maxSupport: 2, maxIter: 9}", "choose one"),
]


def test_what_is_wrong_is_said_and_the_next_call_works(face: Page):
    problem = problem_of(draw_scores("normal", 1, (2, 3), 0)[0], sp.DependencyTrees())
    calls = ", ".join(f"() => ask({change})" for change, _ in WRONG)
    said = face.evaluate(
        f"""([problem]) => {{
          const ask = (change, request) => solver.sparsemap({{...problem, ...change}}, request);
          return [{calls}].map((call) => {{
            try {{ call(); return "nothing"; }} catch (error) {{
              return [error instanceof Error, error.message, ask({{}}).status];
            }}
          }});
        }}""",
        [problem],
    )
    for (is_error, message, after), (_, expected) in zip(said, WRONG, strict=True):
        assert is_error
        assert expected in message
        assert after == "solved"


def test_five_thousand_words_are_too_many_and_three_are_not(face: Page):
    said = face.evaluate(
        """() => {
          const trees = (n) => ({family: "trees", options: [0, 0], shape: [n, n + 1], size: [n],
            event: [n], scores: new Float64Array(n * (n + 1))});
          try { solver.sparsemap(trees(5000)); } catch (error) {
            return [error.message, solver.sparsemap(trees(3)).status];
          }
        }"""
    )
    assert said == ["the problem needs more memory than there is", "solved"]
