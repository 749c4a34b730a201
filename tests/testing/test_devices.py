"""Copies of inputs and results between devices in the kit."""

from contextlib import suppress

import torch

import sparsewood as sp
from sparsewood.testing import devices

META = torch.device("meta")


def test_results_are_moved_whole_and_keep_their_graph() -> None:
    scores = torch.randn(2, 3, 4, requires_grad=True)
    post = devices._moved(sp.sparsemap(scores, sp.DependencyTrees()), META)
    tensors = [post.structures, post.weights, post.sizes, post.gap, post.marginals, post.status]
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert post.weights.requires_grad
    best = devices._moved(sp.map(scores, sp.DependencyTrees()), META)
    assert best.structures.device == best.scores.device == META
    assert devices._moved(sp.DependencyTrees(), META) == sp.DependencyTrees()
    assert devices._moved(None, META) is None


def test_a_call_answers_on_the_device_of_its_context() -> None:
    scores = torch.randn(2, 3, 4)
    calls = []

    def infer(scores: torch.Tensor, *, lengths: torch.Tensor) -> torch.Tensor:
        calls.append((scores.device.type, lengths.device.type))
        return torch.zeros(2) if scores.device.type == "cpu" else scores.new_zeros(0)

    placed = devices._placed(infer)
    assert placed(scores, lengths=torch.tensor([3, 2])).shape == (2,)
    with devices.on_device("meta"), suppress(NotImplementedError):  # results cannot be copied back
        placed(scores, lengths=torch.tensor([3, 2]))
    assert calls == [("cpu", "cpu"), ("meta", "meta")]
