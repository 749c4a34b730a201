"""The options of models."""

import pytest

from sparsewood.lab.tasks import ModelConfig


@pytest.mark.parametrize(
    "wrong",
    [
        *({"hidden": 7}, {"embedding": 0}, {"dropout": 1.0}),
        *({"composer": "tree_rnn"}, {"message_steps": 0}),
        *({"composer_input": "letters"}, {"own_embeddings": True}),
        *({"scorer": "bilinear"}, {"channels": 0}),
        *({"known_root": 0}, {"noise": -1.0}, {"entropy": float("nan")}),
    ],
)
def test_wrong_options(wrong):
    with pytest.raises(ValueError, match=f"^model.{next(iter(wrong))}: expected .*, got "):
        ModelConfig(**wrong)


@pytest.mark.parametrize(
    ("estimator", "composer", "expected"),
    [
        ("gibbs", "tree_lstm", "messages with gibbs"),
        ("gibbs", "ordered", "messages with gibbs"),
        ("straight-through", "ordered", "tree_lstm or tree_gru or messages with straight-through"),
    ],
)
def test_a_composer_that_does_not_fit_the_estimator(estimator, composer, expected):
    with pytest.raises(ValueError, match=f"^model.composer: expected {expected}, got '{composer}'"):
        ModelConfig(estimator=estimator, composer=composer)
    assert ModelConfig(estimator=estimator, composer="messages").composer == "messages"


def test_what_a_scorer_of_embeddings_needs():
    with pytest.raises(ValueError, match='composer_input: expected "words" with the scorer'):
        ModelConfig(scorer="between")
    for scorer in ("between", "both"):
        with pytest.raises(ValueError, match='scorer: expected "mlp" with a pretrained encoder'):
            ModelConfig(scorer=scorer, composer_input="words", encoder="hf:elm")
    assert ModelConfig(scorer="both").composer_input == "context"
    assert ModelConfig.from_stored({"hidden": 8}).scorer == "mlp"
