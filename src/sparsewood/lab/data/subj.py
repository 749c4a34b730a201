"""The subjectivity corpus: plots (objective) and quotes of reviews (subjective).

Pang & Lee (2004), "A Sentimental Education".
"""

import random
from pathlib import Path

from sparsewood.lab.data._lines import full_lines, sentence
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.heads_file import read_heads_file

_LABELS = {"0": "objective", "1": "subjective"}
_OFFICIAL = {"objective": "plot.tok.gt9.5000", "subjective": "quote.tok.gt9.5000"}
_FIXED = {"train": "subj_train.tsv", "validation": "subj_dev.tsv", "test": "subj_test.tsv"}


def read_subj(folder: Path, *, seed: int = 0) -> dict[str, list[Example]]:
    """The splits, 7000, 1000 and 2000 sentences of the whole corpus.

    Args:
        folder: either with `subj_train.tsv`, `subj_dev.tsv` and `subj_test.tsv`, files of
            label (0 objective, 1 subjective), tokens and heads: the fixed split that papers report
            on; or with the two official files, `plot.tok.gt9.5000` and `quote.tok.gt9.5000`, which
            are shuffled and split.
        seed: seed of the shuffle.

    Raises:
        ValueError: if the folder has neither, or at the first malformed line.
    """
    if all((folder / name).is_file() for name in _FIXED.values()):
        return {split: read_heads_file(folder / name, _LABELS) for split, name in _FIXED.items()}
    if not all((folder / name).is_file() for name in _OFFICIAL.values()):
        raise ValueError(
            f"{folder}: expected a folder with {', '.join(_FIXED.values())} "
            f"or with {' and '.join(_OFFICIAL.values())}"
        )
    examples = [
        Example((sentence(line, folder / name, number, _words),), label)
        for label, name in _OFFICIAL.items()
        for number, line in full_lines(folder / name)
    ]
    random.Random(seed).shuffle(examples)
    first, second = len(examples) * 7 // 10, len(examples) * 8 // 10
    return {
        "train": examples[:first],
        "validation": examples[first:second],
        "test": examples[second:],
    }


def _words(line: str) -> tuple[str, ...]:
    """The words of a tokenized line."""
    return tuple(line.split())
