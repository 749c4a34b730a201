"""Runs cases by number: the call, the family, and the result."""

import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import torch

from tests.fuzz import batches, best, graphs, losses, refusals, sparse, sums
from tests.fuzz.attempt import RefusedError, snippet
from tests.fuzz.case import BrokenError, Case, draw_case
from tests.fuzz.families import FAMILIES
from tests.fuzz.values import pick

_EXAMPLES = 3  # shown of each kind of failure


@dataclass(frozen=True)
class Call:
    """A kind of check: its frequency, and whether it takes a temperature."""

    check: Callable[[Case], None]
    weight: float
    tempered: bool = False


CALLS: dict[str, Call] = {
    "map": Call(best.check_map, 14),
    "kbest": Call(best.check_kbest, 10),
    "sparsemap": Call(sparse.check_native, 26, True),
    "sparsemap-generic": Call(sparse.check_generic, 2, True),
    "sparsemap-gradient": Call(sparse.check_gradient, 8, True),
    "posterior": Call(sparse.check_posterior, 6, True),
    "marginals": Call(sums.check_sums, 8, True),
    "marginals-gradient": Call(sums.check_sums_gradient, 3, True),
    "log-prob": Call(sums.check_log_prob, 3, True),
    "samples": Call(sums.check_samples, 2, True),
    "kl": Call(sums.check_divergence, 2, True),
    "crf-loss": Call(losses.check_crf, 3),
    "hinge-loss": Call(losses.check_hinge, 3),
    "perceptron-loss": Call(losses.check_perceptron, 3),
    "sparsemap-loss": Call(losses.check_sparsemap, 3),
    "batch-posteriors": Call(batches.check_posteriors, 4, True),
    "batch-answers": Call(batches.check_answers, 3),
    "refusals": Call(refusals.check_refusals, 6),
    "caps": Call(refusals.check_caps, 0.5),
    "sample-matchings": Call(sums.check_matchings, 0.3, True),
}
_WEIGHTS = {name: call.weight for name, call in CALLS.items()} | {"lp-sparsemap": 0.15}
_SUMS = ("marginals", "marginals-gradient", "log-prob", "samples", "kl", "crf-loss")


@dataclass(frozen=True)
class Failure:
    """A failed check, and how to reproduce it."""

    family: str
    call: str
    kind: str
    case: int
    detail: str
    snippet: str


@dataclass
class Tally:
    """The results of some cases."""

    calls: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    failures: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str, str], list[Failure]] = field(default_factory=dict)

    def add(self, failure: Failure) -> None:
        key = (failure.call, failure.kind, failure.family)
        self.failures[key] += 1
        shown = self.examples.setdefault(key, [])
        if len(shown) < _EXAMPLES:
            shown.append(failure)

    def merge(self, other: "Tally") -> None:
        self.calls += other.calls
        self.refused += other.refused
        self.failures += other.failures
        for key, found in other.examples.items():
            self.examples[key] = (self.examples.get(key, []) + found)[:_EXAMPLES]

    def report(self, seed: int, examples: int = _EXAMPLES) -> str:
        total = sum(self.calls.values())
        lines = [
            f"{total} calls, {self.refused} refused as they should be, "
            f"{sum(self.failures.values())} failures of {len(self.failures)} kinds"
        ]
        for key, count in self.failures.most_common():
            call, kind, family = key
            lines.append(f"\n{count} x {call} of {family}: {kind}")
            for failure in self.examples[key][:examples]:
                lines.append(f"  python -m tests.fuzz --seed {seed} --case {failure.case}")
                lines.append(f"  {failure.detail[:300]}")
        return "\n".join(lines)


@cache
def _able(call: str) -> tuple[str, ...]:
    """The families that support the call; the others reject it."""
    if call in _SUMS:
        return tuple(name for name, family in FAMILIES.items() if family.summed)
    if call == "sample-matchings":
        return "matching", "matching-partial"
    if call == "kbest":
        return tuple(name for name, family in FAMILIES.items() if best.has_kbest(family))
    return tuple(FAMILIES)


def run_case(seed: int, number: int, tally: Tally) -> None:
    """Draw case `number` of `seed`, make the call and add its result to `tally`."""
    rng = np.random.default_rng([seed, number])
    call = pick(rng, _WEIGHTS)
    tally.calls[call] += 1
    if call == "lp-sparsemap":
        family, check = "graph", lambda: graphs.check_graph(rng)
        source = lambda: ""  # noqa: E731
    else:
        names = _able(call) if rng.random() < 0.97 else tuple(FAMILIES)
        family = names[rng.integers(len(names))]
        with np.errstate(all="ignore"):
            case = draw_case(rng, FAMILIES[family], tempered=CALLS[call].tempered)

        def check() -> None:
            try:
                CALLS[call].check(case)
            except RefusedError:
                case.check_untouched()
                raise
            case.check_untouched()

        def source() -> str:
            return snippet(case, call)

    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            check()
    except RefusedError:
        tally.refused += 1
    except BrokenError as broken:
        tally.add(Failure(family, call, broken.kind, number, str(broken), source()))
    except Exception as error:  # from the fuzzer or a lazy result
        kind = f"{type(error).__name__} where none should be"
        detail = "".join(traceback.format_exception(error)[-3:])
        tally.add(Failure(family, call, kind, number, detail, source()))


def run(seed: int, numbers: Iterable[int]) -> Tally:
    """Run cases one after the other, in one thread."""
    tally = Tally()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for number in numbers:
            run_case(seed, number, tally)
    finally:
        torch.set_num_threads(threads)
    return tally
