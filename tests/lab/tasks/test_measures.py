"""Every task says what is measured of it, and what is measured is what it says."""

from typing import get_args

import pytest

from sparsewood.lab.data.examples import TargetKind
from sparsewood.lab.data.sources import SOURCES
from sparsewood.lab.run import TrainingConfig
from sparsewood.lab.tasks import MEASURES, TASKS, Measure
from sparsewood.lab.tasks.measures import TREES


@pytest.mark.parametrize("name", TASKS)
def test_a_task_says_what_matters(name: str) -> None:
    task = TASKS[name]
    names = [measure.name for measure in task.metrics.measures]
    assert len(set(names)) == len(names)
    assert task.metrics.criterion in task.metrics.measures
    assert any(measure.compared for measure in task.metrics.measures)
    assert task.name == name
    assert hasattr(task.config(), task.varies)
    assert isinstance(task.config().needs_heads, bool)
    TrainingConfig(**task.training)


def test_what_is_measured_is_what_the_task_says(make, task: str) -> None:
    numbers: set[str] = set()
    for estimator in ("sparsemap:max_active=10", "chart"):
        model, batch = make(task, estimator=estimator)
        model.eval()
        metrics = model.new_metrics()
        for metric in metrics:
            metric.add(model(batch), batch)
        numbers |= {n for n, v in model.measured(metrics).items() if not isinstance(v, dict)}
    told = {measure.name for measure in TASKS[task].metrics.measures}
    assert numbers - {"unconverged", "capped", "chain"} == told  # told in words


def test_one_name_means_one_thing() -> None:
    for task in TASKS.values():
        for measure in task.metrics.measures:
            assert MEASURES[measure.name] is measure
    assert list(MEASURES)[-len(TREES) :] == [measure.name for measure in TREES]
    targets = get_args(TargetKind)
    assert {s.task_of({"target": t}) for s in SOURCES.values() for t in targets} == set(TASKS)


def test_text_and_heading() -> None:
    measure = Measure("share", "share of all", 1)
    assert measure.text(2.345) == "2.3"
    assert measure.heading == "share\nof all"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0000"),
        (0.30126, "0.3013"),
        (-0.00123, "-0.0012"),
        (0.00012346, "0.0001235"),
        (1.23456, "1.2346"),
        (181.3328, "181.33"),
        (123456.7, "123457"),
        (1.5e12, "1.5e+12"),
        (float("inf"), "inf"),
    ],
)
def test_a_measure_in_the_unit_of_the_data(value: float, text: str) -> None:
    assert Measure("error", "error", 4, any_size=True).text(value) == text
    assert Measure("error", "error", 4, any_size=True).text(abs(value), "+")[0] == "+"
