"""Training: the loop, its checkpoints, and the runs it leaves behind."""

from spinney.train.config import RunConfig, TrainingConfig
from spinney.train.evaluate import evaluate, gallery, temperature_search
from spinney.train.interrupt import TrainingInterrupted
from spinney.train.loop import NonFiniteLoss, train
from spinney.train.progress import Bars, Lines, Progress
from spinney.train.run import Run

__all__ = [
    "Bars",
    "Lines",
    "NonFiniteLoss",
    "Progress",
    "Run",
    "RunConfig",
    "TrainingConfig",
    "TrainingInterrupted",
    "evaluate",
    "gallery",
    "temperature_search",
    "train",
]
