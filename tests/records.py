"""The metrics of an epoch, in the format of `metrics.jsonl`."""

from typing import Any

RECORD: dict[str, Any] = {
    "epoch": 3,
    "seconds": 12.34,
    "sentences_per_second": 561.2,
    "lr": 0.09,
    "best": True,
    "train": {"loss": 0.5, "accuracy": 80.0, "support": 2.5, "single": 40.0},
    "validation": {"loss": 0.4, "accuracy": 82.5, "support": 1.5, "histogram": {"1": 2}},
}
