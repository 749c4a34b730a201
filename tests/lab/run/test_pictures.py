"""Attention as galleries have it, and its picture."""

import pytest
import torch

from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.run.evaluate import attention_of
from sparsewood.lab.run.pictures import attention_picture
from sparsewood.lab.tasks.metrics import Output

SENTENCES = [Sentence(("a", "b")), Sentence(("c",))]


def test_from_weights_to_a_picture() -> None:
    weights = torch.tensor([[[0.7, 0.3], [0.04, 0.9]]])
    output = Output(None, torch.zeros(1, 3), (), weights)
    told = attention_of(SENTENCES, output, 0)
    assert told == {"attention": [[0, 0, 0.7]]}  # the second column is padding
    picture = attention_picture({"sides": [{"words": s.words} for s in SENTENCES], **told})
    assert picture is not None
    assert picture.parts() == ["a – c 70.0%"]


def test_without_attention() -> None:
    assert attention_of(SENTENCES, Output(None, torch.zeros(1, 3), ()), 0) == {}
    assert attention_picture({"sides": []}) is None


def test_damage_is_told() -> None:
    sides = [{"words": sentence.words} for sentence in SENTENCES]
    with pytest.raises(ValueError, match="link"):
        attention_picture({"sides": sides, "attention": [[0, 7, 0.5]]})
