"""Runs in reports, and which of them belong together."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cached_property
from itertools import accumulate
from typing import Any

from sparsewood.lab._json import encode
from sparsewood.lab.data.sources import SOURCES
from sparsewood.lab.data.sources.naming import headings
from sparsewood.lab.report._colours import Mark, mark_of, marks_of
from sparsewood.lab.run.config import TrainingConfig
from sparsewood.lab.run.folder import Run
from sparsewood.lab.study.paper_figures import in_order
from sparsewood.lab.study.rows import labels, learns, short
from sparsewood.lab.tasks.build import TASKS
from sparsewood.lab.tasks.task import PLUS, Task

# Options of sources for preparing the data, which do not select data.
_PREPARATION = {
    *("heads", "parser", "vectors", "max_length", "lowercase", "min_count"),
    *("delimiter", "encoding", "skip_bad", "label_separator"),
}
# Options of training in which runs to average over may differ.
_INCIDENTAL = {"seed", "device", "threads", "eval_batch", "tensorboard", "checkpoint_minutes"}


class ReportedRun(Run):
    """A run in a report: plain JSON, finished or unfinished, of any version."""

    @property
    def notes(self) -> list[str]:
        """Remarks on what is missing."""
        notes = []
        if self.result is None:
            notes.append(f"unfinished, no result yet (epochs so far: {len(self.metrics)})")
        return notes if self.metrics else [*notes, "no metrics yet"]

    @property
    def task(self) -> Task | None:
        """The task of the run's source; None if the source is unknown."""
        source = self.raw_config.get("source", {})
        kind = source.get("kind")
        return TASKS.get(SOURCES[kind].task_of(source)) if kind in SOURCES else None

    @property
    def asked(self) -> str:
        """The task in a sentence; empty if the source is unknown."""
        kind = SOURCES.get(self.raw_config.get("source", {}).get("kind"))
        return (kind.asked if kind else "") or ("" if self.task is None else self.task.asked)

    @property
    def estimator(self) -> str:
        """The name of the run among runs of its task; see `Task.row`."""
        model = self.raw_config.get("model", {})
        return "unknown" if self.task is None else self.task.row(model)

    @cached_property
    def label(self) -> str:
        """The name of the estimator on the page; see `name_apart`."""
        return short(self.estimator)

    @cached_property
    def mark(self) -> Mark:
        """Its colour and marker on the page; see `name_apart`."""
        return mark_of(self.estimator)

    @property
    def latent(self) -> bool:
        """Whether the model learns its trees."""
        return learns(self.estimator)

    @property
    def settings(self) -> str:
        """Source, model and training without the seed, which runs to average over share.

        Options that an older version does not know are at their defaults.
        """
        raw = self.raw_config
        training = {**encode(TrainingConfig()), **raw.get("training", {})}
        kept = {name: value for name, value in training.items() if name not in _INCIDENTAL}
        model = {} if self.task is None else encode(self.task.config())
        parts = [self._whole_source, {**model, **raw.get("model", {})}, kept]
        return json.dumps(parts, sort_keys=True)

    @property
    def _whole_source(self) -> dict[str, Any]:
        """The source with all its options."""
        source = self.raw_config.get("source", {})
        kind = SOURCES.get(source.get("kind"))
        known = [] if kind is None else fields(kind)
        defaults = {f.name: f.default for f in known if f.default is not MISSING}
        return {**json.loads(json.dumps(defaults)), **source}

    @property
    def source(self) -> Mapping[str, Any]:
        """The data: the kind of the source and the fields that select data. Runs of versions
        without other targets than classes name no target.
        """
        source = self.raw_config.get("source", {})
        named = {key: value for key, value in source.items() if key not in _PREPARATION}
        return {key: value for key, value in named.items() if (key, value) != ("target", "class")}

    @property
    def best_epoch(self) -> int | None:
        if self.result is not None and "best_epoch" in self.result:
            return int(self.result["best_epoch"])
        best = [int(record["epoch"]) for record in self.metrics if record.get("best")]
        return best[-1] if best else None

    def history(self, split: str, name: str) -> list[tuple[float, float]]:
        """A metric of a split by epoch, without epochs that lack it."""
        return [
            (float(record["epoch"]), float(record[split][name]))
            for record in self.metrics
            if isinstance(record.get(split, {}).get(name), int | float)
        ]

    @property
    def ends(self) -> dict[float, float]:
        """The training time until the end of each epoch, in seconds."""
        taken = accumulate(float(record.get("seconds", 0.0)) for record in self.metrics)
        return dict(zip((float(record["epoch"]) for record in self.metrics), taken, strict=True))

    def mean(self, name: str) -> float | None:
        """The mean of an entry over the epochs."""
        values = [float(record[name]) for record in self.metrics if name in record]
        return sum(values) / len(values) if values else None


def by_source(runs: Iterable[ReportedRun]) -> list[tuple[str, list[ReportedRun]]]:
    """The runs grouped by data, each group with a name and sorted by estimator and seed."""
    groups: dict[str, list[ReportedRun]] = {}
    for run in runs:
        groups.setdefault(json.dumps(run.source, sort_keys=True), []).append(run)
    for group in groups.values():
        order = in_order(sorted(run.estimator for run in group))
        group.sort(key=lambda run: (order.index(run.estimator), run.seed))
    names = headings([group[0].source for group in groups.values()])
    return list(zip(names, groups.values(), strict=True))


def name_apart(runs: Sequence[ReportedRun]) -> None:
    """Give the estimators of a page distinct labels, colours and markers.

    A scorer that all scored trees have is not named.
    """
    rows = [run.estimator for run in runs]
    names, marks = labels(rows), marks_of(rows)
    scorers = {str(run.raw_config.get("model", {}).get("scorer")) for run in runs if run.latent}
    common = PLUS + scorers.pop() if len(scorers) == 1 else None
    for run in runs:
        name = names[run.estimator]
        run.label = name if common is None else name.replace(common, "")
        run.mark = marks[run.estimator]


def by_estimator(runs: Iterable[ReportedRun]) -> dict[str, list[ReportedRun]]:
    """The runs by estimator, in the given order."""
    groups: dict[str, list[ReportedRun]] = {}
    for run in runs:
        groups.setdefault(run.estimator, []).append(run)
    return groups
