"""The summary of finished runs by row: mean and spread over seeds."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sparsewood.lab.run.folder import Run
from sparsewood.lab.study.paired import compare_runs
from sparsewood.lab.tasks.certificate import Certificates


def summarise(rows: Mapping[str, Sequence[Run]], baseline: str) -> dict[str, Any]:
    """The summary of rows, each with finished runs of one configuration, one per seed.

    Returns:
        `{"criterion": ..., "baseline": ..., "rows": {name: row}}`. A row has the `seeds` of its
        runs and over these: `validation` and `tests`, with `{"mean", "std", "values"}` for each
        metric, the `temperatures`, `certified` with `{"certified", "sentences", "capped"}` over all
        tests and seeds, and the mean `seconds_per_epoch`, `sentences_per_second` and `epochs`. The
        spread is the sample standard deviation. `against` has, for each test, the `Comparison` of
        the criterion with the row `baseline`; it is empty for that row, and if runs have saved no
        outcomes.
    """
    summary: dict[str, Any] = {"baseline": baseline, "rows": {}}
    for name, runs in rows.items():
        results = [run.result for run in runs if run.result is not None]
        epochs = [record for run in runs for record in run.metrics]
        others = rows.get(baseline, []) if name != baseline else []
        summary["criterion"] = results[0]["criterion"]
        summary["rows"][name] = {
            "seeds": [run.config.training.seed for run in runs],
            "validation": _spread([result["validation"] for result in results]),
            "tests": {
                test: _spread([result["tests"][test] for result in results])
                for test in results[0]["tests"]
            },
            "certified": _certified(results),
            "temperatures": [result["temperature"] for result in results],
            "epochs": statistics.fmean(result["epochs"] for result in results),
            "seconds_per_epoch": statistics.fmean(e["seconds"] for e in epochs),
            "sentences_per_second": statistics.fmean(e["sentences_per_second"] for e in epochs),
            "against": {test: asdict(one) for test, one in compare_runs(runs, others).items()},
        }
    return summary


def told_of(errors: Mapping[str, str | None]) -> dict[str, Any]:
    """The number of `runs` and the `failures` by folder, from the result of `Search.train`."""
    failures = {run: error for run, error in errors.items() if error is not None}
    return {"runs": len(errors), "failures": failures}


def _certified(results: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The certificates of the tests, or of validation if there are no tests."""
    splits = [values for r in results for values in (r["tests"] or {"": r["validation"]}).values()]
    found = Certificates.total(Certificates.of(values) for values in splits)
    return None if found is None else asdict(found)


def _spread(results: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    spread = {}
    for name, first in results[0].items():
        if isinstance(first, dict):  # the histogram and the confusion matrix
            continue
        values = [result[name] for result in results]
        spread[name] = {
            "mean": statistics.fmean(values),
            "std": statistics.stdev(values) if len(values) > 1 else None,
            "values": values,
        }
    return spread
