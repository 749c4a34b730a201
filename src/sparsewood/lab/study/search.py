"""Rows of runs: tries with the first seed, then the best of them with the other seeds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparsewood.lab._files import write_json
from sparsewood.lab.jobs.jobs import Job, run_jobs
from sparsewood.lab.jobs.pool import LOCAL, Place
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.folder import Run, check_folder
from sparsewood.lab.run.progress import Progress
from sparsewood.lab.study.rows import learns
from sparsewood.lab.study.summary import told_of
from sparsewood.lab.tasks.build import TASKS

Round = Callable[[RunConfig], Sequence[RunConfig]]
_Tried = list[
    tuple[RunConfig, Run]
]  # configurations as requested: a finished run may have had fewer epochs


@dataclass(frozen=True)
class Row:
    """What to try for one row of a table.

    Attributes:
        start: the configuration that the first round starts from.
        rounds: each returns the configurations to try, given the best one so far on validation.
            Among equals the first counts.
    """

    start: RunConfig
    rounds: tuple[Round, ...]


@dataclass(frozen=True)
class RowResult:
    """The finished runs of a row.

    Attributes:
        tried: the finished runs of all rounds, with the first seed.
        runs: the runs of the best configuration, one per seed.
    """

    tried: list[Run]
    runs: list[Run]


class Search:
    """The runs of several rows, each in a folder that depends on its configuration.

    Args:
        rows: the rows by name. Rows may share runs: each is trained once.
        seeds: at least one; rounds use the first.
        folder: folder of all runs.
        place: returns the path of the run of a configuration in it.
    """

    def __init__(
        self,
        rows: Mapping[str, Row],
        seeds: Sequence[int],
        folder: Path | str,
        place: Callable[[RunConfig], Path],
    ) -> None:
        if not (rows and seeds):
            raise ValueError("a table needs at least one estimator and one seed")
        self.folder, self.seeds = Path(folder), list(dict.fromkeys(seeds))
        self._place = place
        self.rows = {
            name: replace(row, start=_seeded(row.start, self.seeds[0]))
            for name, row in rows.items()
        }

    def train(
        self,
        *,
        workers: int | None = 1,
        on: Place = LOCAL,
        progress: Progress | None = None,
    ) -> dict[str, str | None]:
        """Train missing runs; a call after an interruption resumes.

        The arguments are those of `run_jobs`. A failed run does not stop the others.

        Returns:
            The error message or None by the folder of each run.

        Raises:
            ValueError: if a run exists with another configuration; nothing is trained then.
        """
        finished = {
            path
            for config in self._possible()
            if check_folder(config, path := self._path(config), resume=True) is not None
        }
        errors: dict[str, str | None] = {}
        asked: set[Path] = set()
        ended: set[Path] = set()

        def due() -> list[Job]:
            """Runs that rows need and that are not queued yet; finished runs are skipped."""
            found: dict[Path, RunConfig] = {}
            while True:
                wanted = [c for row in self.rows.values() for c in self._wanted(row, ended)]
                new = {path: c for c in wanted if (path := self._path(c)) not in asked}
                if not new:
                    break
                asked.update(new)
                over = new.keys() & finished
                ended.update(over)
                errors.update({self.name(path): None for path in over})
                found |= {path: c for path, c in new.items() if path not in over}
            # Longer runs first, so that all workers finish at about the same time.
            return [Job(c, p, 0 if learns(c.model.estimator) else 1) for p, c in found.items()]

        def done(job: Job, error: str | None) -> Iterable[Job]:
            ended.add(job.folder)
            errors[self.name(job.folder)] = error
            return due()

        run_jobs(due(), done, workers=workers, on=on, progress=progress)
        return errors

    def run(
        self,
        summary: Callable[["Search"], dict[str, Any]],
        file: str,
        *,
        workers: int | None = 1,
        on: Place = LOCAL,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """`train`, then the `summary` with `told_of` the errors, also written to `file`."""
        errors = self.train(workers=workers, on=on, progress=progress)
        found = {**summary(self), **told_of(errors)}
        write_json(self.folder / file, found)
        return found

    def name(self, run: Path) -> str:
        """The path of a run relative to the folder of all runs."""
        return run.relative_to(self.folder).as_posix()

    def found(self) -> dict[str, RowResult]:
        """The results of rows with finished runs."""
        found: dict[str, RowResult] = {}
        for name, row in self.rows.items():
            tried, _ = self._walk(row)
            if tried:
                runs = [self._finished(_seeded(_best(tried), seed)) for seed in self.seeds]
                kept = [run for run in runs if run is not None]
                found[name] = RowResult([run for _, run in tried], kept)
        return found

    def _wanted(self, row: Row, ended: set[Path]) -> list[RunConfig]:
        """The next configurations to train, including those in training."""
        tried, waiting = self._walk(row, ended)
        if waiting or not tried:
            return waiting
        return [_seeded(_best(tried), seed) for seed in self.seeds[1:]]

    def _walk(self, row: Row, ended: set[Path] | None = None) -> tuple[_Tried, list[RunConfig]]:
        """The finished tries, and the configurations of the first round that has not ended."""
        tried: _Tried = []
        start = row.start
        for tries in row.rounds:
            new = tries(start)
            if ended is not None and any(self._path(config) not in ended for config in new):
                return tried, list(new)
            there = {run.folder for _, run in tried}
            for config in new:
                run = self._finished(config)
                if run is not None and run.folder not in there:
                    tried.append((config, run))
            if not tried:
                break
            start = _best(tried)
        return tried, []

    def _possible(self) -> Iterator[RunConfig]:
        """All configurations that rows may train."""
        for row in self.rows.values():
            reached: dict[Path, RunConfig] = {}
            for tries in row.rounds:
                new = [c for config in reached.values() or [row.start] for c in tries(config)]
                reached |= {self._path(c): c for c in new}
            for config in reached.values():
                yield from (_seeded(config, seed) for seed in self.seeds)

    def _path(self, config: RunConfig) -> Path:
        return self.folder / self._place(config)

    def _finished(self, config: RunConfig) -> Run | None:
        path = self._path(config)
        return Run(path) if (path / "result.json").exists() else None


def one_thread(config: RunConfig) -> RunConfig:
    """The configuration with one CPU thread, unless it sets another number."""
    threads = config.training.threads or 1
    return replace(config, training=replace(config.training, threads=threads))


def canonical(config: RunConfig, estimators: Iterable[str]) -> list[str]:
    """Each of these estimators once, in canonical spelling.

    Raises:
        ValueError: if an estimator is unknown or does not fit the model.
    """
    names = (replace(config.model, estimator=name).estimator for name in estimators)
    return list(dict.fromkeys(names))


def validation(run: Run) -> float:
    """The criterion of a finished run on validation."""
    assert run.result is not None
    return run.result["validation"][run.result["criterion"]]


def _best(tried: _Tried) -> RunConfig:
    criterion = TASKS[tried[0][0].source.task].metrics.criterion
    sign = 1 if criterion.higher_is_better else -1
    return max(tried, key=lambda one: sign * validation(one[1]))[0]


def _seeded(config: RunConfig, seed: int) -> RunConfig:
    return replace(config, training=replace(config.training, seed=seed))
