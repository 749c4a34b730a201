"""Vectors of sentences without trees, against one sentence and one word at a time."""

import pytest
import torch
from torch import Tensor, nn

from sparsewood.nn import BagOfWords, LastState, MeanOfWords


def made(kind: str) -> nn.Module:
    torch.manual_seed(0)
    modules = {"mean": MeanOfWords(3), "bow": BagOfWords(3, 4), "lstm": LastState(3, 4)}
    return modules[kind].double()


def plain(module: nn.Module, x: Tensor) -> Tensor:
    """The vector of one sentence (n, 3)."""
    if isinstance(module, MeanOfWords):
        return sum(x[1:], start=x[0]) / len(x)
    if isinstance(module, BagOfWords):
        return sum((module.input.weight @ word for word in x), start=torch.zeros(4).double())
    assert isinstance(module, LastState)
    w, u, b, b_u = (p.detach() for p in module.lstm.parameters())
    h = c = torch.zeros(4).double()
    for word in x:
        i, f, g, o = (w @ word + b + u @ h + b_u).split(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
    return h


@pytest.mark.parametrize("kind", ["mean", "bow", "lstm"])
def test_vectors_are_those_of_each_sentence_alone(kind):
    module, lengths = made(kind), torch.tensor([5, 1, 3])
    x = torch.randn(3, 5, 3, dtype=torch.float64)
    x[1, 1:] = x[2, 3:] = torch.nan
    x.requires_grad_()
    vectors = module(x, lengths)
    for b, n in enumerate(lengths.tolist()):
        torch.testing.assert_close(vectors[b], plain(module, x[b, :n]))
    vectors.sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert not x.grad[1, 1:].any()


@pytest.mark.parametrize("kind", ["mean", "bow", "lstm"])
def test_bad_input_is_refused(kind):
    with pytest.raises(ValueError, match="word vectors: expected"):
        made(kind)(torch.zeros(2, 4, 7).double())
    with pytest.raises(ValueError, match="lengths"):
        made(kind)(torch.zeros(2, 4, 3).double(), torch.tensor([5, 1]))
