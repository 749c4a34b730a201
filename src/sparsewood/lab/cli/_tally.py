"""The summary after the last sentence: certified sentences and unknown words."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparsewood.lab.tasks import Certificates


@dataclass
class Tally:
    """Counts over the sentences that a model has answered.

    Attributes:
        certified, capped, sentences: see `Certificates`; only sentences that are solved for count.
        unknown, words: number of unknown words, and of all words.
    """

    certified: int = 0
    capped: int = 0
    sentences: int = 0
    unknown: int = 0
    words: int = 0

    def add(self, sides: Sequence[Mapping[str, Any]]) -> None:
        """Add the sides of an answer, as returned by `sides_of`."""
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
            sys.stdout.flush()  # so that earlier output comes first
            print("; ".join(told), file=sys.stderr)
