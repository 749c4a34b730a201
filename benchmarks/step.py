"""A training step of the classifier timed by `forest.py`, as a whole and in stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import torch
from sentences import Batch
from torch import Tensor, nn

import sparsewood as sp

HIDDEN = 300

Item = TypeVar("Item")


class Classifier(nn.Module):
    """p(y | x) = E_h [softmax(W r(h, x) + b)]: frozen vectors, BiLSTM, trees, TreeLSTM."""

    def __init__(self, vectors: Tensor, estimator: sp.Estimator) -> None:
        super().__init__()
        torch.manual_seed(0)  # every estimator starts from the same encoder and composer
        self.encoder = sp.nn.SentenceEncoder.from_vectors(vectors, HIDDEN, freeze=True)
        composer = sp.nn.ChildSumTreeLSTM(HIDDEN, HIDDEN)
        self.output = nn.Linear(HIDDEN, 2)
        scorer = sp.nn.MLPArcScorer(HIDDEN) if estimator.reads_scores else None
        self.trees = sp.nn.LatentTreeEncoder(scorer, composer, estimator=estimator)

    def forward(self, batch: Batch) -> Tensor:
        """The mean negative log-likelihood of the labels."""
        heads = batch.heads if isinstance(self.trees.estimator, sp.Given) else None
        x = self.encoder(batch.tokens, batch.lengths)
        posterior, roots = self.trees(x, batch.lengths, heads)
        return self.loss(posterior, roots, batch)

    def loss(self, posterior: sp.Posterior, roots: Tensor, batch: Batch) -> Tensor:
        p = posterior.expect(self.output(roots).softmax(-1))
        return nn.functional.nll_loss(p.log(), batch.labels)


def train_parser(model: Classifier, batches: Iterable[Batch]) -> None:
    """A step of the encoder and the scorer towards each batch's parses.

    An untrained scorer gives all words the same few heads: flat, nearly equal trees. A little
    training gives trees as deep and as diverse as parses.
    """
    scorer, lstm = model.trees.scorer, model.encoder.lstm
    assert scorer is not None
    assert lstm is not None
    learning = [*lstm.parameters(), *scorer.parameters()]
    optimizer = torch.optim.Adam(learning, lr=2e-3)
    for batch in batches:
        optimizer.zero_grad()
        scores = scorer(model.encoder(batch.tokens, batch.lengths))
        sp.sparsemap_loss(
            scores, batch.heads, model.trees.structure, lengths=batch.lengths
        ).backward()
        optimizer.step()


class Trainer:
    """Training steps of a classifier, with learning rate 0 so that trees stay the same."""

    def __init__(self, model: Classifier, device: torch.device) -> None:
        self.model, self.device = model.to(device), device
        learning = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.SGD(learning, lr=0.0, fused=device.type == "cuda" or None)

    def step(self, batch: Batch) -> None:
        """Transfer, forward, backward, update."""
        self.optimizer.zero_grad()
        self.model(batch.to(self.device)).backward()
        self.optimizer.step()

    def stages(self, batch: Batch) -> dict[str, float]:
        """The same step split into its stages: the seconds of each."""
        clock, trees = Clock(self.device), self.model.trees
        assert trees.scorer is not None
        self.optimizer.zero_grad()
        with clock("transfer"):
            batch = batch.to(self.device)
        with clock("encoder"):
            x = self.model.encoder(batch.tokens, batch.lengths)
        x_leaf = leaf(x)
        with clock("scorer"):
            scores = trees.scorer(x_leaf)
        scores_leaf = leaf(scores)
        with clock("SparseMAP"):
            posterior = trees.estimator(scores_leaf, trees.structure, batch.lengths)
        with clock("forest"):
            forest = posterior.forest()
        with clock("TreeLSTM"):
            roots = trees.composer(x_leaf, forest)
        roots_leaf, weights_leaf = leaf(roots), leaf(posterior.weights)
        with clock("loss"):
            loss = self.model.loss(replace(posterior, weights=weights_leaf), roots_leaf, batch)
        with clock("loss backward"):
            loss.backward()
        with clock("TreeLSTM backward"):
            roots.backward(roots_leaf.grad)
        with clock("SparseMAP backward"):
            posterior.weights.backward(weights_leaf.grad)
        with clock("scorer backward"):
            scores.backward(scores_leaf.grad)
        with clock("encoder backward"):
            x.backward(x_leaf.grad)
        with clock("optimiser"):
            self.optimizer.step()
        return clock.seconds

    def gradients(self) -> list[Tensor]:
        """A copy of the gradients of the last step."""
        found = [p.grad for p in self.model.parameters() if p.requires_grad]
        return [g.clone() for g in found if g is not None]


class Clock:
    """Wall time of named blocks, each synchronised with the device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        synchronize(self.device)
        start = time.perf_counter()
        yield
        synchronize(self.device)
        self.seconds[name] = time.perf_counter() - start


def leaf(tensor: Tensor) -> Tensor:
    return tensor.detach().requires_grad_()


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def best_seconds(
    calls: Mapping[str, Callable[[Item], object]],
    items: list[Item],
    repeats: int,
    device: torch.device,
) -> dict[str, float]:
    """For each call the best of `repeats` on each item (a batch), averaged over the items.

    The calls alternate, so that other load affects them equally.
    """
    best = {name: [float("inf")] * len(items) for name in calls}
    for turn in range(repeats + 1):
        for i, item in enumerate(items):
            for name, call in calls.items():
                clock = Clock(device)
                with clock(name):
                    call(item)
                if turn > 0:  # the first is the warm-up
                    best[name][i] = min(best[name][i], clock.seconds[name])
    return {name: sum(times) / len(times) for name, times in best.items()}
