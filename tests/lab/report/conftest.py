"""Run folders that look like those of real runs."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WriteRun = Callable[..., Path]

_ACCURACY = {"left-to-right": 82.1, "flat": 84.0, "given": 83.2, "sparsemap": 84.9}
_SPEED = {"left-to-right": 310, "flat": 820, "given": 560, "sparsemap": 405}
_ARCS = {"left-to-right": 31.0, "flat": 6.0, "given": 100.0}
_SPELLED = {"sparsemap": "sparsemap:max_active=10"}  # as runs write it
_SENTENCES = ["lovely and poignant .", "a gorgeous , witty , seductive movie ."]


def _side(estimator: str, words: list[str]) -> dict[str, Any]:
    n = len(words)
    given = [*range(2, n + 1), 0]
    trees = [(given, 0.6), ([0] * n, 0.3), ([0, *range(1, n)], 0.1)]
    if estimator != "sparsemap":
        trees = [([0] * n if estimator == "flat" else given, 1.0)]
    drawn = [{"heads": heads, "weight": weight} for heads, weight in trees]
    return {"words": words, "given": given, "trees": drawn}


def _gallery(estimator: str, sides: int) -> list[dict[str, Any]]:
    return [
        {
            "label": "positive" if i % 3 else "negative",
            "prediction": {"positive": 0.8, "negative": 0.2},
            "sides": [_side(estimator, _SENTENCES[(i + j) % 2].split()) for j in range(sides)],
        }
        for i in range(6)
    ]


def _trees_of(estimator: str, epoch: int) -> dict[str, Any]:
    """Tree statistics that settle down with the epochs."""
    if estimator != "sparsemap":
        arcs = _ARCS[estimator]
        flat = 100.0 if estimator == "flat" else 1.2
        counts = {"histogram": {"1": 872}, "support": 1.0, "single": 100.0, "flat": flat}
        return {**counts, "agreement": arcs, "attachment": arcs}
    left = math.exp(-epoch / 4)
    single = round(872 * (1 - left))
    return {
        "support": 1 + 9 * left,
        "single": 100 * single / 872,
        "flat": 4 + 30 * (1 - left),
        "unconverged": 0.0,
        "agreement": 12 + 18 * (1 - left),
        "attachment": 10 + 22 * (1 - left),
        "histogram": {"1": single, "40": 872 - single},
    }


def _record(estimator: str, epoch: int, task: str, rng: random.Random) -> dict[str, Any]:
    accuracy = _ACCURACY[estimator] - 12 * math.exp(-epoch / 2.5) + rng.gauss(0, 0.35)
    quality: dict[str, float] = {"accuracy": accuracy}
    if task == "revdict":
        rank = 15 + 80 * math.exp(-epoch / 3)
        quality = {"median_rank": rank, "accuracy_10": accuracy / 2, "accuracy_100": accuracy - 10}
    trees = _trees_of(estimator, epoch)
    seconds = 6920 / _SPEED[estimator] * (1 + rng.random() / 20)
    return {
        "epoch": epoch,
        "step": 433 * epoch,
        "seconds": seconds,
        "sentences_per_second": 6920 / seconds,
        "lr": 0.1,
        "best": epoch == 1 or rng.random() > epoch / 12,
        "train": {"loss": 0.68 * math.exp(-epoch / 6), "accuracy": accuracy + 5, **trees},
        "validation": {"loss": 0.36 + 0.33 * math.exp(-epoch / 3), **quality, **trees},
    }


def _write_run(
    folder: Path,
    estimator: str = "sparsemap",
    seed: int = 0,
    *,
    epochs: int = 12,
    kind: str = "sst",
    finished: bool = True,
    gallery: bool = True,
) -> Path:
    rng = random.Random(f"{estimator}{seed}{kind}")
    folder.mkdir(parents=True)

    def write(name: str, data: Any) -> None:
        (folder / name).write_text(json.dumps(data), encoding="utf-8")

    write(
        "config.json",
        {
            "sparsewood": "0.1.0",
            "source": {"kind": kind, "data": f"data/{kind}", "vectors": "glove.npz"},
            "model": {"estimator": _SPELLED.get(estimator, estimator), "hidden": 300},
            "training": {"optimizer": "sgd", "lr": 0.1, "batch": 16, "seed": seed},
        },
    )
    command = ["sparsewood", "train", kind]
    write("environment.json", {"python": "3.11.9", "threads": 2, "command": command})
    records = [_record(estimator, epoch, kind, rng) for epoch in range(1, epochs + 1)]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "metrics.jsonl").write_text(lines, encoding="utf-8")
    if gallery:
        write("gallery.json", _gallery(estimator, 2 if kind == "sick" else 1))
    if finished:
        last = records[-1]["validation"]
        tests = ("seen", "unseen", "concepts") if kind == "revdict" else ("test",)
        criterion = "loss" if kind == "revdict" else "accuracy"
        curve = {str(2.0**k): last[criterion] - 0.01 * (k - 1) ** 2 for k in range(-8, 9)}
        write(
            "result.json",
            {
                "best_epoch": max(1, epochs - 3),
                "temperature": 2.0 if estimator == "sparsemap" else 1.0,
                "temperature_curve": curve if estimator == "sparsemap" else {},
                "validation": last,
                "tests": {
                    name: {**last, criterion: last[criterion] + rng.gauss(0, 0.3)} for name in tests
                },
                "seconds": sum(record["seconds"] for record in records),
                "epochs": epochs,
            },
        )
    return folder


@pytest.fixture(scope="session")
def write_run() -> WriteRun:
    """(folder, estimator, seed, *, epochs, kind, finished, gallery) -> the folder of a run."""
    return _write_run
