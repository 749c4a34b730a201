"""The choice of the arc scorer in models of all tasks."""

import pytest
import torch

from sparsewood import sparsemap
from sparsewood.lab.tasks import TASKS, load_model
from sparsewood.nn import BetweenArcScorer

WORDS = {"composer_input": "words"}


@pytest.mark.parametrize(
    "options",
    [
        {"scorer": "between", **WORDS},
        {"scorer": "between", **WORDS, "own_embeddings": True, "channels": 2},
        {"scorer": "both"},
        {"scorer": "both", **WORDS},
        {"scorer": "both", **WORDS, "own_embeddings": True},
    ],
)
def test_scorers_of_what_lies_between_words_learn(make, check_learns, task, options):
    model, batch = make(task, **options)
    between = [m for m in model.modules() if isinstance(m, BetweenArcScorer)]
    assert [scorer.step.out_features for scorer in between] == [options.get("channels", 4)]
    has_lstm = any(isinstance(m, torch.nn.LSTM) for m in model.modules())
    assert has_lstm == (options["scorer"] == "both")
    own = options.get("own_embeddings", False)
    assert (model.second is not None) == own
    names = {name: p for name, p in model.named_parameters() if p.requires_grad}
    mine = ["trees.scorer."]
    if own:
        mine.append("encoder.")
    elif has_lstm and "composer_input" in options:
        mine.append("encoder.lstm.")
    expected = [p for name, p in names.items() if name.startswith(tuple(mine))]
    assert set(map(id, model.parser_parameters())) == set(map(id, expected))
    check_learns(model, batch)
    problems = model.eval().problems(batch)
    for problem, posterior in zip(problems, model(batch).posteriors, strict=True):
        scores = problem.scores
        assert torch.equal(
            sparsemap(scores, problem.structure, lengths=problem.lengths, max_active=10).mode,
            posterior.mode,
        )


def test_a_scorer_has_no_say_without_latent_trees(make, task):
    for estimator in ("flat", "lstm", "chart"):
        options = {"estimator": estimator, **WORDS}
        model, _ = make(task, scorer="between", **options)
        plain, _ = make(task, **options)
        assert {n: p.shape for n, p in model.named_parameters()} == {
            n: p.shape for n, p in plain.named_parameters()
        }
        assert TASKS[task].row({"estimator": estimator, "scorer": "between"}) == estimator
    row = TASKS[task].row({"estimator": "top-k:k=5", "scorer": "between"})
    assert row == "top-k:k=5 + between"


def test_the_sum_of_two_scorers(make):
    model, batch = make("classify", scorer="both")
    scorer, side = model.trees.scorer, batch.sides[0]
    context, words = model.context(side), model.encoder.embedding(side.tokens)
    found = scorer(torch.cat([context, words], -1))
    torch.testing.assert_close(found, scorer.mlp(context) + scorer.between(words))


def test_rounding_is_kept(make, tmp_path):
    model, _ = make("classify", scorer="between", **WORDS)
    model.trees.scorer.rounding = 0.5
    model.save_pretrained(tmp_path)
    kept = load_model(tmp_path)
    (scorer,) = (m for m in kept.modules() if isinstance(m, BetweenArcScorer))
    assert scorer.rounding == 0.5
