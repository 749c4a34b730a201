"""The number of sentences with a certificate, in results and in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sparsewood.status import Status


@dataclass(frozen=True)
class Certificates:
    """The certificates of a split's posteriors over trees.

    Attributes:
        certified: sentences whose duality gap certifies their posterior.
        sentences: all sentences.
        capped: sentences without a certificate because of a cap or a limit of the solver; the
            others without one are stalled. None if unknown.
    """

    certified: int
    sentences: int
    capped: int | None = None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Certificates | None":
        """The certificates in the metrics of a split; None if there are none."""
        histogram, missing = values.get("histogram"), values.get("unconverged")
        if not isinstance(histogram, Mapping) or not isinstance(missing, int | float):
            return None
        sentences = sum(int(n) for n in histogram.values())
        capped = values.get("capped")
        return cls(sentences - int(missing), sentences, None if capped is None else int(capped))

    @classmethod
    def total(cls, several: Iterable["Certificates | None"]) -> "Certificates | None":
        """The sum over splits or seeds; None if there are none."""
        known = [one for one in several if one is not None]
        if not known:
            return None
        capped = [one.capped for one in known if one.capped is not None]
        return cls(
            sum(one.certified for one in known),
            sum(one.sentences for one in known),
            sum(capped) if len(capped) == len(known) else None,
        )

    @property
    def percent(self) -> float:
        """The percentage of certified sentences."""
        return 100.0 * self.certified / self.sentences if self.sentences else 100.0

    @property
    def others(self) -> str:
        """The statuses of the others, "2 capped, 1 stalled"; empty if unknown."""
        if self.capped is None:
            return ""
        stalled = self.sentences - self.certified - self.capped
        counts = ((self.capped, Status.CAPPED), (stalled, Status.STALLED))
        return ", ".join(f"{count:,} {status}" for count, status in counts if count)

    def __str__(self) -> str:
        told = f"certified {self.certified:,} of {self.sentences:,}"
        return f"{told}, {self.others}" if self.others else told
