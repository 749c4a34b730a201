"""Training: the loop, its checkpoints, and the runs it leaves behind."""

from sparsewood.lab.train.bars import Bars
from sparsewood.lab.train.config import RunConfig, TrainingConfig
from sparsewood.lab.train.evaluate import evaluate, gallery
from sparsewood.lab.train.interrupt import TrainingInterrupted
from sparsewood.lab.train.lines import Lines
from sparsewood.lab.train.loop import train
from sparsewood.lab.train.presets import PRESETS, preset
from sparsewood.lab.train.progress import Progress
from sparsewood.lab.train.run import Run
from sparsewood.lab.train.temperature import temperature_search
from sparsewood.lab.train.trainer import NonFiniteLoss

__all__ = [
    "PRESETS",
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
    "preset",
    "temperature_search",
    "train",
]
