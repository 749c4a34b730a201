"""Definitions for a reverse dictionary: training, validation and test splits, and candidates.

Hill et al. (2016), "Learning to Understand Phrases by Embedding the Dictionary".
"""

import json
import random
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sparsewood.lab.data._lines import fault, full_lines, sentence, surrogate_problem
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.text import tokenize
from sparsewood.lab.data.wordnet import Definition

TESTS = {
    "seen": "data_test_500_rand1_seen.json",
    "unseen": "data_test_500_rand1_unseen.json",
    "concepts": "data_desc_c.json",
}
SHORTLIST = "output_shortlist.txt"
_VALIDATION = 1000  # maximum number of definitions; at most a tenth of all
_HELD_OUT = 500  # number of words or definitions of each drawn test
_HYPHEN = re.compile(r"(?<=[^\W\d_])(-)(?=[^\W\d_])")


def definition_words(text: str) -> tuple[str, ...]:
    """The words of a definition, compounds split at their hyphens: "self - made man".

    The tests of Hill et al. are in this form, and few compounds have their own vector.
    """
    return tuple(part for word in tokenize(text) for part in _HYPHEN.split(word))


def read_definitions(path: Path) -> list[Definition]:
    """The definitions of a file of `lemma,lemma,...<TAB>definition<TAB>part of speech`.

    Only lemmas of one word are kept.

    Raises:
        ValueError: at a malformed line.
    """
    definitions = []
    for number, line in full_lines(path):
        columns = line.split("\t")
        if len(columns) != 3 or not all(map(str.strip, columns)):
            fault(path, number, "expected lemmas, definition and part of speech separated by tabs")
        lemmas = tuple(w for w in columns[0].split(",") if w and not set(w) & {" ", "_"})
        if lemmas:
            definitions.append(Definition(lemmas, columns[1].strip(), columns[2]))
    return definitions


def read_test(path: Path, lowercase: bool = True) -> list[Example]:
    """The examples of a JSON list of objects with `word` and `definitions`, a text."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not readable as JSON ({error})") from error
    if not isinstance(rows, list):
        raise ValueError(f"{path}: expected a list, got {type(rows).__name__}")
    for number, row in enumerate(rows):
        if problem := surrogate_problem(row):
            raise ValueError(f"{path}: entry {number}: {problem}")
    examples = []
    for number, row in enumerate(rows):
        word = row.get("word") if isinstance(row, dict) else None
        text = row.get("definitions") if isinstance(row, dict) else None
        if not isinstance(word, str) or not isinstance(text, str) or not text.strip():
            raise ValueError(f"{path}: entry {number}: expected `word` and `definitions`, texts")
        words = sentence(text, f"{path}: entry", number, definition_words)
        examples.append(Example((words,), word.lower() if lowercase else word))
    return examples


@dataclass(frozen=True)
class Dictionary:
    """Definitions and the options of their splits.

    Attributes:
        definitions: all definitions.
        tests: descriptions and their words, by test; if empty, tests are drawn.
        shortlist: the candidates; if empty, all defined words.
        lowercase: convert words to lower case.
        seed: seed of the splits.
    """

    definitions: Sequence[Definition]
    tests: dict[str, list[Example]] = field(default_factory=dict)
    shortlist: Sequence[str] = ()
    lowercase: bool = True
    seed: int = 0

    def candidates(self) -> list[str]:
        """The shortlist, or all defined words."""
        words = self.shortlist or (w for d in self.definitions for w in d.lemmas)
        return sorted(set(map(self._word, words)))

    def corpus(self, candidates: Iterable[str]) -> Corpus:
        """The corpus.

        The test "unseen" has words without any definition in training; the test "seen" has training
        definitions. Tests that are not given are drawn: "unseen" then has all definitions of some
        hundreds of words and "seen" some hundreds of training definitions. There is one example per
        candidate that a definition defines. Some training definitions, of words not in the test
        "seen", are held out for validation.

        Args:
            candidates: the candidates; the words of given tests are added.
        """
        draw = random.Random(self.seed)
        answers = dict.fromkeys(candidates)
        if self.tests:
            answers |= dict.fromkeys(e.label for test in self.tests.values() for e in test)
            unseen = {example.label for example in self.tests.get("unseen", ())}
        else:
            unseen = set(draw.sample(list(answers), min(_HELD_OUT, len(answers) // 10)))
        kept = [d for d in self._without(unseen) if any(w in answers for w in self._words(d))]
        tests = self.tests
        if not tests:
            seen = draw.sample(kept, min(_HELD_OUT, len(kept) // 10))
            tests = {
                "seen": [self._examples(definition, answers)[0] for definition in seen],
                "unseen": [e for d in self.definitions for e in self._examples(d, unseen)],
            }
        splits = self._training(kept, {e.label for e in tests.get("seen", ())}, answers, draw)
        return Corpus("revdict", splits | tests, tuple(answers))

    def _training(
        self,
        kept: Sequence[Definition],
        seen: Collection[str],
        answers: Collection[str],
        draw: random.Random,
    ) -> dict[str, list[Example]]:
        """Training and validation examples; all definitions of words in `seen` are in training."""
        free = [i for i, d in enumerate(kept) if not any(w in seen for w in self._words(d))]
        held_out = set(draw.sample(free, min(_VALIDATION, len(kept) // 10, len(free))))
        splits: dict[str, list[Example]] = {"train": [], "validation": []}
        for i, definition in enumerate(kept):
            name = "validation" if i in held_out else "train"
            splits[name] += self._examples(definition, answers)
        return splits

    def _without(self, words: set[str]) -> list[Definition]:
        """The definitions whose text defines none of `words`."""
        texts = {d.text for d in self.definitions if not words.isdisjoint(self._words(d))}
        return [d for d in self.definitions if d.text not in texts]

    def _examples(self, definition: Definition, words: Collection[str]) -> list[Example]:
        """One example per word of the definition that is in `words`."""
        targets = [word for word in self._words(definition) if word in words]
        text = Sentence(definition_words(definition.text)) if targets else None
        return [Example((text,), target) for target in targets if text]

    def _words(self, definition: Definition) -> list[str]:
        return list(dict.fromkeys(map(self._word, definition.lemmas)))

    def _word(self, word: str) -> str:
        return word.lower() if self.lowercase else word


def read_dictionary(folder: Path, *, lowercase: bool = True, seed: int = 0) -> Dictionary:
    """The dictionary of a folder with one file `*definitions.tsv`, tests and a shortlist.

    Raises:
        ValueError: if there is not exactly one file of definitions; or at the first malformed line.
    """
    files = sorted(folder.glob("*definitions.tsv"))
    if len(files) != 1:
        raise ValueError(
            f"{folder}: expected data.noun, data.verb, data.adj and data.adv of WordNet, or one "
            f"file *definitions.tsv, got {len(files)} of these"
        )
    paths = {name: folder / file for name, file in TESTS.items()}
    tests = {name: read_test(path, lowercase) for name, path in paths.items() if path.is_file()}
    path = folder / SHORTLIST
    shortlist = [line.strip() for _, line in full_lines(path)] if path.is_file() else []
    return Dictionary(read_definitions(files[0]), tests, shortlist, lowercase, seed)
