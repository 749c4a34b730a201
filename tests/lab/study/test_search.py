"""Rows of runs, whatever is tried for them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sparsewood.lab.jobs import local_pool
from sparsewood.lab.jobs.jobs import Job
from sparsewood.lab.run import Progress, RunConfig
from sparsewood.lab.study import search as search_module
from sparsewood.lab.study.search import Row, Search, canonical, one_thread, validation


def _batch(size: int) -> Callable[[RunConfig], list[RunConfig]]:
    """A round that tries batches of `size` and of one more."""

    def tries(config: RunConfig) -> list[RunConfig]:
        sizes = (size, size + 1)
        return [replace(config, training=replace(config.training, batch=b)) for b in sizes]

    return tries


def _place(config: RunConfig) -> Path:
    return Path(f"{config.training.batch}-{config.training.seed}")


def test_a_search_looks_at_disk_for_what_is_there(
    make_config: Callable[..., RunConfig], tmp_path: Path
) -> None:
    start = make_config("flat", max_epochs=1)
    search = Search({"row": Row(start, (_batch(8),))}, (3, 4, 3), tmp_path, _place)
    assert search.found() == {}
    errors = search.train(progress=Progress())
    found = search.found()["row"]
    best = max(found.tried, key=validation).config.training.batch
    assert errors == dict.fromkeys(["8-3", "9-3", f"{best}-4"])
    assert [run.folder.name for run in found.tried] == ["8-3", "9-3"]
    assert [run.seed for run in found.runs] == [3, 4]
    again = Search({"row": Row(start, (_batch(8),))}, (3, 4), tmp_path, _place).found()["row"]
    assert [run.folder for run in again.runs] == [run.folder for run in found.runs]


def test_other_seeds_have_the_epochs_that_are_asked_for(
    make_config: Callable[..., RunConfig],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that patience ended stays as it is; what follows from it is as asked for now."""

    def search(max_epochs: int, *seeds: int) -> Search:
        start = make_config("flat", max_epochs=max_epochs, patience=1, lr=1e-30)
        return Search({"row": Row(start, (lambda c: [c],))}, seeds, tmp_path, _place)

    search(4, 0).train(progress=Progress())
    asked: list[RunConfig] = []

    def train(config: RunConfig, folder: Path, **_: object) -> dict[str, object]:
        asked.append(config)
        return {}

    monkeypatch.setattr(local_pool, "train", train)
    search(9, 0, 1).train(progress=Progress())
    assert [(c.training.max_epochs, c.training.seed) for c in asked] == [(9, 1)]


def test_what_follows_from_finished_runs_waits_for_no_other_row(
    make_config: Callable[..., RunConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def row(batch: int) -> Row:
        start = make_config("flat", max_epochs=1, batch=batch)
        return Row(start, (lambda c: [c],))

    Search({"a": row(8)}, (0,), tmp_path, _place).train(progress=Progress())
    asked: list[Job] = []
    monkeypatch.setattr(search_module, "run_jobs", lambda jobs, *_, **__: asked.extend(jobs))
    Search({"a": row(8), "b": row(9)}, (0, 1), tmp_path, _place).train(progress=Progress())
    assert sorted(job.folder.name for job in asked) == ["8-1", "9-0"]


def test_one_spelling_and_one_thread(make_config: Callable[..., RunConfig]) -> None:
    config = make_config(threads=None)
    assert canonical(config, ["topk:k=2", "top-k:k=2", "flat"]) == ["top-k:k=2", "flat"]
    assert one_thread(config).training.threads == 1
    assert one_thread(make_config(threads=3)).training.threads == 3
