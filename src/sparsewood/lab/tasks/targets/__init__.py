"""What a model of sentences is to say: a class, a number, or any number of labels."""

from sparsewood.lab.tasks.targets.base import Target
from sparsewood.lab.tasks.targets.classes import Classes
from sparsewood.lab.tasks.targets.labels import LabelCounts, Labels
from sparsewood.lab.tasks.targets.numbers import NumberErrors, Numbers

__all__ = ["Classes", "LabelCounts", "Labels", "NumberErrors", "Numbers", "Target"]
