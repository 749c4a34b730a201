"""The folder of a run: whether training may write there, and how it is taken."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import sparsewood
from sparsewood.lab._files import write_json
from sparsewood.lab.run.budget import ended_by_budget, is_raised
from sparsewood.lab.run.config import RunConfig, differences
from sparsewood.lab.run.run import Run

_RESULT = (
    *("best_epoch", "epochs", "criterion", "temperature", "temperature_curve"),
    *("validation", "tests"),
)


def claim(config: RunConfig, folder: Path, *, resume: bool) -> dict[str, Any] | None:
    """Whether `config` may be trained in `folder`; nothing is written.

    Returns:
        The result, if the run is finished.

    Raises:
        ValueError: if the folder holds a run that is not to be resumed, or another one.
    """
    if not (folder / "config.json").exists():
        if (folder / "checkpoints").exists() or (folder / "result.json").exists():
            raise ValueError(f"{folder}: holds parts of a run but no config.json")
        return None
    if not resume:
        raise ValueError(f"{folder}: holds a run; pass --resume to go on, or take another folder")
    run = Run(folder)
    old, new = run.config, config.training
    # A learning rate that falls to 0 at the end depends on where that is.
    longer = is_raised(old.training, new) and not old.training.linear
    budget = {"max_epochs": new.max_epochs, "max_seconds": new.max_seconds}
    same = replace(old, training=replace(old.training, **budget)) if longer else old
    if changed := differences(same, config):
        raise ValueError(f"{folder}: the run has another configuration: {'; '.join(changed)}")
    done = run.result
    if done is not None:
        _check_result(done, folder / "result.json")
    if done is None or not longer:
        return done
    # A run that patience has ended stays as it is, however many epochs it may have.
    cut_short = ended_by_budget(run.metrics, old.training)
    return None if cut_short and not ended_by_budget(run.metrics, new) else done


def _check_result(result: Mapping[str, Any], path: Path) -> None:
    """Raise ValueError where a result lacks what that of a finished run has."""
    wrong = [name for name in _RESULT if name not in result]
    wrong += [n for n in ("validation", "tests") if not isinstance(result.get(n, {}), Mapping)]
    if wrong:
        raise ValueError(
            f"{path}: not the result of a finished run (missing or of the wrong kind: "
            f"{', '.join(wrong)}); remove the file, and --resume evaluates the run again"
        )


def begin(config: RunConfig, folder: Path) -> None:
    """Make `folder`, which `claim` has found free or unfinished, the folder of the run."""
    (folder / "result.json").unlink(missing_ok=True)  # that of fewer epochs
    write_json(folder / "config.json", {"sparsewood": sparsewood.__version__, **config.to_json()})
