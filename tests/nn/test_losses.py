"""The modules call the functions with their options."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import sparsewood as sp
from sparsewood.testing import draw_scores

TREES = sp.DependencyTrees(projective=True)
CASES: list[tuple[type[nn.Module], Callable[..., Tensor], dict[str, Any]]] = [
    (sp.nn.CRFLoss, sp.crf_loss, {"reduction": "sum"}),
    (sp.nn.PerceptronLoss, sp.perceptron_loss, {"reduction": "none"}),
    (sp.nn.HingeLoss, sp.hinge_loss, {"margin": 0.5, "reduction": "none"}),
    (sp.nn.SparseMAPLoss, sp.sparsemap_loss, {"margin": 1.5, "reduction": "none"}),
    (sp.nn.SparseMAPLoss, sp.sparsemap_loss, {"max_active": 2, "reduction": "sum"}),
]


@pytest.mark.parametrize(("module", "function", "options"), CASES)
def test_module_is_the_function(
    module: type[nn.Module], function: Callable[..., Tensor], options: dict[str, Any]
) -> None:
    scores, lengths = draw_scores("normal", 2, (4, 5), seed=0), torch.tensor([4, 3])
    gold = TREES.argmax(draw_scores("normal", 2, (4, 5), seed=1), lengths)
    made = pickle.loads(pickle.dumps(module(TREES, **options)))
    expected = function(scores, gold, TREES, lengths=lengths, **options)
    assert torch.equal(made(scores, gold, lengths), expected)
    plain = function(scores, gold, TREES, lengths=lengths)
    assert torch.equal(module(TREES)(scores, gold, lengths), plain)
    for name, value in options.items():
        assert f"{name}={value!r}" in repr(made)
