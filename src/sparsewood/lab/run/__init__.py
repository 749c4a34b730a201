"""Training: the loop, its checkpoints and the folders of runs."""

from sparsewood.lab.run.bars import Bars
from sparsewood.lab.run.by_length import Bins, ByLength
from sparsewood.lab.run.config import RunConfig, TrainingConfig
from sparsewood.lab.run.evaluate import evaluate
from sparsewood.lab.run.folder import Run
from sparsewood.lab.run.gallery import gallery
from sparsewood.lab.run.interrupt import TrainingInterrupted
from sparsewood.lab.run.losses import NonFiniteLoss
from sparsewood.lab.run.presets import PRESETS, preset
from sparsewood.lab.run.progress import Lines, Progress
from sparsewood.lab.run.setup import train
from sparsewood.lab.run.temperature import temperature_search

__all__ = [
    "PRESETS",
    "Bars",
    "Bins",
    "ByLength",
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
