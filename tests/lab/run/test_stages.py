"""Short sentences first: what the stages train on, when they end, and what counts from there."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from sparsewood.lab.run import Progress, TrainingConfig, train
from sparsewood.lab.run.distributed import World
from sparsewood.lab.run.interrupt import StopWish
from sparsewood.lab.run.schedule import check_stages, ordinary, stage_after
from sparsewood.lab.run.setup import set_up

QUIET = Progress()
CONFIG = TrainingConfig(short_first=(4, 6), stage_accuracy=90.0, stage_epochs=3)
# 40 examples of 4 to 8 words; stages end by time, as no accuracy is above 100.
TWO_STAGES = {"short_first": (4, 6), "stage_accuracy": 100.0, "stage_epochs": 2}


def history(*epochs: tuple[int | None, float]) -> list[dict[str, Any]]:
    return [
        {"epoch": i, **({"stage": words} if words else {}), "train": {"accuracy": accuracy}}
        for i, (words, accuracy) in enumerate(epochs, 1)
    ]


def test_the_stage_of_the_next_epoch() -> None:
    assert stage_after([], TrainingConfig()) is None
    assert stage_after([], CONFIG) == 4
    assert stage_after(history((4, 89.9)), CONFIG) == 4
    assert stage_after(history((4, 90.0)), CONFIG) == 6
    assert stage_after(history((4, 1), (4, 2), (4, 3)), CONFIG) == 6
    assert stage_after(history((4, 95), (6, 80)), CONFIG) == 6
    over = history((4, 95), (6, 80), (6, 91), (None, 50))
    assert stage_after(over, CONFIG) is None
    assert ordinary(over) == 1


def test_a_stage_without_examples_is_named(make_config, tmp_path: Path) -> None:
    check_stages(CONFIG, [9, 4])
    with pytest.raises(ValueError, match="short_first: no training example has at most 3 words; t"):
        train(make_config(short_first=(3, 6)), tmp_path / "run", progress=QUIET)
    assert not (tmp_path / "run").exists()


def test_stages_come_first_and_do_not_count(make_config, recording, tmp_path: Path) -> None:
    """Rates, restarts of Adam, and the sentences that are trained on."""
    steps: list[tuple[int | None, set[int], float, int]] = []

    class Watcher(recording):
        def step(self, step: int, values: Any) -> None:
            state = trainer.state
            (adam, *_) = state.optimizer.state.values()
            rate = state.optimizer.param_groups[0]["lr"]
            steps.append((state.stage, lengths, rate, int(adam["step"])))

    told = {"optimizer": "adam", "lr": 0.01, "warm_up": 5, "linear": True, "max_epochs": 2}
    config, watcher = make_config("flat", **told, **TWO_STAGES), Watcher()
    trainer = set_up(config, tmp_path, World(0, 1, torch.device("cpu")), watcher, StopWish())
    lengths: set[int] = set()
    batch = trainer.batches.split.batch

    def looked_at(rows: Sequence[int]) -> Any:
        nonlocal lengths
        lengths = {trainer.batches.split.lengths[row] for row in rows}
        return batch(rows)

    trainer.batches.split.batch = looked_at
    result = trainer.run()
    metrics = [json.loads(x) for x in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [record.get("stage") for record in metrics] == [4, 4, 6, 6, None, None]
    assert [record["epoch"] for record in metrics] == [1, 2, 3, 4, 5, 6]
    assert not any(record["best"] for record in metrics[:4])
    assert metrics[4]["best"]
    assert result["best_epoch"] in (5, 6)
    for limit in (4, 6, None):
        mine = [told for told in steps if told[0] == limit]
        assert max(n for _, seen, _, _ in mine for n in seen) <= (limit or 8)
        assert [step for *_, step in mine] == list(range(1, len(mine) + 1))
        assert limit is None or {rate for _, _, rate, _ in mine} == {0.01}
    rates = [rate for stage, _, rate, _ in steps if stage is None]
    up, down = [0.002, 0.004, 0.006], [0.006, 0.005, 0.004, 0.003, 0.002, 0.001]
    assert rates == pytest.approx([*up, 0.007, *down])
    assert [note.split(" at ")[1] for note in watcher.notes[:2]] == [
        "most 4 words ended",
        "most 6 words ended",
    ]


def test_accuracy_ends_a_stage(make_config, recording, tmp_path: Path) -> None:
    told = {"short_first": (4, 5), "stage_accuracy": 1e-9, "max_epochs": 1, "lr": 0.01}
    recorder = recording()
    train(make_config("flat", **told), tmp_path, progress=recorder)
    assert recorder.epochs == [1, 2, 3]
    assert not any("the stage of" in note for note in recorder.notes)


def test_what_is_annealed_and_who_learns_first_wait(make_config, tmp_path: Path) -> None:
    seen: list[tuple[float | None, bool]] = []

    class Watcher(Progress):
        def step(self, step: int, values: Any) -> None:
            moved = [not torch.equal(p, b) for p, b in zip(parser, before, strict=True)]
            seen.append((model.temperature, any(moved)))

    told = {"composer_first": 1, "anneal": ("temperature=4:2",), "anneal_epochs": 2}
    config = make_config(max_epochs=2, temperatures=False, **told, **TWO_STAGES)
    trainer = set_up(config, tmp_path, World(0, 1, torch.device("cpu")), Watcher(), StopWish())
    model, parser = trainer.model, trainer.model.parser_parameters()
    before = [p.detach().clone() for p in parser]
    result = trainer.run()
    assert seen[:-5] == [(4.0, False)] * (len(seen) - 5)
    assert seen[-5:] == [(3.0, True)] * 5
    assert result["temperature"] == {5: 4.0, 6: 3.0}[result["best_epoch"]]


@pytest.mark.parametrize(
    "stops",  # the two stages have two epochs each, of five steps and of four
    [
        {2: "step 2 of epoch 1", 12: "step 2 of epoch 3"},
        {10: "step 5 of epoch 2", 15: "step 1 of epoch 4"},
    ],
)
def test_stages_resume(make_config, resumes, stops: dict[int, str]) -> None:
    config = make_config(optimizer="adam", lr=0.01, average=0.8, max_epochs=2, **TWO_STAGES)
    resumes(config, stops)


def test_a_run_that_patience_has_ended_stays_so(make_config, recording, tmp_path: Path) -> None:
    told = {"lr": 1e-9, "patience": 1, **TWO_STAGES}
    recorder = recording()
    train(make_config("flat", max_epochs=4, **told), tmp_path, progress=recorder)
    assert recorder.epochs == [1, 2, 3, 4, 5, 6]
    train(make_config("flat", max_epochs=5, **told), tmp_path, resume=True, progress=recorder)
    assert recorder.notes[-1] == f"{tmp_path}: already finished"
