"""What the tests of runs share: a model and its data, and a run that is stopped and resumed."""

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sparsewood.lab.data.batches import EncodedSplit
from sparsewood.lab.run import Progress, RunConfig, TrainingInterrupted, train
from sparsewood.lab.run.prepare import prepare
from sparsewood.lab.tasks.model import TreeModel


@pytest.fixture
def model_and_split(make_config: Callable[..., RunConfig]) -> tuple[TreeModel, EncodedSplit]:
    """An untrained model of list operations, and the validation split."""
    _, model, splits = prepare(make_config())
    split = splits["validation"]
    assert isinstance(model, TreeModel)
    assert isinstance(split, EncodedSplit)
    return model, split


@pytest.fixture
def resumes(
    outcome: Callable[[Path], dict[str, Any]], recording: type[Any], tmp_path: Path
) -> Callable[..., None]:
    """(config, stops): a run in `tmp_path / "parts"` that is stopped ends as an undisturbed one.

    `stops` maps a number of steps, after which SIGINT comes, to where the run is saved then.
    """

    def check(config: RunConfig, stops: Mapping[int, str]) -> None:
        class Stops(recording):
            def step(self, step: int, values: Any) -> None:
                super().step(step, values)
                if self.steps in stops:
                    os.kill(os.getpid(), signal.SIGINT)

        whole, parts = tmp_path / "whole", tmp_path / "parts"
        train(config, whole, progress=Progress())
        progress = Stops()
        for saved in stops.values():
            with pytest.raises(TrainingInterrupted, match=f"is saved after {saved}"):
                train(config, parts, resume=True, progress=progress)
        train(config, parts, resume=True, progress=Progress())
        assert outcome(parts) == outcome(whole)

    return check
