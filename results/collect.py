"""Copies what may be published of a table's or comparison's runs here: no sentences, no weights.

    sparsewood table sst ... --out runs/sst
    python results/collect.py sst runs/sst

leaves `sst/ESTIMATOR/lr-LR/seed-SEED` with `config.json`, `metrics.jsonl`, `result.json` and
`outcomes.json`, and puts the table into README.md, after the line `<!-- table sst -->`.
`sparsewood report results/sst/*/*/*` draws the runs. A folder of `sparsewood compare` is taken
likewise, with its `compare.json`, and so is one of several tables on the same data, whose rows
differ in more than the estimator: `attention/sick/KIND/ESTIMATOR/lr-LR/seed-SEED`. Without the
folder, `python results/collect.py sst` makes the table anew from the runs that are here.
"""

import json
import sys
from pathlib import Path
from typing import Any

from sparsewood.lab.run.folder import Run
from sparsewood.lab.run.outcomes import FILE
from sparsewood.lab.study.grid import OPENINGS, Grid
from sparsewood.lab.study.paper_figures import BASELINE, in_order
from sparsewood.lab.study.summary import summarise
from sparsewood.lab.study.table import table_search, table_summary
from sparsewood.lab.tasks import TASKS
from sparsewood.lab.tasks.task import PLUS

HERE = Path(__file__).parent
COMPARISON = "compare.json"
KEPT = ("config.json", "metrics.jsonl", "result.json", FILE)


def main(name: str, folder: Path) -> None:
    several = not any(folder.glob("*/*/*/result.json"))
    found = "*/*/*/*/result.json" if several else "*/*/*/result.json"
    runs = sorted(result.parent for result in folder.glob(found))
    if not runs:
        raise SystemExit(f"{folder}: no finished run")
    if folder != HERE / name:
        copy(runs, folder, HERE / name)
        if (folder / COMPARISON).exists():
            (HERE / name / COMPARISON).write_bytes((folder / COMPARISON).read_bytes())
    if (HERE / name / COMPARISON).exists():
        show(name, Grid.of(json.loads((HERE / name / COMPARISON).read_text())).markdown().strip())
        return
    if several:
        show(name, Grid.of(tables_summary(HERE / name)).markdown().strip())
        return
    configs = [Run(path.parent).config for path in sorted((HERE / name).glob("*/*/*/result.json"))]
    rows = in_order(config.model.estimator for config in configs)
    lrs = {config.training.lr for config in configs}
    seeds = sorted({config.training.seed for config in configs})
    summary = table_summary(table_search(rows, configs[0], sorted(lrs), seeds, HERE / name))
    show(name, Grid.of(summary, None if name == "revdict" else name).markdown().strip())


def tables_summary(folder: Path) -> dict[str, Any]:
    """The runs of all tables in `folder` by what tells them apart, against flat trees alone."""
    rows: dict[str, list[Run]] = {}
    for path in sorted(folder.glob("*/*/*/*/result.json")):
        run = Run(path.parent)
        task = TASKS[run.config.source.task]
        rows.setdefault(task.row(vars(run.config.model)), []).append(run)
    order = sorted(rows, key=lambda row: (row.partition(PLUS)[2], in_order(rows).index(row)))
    return summarise({row: rows[row] for row in order}, BASELINE)


def copy(runs: list[Path], folder: Path, to: Path) -> None:
    """Copies what may be published of `runs` in `folder`."""
    for run in runs:
        target = to / run.relative_to(folder)
        target.mkdir(parents=True, exist_ok=True)
        for file in KEPT:
            if file != FILE or (run / file).exists():  # runs of older versions have no outcomes
                (target / file).write_bytes((run / file).read_bytes())


def show(name: str, table: str) -> None:
    """Puts `table` between the line that names it and the text that follows."""
    page = HERE / "README.md"
    before, mark, after = page.read_text(encoding="utf-8").partition(f"<!-- table {name} -->\n")
    if not mark:
        raise SystemExit(f"{page}: no line <!-- table {name} -->")
    rest = after.lstrip("\n").splitlines(keepends=True)
    while rest and (rest[0].startswith(("|", *OPENINGS)) or not rest[0].strip()):
        rest.pop(0)
    page.write_text(f"{before}{mark}\n{table}\n\n{''.join(rest)}", encoding="utf-8")
    print(table)


if __name__ == "__main__":
    name, *folder = sys.argv[1:]
    main(name, Path(folder[0]) if folder else HERE / name)
