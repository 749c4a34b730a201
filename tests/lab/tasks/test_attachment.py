import pytest
import torch

import sparsewood as sp
from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.tasks._parser_input import ParserInput
from sparsewood.lab.tasks.attachment import Attachment
from sparsewood.lab.tasks.metrics import Output

READER = ParserInput(["<unk>"], ["<unk>"], [])


def add(score: Attachment, sentences: list[Sentence], heads: list[list[int]]) -> None:
    batch = READER.batch(sentences)
    scores = torch.zeros(len(heads), len(heads[0]), len(heads[0]) + 1)
    best = sp.Given(torch.tensor(heads))(scores, sp.DependencyTrees(), batch.lengths)
    loss = torch.arange(1.0, 1.0 + len(sentences))
    score.add(Output(loss, torch.zeros(()), (best,)), batch)


def test_counts_words_with_and_without_punctuation() -> None:
    score, other = Attachment(), Attachment()
    assert score.values() == {}
    add(
        score,
        [Sentence(("Oaks", "grow", "."), (2, 0, 2)), Sentence(("Yes",), (0,))],
        [[2, 0, 1], [0, -1, -1]],
    )
    add(other, [Sentence(("...", "no"), (2, 0))], [[2, 0]])
    score.merge(other)
    assert score.values() == {
        "loss": pytest.approx((1 + 2 + 1) / 6),
        "uas": pytest.approx(100 * 5 / 6),
        "uas_without_punctuation": pytest.approx(100.0),
        "exact": pytest.approx(100 * 2 / 3),
    }


def test_nothing_but_punctuation() -> None:
    score = Attachment()
    add(score, [Sentence(("!",), (0,))], [[0]])
    assert score.values()["uas_without_punctuation"] == 0.0
