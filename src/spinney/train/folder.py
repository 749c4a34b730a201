"""The folder of a run: whether training may write there, and what it leaves at the end."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import spinney
from spinney._files import new_folder, write_json
from spinney.tasks.model import TreeModel
from spinney.train.config import RunConfig, differences


def claim(config: RunConfig, folder: Path, *, resume: bool) -> dict[str, Any] | None:
    """Make `folder` the folder of a run, or take up the one that is there.

    Returns:
        The result, if the run is finished.

    Raises:
        ValueError: if the folder holds a run that is not to be resumed, or another one.
    """
    path, result = folder / "config.json", folder / "result.json"
    if not path.exists():
        if (folder / "checkpoints").exists() or result.exists():
            raise ValueError(f"{folder}: holds parts of a run but no config.json")
        folder.mkdir(parents=True, exist_ok=True)
    elif not resume:
        raise ValueError(f"{folder}: holds a run; pass --resume to go on, or take another folder")
    else:
        old = _read(path)
        epochs = config.training.max_epochs
        longer = epochs > old.training.max_epochs
        same = replace(old, training=replace(old.training, max_epochs=epochs)) if longer else old
        if changed := differences(same, config):
            raise ValueError(f"{folder}: the run has another configuration: {'; '.join(changed)}")
        if result.exists():
            done = json.loads(result.read_text(encoding="utf-8"))
            if not longer or done["epochs"] < old.training.max_epochs:
                return done
            result.unlink()
    write_json(path, {"spinney": spinney.__version__, **config.to_json()})
    return None


def _read(path: Path) -> RunConfig:
    try:
        return RunConfig.from_json(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def write_model(folder: Path, model: TreeModel) -> None:
    """Write `model` with its present temperature to `folder`, for `load_model` to read."""
    options = replace(model.options, temperature=model.temperature)
    words = model.vocabulary
    described = type(model)(options, words.words, model.labels, words.lowercase)
    described.load_state_dict(model.state_dict())
    with new_folder(folder) as partial:
        described.save_pretrained(partial)
