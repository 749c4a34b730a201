"""Values that cannot be summed are named in errors, also in a compiled graph."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import sparsewood as sp
from sparsewood.inference._check_sums import check_sums
from tests.full import some_quick


@pytest.mark.parametrize("each", some_quick([False, True]))
def test_a_compiled_graph_names_bad_values(each: bool) -> None:
    def infer(scores: Tensor, temperature: Tensor) -> Tensor:
        more = {"temperature": temperature} if each else {}
        return sp.marginals(scores, sp.DependencyTrees(single_root=True), **more).log_partition

    compiled = torch.compile(infer, fullgraph=True, backend="aot_eager")
    scores = torch.zeros(2, 2, 3, dtype=torch.float64)
    ones = torch.ones(2)
    assert_close(compiled(scores, ones), infer(scores, ones))
    for value, message in (
        (-torch.inf, r"instance 1 has no structure left.*\(2, 2, 3\)"),
        (torch.nan, r"scores\[1, 0, 0\] is nan"),
        (torch.inf, r"scores\[1, 0, 0\] is inf"),
        (1e300, r"scores\[1, 0, 0\] / temperature is 1e\+300"),
    ):
        bad = scores.clone()
        bad[1] = value
        with pytest.raises(ValueError, match=message):
            compiled(bad, ones)
    if each:
        with pytest.raises(ValueError, match=r"temperature\[0\]"):
            compiled(scores, -ones)
    deep = scores.expand(3, 2, 2, 3).clone()
    deep[2, 1, 0, 0] = torch.nan
    with pytest.raises(ValueError, match=r"scores\[2, 1, 0, 0\] is nan \(instance \(2, 1\)"):
        compiled(deep, ones)


def test_check_of_sums_is_an_operator() -> None:
    scores = torch.zeros(2, 4, dtype=torch.float64)
    log_sums = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    reads = torch.ones(2, 4, dtype=torch.bool)
    torch.library.opcheck(check_sums, (log_sums, scores, reads, None, 1.0, [2]))
    torch.library.opcheck(check_sums, (log_sums, scores, reads, torch.ones(2), 1.0, [2]))


@pytest.mark.parametrize("structure", [sp.Simplex(), sp.Hypercube()], ids=str)
def test_scores_too_large_are_named(structure: sp.Structure) -> None:
    scores = torch.zeros(3, 4, dtype=torch.float64)
    for value in (1e201, -1e305):
        scores[1, 2] = value
        with pytest.raises(ValueError, match=r"scores\[1, 2\] / temperature"):
            sp.marginals(scores, structure)
    scores[1, 2] = 1.0
    tiny = torch.tensor([1.0, 1e-310, 1.0], dtype=torch.float64)
    for temperature in (1e-310, tiny):
        for sign in (1, -1):
            with pytest.raises(ValueError, match=r"scores\[1, 2\] / temperature is -?inf"):
                sp.marginals(sign * scores, structure, temperature=temperature)
            with pytest.raises(ValueError, match=r"scores\[1, 2\] / temperature is -?inf"):
                sp.marginals((sign * scores).float(), structure, temperature=temperature)


def test_an_empty_instance_is_named_beside_large_scores() -> None:
    scores = torch.full((3, 4), 1e199, dtype=torch.float64)
    scores[2] = -torch.inf
    with pytest.raises(ValueError, match="instance 2 has no structure left"):
        sp.marginals(scores, sp.Simplex())
