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
    words = [*rng.choices(sides[0], k=most), *rng.choices(sides[1], k=rng.randrange(most))]
    words += rng.choices(FILLER, k=rng.randint(6, 14))
    rng.shuffle(words)
    return list[str](words), label


def tagged(many: int, seed: int = 0) -> tuple[list[str], list[list[tuple[str, str]]]]:
    """The names of the tags, and `many` sentences to learn from and 300 to be tested on.

    Those made up are of a grammar whose words may mostly be several parts of speech.
    """
    ewt, rng = folder("ud_ewt"), random.Random(seed)
    if ewt is None:
        sentences = [_tagging(rng) for _ in range(many + 300)]
    else:
        train, test = (_conllu(next(ewt.glob(f"*{name}.conllu"))) for name in ("train", "dev"))
        sentences = rng.sample(train, many) + rng.sample(test, 300)
    return sorted({tag for sentence in sentences for _, tag in sentence}), sentences


def _conllu(path: Path) -> list[list[tuple[str, str]]]:
    """Words in lower case and their universal parts of speech; sentences of at most 25 words."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    tables = [
        [line.split("\t") for line in block.split("\n") if line[0] != "#"] for block in blocks
    ]
    found = [[(row[1].lower(), row[3]) for row in table if row[0].isdigit()] for table in tables]
    return [sentence for sentence in found if len(sentence) <= 25]


LEXICON = {
    "DET": "the a that her".split(),
    "ADJ": "light cold fast round that".split(),
    "NOUN": "duck watch light round saw cold park fish".split(),
    "VERB": "saw watch duck light park fish".split(),
    "ADP": "by round past in".split(),
    "PRON": "her that she they".split(),
}
NEXT = {
    "": "DET PRON",
    "DET": "NOUN NOUN ADJ",
    "ADJ": "NOUN",
    "NOUN": "VERB VERB ADP",
    "VERB": "DET PRON ADP",
    "ADP": "DET",
    "PRON": "VERB ADP",
}


def _tagging(rng: random.Random) -> list[tuple[str, str]]:
    tags = [""]
    for _ in range(rng.randint(5, 10)):
        tags.append(rng.choice(NEXT[tags[-1]].split()))
    return [(rng.choice(LEXICON[tag]), tag) for tag in tags[1:]]


Pair = tuple[list[str], list[str], str]  # premise, hypothesis, label


def pairs(seed: int = 0) -> dict[str, list[Pair]]:
    """Two sentences and whether the first entails or contradicts the second, by split.

    Those made up say things of someone, in any order. The second says the same or something more
    general, but one thing may be the contrary, or another thing altogether.
    """
    sick, rng = folder("sick"), random.Random(seed)
    if sick is None:
        return {name: [_pair(rng) for _ in range(many)] for name, many in SIZES.items()}
    return {
        name: [
            ([*map(str.lower, a.words)], [*map(str.lower, b.words)], e.label)
            for e in split
            for a, b in [e.sentences]
        ]
        for name, split in Sick(sick).load().splits.items()
    }


KINDS = {  # general words and special ones
    "dog": ["poodle", "terrier"],
    "instrument": ["violin", "drum"],
    "tree": ["oak", "birch"],
    "food": ["soup", "bread"],
    "moving": ["running", "jumping"],
}
CONTRARY = [("indoors", "outdoors"), ("alone", "together"), ("quietly", "loudly")]


def _pair(rng: random.Random) -> Pair:
    label = rng.choice(["entailment", "neutral", "contradiction"])
    kinds = rng.sample(sorted(KINDS), 3)
    special = [rng.sample(KINDS[kind], 2) for kind in kinds]
    ways = [rng.sample(way, 2) for way in rng.sample(CONTRARY, 2)]
    first = [word for word, _ in special + ways]
    second = [rng.choice(both) for both in zip(first, kinds, strict=False)] + first[3:]
    if label == "neutral":
        second[0] = special[0][1]
    elif label == "contradiction":
        second[3] = ways[0][1]
    rng.shuffle(first)
    rng.shuffle(second)
    return first, second, label
