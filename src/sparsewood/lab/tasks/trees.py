"""Where the trees of a model come from: the choices of the option `trees`."""

from typing import Literal

from sparsewood.estimators import Estimator, SparseMAP, parse

Trees = Literal["latent", "left_to_right", "right_to_left", "flat", "given"]

# What people call them, in the order of the paper's tables.
LABELS: dict[str, str] = {
    "left_to_right": "left to right",
    "right_to_left": "right to left",
    "flat": "flat",
    "given": "off-line",
    "latent": "latent",
}


def estimator_of(trees: Trees, temperature: float, max_active: int | None) -> Estimator:
    """The estimator of a choice; the numbers are of latent trees."""
    if trees == "latent":
        return SparseMAP(temperature=temperature, max_active=max_active)
    return parse(trees)
