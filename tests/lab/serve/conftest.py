"""Models that nobody trained, which is enough to be asked."""

from collections.abc import Callable

import pytest
import torch

from sparsewood.lab.data import Corpus, Example, Sentence
from sparsewood.lab.serve.answer import Served
from sparsewood.lab.tasks import ModelConfig, ParserConfig, build_model

_WORDS = "a small wood of oaks shades nobody far from here ."


def _served(
    estimator: str = "sparsemap:max_active=10", *, task: str = "classify", **options: object
) -> Served:
    torch.manual_seed(0)
    words = tuple(_WORDS.split())
    sides = (Sentence(words, (0,) * len(words)),) * (2 if task == "nli" else 1)
    corpus = Corpus(task, {"train": [Example(sides, "good"), Example(sides, "bad")]})
    if task == "parse":
        shape = {"embedding": 4, "characters": 2, "filters": 3, "layers": 1, "hidden": 4, "arc": 4}
        model = build_model(corpus, ParserConfig(**shape))
    else:
        config = ModelConfig(estimator, 6, 4, **options)  # pyright: ignore[reportArgumentType]
        model = build_model(corpus, config)
    return Served(estimator.partition(":")[0], model.eval())


@pytest.fixture
def serves() -> Callable[..., Served]:
    """(estimator, task=, **options of the model) -> a tiny model that answers."""
    return _served
