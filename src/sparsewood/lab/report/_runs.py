"""Runs as the report sees them, and which belong together."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sparsewood.lab.data.sources import SOURCES
from sparsewood.lab.tasks.build import TASKS
from sparsewood.lab.tasks.measures import MetricSpec
from sparsewood.lab.tasks.task import Task
from sparsewood.lab.train.run import Run
from sparsewood.nn.latent import STRATEGIES

# What a source says about preparing the data, not about which data.
_PREPARATION = {
    *("heads", "parser", "vectors", "max_length", "lowercase", "min_count"),
    *("delimiter", "encoding", "skip_bad"),
}
# Settings of training that runs to average over may differ in.
_INCIDENTAL = {"seed", "device", "threads", "eval_batch", "tensorboard", "checkpoint_minutes"}


class ReportedRun(Run):
    """A run as the report sees it: plain JSON, whole or unfinished, of any version."""

    @property
    def notes(self) -> list[str]:
        """What is missing, in words."""
        notes = []
        if self.result is None:
            notes.append(f"unfinished, no result yet (epochs so far: {len(self.metrics)})")
        return notes if self.metrics else [*notes, "no metrics yet"]

    @property
    def task(self) -> Task | None:
        """The task of the run's source; None where that is of no known kind."""
        kind = self.raw_config.get("source", {}).get("kind")
        return TASKS[SOURCES[kind].task] if kind in SOURCES else None

    @property
    def spec(self) -> MetricSpec | None:
        return None if self.task is None else self.task.metrics

    @property
    def strategy(self) -> str:
        name = "" if self.task is None else self.task.varies
        return str(self.raw_config.get("model", {}).get(name, "unknown"))

    @property
    def seed(self) -> int:
        return int(self.raw_config.get("training", {}).get("seed", 0))

    @property
    def settings(self) -> str:
        """Source, model and training without the seed: what runs to average over share."""
        training = self.raw_config.get("training", {})
        kept = {name: value for name, value in training.items() if name not in _INCIDENTAL}
        parts = [self.raw_config.get("source"), self.raw_config.get("model"), kept]
        return json.dumps(parts, sort_keys=True)

    @property
    def source(self) -> Mapping[str, Any]:
        """Which data: the kind and the fields that do not merely say how it is prepared."""
        source = self.raw_config.get("source", {})
        return {key: value for key, value in source.items() if key not in _PREPARATION}

    @property
    def best_epoch(self) -> int | None:
        if self.result is not None and "best_epoch" in self.result:
            return int(self.result["best_epoch"])
        best = [int(record["epoch"]) for record in self.metrics if record.get("best")]
        return best[-1] if best else None

    def history(self, split: str, name: str) -> list[tuple[float, float]]:
        """A metric of a split by epoch, epochs without it left out."""
        return [
            (float(record["epoch"]), float(record[split][name]))
            for record in self.metrics
            if isinstance(record.get(split, {}).get(name), int | float)
        ]

    def mean(self, name: str) -> float | None:
        """The mean over the epochs of an entry of their records."""
        values = [float(record[name]) for record in self.metrics if name in record]
        return sum(values) / len(values) if values else None


def by_source(runs: Iterable[ReportedRun]) -> list[tuple[str, list[ReportedRun]]]:
    """The runs on the same data together, in order of strategy and seed, with a name for it."""
    groups: dict[str, list[ReportedRun]] = {}
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


def by_strategy(runs: Iterable[ReportedRun]) -> dict[str, list[ReportedRun]]:
    """The runs by strategy, in the order they come in."""
    groups: dict[str, list[ReportedRun]] = {}
    for run in runs:
        groups.setdefault(run.strategy, []).append(run)
    return groups
