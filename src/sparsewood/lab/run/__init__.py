"""Training: the loop, its checkpoints, and the runs it leaves behind."""

from sparsewood.lab.run.bars import Bars
from sparsewood.lab.run.config import RunConfig, TrainingConfig
from sparsewood.lab.run.evaluate import evaluate, gallery
from sparsewood.lab.run.interrupt import TrainingInterrupted
from sparsewood.lab.run.lines import Lines
from sparsewood.lab.run.loop import train
from sparsewood.lab.run.presets import PRESETS, preset
from sparsewood.lab.run.progress import Progress
from sparsewood.lab.run.run import Run
from sparsewood.lab.run.temperature import temperature_search
from sparsewood.lab.run.trainer import NonFiniteLoss

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
