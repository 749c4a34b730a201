"""The text of the examples: real corpora, or sentences of the same form, made up.

`$SPARSEWOOD_DATA` names a folder that holds `sst/`, `sick/` or `ud_ewt/`, in the forms that
docs/data.md describes. No example downloads anything.
"""

import os
import random
from pathlib import Path

from sparsewood.lab.data import Sick

DET, PREP = ["the", "a", "this"], ["near", "behind", "with"]
ADJ = "old young happy quiet little tall".split()
NOUN = "man woman dog cat child teacher singer river garden house".split()
VERB = "sees follows paints likes finds hears helps".split()


def folder(name: str) -> Path | None:
    """The folder of a corpus, or None; says which sentences there will be."""
    root = os.environ.get("SPARSEWOOD_DATA")
    found = root is not None and (Path(root) / name).is_dir()
    print(f"sentences of {name}" if found else f"made-up sentences, for want of {name}")
    return Path(root) / name if root is not None and found else None


def plain(many: int, seeds: range) -> list[list[tuple[str, ...]]]:
    """`many` sentences for each seed, as words in lower case."""
    sick = folder("sick")
    if sick is None:
        kinds = [DET, ADJ, NOUN, VERB, DET, NOUN, PREP, DET, ADJ, NOUN]
        return [
            [tuple(map(rng.choice, kinds[rng.choice([0, 3]) :])) for _ in range(many)]
            for rng in map(random.Random, seeds)
        ]
    examples = Sick(sick).load().splits["train"]
    real = sorted({tuple(w.lower() for w in s.words) for e in examples for s in e.sentences})
    return [random.Random(seed).sample(real, many) for seed in seeds]
