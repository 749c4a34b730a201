"""The finding of a comparison, in words."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sparsewood.lab.run import Run, RunConfig
from sparsewood.lab.study.finding import finding
from sparsewood.lab.study.summary import summarise

Answers = dict[str, tuple[str, ...]]


@pytest.fixture
def find(make_config: Callable[..., RunConfig], tmp_path: Path) -> Callable[..., str]:
    """(estimator -> right and wrong answers of each seed, seconds=) -> the finding."""

    def run(estimator: str, seed: int, answers: str, seconds: float) -> Run:
        folder = tmp_path / estimator / str(seed)
        folder.mkdir(parents=True)
        config = make_config(estimator, seed=seed)
        (folder / "config.json").write_text(json.dumps(config.to_json()))
        record = {"seconds": seconds, "sentences_per_second": 1.0}
        (folder / "metrics.jsonl").write_text(json.dumps(record) + "\n")
        values = {"accuracy": 100 * answers.count("1") / len(answers)}
        result = {"criterion": "accuracy", "validation": values, "tests": {"test": values}}
        result |= {"temperature": None, "epochs": 1}
        (folder / "result.json").write_text(json.dumps(result))
        kept = {"test": {"items": "hash", "outcomes": answers}}
        (folder / "outcomes.json").write_text(json.dumps(kept))
        return Run(folder)

    def told(answers: Answers, **seconds: float) -> str:
        rows = {
            name: [run(name, i, text, seconds.get(name, 9.0)) for i, text in enumerate(texts)]
            for name, texts in answers.items()
        }
        return finding(rows, summarise(rows, "flat"))

    return told


GOOD, FAIR, BAD = ("1" * 20, "1" * 20), ("1" * 19 + "0", "1" * 20), ("0" * 20, "0" * 20)


def test_the_best_is_ahead(find: Callable[..., str]) -> None:
    said = find({"flat": BAD, "spigot": GOOD, "imle": BAD})
    assert said == (
        "Among the estimators with learned trees, spigot is best on test: accuracy 100.00 ± 0.00 "
        "(2 seeds), +100.00 [+100.00, +100.00] against flat; ahead of imle with 0.00."
    )


def test_those_that_chance_may_have_told_apart(find: Callable[..., str]) -> None:
    said = find({"sparsemap": FAIR, "spigot": GOOD, "imle": BAD}, sparsemap=1.0)
    assert said == (
        "spigot is best on test: accuracy 100.00 ± 0.00 (2 seeds); sparsemap (97.50) is "
        "not significantly different. Of these, sparsemap has the fastest epochs, 1.0 s."
    )


def test_many_are_not_listed(find: Callable[..., str]) -> None:
    names = ("sparsemap", "spigot", "imle", "perturbed", "top-k:k=5", "aimle")
    said = find(dict.fromkeys(names, GOOD))
    assert "; spigot (100.00), imle (100.00), perturbed (100.00) and 2 others are not" in said


def test_trees_that_nothing_is_learnt_of_are_no_contenders(find: Callable[..., str]) -> None:
    """With the given trees it is easy."""
    assert find({"given": GOOD, "spigot": FAIR}).startswith(
        "Among the estimators with learned trees, spigot is best"
    )
    assert find({"flat": (GOOD[0],)}) == (
        "One seed; variation between seeds not assessed. flat is best on test: accuracy 100.00."
    )
