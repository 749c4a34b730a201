"""Sweeps over options with optuna, by one process or by several with a shared storage."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsewood.lab._extras import require
from sparsewood.lab._files import try_lock
from sparsewood.lab.jobs.jobs import drive, open_pool
from sparsewood.lab.jobs.pool import LOCAL, Ended, GivenUp, Job, Place, Pool
from sparsewood.lab.run.bars import automatic
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.folder import Run, whole_lines
from sparsewood.lab.run.progress import Progress
from sparsewood.lab.study.space import (
    Choices,
    Range,
    grid_of,
    read_choices,
    suggest,
    with_options,
)
from sparsewood.lab.tasks.build import TASKS
from sparsewood.lab.tasks.model_config import stored_options

if TYPE_CHECKING:
    import optuna


def sweep(
    base: RunConfig,
    folder: Path | str,
    space: Mapping[str, Choices],
    trials: int | None = None,
    *,
    storage: str | None = None,
    seed: int = 0,
    prune: bool = False,
    workers: int | None = 1,
    on: Place = LOCAL,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Search for the options that are best on validation.

    Each trial is a run in `folder/trial-NNNN`. Several processes may share one sweep; a process
    started after another one has died or was stopped first finishes its trials.

    Args:
        base: the configuration of all trials, except for the options in `space`.
        folder: folder of the sweep.
        space: by option, such as "training.lr", "model.dropout" or "source.max_length": a list of
            values, or a range "log:1e-3:1", "uniform:0:0.5", "int:1:8". If all are lists, every
            combination is tried once, in order.
        trials: total number of trials; None requires a space of lists and means all combinations.
        storage: URL of a database for optuna, such as "sqlite:///sweep.db". Default: a journal file
            in `folder`.
        seed: seed of the search; several processes need different ones.
        prune: stop trials that are worse than the median of the others at the same epoch.
        workers: number of parallel trials, as in `run_jobs`; the search depends on it.
        on: where to train.
        progress: what to show.

    Returns:
        `{"best": {"trial", "value", "options", "folder"} | None, "trials": [...]}`.

    Raises:
        ValueError: if the space is invalid or differs from that of the existing sweep, or if a
            trial fails. A trial that diverges is ignored and does not stop the others.
        ConnectionError: if there is no Ray cluster at the address; nothing is written then.
    """
    optuna = require("optuna", extra="sweep")
    folder, progress = Path(folder), progress or automatic()
    ranges = {name: read_choices(base, name, given) for name, given in space.items()}
    grid = grid_of(ranges)
    if trials is None and grid is None:
        raise ValueError("trials: a space with ranges needs their number")
    for options in grid or []:
        with_options(base, options)  # refuses wrong values before the first trial
    limit = min(n for n in (trials, None if grid is None else len(grid)) if n is not None)
    if workers is not None and workers < 1:
        raise ValueError(f"workers: expected at least 1, got {workers}")
    work = _Work(base, folder, ranges, progress, prune, limit)
    with open_pool(on, workers, base, _Reporter(progress, work)) as pool, work:
        folder.mkdir(parents=True, exist_ok=True)
        study = work.study = _study(optuna, base, folder, storage, seed, prune)
        asked = {name: r if isinstance(r, list) else space[name] for name, r in ranges.items()}
        _same_search(study, {"space": asked, **base.to_json()})
        for options in grid or []:
            study.enqueue_trial(options, skip_if_exists=True)
        work.begin()
        drive(pool, work.take, work.done, work.look)
        return work.summary()


class _Trial:
    """A trial of this process, which holds its lock."""

    def __init__(self, job: Job, trial: "optuna.Trial", criterion: str, lock: ExitStack) -> None:
        self.job, self.trial, self.lock, self.pruned = job, trial, lock, False
        self._criterion = criterion
        frozen = trial.study.get_trials(deepcopy=False)[trial.number]
        self._told = set(frozen.intermediate_values)  # by a process that has ended

    def report(self, record: dict[str, Any]) -> bool:
        """Report an epoch to optuna, once; returns whether to stop the trial."""
        if "stage" in record or record["epoch"] in self._told:
            return False
        self._told.add(record["epoch"])
        self.trial.report(record["validation"][self._criterion], record["epoch"])
        self.pruned = self.trial.should_prune()
        return self.pruned


