from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import sparsewood as sp
from sparsewood.lab.data.typed import typed_sentence
from sparsewood.lab.serve.answer import Served, answer

Serves = Callable[..., Served]
SENTENCE = typed_sentence("a small wood of oaks .")


def test_prediction_and_trees_are_those_of_the_model(serves: Serves) -> None:
    run = serves()
    said = answer(run, [SENTENCE])
    with torch.no_grad():
        post = run.model.posterior([SENTENCE])
    assert (said["name"], said["variant"]) == ("sparsemap", "estimator sparsemap:max_active=10")
    assert sum(said["prediction"].values()) == pytest.approx(1)
    assert list(said["prediction"].values()) == sorted(said["prediction"].values(), reverse=True)
    (side,) = said["sides"]
    best = post.topk(int(post.sizes))
    assert side["kept"] == int(post.sizes)
    assert [tree["heads"] for tree in side["trees"]] == best.structures[0].tolist()
    assert [tree["weight"] for tree in side["trees"]] == best.weights[0].tolist()
    assert side["status"] in ("solved", "capped")
    assert side["picture"] is None


def test_the_figure_has_what_the_model_solved(serves: Serves) -> None:
    (side,) = answer(serves("sparsemap:max_active=4", projective=True), [SENTENCE])["sides"]
    figure = side["figure"]
    assert (figure["most"], figure["cap"], figure["temperature"]) == (4, "active", 1.0)
    assert "projective=True" in figure["structure"]
    scores = torch.tensor([torch.nan if s is None else s for s in figure["scores"]])
    post = sp.sparsemap(
        scores.nan_to_num(-torch.inf).reshape(figure["shape"]),
        sp.DependencyTrees(projective=True),
        max_active=4,
    )
    assert post.topk(4).structures.tolist() == [tree["heads"] for tree in side["trees"]]


def test_another_temperature_is_for_one_question(serves: Serves) -> None:
    run = serves()
    warm = answer(run, [SENTENCE])
    cold = answer(run, [SENTENCE], temperature=1e-6)
    assert cold["temperature"] == cold["sides"][0]["figure"]["temperature"] == 1e-6
    assert cold["sides"][0]["kept"] == 1
    assert answer(run, [SENTENCE]) == warm


def test_a_hot_one_is_capped(serves: Serves) -> None:
    run = serves("sparsemap:max_active=none")
    long = typed_sentence("a small wood of oaks " * 7)
    (side,) = answer(run, [long], temperature=1e4)["sides"]
    assert side["kept"] == side["figure"]["most"] == 256
    assert side["status"] == "capped"
    assert answer(run, [SENTENCE])["sides"][0]["figure"]["most"] is None


def test_fixed_trees_are_a_picture(serves: Serves) -> None:
    (side,) = answer(serves("flat"), [SENTENCE], temperature=2.0)["sides"]
    assert side["trees"] == [{"heads": [0] * 6, "weight": 1.0}]
    assert side["figure"] is None
    assert side["status"] is side["gap"] is None
    assert side["picture"].startswith("<svg")


def test_a_chart_has_a_picture_of_its_likeliest_tree(serves: Serves) -> None:
    run = serves("chart")
    said = answer(run, [SENTENCE])
    (side,) = said["sides"]
    with torch.no_grad():
        best = run.model.posterior([SENTENCE])
    (tree,) = side["trees"]
    assert tree["spans"] == best.structures[0].nonzero().tolist()
    assert (tree["weight"], said["temperature"]) == (float(best.weights), 0.125)
    assert (side["kept"], side["figure"], side["status"]) == (1, None, None)
    assert side["picture"].startswith("<svg")
    cold = answer(run, [SENTENCE], temperature=1e-6)
    assert cold["temperature"] == 1e-6
    assert cold["sides"][0]["trees"][0]["weight"] == pytest.approx(1)
    assert answer(run, [SENTENCE]) == said


@pytest.mark.parametrize("reader", ["mean", "bow", "lstm"])
def test_a_reader_without_trees_answers_too(reader: str, serves: Serves) -> None:
    said = answer(serves(reader), [SENTENCE], temperature=2.0)
    assert sum(said["prediction"].values()) == pytest.approx(1)
    assert said["temperature"] is None
    (side,) = said["sides"]
    assert (side["words"], side["trees"], side["kept"]) == (list(SENTENCE.words), [], 0)
    assert side["figure"] is side["picture"] is side["status"] is None


def test_what_is_too_long_for_a_figure_is_a_picture(serves: Serves) -> None:
    (side,) = answer(serves(), [typed_sentence("oaks " * 150)], most=1)["sides"]
    assert side["figure"] is None
    assert side["picture"].startswith("<svg")
    assert len(side["trees"]) == 1
    assert side["kept"] > 1


def test_a_pair_and_a_parse(serves: Serves) -> None:
    pair = answer(serves(task="nli"), [SENTENCE, typed_sentence("oaks")])
    assert [side["words"] for side in pair["sides"]] == [list(SENTENCE.words), ["oaks"]]
    parse = answer(serves(task="parse"), [SENTENCE])
    assert parse["prediction"] == {}
    (side,) = parse["sides"]
    assert (side["kept"], side["figure"]["most"], side["figure"]["cap"]) == (1, 1, "support")


@pytest.mark.parametrize("kind", ["softmax", "matching"])
def test_who_attends_to_whom_is_a_picture(kind: str, serves: Serves) -> None:
    pair = [SENTENCE, typed_sentence("oaks")]
    told = answer(serves(task="nli", attention=kind), pair)
    assert told["variant"] == f"estimator sparsemap:max_active=10 + {kind}"
    assert told["attention"].startswith("<svg")
    assert f"{SENTENCE.words[0]} – oaks" in told["attention"] or kind == "matching"
    assert answer(serves(task="nli"), pair)["attention"] is None


def test_unknown_words_are_told(serves: Serves) -> None:
    known = answer(serves(), [SENTENCE])
    assert (known["sides"][0]["unknown"], known["notes"]) == ([], [])
    none = answer(serves(), [typed_sentence("elms elms ash")])
    assert none["sides"][0]["unknown"] == ["elms", "ash"]
    assert none["notes"] == ["no word of the sentence 'elms elms ash' is in the vocabulary"]


def test_given_trees_must_be_given(serves: Serves) -> None:
    run = serves("given")
    with pytest.raises(ValueError, match="given reads given trees, but a typed sentence has none"):
        answer(run, [SENTENCE])
    assert answer(run, [typed_sentence("[MAX 2 9 ]")])["sides"][0]["trees"][0]["weight"] == 1


def test_a_pretrained_encoder_answers(serves: Serves, encoder_folder: Path) -> None:
    run = serves(encoder=f"hf:{encoder_folder}")
    said = answer(run, [typed_sentence("the Red fox likes 木")])
    assert sum(said["prediction"].values()) == pytest.approx(1)
    (side,) = said["sides"]
    assert side["unknown"] == ["木"]
    assert side["figure"]["shape"] == [5, 6]
