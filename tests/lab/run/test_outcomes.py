"""What a run keeps of its answers: in the order of the split, small, read back as it was."""

import json
from pathlib import Path

import numpy
import pytest
import torch

from sparsewood.lab.data.batches import Batches, EncodedSplit
from sparsewood.lab.run import Progress, Run, RunConfig, evaluate, train
from sparsewood.lab.run.outcomes import FILE, Gathered, Outcomes, write_outcomes
from sparsewood.lab.run.prepare import prepare
from sparsewood.lab.tasks import TreeModel

QUIET = Progress()


def test_a_run_keeps_the_answer_to_each_example(make_config, tmp_path: Path) -> None:
    config = make_config(max_epochs=2)
    result = train(config, tmp_path, progress=QUIET)
    run = Run(tmp_path)
    assert run.outcomes.keys() == {"validation", "test"}
    _, _, splits = prepare(config)
    model, split = run.load_model(), splits["test"]
    assert isinstance(model, TreeModel)
    assert isinstance(split, EncodedSplit)
    right = []  # one by one, in the order of the split
    for row in range(len(split)):
        with torch.no_grad():
            right.append(int(model(split.batch([row])).prediction.argmax()) == split.targets[row])
    kept = run.outcomes["test"].values
    assert kept.tolist() == [100.0 * bool(answer) for answer in right]
    assert kept.mean() == pytest.approx(result["tests"]["test"]["accuracy"])
    assert run.outcomes["validation"].values.mean() == pytest.approx(
        result["validation"]["accuracy"]
    )
    text = json.loads((tmp_path / FILE).read_text())["test"]["outcomes"]
    assert text == "".join(str(int(answer)) for answer in right)


def test_an_order_of_batches_changes_nothing(make_config) -> None:
    _, model, splits = prepare(make_config("flat"))
    found = []
    for batches in (Batches(splits["test"], 5), Batches(splits["test"], 3, shuffle="examples")):
        gathered = Gathered(model)
        evaluate(model, batches, gathered=gathered)
        found.append(gathered.in_order())
    assert torch.equal(*found)


def test_losses_are_kept_as_numbers(tmp_path: Path) -> None:
    kept = Outcomes("hash", numpy.array([0.123456789, 100.0, 1 / 3e6]))
    write_outcomes(tmp_path, {'the "test"': kept})
    data = json.loads((tmp_path / FILE).read_text())['the "test"']
    assert data == {"items": "hash", "outcomes": [0.123457, 100.0, 3.33333e-07]}
    assert Outcomes.from_json(data).values == pytest.approx(kept.values, rel=1e-5)


def test_the_hash_is_that_of_the_items(make_config) -> None:
    def items(config: RunConfig, split: str) -> str:
        _, model, splits = prepare(config)
        gathered = Gathered(model)
        evaluate(model, Batches(splits[split], 5), gathered=gathered)
        found = Outcomes.of(splits[split], gathered)
        assert found is not None
        return found.items

    one = items(make_config("flat"), "test")
    assert one == items(make_config("sparsemap", seed=1), "test")
    assert one != items(make_config("flat"), "validation")


def test_a_parser_keeps_none(make_parser_config, tmp_path: Path) -> None:
    train(make_parser_config(), tmp_path / "run", progress=QUIET)
    assert not (tmp_path / "run" / FILE).exists()
    assert Run(tmp_path / "run").outcomes == {}


def test_runs_without_outcomes(make_config, tmp_path: Path) -> None:
    train(make_config("flat", max_epochs=1), tmp_path, progress=QUIET)
    (tmp_path / "result.json").rename(tmp_path / "elsewhere")  # more epochs are to come
    assert Run(tmp_path).outcomes == {}
    (tmp_path / "elsewhere").rename(tmp_path / "result.json")
    assert Run(tmp_path).outcomes
    (tmp_path / FILE).unlink()  # a run of an older version
    assert Run(tmp_path).outcomes == {}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], 'validation: expected "outcomes"'),
        ({"items": "a", "outcomes": ""}, 'expected "outcomes"'),
        ({"items": "a", "outcomes": "012"}, 'expected "outcomes"'),
        ({"items": "a", "outcomes": [1, "2"]}, 'expected "outcomes"'),
        ({"items": "a", "outcomes": [1, float("nan")]}, 'expected "outcomes"'),
        ({"outcomes": "01"}, 'expected "items"'),
    ],
)
def test_damaged_outcomes_are_named(
    make_config, tmp_path: Path, data: object, message: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(make_config().to_json()))
    (tmp_path / "result.json").write_text("{}")
    (tmp_path / FILE).write_text(json.dumps({"validation": data}))
    with pytest.raises(ValueError, match=rf"outcomes\.json: .*{message}"):
        _ = Run(tmp_path).outcomes