class _Work(AbstractContextManager["_Work"]):
    """The work of one process on a sweep: hands out trials and reports results to optuna."""

    study: "optuna.Study"

    def __init__(
        self,
        base: RunConfig,
        folder: Path,
        ranges: Mapping[str, Sequence[Any] | Range],
        progress: Progress,
        prune: bool,
        limit: int,
    ) -> None:
        self.base, self.folder, self.ranges = base, folder, ranges
        self.progress, self.prune, self.limit = progress, prune, limit
        self.abandoned: Iterator[int] = iter(())
        self.running: dict[Path, _Trial] = {}

    def __exit__(self, *_: object) -> None:
        for trial in self.running.values():
            trial.lock.close()

    def begin(self) -> None:
        """Take over existing trials first, if their processes have ended."""
        self.abandoned = iter([t.number for t in self.study.get_trials(deepcopy=False)])

    def take(self) -> Job | None:
        """A trial of a process that has ended (its lock is free), or else a new one."""
        import optuna

        for number in self.abandoned:
            frozen = self.study.get_trials(deepcopy=False)[number]
            if job := self._hold(optuna.trial.Trial(self.study, frozen._trial_id)):
                return job
        while self._count() < self.limit:
            # A process started just now may take the trial for abandoned and train it.
            if job := self._hold(self.study.ask()):
                return job
        return None

    def _count(self) -> int:
        """The number of trials started by any process."""
        return sum(trial.state.name != "WAITING" for trial in self.study.get_trials(deepcopy=False))

    def _hold(self, trial: "optuna.Trial") -> Job | None:
        """The run of a trial, unless another process has it or it is over."""
        folder = self._run_folder(trial.number)
        with ExitStack() as held:
            mine = held.enter_context(_lock(folder))
            state = self.study.get_trials(deepcopy=False)[trial.number].state
            if not mine or state.name != "RUNNING":
                return None
            options = {name: suggest(trial, name, given) for name, given in self.ranges.items()}
            config = with_options(self.base, options)
            shown = ", ".join(f"{name}={value}" for name, value in options.items())
            self.progress.note(f"trial {trial.number}: {shown}")
            criterion = TASKS[config.source.task].metrics.criterion.name
            job = Job(config, folder)
            self.running[folder] = _Trial(job, trial, criterion, held.pop_all())
            return job
        return None

    def done(self, ended: Ended) -> None:
        import optuna

        found = self.running.pop(ended.job.folder)
        with found.lock:
            if ended.error is None:
                result = Run(ended.job.folder).result
                assert result is not None
                self.study.tell(found.trial, result["validation"][result["criterion"]])
            elif found.pruned:
                self.study.tell(found.trial, state=optuna.trial.TrialState.PRUNED)
            elif ended.diverged:
                self.study.tell(found.trial, state=optuna.trial.TrialState.FAIL)
            else:
                raise ValueError(f"trial {found.trial.number}: {ended.error}")

    def look(self, pool: Pool) -> None:
        """Give trials up by what their folders say, while other processes train them."""
        for trial in self.running.values() if self.prune else ():
            lines = whole_lines(trial.job.folder / "metrics.jsonl")
            if not trial.pruned and any(trial.report(json.loads(line)) for line in lines):
                pool.stop(trial.job)

    def summary(self) -> dict[str, Any]:
        trials = [
            {
                "trial": frozen.number,
                "state": frozen.state.name.lower(),
                "value": frozen.value,
                "options": frozen.params,
                "folder": str(self._run_folder(frozen.number)),
            }
            for frozen in self.study.get_trials(deepcopy=False)
            if frozen.state.name != "WAITING"
        ]
        complete = any(trial["state"] == "complete" for trial in trials)
        best = self.study.best_trial.number if complete else None
        return {"best": next((t for t in trials if t["trial"] == best), None), "trials": trials}

    def _run_folder(self, number: int) -> Path:
        return self.folder / f"trial-{number:04d}"


class _Reporter(Progress):
    """Tells optuna of each epoch of the run in this process, which may then be given up."""

    def __init__(self, inner: Progress, work: _Work) -> None:
        self._inner, self._work = inner, work
        self.note, self.start_epoch = inner.note, inner.start_epoch
        self.step, self.close = inner.step, inner.close
        self.start_work, self.work = inner.start_work, inner.work
        self.begin, self.finish = inner.begin, inner.finish

    def end_epoch(self, record: dict[str, Any]) -> None:
        self._inner.end_epoch(record)
        (trial,) = self._work.running.values()
        if self._work.prune and trial.report(record):
            raise GivenUp


def _study(
    optuna: Any, base: RunConfig, folder: Path, storage: str | None, seed: int, prune: bool
) -> "optuna.Study":
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    where = storage
    if storage is None:
        journal = optuna.storages.journal
        where = journal.JournalStorage(journal.JournalFileBackend(str(folder / "sweep.journal")))
    higher = TASKS[base.source.task].metrics.criterion.higher_is_better
    return optuna.create_study(
        study_name="sweep",
        storage=where,
        load_if_exists=True,
        direction="maximize" if higher else "minimize",
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner() if prune else optuna.pruners.NopPruner(),
    )


def _same_search(study: "optuna.Study", asked: dict[str, Any]) -> None:
    """Remember what is searched for, or raise ValueError if the study is another one's."""
    asked = json.loads(json.dumps(asked))
    known = study.user_attrs.get("asked")
    if known is None:
        study.set_user_attr("asked", asked)
        return
    known = {**known, "model": stored_options(known.get("model", {}))}
    if changed := [name for name in asked if asked[name] != known.get(name)]:
        raise ValueError(
            f"the sweep was begun with another {' and '.join(changed)}; take another folder "
            "or storage"
        )


@contextmanager
def _lock(folder: Path) -> Iterator[bool]:
    """Hold the lock of a trial; False if another process does. It goes when its process dies."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        yield try_lock(file)
