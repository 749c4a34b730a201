"""The options of models."""

import pytest

from sparsewood.lab.tasks import ModelConfig


@pytest.mark.parametrize(
    "wrong",
    [
        *({"hidden": 7}, {"embedding": 0}, {"dropout": 1.0}, {"estimator": "gibbs"}),
        {"composer": "tree_rnn"},
        *({"composer_input": "letters"}, {"own_embeddings": True}),
        *({"known_root": 0}, {"noise": -1.0}, {"entropy": float("nan")}),
    ],
)
def test_wrong_options(wrong):
    with pytest.raises(ValueError, match=f"^model.{next(iter(wrong))}: expected .*, got "):
        ModelConfig(**wrong)
