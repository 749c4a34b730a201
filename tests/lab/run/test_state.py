"""What a step of training changes: rates, frozen weights, annealed options, averages."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from sparsewood.estimators import SparseMAP
from sparsewood.lab.run import Progress, RunConfig
from sparsewood.lab.run.distributed import World
from sparsewood.lab.run.interrupt import StopWish
from sparsewood.lab.run.setup import set_up
from sparsewood.lab.run.state import TrainingState
from sparsewood.lab.tasks import TreeModel, load_model
from tests.runs import INDUCTION, QUIET, WORDS, with_encoder, with_words


def watch(config: RunConfig, folder: Path, look: Callable[[TrainingState], None]) -> TrainingState:
    """The state at the end of a run; `look` sees it after every step."""

    class Watcher(Progress):
        def step(self, step: int, values: Any) -> None:
            look(trainer.state)

    trainer = set_up(config, folder, World(0, 1, torch.device("cpu")), Watcher(), StopWish())
    trainer.run()
    return trainer.state


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (WORDS, ["encoder", "trees.scorer"]),
        ({**WORDS, "own_embeddings": False}, ["encoder.lstm", "trees.scorer"]),
        ({}, ["trees.scorer"]),
    ],
)
def test_the_parser_has_a_rate_of_its_own(make_config, tmp_path, options, names) -> None:
    rates: list[list[float]] = []
    config = make_config(parser_lr=0.05, warm_up=4, max_epochs=1)
    state = watch(
        replace(config, model=replace(config.model, **options)),
        tmp_path,
        lambda state: rates.append([group["lr"] for group in state.optimizer.param_groups]),
    )
    assert rates == [pytest.approx([0.5 * p, 0.05 * p]) for p in (0.25, 0.5, 0.75, 1, 1)]
    apart = set(map(id, state.optimizer.param_groups[1]["params"]))
    found = [name for name, p in state.model.named_parameters() if id(p) in apart]
    assert found == [n for n, _ in state.model.named_parameters() if n.startswith(tuple(names))]
    assert sum(len(group["params"]) for group in state.optimizer.param_groups) == len(state.learned)


def test_the_rate_falls_to_0_at_the_end_that_seconds_foretell(make_config, tmp_path: Path) -> None:
    """Five steps an epoch, and in all 2.5 times as many seconds as an epoch takes: three epochs."""
    rates: list[float] = []
    config = make_config("flat", linear=True, max_epochs=10, max_seconds=2.5, lr=1.0, patience=None)
    alone = World(0, 1, torch.device("cpu"))
    state = set_up(config, tmp_path, alone, QUIET, StopWish()).state
    for done in range(3):
        for state.step in range(5):
            state.set_rate(5)
            rates.append(state.optimizer.param_groups[0]["lr"])
        state.history.append({"seconds": 1.0, "step": 5 * (done + 1)})
        assert state.over == (done == 2)
    first, rest = rates[:5], rates[5:]
    assert first == pytest.approx([1 - i / 50 for i in range(5)])  # nothing is known yet
    assert rest == pytest.approx([1 - i / 15 for i in range(5, 15)])


def test_fixed_trees_have_no_parser(make_config, tmp_path: Path) -> None:
    state = watch(make_config("flat", **INDUCTION), tmp_path, lambda state: None)
    assert len(state.optimizer.param_groups) == 1


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_composer_learns_first(make_config, tmp_path: Path, optimizer: str) -> None:
    config = with_words(make_config(composer_first=2, max_epochs=3, optimizer=optimizer, lr=0.01))
    seen: list[tuple[int, dict[str, torch.Tensor]]] = []

    def look(state: TrainingState) -> None:
        weights = {name: p.detach().clone() for name, p in state.model.named_parameters()}
        seen.append((state.epoch, weights))

    watch(config, tmp_path, look)
    frozen = ("encoder.", "trees.scorer.")
    for (_, before), (epoch, after) in itertools.pairwise(seen):
        for name, weight in after.items():
            moves = epoch >= 2 or not name.startswith(frozen)
            assert torch.equal(weight, before[name]) != moves, (epoch, name)


def test_what_is_annealed(make_config, tmp_path: Path) -> None:
    annealed = {name: INDUCTION[name] for name in ("anneal", "anneal_epochs")}
    config = with_words(make_config(max_epochs=4, patience=None, temperatures=False, **annealed))
    seen: dict[int, set[tuple[Any, ...]]] = {}

    def look(state: TrainingState) -> None:
        assert isinstance(state.model, TreeModel)
        assert state.model.trees is not None
        estimator = state.model.trees.estimator
        assert isinstance(estimator, SparseMAP)
        values = (estimator.temperature, estimator.max_active, state.model.trees.noise.scale)
        seen.setdefault(state.epoch, set()).add(values)

    state = watch(config, tmp_path, look)
    assert seen == {0: {(4, 2, 1)}, 1: {(2.5, 6, 0.5)}, 2: {(1, 10, 0)}, 3: {(1, 10, 0)}}
    kept: Any = load_model(tmp_path / "model")
    estimator = kept.trees.estimator
    best = state.schedule.best_epoch - 1
    assert {(estimator.temperature, estimator.max_active)} == {value[:2] for value in seen[best]}
    # Validation is of the moment too.
    sizes = [max(map(int, record["validation"]["histogram"])) for record in state.history]
    assert sizes[0] <= 2
    assert sizes[1] <= 6


def test_averaged_weights_are_validated_and_kept(make_config, tmp_path: Path) -> None:
    average: dict[str, torch.Tensor] = {}
    taken = itertools.count()

    def look(state: TrainingState) -> None:
        t = next(taken)
        keep = min(0.8, (1 + t) / (10 + t)) if t else 0.0  # the first steps are soon forgotten
        for name, p in state.model.named_parameters():
            new = p.detach().clone()
            average[name] = keep * average.get(name, new) + (1 - keep) * new

    config = make_config(average=0.8, max_epochs=1)
    state = watch(config, tmp_path, look)
    kept = load_file(tmp_path / "model" / "model.safetensors")
    for name, weight in state.model.named_parameters():
        torch.testing.assert_close(kept[name], average[name])
        assert not torch.equal(kept[name], weight)
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["validation"] == state.history[0]["validation"]


def test_rounding_rises_step_by_step(make_config, tmp_path: Path) -> None:
    """Five steps an epoch: it rises from the fourth step to the eighth, of twenty."""
    seen: list[float] = []
    config = make_config(max_epochs=4, patience=1, rounding=(0.2, 0.4), average=0.5)
    state = watch(
        with_words(config, scorer="between"), tmp_path, lambda state: seen.append(state.rounding)
    )
    rising = [0, 0, 0, 0, 0, 0.25, 0.5, 0.75]
    assert seen == pytest.approx([*rising, *[1] * (len(seen) - 8)])
    told = [record["rounding"] for record in state.history]
    assert told == pytest.approx([0.25, 1, 1, 1][: state.epoch])
    assert state.history[1]["best"]  # the epoch before is of another model
    assert state.schedule.best_epoch >= 2
    kept: Any = load_model(tmp_path / "model")
    assert kept.trees.scorer.rounding == 1
    never = with_words(
        replace(config, training=replace(config.training, rounding=None)), scorer="both"
    )
    assert watch(never, tmp_path / "never", lambda _: None).history[-1]["rounding"] == 0


@pytest.mark.parametrize(
    ("training", "shares"),
    [
        ({}, {"encoder.network": 6e-5, "encoder.projection": 1, "trees.scorer": 1}),
        (
            {"encoder_lr": "lr"},
            {"encoder.network": 1, "encoder.projection": 1, "trees.scorer": 1},
        ),
        (
            {"encoder_lr": "lr", "parser_lr": 0.1},
            {"encoder.network": 0.2, "trees.scorer": 0.2, "second": 1},
        ),
        ({"encoder_lr": 0.05}, {"encoder.network": 0.1, "encoder.projection": 1, "trees": 1}),
        (
            {"encoder_lr": 0.05, "parser_lr": 0.1},
            {"encoder.network": 0.1, "encoder.projection": 0.2, "trees.scorer": 0.2, "output": 1},
        ),
    ],
)
def test_a_tuned_encoder_has_a_rate_of_its_own(
    make_config, encoder_folder: Path, tmp_path: Path, training: dict, shares: dict[str, float]
) -> None:
    words = {"tune_encoder": True, "composer_input": "words"}
    config = with_encoder(make_config(warm_up=4, max_epochs=1), encoder_folder, **words)
    config = replace(config, training=replace(config.training, **training))
    rates: list[list[float]] = []
    state = watch(
        config,
        tmp_path,
        lambda state: rates.append([group["lr"] for group in state.optimizer.param_groups]),
    )
    last = {id(p): group["lr"] for group in state.optimizer.param_groups for p in group["params"]}
    assert len(last) == len(state.learned)
    assert rates[0] == pytest.approx([rate / 4 for rate in rates[-1]])
    for name, parameter in state.model.named_parameters():
        for start, share in shares.items():
            if name.startswith(start):
                assert last[id(parameter)] == pytest.approx(0.5 * share), name
