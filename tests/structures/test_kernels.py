"""The MAP oracle by kernels, and the struct of each family."""

import pytest
import torch

import sparsewood as sp
from sparsewood.inference.map import Best
from sparsewood.structures import _kernels
from tests.families import FAMILIES, batch_of
from tests.full import some_quick
from tests.inference.test_kernels import BAD, on_host, pick, same_error

MAP = ("trees", "matching")  # also compiled for the CPU


@pytest.mark.parametrize(
    ("family", "options", "struct"),
    [
        ("trees", (0, 1), "Trees<false, true>"),
        ("trees", (1, 0), "Trees<true, false>"),
        ("bounded_trees", (1, 3), "BoundedTrees<true>"),
        ("chain", (1,), "Chain"),
    ],
)
def test_first_options_choose_the_struct(
    family: str, options: tuple[int, ...], struct: str
) -> None:
    source = _kernels.program(family, options, "solve").source
    assert f'#include "families/{family}.h"' in source
    assert f"using Chosen = {struct};" in source


@pytest.mark.parametrize("name", some_quick(FAMILIES, "trees"))
def test_finds_what_the_host_finds(name: str, device: torch.device) -> None:
    family = pick(name, device, name in MAP)
    scores, lengths = batch_of(family)

    def call(device: torch.device) -> Best:
        return sp.map(scores.to(device), family.structure, lengths=lengths.to(device))

    found, expected = call(device), on_host(lambda: call(torch.device("cpu")))
    torch.testing.assert_close(found.scores.cpu(), expected.scores, rtol=1e-14, atol=1e-12)
    assert torch.equal(found.structures.cpu()[:5], expected.structures[:5])
    argmax = family.structure.argmax(scores.to(device), lengths.to(device))
    assert torch.equal(argmax, found.structures)


def test_in_turns_where_memory_is_short(
    device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = torch.randn(5, 5, 6, device=device)
    whole = sp.map(scores, FAMILIES["trees"].structure)
    monkeypatch.setattr(_kernels, "MEMORY", 1)
    assert torch.equal(sp.map(scores, FAMILIES["trees"].structure).structures, whole.structures)


@pytest.mark.parametrize("what", BAD)
def test_errors(what: str, device: torch.device) -> None:
    scores = torch.zeros(4, 5, 6, dtype=torch.float64)
    scores[2, 2] = BAD[what]
    same_error(device, lambda device: sp.map(scores.to(device), FAMILIES["trees"].structure))
