"""Run folders as the report reads them: JSON, whole or unfinished."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spinney.nn.latent import STRATEGIES

# What a source says about preparing the data, not about which data.
_PREPARATION = {"heads", "parser", "vectors", "max_length", "lowercase", "min_count"}
# Settings of training that runs to average over may differ in.
_INCIDENTAL = {"seed", "device", "threads", "eval_batch", "tensorboard", "checkpoint_minutes"}


@dataclass(frozen=True)
class RunFiles:
    """What is in the folder of a run.

    Attributes:
        folder: where it is.
        config, environment: as written at its start.
        epochs: a record for each epoch that is over.
        result: None while the run is unfinished.
        gallery: examples with their trees; empty where there is no such file.
        notes: what is missing, in words.
    """

    folder: Path
    config: Mapping[str, Any]
    environment: Mapping[str, Any]
    epochs: Sequence[Mapping[str, Any]]
    result: Mapping[str, Any] | None
    gallery: Sequence[Mapping[str, Any]]
    notes: list[str] = field(default_factory=list)

    @property
    def strategy(self) -> str:
        return str(self.config.get("model", {}).get("trees", "unknown"))

    @property
    def seed(self) -> int:
        return int(self.config.get("training", {}).get("seed", 0))

    @property
    def settings(self) -> str:
        """Source, model and training without the seed: what runs to average over share."""
        training = self.config.get("training", {})
        kept = {name: value for name, value in training.items() if name not in _INCIDENTAL}
        parts = [self.config.get("source"), self.config.get("model"), kept]
        return json.dumps(parts, sort_keys=True)

    @property
    def source(self) -> Mapping[str, Any]:
        """Which data: the kind and the fields that do not merely say how it is prepared."""
        source = self.config.get("source", {})
        return {key: value for key, value in source.items() if key not in _PREPARATION}

    @property
    def best_epoch(self) -> int | None:
        if self.result is not None and "best_epoch" in self.result:
            return int(self.result["best_epoch"])
        best = [int(record["epoch"]) for record in self.epochs if record.get("best")]
        return best[-1] if best else None

    def history(self, split: str, name: str) -> list[tuple[float, float]]:
        """A metric of a split by epoch, epochs without it left out."""
        return [
            (float(record["epoch"]), float(record[split][name]))
            for record in self.epochs
            if isinstance(record.get(split, {}).get(name), int | float)
        ]

    def mean(self, name: str) -> float | None:
        """The mean over the epochs of an entry of their records."""
        values = [float(record[name]) for record in self.epochs if name in record]
        return sum(values) / len(values) if values else None


def read_run(folder: Path) -> RunFiles:
    """Reads the files of a run that are there.

    Raises:
        ValueError: where `folder` is no folder of a run, or a file in it is no JSON.
    """
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise ValueError(f"{folder}: not the folder of a run (it has no config.json)")
    config = _read_object(folder / "config.json")
    epochs, notes = _read_epochs(folder / "metrics.jsonl")
    result_file, gallery_file = folder / "result.json", folder / "gallery.json"
    result = _read_object(result_file) if result_file.is_file() else None
    if result is None:
        notes.insert(0, f"unfinished, no result yet (epochs so far: {len(epochs)})")
    gallery = _read(gallery_file) if gallery_file.is_file() else []
    if not isinstance(gallery, list):
        raise ValueError(f"{gallery_file}: expected a list of examples")
    environment_file = folder / "environment.json"
    environment = _read_object(environment_file) if environment_file.is_file() else {}
    return RunFiles(folder, config, environment, epochs, result, gallery, notes)


def by_source(runs: Iterable[RunFiles]) -> list[tuple[str, list[RunFiles]]]:
    """The runs on the same data together, in order of strategy and seed, with a name for it."""
    groups: dict[str, list[RunFiles]] = {}
    for run in runs:
        groups.setdefault(json.dumps(run.source, sort_keys=True), []).append(run)
    order = list(STRATEGIES)
    named = []
    kinds = [str(group[0].source.get("kind", "data")) for group in groups.values()]
    for kind, group in zip(kinds, groups.values(), strict=True):
        group.sort(
            key=lambda run: (
                order.index(run.strategy) if run.strategy in order else len(order),
                run.seed,
            )
        )
        rest = {k: v for k, v in group[0].source.items() if k != "kind" and v is not None}
        details = ", ".join(f"{key} {value}" for key, value in rest.items())
        named.append((f"{kind} ({details})" if kinds.count(kind) > 1 and details else kind, group))
    return named


def by_strategy(runs: Iterable[RunFiles]) -> dict[str, list[RunFiles]]:
    """The runs by strategy, in the order they come in."""
    groups: dict[str, list[RunFiles]] = {}
    for run in runs:
        groups.setdefault(run.strategy, []).append(run)
    return groups


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error})") from error


def _read_object(path: Path) -> dict[str, Any]:
    data = _read(path)
    if not isinstance(data, dict):
        raise ValueError(f"{path}: expected a JSON object")
    return data


def _read_epochs(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The records, the last one of each epoch; a last line cut short is left out with a note."""
    if not path.is_file():
        return [], ["no metrics yet"]
    lines = path.read_text(encoding="utf-8").splitlines()
    records: dict[int, dict[str, Any]] = {}
    for i, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            records[int(record["epoch"])] = record
        except (ValueError, TypeError, KeyError) as error:
            if i == len(lines):
                return list(records.values()), ["the last line of its metrics is cut short"]
            raise ValueError(f"{path}:{i}: expected the JSON record of an epoch") from error
    return list(records.values()), []
