"""The progress of the runs of a table, comparison or sweep, one line each."""

import json
import re
import sys
import threading
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from sparsewood.lab.run import Progress
from sparsewood.lab.run.folder import whole_lines
from sparsewood.lab.tasks.measures import SUPPORT, Measure

_EVERY = 0.5  # seconds between two checks of the folders


class Watch(Progress):
    """Shows the progress of each run below a folder, whichever process trains it.

    On a terminal it updates a table; elsewhere it prints one line per epoch.

    Args:
        folder: the folder of the runs.
        criterion: the measure to show.
        runs: pattern of the run folders below it.
    """

    def __init__(self, folder: Path, criterion: Measure, runs: str = "*/*/*") -> None:
        self._folder, self._criterion, self._pattern = folder, criterion, runs
        self._seen: dict[Path, int] = {}
        self._begun = time.time()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        console = Console(stderr=True, highlight=False)
        self._live = Live(console=console, auto_refresh=False) if sys.stderr.isatty() else None

    def __enter__(self) -> "Watch":
        self._seen = {run: len(lines) for run, lines in self._runs().items()}
        if self._live is not None:
            self._live.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._update()
        if self._live is not None:
            self._live.stop()

    def note(self, text: str) -> None:
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr, flush=True)

    def _look(self) -> None:
        while not self._ended.wait(_EVERY):
            self._update()

    def _update(self) -> None:
        runs = self._runs()
        if self._live is not None:
            self._live.update(self._table(runs), refresh=True)
            return
        for run, lines in sorted(runs.items()):
            for line in lines[self._seen.get(run, 0) :]:
                print(
                    f"{self._name(run)}: {self._brief(json.loads(line))}",
                    file=sys.stderr,
                    flush=True,
                )
            self._seen[run] = len(lines)

    def _runs(self) -> dict[Path, list[str]]:
        """The lines of `metrics.jsonl` of each run that has started."""
        begun = self._folder.glob(f"{self._pattern}/config.json")
        return {path.parent: whole_lines(path.with_name("metrics.jsonl")) for path in begun}

    def _table(self, runs: dict[Path, list[str]]) -> Table:
        minutes, seconds = divmod(round(time.time() - self._begun), 60)
        table = Table("run", "epoch", "validation", "best", "s/epoch", "state", box=None)
        table.title, table.title_justify = f"{minutes}:{seconds:02d}", "left"
        for column in table.columns[1:5]:
            column.justify = "right"
        for run, lines in sorted(runs.items()):
            records: list[dict[str, Any]] = [json.loads(line) for line in lines]
            ready = (run / "result.json").exists()
            cells = ["", "", "", ""]
            if records:
                last, seconds = records[-1], f"{records[-1]['seconds']:.1f}"
                best = [self._value(record) for record in records if record["best"]]
                cells = [str(last["epoch"]), self._value(last), (best or [""])[-1], seconds]
            state = "done" if ready else "training"
            table.add_row(self._name(run), *cells, state, style="dim" if ready else None)
        return table

    def _name(self, run: Path) -> str:
        row, *others = run.relative_to(self._folder).parts
        return ", ".join([row, *(re.sub("(lr|seed)-", r"\1 ", name) for name in others)])

    def _value(self, record: dict[str, Any]) -> str:
        return self._criterion.text(record["validation"][self._criterion.name])

    def _brief(self, record: dict[str, Any]) -> str:
        validation = record["validation"]
        kept = validation.get(SUPPORT.name)  # readers have no dependency trees
        trees = "" if kept is None else f"trees {SUPPORT.text(kept)}, "
        return (
            f"epoch {record['epoch']}, validation {self._value(record)}, {trees}"
            f"{record['seconds']:.1f} s{', best so far' * record['best']}"
        )
