"""Training: the loop, its checkpoints, and the runs it leaves behind."""

from sparsewood.train.config import RunConfig, TrainingConfig
from sparsewood.train.evaluate import evaluate, gallery
from sparsewood.train.interrupt import TrainingInterrupted
from sparsewood.train.loop import train
from sparsewood.train.progress import Bars, Lines, Progress
from sparsewood.train.run import Run
from sparsewood.train.temperature import temperature_search
from sparsewood.train.trainer import NonFiniteLoss

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
