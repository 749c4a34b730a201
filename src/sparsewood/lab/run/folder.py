"""The folder of a run: reading it, and whether training may write there."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import sparsewood
from sparsewood.lab._files import write_json
from sparsewood.lab.run.config import RunConfig, differences
from sparsewood.lab.run.distributed import World
from sparsewood.lab.run.machine import environment
from sparsewood.lab.run.moved import as_if_here, is_elsewhere, same_inputs
from sparsewood.lab.run.outcomes import FILE, Outcomes
from sparsewood.lab.run.schedule import ended_by_budget, is_raised
from sparsewood.lab.tasks.build import load_model
from sparsewood.lab.tasks.task import Model

_RESULT = (
    *("best_epoch", "epochs", "criterion", "temperature", "temperature_curve"),
    *("validation", "tests"),
)


class Run:
    """A training run, read from its folder; files are read on first access.

    Raises:
        ValueError: if `folder` holds no run.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if not (self.folder / "config.json").is_file():
            what = "holds no run (no config.json)" if self.folder.is_dir() else "is not a folder"
            raise ValueError(f"{self.folder}: {what}")

    @cached_property
    def config(self) -> RunConfig:
        """The configuration of the run."""
        raw = self.raw_config
        try:
            return RunConfig.from_json(raw)
        except ValueError as error:
            raise ValueError(f"{self.folder / 'config.json'}: {error}") from error

    @cached_property
    def raw_config(self) -> dict[str, Any]:
        """The configuration as plain JSON, also if it is not valid in this version."""
        return self._json("config.json")

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Versions and machine; empty if unknown."""
        return self._json("environment.json", {})

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """One entry per completed epoch."""
        path = self.folder / "metrics.jsonl"
        if not path.exists():
            return []
        records = []
        for number, line in enumerate(_text(path).splitlines(), 1):
            records.append(_decoded(line, dict, f"{path}:{number}"))
        return records

    @cached_property
    def result(self) -> dict[str, Any] | None:
        """The result; None unless the run is finished."""
        return self._json("result.json", None)

    @cached_property
    def gallery(self) -> list[dict[str, Any]]:
        """Examples of validation with their trees; empty unless the run is finished."""
        examples = self._json("gallery.json", [], list)
        for i, example in enumerate(examples):
            if not _is_example(example):
                where = self.folder / "gallery.json"
                raise ValueError(f"{where}: example {i}: expected sides and a prediction")
        return examples

    @cached_property
    def outcomes(self) -> dict[str, Outcomes]:
        """The outcomes by split; empty unless the run is finished and has saved them."""
        found: dict[str, Outcomes] = {}
        for split, data in (self._json(FILE, {}) if self.finished else {}).items():
            try:
                found[split] = Outcomes.from_json(data)
            except ValueError as error:
                raise ValueError(f"{self.folder / FILE}: {split}: {error}") from error
        return found

    @property
    def seed(self) -> int:
        return int(self.raw_config.get("training", {}).get("seed", 0))

    @property
    def finished(self) -> bool:
        return self.result is not None

    def load_model(self) -> Model:
        """The best model, at the temperature chosen on validation."""
        if not (self.folder / "model").is_dir():
            raise ValueError(f"{self.folder}: the run is not finished; train it with --resume")
        return load_model(self.folder / "model")

    def _json(self, name: str, default: Any = ..., kind: type = dict) -> Any:
        path = self.folder / name
        if default is not ... and not path.exists():
            return default
        return _decoded(_text(path), kind, str(path))

    def __repr__(self) -> str:
        state = "finished" if self.finished else f"{len(self.metrics)} epochs so far"
        return f"Run({str(self.folder)!r}, {state})"


def check_folder(config: RunConfig, folder: Path, *, resume: bool) -> dict[str, Any] | None:
    """Check that `config` may be trained in `folder`, without writing anything.

    A run may have been copied from another machine, and its data, word vectors and encoder be
    elsewhere now: of a finished run they are then read, to see that they are the same.

    Returns:
        The result, if the run is finished.

    Raises:
        ValueError: if the folder holds a run and `resume` is false, or a run with another
            configuration.
    """
    if not (folder / "config.json").exists():
        if (folder / "checkpoints").exists() or (folder / "result.json").exists():
            raise ValueError(f"{folder}: holds parts of a run but no config.json")
        return None
    if not resume:
        raise ValueError(
            f"{folder}: holds a run; pass --resume to continue it, or choose another folder"
        )
    run = Run(folder)
    there, new = run.config, config.training
    old = as_if_here(there, config)
    # Linear decay and rounding depend on where training ends.
    longer = is_raised(old.training, new) and not old.training.linear and not old.rounds
    budget = {"max_epochs": new.max_epochs, "max_seconds": new.max_seconds}
    same = replace(old, training=replace(old.training, **budget)) if longer else old
    if changed := differences(same, config):
        raise ValueError(f"{folder}: the run has another configuration: {'; '.join(changed)}")
    done = run.result
    if done is not None:
        _check_result(done, folder / "result.json")
        if is_elsewhere(there, config) and not same_inputs(config, folder):
            changed = differences(replace(there, training=new), config)
            raise ValueError(
                f"{folder}: the run is finished, on other data or with another encoder: "
                f"{'; '.join(changed)}"
            )
    if done is None or not longer:
        return done
    # A run that was ended by patience is not extended.
    cut_short = ended_by_budget(run.metrics, old.training)
    return None if cut_short and not ended_by_budget(run.metrics, new) else done


def _check_result(result: Mapping[str, Any], path: Path) -> None:
    """Raise ValueError if the result of a run lacks entries."""
    wrong = [name for name in _RESULT if name not in result]
    wrong += [n for n in ("validation", "tests") if not isinstance(result.get(n, {}), Mapping)]
    if wrong:
        raise ValueError(
            f"{path}: not the result of a finished run (missing or of the wrong type: "
            f"{', '.join(wrong)}); remove the file, and --resume evaluates the run again"
        )


def begin(config: RunConfig, folder: Path, world: World) -> None:
    """Write the configuration of the run to `folder`, which `check_folder` has accepted."""
    (folder / "result.json").unlink(missing_ok=True)  # the result after fewer epochs
    write_json(folder / "config.json", {"sparsewood": sparsewood.__version__, **config.to_json()})
    write_json(folder / "environment.json", environment(world))


def whole_lines(path: Path) -> list[str]:
    """The complete lines of a file that may not exist yet or is being written."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    return [line for line in text.splitlines(keepends=True) if line.endswith("\n")]


def _is_example(example: object) -> bool:
    """Whether this is a valid example of a gallery: objects as sides, a number per label."""
    if not isinstance(example, dict):
        return False
    sides, prediction = example.get("sides"), example.get("prediction") or {}
    return (
        isinstance(sides, list)
        and all(isinstance(side, dict) for side in sides)
        and isinstance(prediction, dict)
        and all(isinstance(value, int | float) for value in prediction.values())
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text ({error.reason})") from error


def _decoded(text: str, kind: type, where: str) -> Any:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where}: not JSON ({error})") from error
    if not isinstance(data, kind):
        raise ValueError(f"{where}: expected a JSON {'list' if kind is list else 'object'}")
    return data
