"""What is said after the last sentence: how many are certified, how many words are unknown."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparsewood.lab.tasks import Certificates


@dataclass
class Tally:
    """Sums over the sentences that a model was asked about.

    Attributes:
        certified, capped, sentences: see `Certificates`; of those that are solved for.
        unknown, words: how many words the model knows nothing of, and all.
    """

    certified: int = 0
    capped: int = 0
    sentences: int = 0
    unknown: int = 0
    words: int = 0

    def add(self, sides: Sequence[Mapping[str, Any]]) -> None:
        """Take the sides of an answer, as `sides_of` gives them, into account."""
        for side in sides:
            self.sentences += "status" in side
            self.certified += side.get("status") == "solved"
            self.capped += side.get("status") == "capped"
            self.words += len(side["words"])
            self.unknown += len(side["unknown"])

    def tell(self) -> None:
        """Print the line, on standard error."""
        told = []
        if self.sentences:
            told.append(str(Certificates(self.certified, self.sentences, self.capped)))
        if self.unknown:
            share = self.unknown / self.words
            told.append(f"unknown words {self.unknown:,} of {self.words:,} ({share:.1%})")
        if told:
            sys.stdout.flush()  # what was printed stands before it
            print("; ".join(told), file=sys.stderr)
