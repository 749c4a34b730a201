"""`sparsewood train`: train one model."""

import os
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from sparsewood.lab.cli._options import Group, parse_options
from sparsewood.lab.cli._results import advice, remarks, results_table
from sparsewood.lab.cli._runs import (
    Protocol,
    config_groups,
    example,
    interruptible,
    new_folder,
    pick_source,
    writable_folder,
)
from sparsewood.lab.report.page import write_report
from sparsewood.lab.run import Run, RunConfig, train
from sparsewood.lab.run.bars import automatic

DESCRIPTION = "Train a model. The run is saved in one folder."
EXAMPLE = "--dropout 0.2"


@dataclass(frozen=True)
class TrainOptions(Protocol):
    """Where to save the run.

    Attributes:
        out: folder of the run. Default: runs/SOURCE-ESTIMATOR-N.
        resume: resume the run in this folder.
    """

    out: Path | None = None
    resume: Path | None = None


def main(args: list[str]) -> None:
    """Train, then print the folder of the run and its results."""
    if args and args[0].partition("=")[0] == "--resume":
        config, folder, resume = _stored(args)
    else:
        source = pick_source("train", args, DESCRIPTION, EXAMPLE)
        options, *parts = parse_options(
            f"sparsewood train {source.name}",
            args,
            [Group("run", TrainOptions, ("out", "resume", "preset")), *config_groups(source, args)],
            f"{DESCRIPTION} To resume a run: sparsewood train --resume RUN",
            example("train", source.name, EXAMPLE),
        )
        config = RunConfig(*parts)
        if options.resume and options.out:
            raise ValueError("--resume already names the folder; leave out --out")
        if options.resume:
            Run(options.resume)  # raises ValueError if there is none
        folder = writable_folder(options.resume or options.out or _default_folder(config))
        resume = options.resume is not None
    run_one(config, folder, resume=resume)


def run_one(config: RunConfig, folder: Path, *, resume: bool) -> None:
    """Train or resume a run, write its report, and print the results."""
    with interruptible(f"sparsewood train --resume {folder}"):
        result = train(config, folder, resume=resume, progress=automatic(single=True))
    if os.environ.get("RANK", "0") != "0":  # one of several processes of torchrun
        return
    report = write_report([folder], folder / "report.html", title=str(folder))
    Console(highlight=False).print(results_table(result))
    splits = {"validation": result["validation"], **result["tests"]}
    for line in [*remarks(splits), *advice(splits, config.source.vectors)]:
        print(line)
    print(f"report: {report}", flush=True)


def _default_folder(config: RunConfig) -> Path:
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise ValueError("under torchrun pass the folder of the run: --out FOLDER")
    return new_folder(config)


def _stored(args: list[str]) -> tuple[RunConfig, Path, bool]:
    """The run named by `--resume RUN` or `--resume=RUN`."""
    _, *folders = [*args[0].split("=", 1), *args[1:]]
    if len(folders) != 1:
        raise ValueError("expected one folder: sparsewood train --resume RUN")
    return Run(folders[0]).config, Path(folders[0]), True
