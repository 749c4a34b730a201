"""The text of the examples: real corpora, or sentences of the same form, made up.

`$SPARSEWOOD_DATA` names a folder that holds `sst/`, `sick/` or `ud_ewt/`, in the forms that
docs/data.md describes. No example downloads anything.
"""

import os
import random
from pathlib import Path

from sparsewood.lab.data import Sick, Sst

DET, PREP = ["the", "a", "this"], ["near", "behind", "with"]
ADJ = "old young happy quiet little tall".split()
NOUN = "man woman dog cat child teacher singer river garden house".split()
VERB = "sees follows paints likes finds hears helps".split()
SIZES = {"train": 400, "validation": 100, "test": 200}
PRAISE = "gripping funny tender superb moving clever charming witty".split()
BLAME = "dull tedious clumsy bland hollow lazy awkward stale".split()
FILLER = (
    "the a film movie story plot its and but with of in an actor scene camera director set music "
    "about from city family war night two years this that is was has very long often made"
).split()


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


def reviews(seed: int = 0) -> dict[str, list[tuple[list[str], int]]]:
    """Sentences and whether they are positive, by split: train, validation, test.

    Those made up have two to four words of praise or blame, most of them of the label's side, among
    words of none.
    """
    sst = folder("sst")
    if sst is not None:
        return {
            name: [
                ([w.lower() for w in e.sentences[0].words], int(e.label == "positive"))
                for e in split
            ]
            for name, split in Sst(sst).load().splits.items()
        }
    rng = random.Random(seed)
    return {name: [_review(rng) for _ in range(many)] for name, many in SIZES.items()}


def _review(rng: random.Random) -> tuple[list[str], int]:
    label, most = rng.randrange(2), rng.choice([1, 2, 3])
    sides = (PRAISE, BLAME) if label else (BLAME, PRAISE)
    words = rng.choices(sides[0], k=most) + rng.choices(sides[1], k=rng.randrange(most))
    words += rng.choices(FILLER, k=rng.randint(6, 14))
    rng.shuffle(words)
    return words, label
