"""Significance tests of differences between rows of a table."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray

from sparsewood.lab.run.folder import Run
from sparsewood.lab.run.outcomes import Outcomes
from sparsewood.lab.tasks.measures import Measure

Table = NDArray[numpy.float64]

_DRAWS = 10_000
_AT_ONCE = 2**21  # items drawn at a time
_LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """The comparison of a row with another.

    Attributes:
        difference: difference of the means over seeds and items, ours minus theirs.
        low, high: its 95 % interval.
        p: two-sided p value.
        seeds: number of common seeds.
        items: number of items of the test.
    """

    difference: float
    low: float
    high: float
    p: float
    seeds: int
    items: int

    def text(self, measure: Measure) -> str:
        """The difference in this measure and its interval: "+1.23 [+0.40, +2.05]"."""
        value, low, high = (measure.text(x, "+") for x in (self.difference, self.low, self.high))
        return f"{value} [{low}, {high}]"


def how(comparisons: Iterable[Comparison]) -> str:
    """The explanation of the texts of comparisons."""
    seeds = {comparison.seeds for comparison in comparisons}
    drawn = "seeds and test items"
    if seeds == {1}:
        drawn = "test items alone (one seed; variation between seeds not assessed)"
    elif 1 in seeds:
        drawn += " (with one seed, over test items alone)"
    return (
        "the difference over the seeds that both have and its 95 % interval, by bootstrap over "
        f"{drawn}"
    )


def compare(ours: Table, theirs: Table) -> Comparison:
    """Compare outcomes of the same seeds on the same items by a paired two-level bootstrap.

    With d[s, i] = ours[s, i] - theirs[s, i], the difference is the mean of d. A replicate draws S
    of the S seeds and, independently, n of the n items, both with replacement, and is the mean of d
    over the drawn seeds and items: seeds stay paired, and all seeds use the same items. There are
    10,000 replicates with a fixed random seed. With one seed only items are drawn, and variation
    between seeds is not assessed.

    The interval contains the middle 95 % of the replicates. p is twice the share of replicates on
    the other side of 0 or on it, with 1 added to both counts (Davison & Hinkley 1997, section 4.2),
    so that p < 0.05 if the interval excludes 0. For a mean this is, up to skewness, the shifted
    test of Berg-Kirkpatrick, Burkett & Klein (2012), two-sided; Dror et al. (2018) compare it with
    others.

    Variation by both seed and item counts on both levels, so the test is conservative if seeds vary
    little (Owen 2007, "The pigeonhole bootstrap"). If they vary more than items, it is not: other
    seeds are unknown, and S differences have the same sign by chance with probability 2^-(S - 1),
    1/4 for 3 seeds and 1/16 for 5.

    Args:
        ours: (S, n) the outcome of each seed on each item.
        theirs: (S, n) the same, for the same seeds and items in the same order.

    Raises:
        ValueError: on other shapes.
    """
    if ours.shape != theirs.shape or ours.ndim != 2 or not ours.size:
        raise ValueError(
            f"compare: expected outcomes (seeds, items) twice, got {ours.shape} and {theirs.shape}"
        )
    gains = ours - theirs
    drawn = numpy.concatenate(list(_replicates(gains)))
    low, high = numpy.quantile(drawn, (_LEVEL / 2, 1 - _LEVEL / 2)).tolist()
    beyond = min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))
    p = min(1.0, 2 * (beyond + 1) / (_DRAWS + 1))
    return Comparison(float(gains.mean()), low, high, p, *gains.shape)


def _replicates(gains: Table) -> Iterator[Table]:
    """The means of (S, n) gains over drawn seeds and items, some replicates at a time."""
    seeds, n = gains.shape
    generator = numpy.random.default_rng(0)
    at_once = max(1, _AT_ONCE // n)
    for start in range(0, _DRAWS, at_once):
        k = min(at_once, _DRAWS - start)
        items = generator.integers(n, size=(k, n)) + n * numpy.arange(k)[:, None]
        times = numpy.bincount(items.ravel(), minlength=k * n).reshape(k, n)
        # Sums, not means: sums of correct and wrong answers are exact, so that 0 is exact.
        totals = times.astype(numpy.float64) @ gains.T
        rows = generator.integers(seeds, size=(k, seeds))
        yield numpy.take_along_axis(totals, rows, 1).sum(1) / gains.size


def compare_runs(ours: Sequence[Run], theirs: Sequence[Run]) -> dict[str, Comparison]:
    """The comparison on each test, or on validation if there are no tests.

    Runs are paired by seed. A pair counts if both runs have saved their outcomes on the same items;
    a test without such a pair is left out.
    """
    others = {run.seed: run for run in theirs}
    pairs = [(run, others[run.seed]) for run in ours if run.seed in others]
    splits = dict.fromkeys(name for run, _ in pairs for name in run.outcomes)
    tests = [name for name in splits if name != "validation"] or list(splits)
    found: dict[str, Comparison] = {}
    for test in tests:
        paired = _on_the_same_items(pairs, test)
        if paired:
            a, b = (numpy.stack([o.values for o in row]) for row in zip(*paired, strict=True))
            found[test] = compare(a, b)
    return found


def _on_the_same_items(
    pairs: Sequence[tuple[Run, Run]], split: str
) -> list[tuple[Outcomes, Outcomes]]:
    paired: list[tuple[Outcomes, Outcomes]] = []
    for run, other in pairs:
        a, b = (one.outcomes.get(split) for one in (run, other))
        if a is None or b is None:
            continue
        first = paired[0][0] if paired else a
        if a.items == b.items == first.items:
            paired.append((a, b))
    return paired
