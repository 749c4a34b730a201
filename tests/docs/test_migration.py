"""The migration guides: the code of both columns runs and agrees."""

import json
import os
import re
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import project

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^(?:\*\*(?P<side>[\w-]+)\*\*\n\n)?```python\n(?P<code>.*?)^```$", re.M | re.S)
ROUGH = 2e-4  # for names with this prefix, and for lp-sparsemap, whose tolerance is 1e-6
PEER = """
import json, sys, torch
for source in json.load(sys.stdin):
    scope = {}
    exec(source, scope)
    print(json.dumps({k: v.tolist() for k, v in scope.items() if isinstance(v, torch.Tensor)}))
"""


class Step(NamedTuple):
    """A block of a page that runs for both sides, or the code of each side."""

    theirs: str
    ours: str


def steps(page: str) -> list[Step]:
    found: list[Step] = []
    left = None
    for match in BLOCK.finditer((DOCS / page).read_text()):
        code, side = match["code"], match["side"]
        if side is None:
            found.append(Step(code, code))
        elif side == "sparsewood":
            assert left is not None
            found.append(Step(left, code))
            left = None
        else:
            left = code
    assert left is None
    return found


def tensors(scope: dict[str, Any]) -> dict[str, Tensor]:
    return {name: value for name, value in scope.items() if isinstance(value, Tensor)}


def made(source: str, scope: dict[str, Any]) -> dict[str, Tensor]:
    """Run `source` in `scope`, and return the new tensors."""
    before = dict(scope)
    exec(source, scope)
    return {n: value for n, value in tensors(scope).items() if value is not before.get(n)}


def assert_same(name: str, ours: Tensor, theirs: Tensor, tolerance: float) -> None:
    if not ours.is_floating_point():
        ours = torch.where(ours < 0, 0, ours)  # padding
    tolerance = ROUGH if name.startswith("rough") else tolerance
    torch.testing.assert_close(
        ours.detach(),
        theirs.detach().to(ours.dtype),
        rtol=tolerance,
        atol=tolerance,
        msg=lambda text: f"{name}: {text}",
    )


@pytest.mark.parametrize("page", ["from_torch_struct.md", "from_entmax.md"])
def test_both_columns_make_the_same(page: str) -> None:
    left: dict[str, Any] = {}
    right: dict[str, Any] = {}
    compared = 0
    for step in steps(page):
        if step.theirs == step.ours:
            exec(step.ours, left)
            right.update(left)  # the same tensors, drawn once
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch-struct does not define arg_constraints
            theirs = made(step.theirs, left)
        mine = made(step.ours, right)
        shared = [name for name in mine if name in theirs]
        assert shared, step.ours
        for name in shared:
            assert_same(name, mine[name], theirs[name], 1e-4)
        compared += len(shared)
    assert compared >= 7


PAGE = "from_lp_sparsemap.md"
CASES = ["a tree", "a chain", "a matching", "a tree with a budget", "pairs"]


def ours(case: str) -> dict[str, Any]:
    """The tensors computed by the right column of a section of the page."""
    shared, *sections = steps(PAGE)
    scope: dict[str, Any] = {}
    exec(shared.ours, scope)
    exec(sections[CASES.index(case)].ours, scope)
    return scope


def columns_of(structure: sp.Structure, shape: tuple[int, ...], *size: int) -> Tensor:
    """The parts of all structures (count, P)."""
    return structure.indicator(structure.enumerate(*size), shape).flatten(1).double()


def test_a_tree_and_a_matching_are_projections() -> None:
    tree = ours("a tree")
    columns = columns_of(sp.DependencyTrees(projective=True), (5, 6), 5)
    truth = project(tree["scores"].detach().flatten(), columns)
    torch.testing.assert_close(tree["post"].marginals.detach().flatten(), truth)
    assert tree["slope"].abs().max() > 0
    matching = ours("a matching")
    truth = project(matching["likes"].flatten(), columns_of(sp.Matching(), (3, 5), 3, 5))
    torch.testing.assert_close(matching["seats"].flatten(), truth)
    torch.testing.assert_close(matching["by_logic"].flatten(), truth)


def test_a_tree_with_a_budget_is_the_projection_onto_both() -> None:
    """Dykstra's algorithm: alternating projections onto the trees and each budget."""
    found = ours("a tree with a budget")
    trees = columns_of(sp.DependencyTrees(projective=True), (5, 6), 5)
    heads = torch.arange(1, 6)
    u = found["scores"].detach().clone()
    moved, over = torch.zeros_like(u), torch.zeros(5, dtype=torch.float64)
    for _ in range(400):
        before = u + moved
        u = project(before.flatten(), trees).view(5, 6)
        moved = before - u
        # For each head the arcs to the four other words; the arc to itself is not a variable.
        u[:, heads] += over
        u[heads - 1, heads] = 0
        over = ((u[:, heads].sum(0) - 1) / 4).clamp(min=0)
        u[:, heads] -= over
        u[heads - 1, heads] = 0
    assert over.max() > 0.01
    torch.testing.assert_close(found["u"].detach(), u, atol=1e-6, rtol=0)


@pytest.mark.parametrize("case", ["a chain", "pairs"])
def test_no_structure_scores_above_the_answer_of_chains_and_pairs(case: str) -> None:
    found = ours(case)
    if case == "a chain":
        u, theta = found["post"].marginals, found["scores"]
        states = torch.cartesian_prod(*[torch.arange(3)] * 6)
        columns = found["chain"].indicator(states, theta.shape).double()
        penalised = torch.zeros_like(theta)
        penalised[..., 0] = 1
    else:
        u, theta = sp.lp_sparsemap(found["scores"], found["graph"]).marginals, found["scores"]
        on = torch.cartesian_prod(*[torch.arange(2)] * 6).double()
        columns = torch.cat([on, on[:, :-1] * on[:, 1:]], -1)
        penalised = torch.cat([torch.ones(6), torch.zeros(5)])
    read = columns.any(0)  # a chain has no step to its first state
    slope = torch.where(read, theta - penalised * u, 0)
    gap = (columns * slope).flatten(1).sum(-1).max() - (slope * u).sum()
    assert abs(gap) < 1e-6


def test_lp_sparsemap_itself_says_the_same() -> None:
    python = os.environ.get("SPARSEWOOD_PEER_PYTHON") or shutil.which("python3.9")
    probe = [python or "", "-W", "ignore", "-c", "import lpsmap, torch"]
    if python is None or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("no interpreter with lpsmap and torch (SPARSEWOOD_PEER_PYTHON)")
    shared, *sections = steps(PAGE)
    sources = json.dumps([f"{shared.theirs}\n{section.theirs}" for section in sections])
    ran = subprocess.run([python, "-c", PEER], input=sources, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    for case, line in zip(CASES, ran.stdout.splitlines(), strict=True):
        theirs = json.loads(line)
        found = tensors(ours(case))
        compared = [name for name in found if name in theirs]
        if case == "a tree with a budget":  # the page says that they differ
            compared.remove("marginals")
        for name in compared:
            assert_same(name, found[name], torch.tensor(theirs[name]).double(), ROUGH)
        assert len(compared) >= 5  # the scores of all sections among them
