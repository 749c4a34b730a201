"""What a model predicts of an example: a class, a number, or any number of labels."""

from sparsewood.lab.tasks.targets.base import Target
from sparsewood.lab.tasks.targets.classes import Classes
from sparsewood.lab.tasks.targets.labels import LabelCounts, Labels
from sparsewood.lab.tasks.targets.numbers import NumberErrors, Numbers

__all__ = ["TARGETS", "Classes", "LabelCounts", "Labels", "NumberErrors", "Numbers", "Target"]

TARGETS: dict[str, type[Target]] = {target.kind: target for target in (Classes, Numbers, Labels)}
