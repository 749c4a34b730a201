"""Run folders that look like those of real runs."""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WriteRun = Callable[..., Path]

_ACCURACY = {
    "left_to_right": 82.1,
    "right_to_left": 81.8,
    "flat": 84.0,
    "given": 83.2,
    "sparsemap": 84.9,
}
_SPEED = {"left_to_right": 310, "right_to_left": 305, "flat": 820, "given": 560, "sparsemap": 405}
_ARCS = {"left_to_right": 31.0, "right_to_left": 24.0, "flat": 6.0, "given": 100.0}
_SENTENCES = [
    "a gorgeous , witty , seductive movie .",
    "lovely and poignant .",
    "it 's a lovely film with lovely performances by its leads .",
    "an honest , sensitive story from a vietnamese point of view .",
    "the film is often filled with a sense of pure wonderment and excitement .",
    "this is a movie that is what it is : a pleasant distraction .",
]


def _tree(rng: random.Random, n: int) -> list[int]:
    """Mostly short arcs, one root."""
    order = list(range(1, n + 1))
    rng.shuffle(order)
    heads = [0] * n
    for k in range(1, n):
        word = order[k]
        heads[word - 1] = min(order[:k], key=lambda other: abs(other - word) + rng.random())
    return heads


def _gallery(rng: random.Random, estimator: str, sides: int) -> list[dict[str, Any]]:
    def side(words: list[str]) -> dict[str, Any]:
        n = len(words)
        given = _tree(rng, n)
        other = list(given)
        other[-1] = 0 if given[-1] else 1
        trees = [(given, 0.53), (other, 0.26), ([0] * n, 0.13), (_tree(rng, n), 0.08)]
        fixed = {"flat": [0] * n, "left_to_right": [*range(2, n + 1), 0], "given": given}
        if estimator != "sparsemap":
            trees = [(fixed.get(estimator, list(range(n))), 1.0)]
        return {
            "words": words,
            "given": given,
            "trees": [{"heads": heads, "weight": weight} for heads, weight in trees],
        }

    return [
        {
            "label": "positive" if i % 3 else "negative",
            "prediction": {"positive": 0.5 + 0.45 * rng.random(), "negative": 0.04},
            "sides": [side(_SENTENCES[(i + j) % len(_SENTENCES)].split()) for j in range(sides)],
        }
        for i in range(6)
    ]


def _trees_of(estimator: str, epoch: int, rng: random.Random) -> dict[str, Any]:
    """Tree statistics that settle down with the epochs."""
    left = math.exp(-epoch / 4)
    if estimator != "sparsemap":
        arcs = _ARCS[estimator]
        return {
            "support": 1.0,
            "single": 100.0,
            "flat": 100.0 if estimator == "flat" else 1.2,
            "agreement": arcs,
            "attachment": arcs,
            "histogram": {"1": 872},
        }
    mean = 1.4 + 9 * left
    counts: dict[str, int] = {}
    for _ in range(872):
        size = str(1 + int(rng.expovariate(1 / mean)))
        counts[size] = counts.get(size, 0) + 1
    return {
        "support": mean,
        "single": 100 * counts.get("1", 0) / 872,
        "flat": 4 + 30 * (1 - left),
        "unconverged": 0.0,
        "agreement": 12 + 18 * (1 - left) + rng.random(),
        "attachment": 10 + 22 * (1 - left) + rng.random(),
        "histogram": dict(sorted(counts.items(), key=lambda item: int(item[0]))),
    }


def _record(estimator: str, epoch: int, task: str, rng: random.Random) -> dict[str, Any]:
    final = _ACCURACY[estimator]
    accuracy = final - 12 * math.exp(-epoch / 2.5) + rng.gauss(0, 0.35)
    loss = 0.36 + 0.33 * math.exp(-epoch / 3) + 0.004 * max(0, epoch - 8) + rng.gauss(0, 0.005)
    quality: dict[str, float] = {"accuracy": accuracy}
    if task == "revdict":
        quality = {
            "median_rank": 15 + 80 * math.exp(-epoch / 3),
            "accuracy_10": accuracy / 2,
            "accuracy_100": accuracy - 10,
        }
    trees = _trees_of(estimator, epoch, rng)
    seconds = 6920 / _SPEED[estimator] * (1 + rng.random() / 20)
    return {
        "epoch": epoch,
        "step": 433 * epoch,
        "seconds": seconds,
        "sentences_per_second": 6920 / seconds,
        "lr": 0.1,
        "best": epoch == 1 or rng.random() > epoch / 12,
        "train": {
            "loss": 0.68 * math.exp(-epoch / 6),
            "accuracy": min(99.0, accuracy + 5),
            **trees,
        },
        "validation": {"loss": loss, **quality, **trees},
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
            "model": {"estimator": estimator, "hidden": 300, "loss": "marginal"},
            "training": {"optimizer": "sgd", "lr": 0.1, "batch": 16, "seed": seed},
        },
    )
    write(
        "environment.json",
        {
            "python": "3.11.9",
            "torch": "2.8.0",
            "threads": 2,
            "command": ["sparsewood", "train", kind],
        },
    )
    records = [_record(estimator, epoch, kind, rng) for epoch in range(1, epochs + 1)]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "metrics.jsonl").write_text(lines, encoding="utf-8")
    if gallery:
        write("gallery.json", _gallery(rng, estimator, 2 if kind == "sick" else 1))
    if finished:
        last = records[-1]["validation"]
        tests = ("seen", "unseen", "concepts") if kind == "revdict" else ("test",)
        criterion = "loss" if kind == "revdict" else "accuracy"
        sign = 0.01 if kind == "revdict" else -1
        curve = {
            str(2.0**k): last[criterion] + sign * (0.03 if k < 1 else 0.12) * (k - 1) ** 2
            for k in range(-8, 9)
        }
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
