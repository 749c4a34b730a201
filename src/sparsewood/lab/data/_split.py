"""A validation split for training data that come without one."""

import random
from collections.abc import Sequence

from sparsewood.lab.data.examples import Example


def hold_out(examples: Sequence[Example], seed: int = 0) -> dict[str, list[Example]]:
    """The splits "train" and "validation", a tenth of the examples, drawn by the seed.

    Labels all of whose examples were drawn stay in training.
    """
    size = max(1, len(examples) // 10)
    drawn = set(random.Random(seed).sample(range(len(examples)), size)) if examples else set()
    left = {e.label for i, e in enumerate(examples) if i not in drawn}
    chosen = {i for i in drawn if examples[i].label in left}
    return {
        "train": [e for i, e in enumerate(examples) if i not in chosen],
        "validation": [e for i, e in enumerate(examples) if i in chosen],
    }
