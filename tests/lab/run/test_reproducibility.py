"""Random generators, and the fingerprint of the data."""

import random
from pathlib import Path

import numpy
import torch
from torch import nn

from sparsewood.lab.data.batches import EncodedSplit, class_targets
from sparsewood.lab.data.examples import Example, Sentence
from sparsewood.lab.data.vocabulary import Vocabulary
from sparsewood.lab.run import checkpoint
from sparsewood.lab.run.reproducibility import (
    fingerprint,
    random_state,
    seed_everything,
    set_random_state,
)

CPU = torch.device("cpu")


def _model() -> nn.Module:
    """A fixed embedding, drawn anew."""
    return nn.Embedding(3, 2).requires_grad_(False)


def test_random_states_come_back(tmp_path: Path) -> None:
    def draw() -> tuple[float, float, float]:
        return random.random(), numpy.random.rand(), float(torch.rand(()))  # noqa: NPY002

    seed_everything(3)
    first = draw()
    checkpoint.write_checkpoint(tmp_path / "0001", _model(), random_state(CPU))
    after = draw()
    set_random_state(checkpoint.read_snapshot(tmp_path / "0001"), CPU)
    assert draw() == after
    seed_everything(3)
    assert draw() == first


def test_the_fingerprint_is_that_of_the_data() -> None:
    vocabulary = Vocabulary(["<unk>", "a", "b"])

    def split(words: str, heads: tuple[int, ...] | None = None, label: str = "x") -> EncodedSplit:
        example = Example((Sentence(tuple(words.split()), heads),), label)
        return EncodedSplit([example], vocabulary, class_targets([example], ["x", "y"]))

    model = _model()
    splits = [split("a b"), split("b a"), split("a b", (0, 1)), split("a b", label="y")]
    prints = {fingerprint(model, [s]) for s in splits}
    assert len(prints) == 4
    assert fingerprint(model, [split("a b")]) in prints
    assert fingerprint(_model(), [split("a b")]) not in prints  # other vectors
