"""A tiny corpus and model of each task."""

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.lab.data.batches import Batch, PaddedSentences
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.vectors import WordVectors
from sparsewood.lab.tasks import TASKS, ModelConfig, TreeModel, build_model
from sparsewood.posterior import Posterior

WORDS = "oak elm ash yew fir box may bay fig tea".split()
TREE_TASKS = tuple(n for n, task in TASKS.items() if issubclass(task.config, ModelConfig))
READERS = (
    *("mean", "bow", "lstm", "chart", "chart:input=context,choice=straight-through"),
    "transformer:heads=1,dropout=0",
    "transformer:heads=1,layers=1,positions=relative,pooling=first,dropout=0,input=context",
)
ESTIMATORS = ("sparsemap:max_active=10", "top-k:k=3", "left-to-right", "flat", "given")


def _vectors() -> WordVectors:
    """A random vector for each word."""
    generator = torch.Generator().manual_seed(0)
    return WordVectors(4, WORDS, torch.randn(len(WORDS), 4, generator=generator))


def _sentence(draw: random.Random) -> Sentence:
    n = draw.randint(1, 6)
    words = tuple(draw.choice(WORDS) for _ in range(n))
    heads = [0] * n
    order = draw.sample(range(n), n)
    for i in range(1, n):
        heads[order[i]] = draw.choice([0, *(j + 1 for j in order[:i])])
    return Sentence(words, tuple(heads), tuple(word != WORDS[0] for word in words))


def _corpus(task: str) -> Corpus:
    draw = random.Random(task)
    labels = WORDS if task == "revdict" else ["no", "yes", "maybe"]

    def example(i: int) -> Example:
        sides = tuple(_sentence(draw) for _ in TASKS[task].sides)
        if TASKS[task].answer == "labels":
            return Example(sides, labels=tuple(labels[: i % 3]))
        if TASKS[task].answer == "number":
            return Example(sides, str(100 + i**2 / 8))
        return Example(sides, labels[i % len(labels)])

    sizes = {"train": 8, "validation": 4, "test": 4}
    splits = {name: [example(i) for i in range(size)] for name, size in sizes.items()}
    return Corpus(task, splits, tuple(WORDS) if task == "revdict" else ())


def _make(task: str, **options: Any) -> tuple[TreeModel, Batch]:
    torch.manual_seed(0)
    config = TASKS[task].config(**{"hidden": 6, "embedding": 4, "dropout": 0.0, **options})
    corpus = _corpus(task)
    vectors = _vectors() if task == "revdict" else None
    model = build_model(corpus, config, vectors).double()
    assert isinstance(model, TreeModel)
    return model, model.encode(corpus.splits["train"]).batch(range(8))


def _check_learns(model: TreeModel, batch: Batch) -> None:
    """Every parameter that is trained has a finite gradient, and a step along it helps."""
    loss = model(batch).loss.mean()
    loss.backward()
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter -= 1e-4 * parameter.grad
        assert model(batch).loss.mean() < loss


def _tree_vectors(
    model: TreeModel, side: PaddedSentences, posterior: Posterior, b: int
) -> list[tuple[Tensor, Tensor]]:
    """The weight and the vector of each tree of sentence b, computed without batch or padding."""
    assert model.trees is not None
    n = int(side.lengths[b])
    one = torch.tensor([n])
    x = model.encoder(side.tokens[b : b + 1, :n], one)
    first = torch.tensor([0])
    return [
        (weight, model.trees.composer(x, sp.Forest.from_heads(heads[None, :n], one, first))[0])
        for weight, heads in zip(posterior[b].weights, posterior[b].structures, strict=True)
    ]


@pytest.fixture(params=TREE_TASKS)
def task(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=ESTIMATORS)
def estimator(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def corpus() -> Callable[[str], Corpus]:
    """task -> a corpus of it; sentences have heads."""
    return _corpus


@pytest.fixture
def vectors() -> WordVectors:
    return _vectors()


@pytest.fixture
def make() -> Callable[..., tuple[TreeModel, Batch]]:
    """(task, **fields of ModelConfig) -> a float64 model and a batch of eight examples."""
    return _make


@pytest.fixture
def tree_vectors() -> Callable[..., list[tuple[Tensor, Tensor]]]:
    """(model, side, posterior, b) -> weight and vector of each tree of sentence b."""
    return _tree_vectors


@pytest.fixture
def check_learns() -> Callable[[TreeModel, Batch], None]:
    """(model, batch): its gradients are there and finite, and a step along them helps."""
    return _check_learns
