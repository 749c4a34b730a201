"""A validation split for training data without one."""

import random
from collections.abc import Sequence

from sparsewood.lab.data.examples import Example, TargetKind
from sparsewood.lab.data.labels import classes_of


def hold_out(
    examples: Sequence[Example], seed: int = 0, target: TargetKind = "class"
) -> dict[str, list[Example]]:
    """The splits "train" and "validation", the latter a random tenth of the examples.

    The last example of a label stays in training, unless labels are numbers.
    """
    size = max(1, len(examples) // 10)
    drawn = set(random.Random(seed).sample(range(len(examples)), size)) if examples else set()
    names = [classes_of(example, target) for example in examples]
    left = {name for i, own in enumerate(names) if i not in drawn for name in own}
    chosen = {i for i in drawn if left.issuperset(names[i])}
    return {
        "train": [e for i, e in enumerate(examples) if i not in chosen],
        "validation": [e for i, e in enumerate(examples) if i in chosen],
    }
