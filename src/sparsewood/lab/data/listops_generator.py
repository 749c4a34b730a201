"""Generated list operations: expressions within limits, or of exact depths."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from sparsewood.lab._checks import check
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.listops import CLOSE, DIGITS, OPERATORS, example_of

SPLITS = ("train", "validation", "test")
_PATIENCE = 20_000  # draws in a row without a new expression before the limits are to blame

Tokens = tuple[str, ...]
Draw = Callable[[], Tokens | None]  # one expression; None if its length is not allowed


@dataclass(frozen=True)
class ListOpsParameters:
    """What is generated. Depth, arguments and probability are those of the published data.

    Attributes:
        train: expressions of the training split.
        validation: of the validation split.
        test: of the test split.
        operators: those that are drawn, among MIN, MAX, MED, SM, FIRST, LAST and PM.
        max_depth: levels of an expression; those at the last are digits.
        depths: every split has as many expressions of each of these depths, and no others. They
            are levels of operators alone: `[MAX 2 9 ]` has depth 1, and two levels for `max_depth`.
        depth_1_share: so many more training expressions have depth 1, as a share of `train`.
        min_arguments: the fewest arguments of an operator.
        max_arguments: the most arguments of an operator.
        operator_probability: that an argument is an operator and not a digit.
        min_length: the fewest tokens of an expression; not of those that are to have depth 1.
        max_length: the most tokens of an expression.
        split_seed: of all draws.
    """

    train: int = 20_000
    validation: int = 2_000
    test: int = 2_000
    operators: tuple[str, ...] = ("MIN", "MAX", "MED", "SM")
    max_depth: int = 20
    depths: tuple[int, ...] = ()
    depth_1_share: float = 0.0
    min_arguments: int = 2
    max_arguments: int = 5
    operator_probability: float = 0.25
    min_length: int = 1
    max_length: int = 100
    split_seed: int = 0

    def __post_init__(self) -> None:
        known = [name.removeprefix("[") for name in OPERATORS]
        names, depths, chance = self.operators, self.depths, self.operator_probability
        shortest = self.min_arguments + 2
        longest = f"at least min_length ({self.min_length}) and the {shortest} tokens of the "
        exact = max((*depths, int(self.depth_1_share > 0)))  # the deepest
        check(
            "listops",
            self,
            *((name, getattr(self, name) >= 0, "at least 0") for name in SPLITS),
            ("operators", bool(names), "at least one"),
            ("operators", set(names) <= set(known), f"some of {', '.join(known)}"),
            ("operators", len(set(names)) == len(names), "each once"),
            ("max_depth", self.max_depth >= 2, "at least 2"),
            ("depths", min(depths, default=1) >= 1, "numbers of at least 1"),
            ("depths", len(set(depths)) == len(depths), "each once"),
            ("depths", exact < self.max_depth, f"less than max_depth ({self.max_depth})"),
            ("depth_1_share", 0 <= self.depth_1_share < float("inf"), "at least 0"),
            ("min_arguments", self.min_arguments >= 1, "at least 1"),
            ("max_arguments", self.max_arguments >= self.min_arguments, "at least min_arguments"),
            ("operator_probability", 0 <= chance <= 1, "0 to 1"),
            ("operator_probability", not exact or chance < 1, "less than 1, for exact depths"),
            ("operator_probability", exact < 2 or chance > 0, "more than 0, for such depths"),
            ("max_length", self.max_length >= shortest, f"{longest}shortest expression"),
            ("max_length", self.max_length >= self.min_length, f"{longest}shortest expression"),
        )


def generate_splits(parameters: ListOpsParameters) -> dict[str, list[Example]]:
    """The splits "train", "validation" and "test", with values as labels and gold heads.

    All expressions are distinct, over all splits. As in the published data they are drawn from the
    outermost operator inwards, those outside the limits of length discarded, and shuffled before
    they are split. The outermost is always an operator; the published generator also draws lone
    digits.

    Raises:
        ValueError: if the limits allow too few expressions.
    """
    random = Random(parameters.split_seed)
    sizes = {name: getattr(parameters, name) for name in SPLITS}
    exact = _ExactDepth(parameters, random)
    # What is drawn, and how many of it each split gets.
    parts: list[tuple[Draw, dict[str, int]]] = [(lambda: _draw(parameters, random), sizes)]
    if depths := parameters.depths:
        shares = {name: _shares(size, len(depths)) for name, size in sizes.items()}
        parts = [
            (lambda depth=depth: exact.draw(depth), {name: s[i] for name, s in shares.items()})
            for i, depth in enumerate(depths)
        ]
    if more := round(parameters.depth_1_share * parameters.train):
        parts.append((lambda: exact.draw(1), {"train": more}))
    found: set[Tokens] = set()
    splits: dict[str, list[Tokens]] = {name: [] for name in SPLITS}
    for draw, counts in parts:
        expressions = _draw_distinct(draw, sum(counts.values()), found, parameters)
        # The short ones tend to be drawn early.
        expressions.sort(key=lambda _: random.random())
        for name, count in counts.items():
            splits[name] += expressions[:count]
            del expressions[:count]
    if len(parts) > 1:
        for split in splits.values():
            split.sort(key=lambda _: random.random())
    return {name: [example_of(tokens) for tokens in split] for name, split in splits.items()}


def _shares(total: int, count: int) -> list[int]:
    """`total` in `count` numbers that are as equal as can be, the larger ones first."""
    return [total // count + (i < total % count) for i in range(count)]


def _draw_distinct(
    draw: Draw, count: int, found: set[Tokens], parameters: ListOpsParameters
) -> list[Tokens]:
    """`count` expressions that are not among those `found`; they are added to these."""
    new: list[Tokens] = []
    in_vain = 0
    while len(new) < count:
        tokens = draw()
        if tokens is not None and tokens not in found:
            new.append(tokens)
            found.add(tokens)
            in_vain = 0
            continue
        in_vain += 1
        if in_vain == _PATIENCE:
            raise ValueError(
                f"found only {len(new)} of {count} distinct expressions: {_PATIENCE} draws in a "
                f"row brought no new one within {parameters}; widen the limits or ask for fewer"
            )
    return new


def _draw(parameters: ListOpsParameters, random: Random) -> Tokens | None:
    """One expression from the outermost operator inwards; None if its length is not allowed."""
    tokens: list[str] = []
    missing: list[int] = []  # arguments to come of each operator that is open
    while True:
        depth = len(missing) + 1
        if depth == 1 or (
            depth < parameters.max_depth and random.random() < parameters.operator_probability
        ):
            tokens.append(_operator(parameters, random))
            spread = parameters.max_arguments - parameters.min_arguments
            missing.append(parameters.min_arguments + _below(spread + 1, random))
        else:
            tokens.append(DIGITS[_below(10, random)])
        while missing and missing[-1] == 0:
            tokens.append(CLOSE)
            missing.pop()
        if len(tokens) > parameters.max_length:
            return None
        if not missing:
            return tuple(tokens) if len(tokens) >= parameters.min_length else None
        missing[-1] -= 1


class _ExactDepth:
    """Draws expressions of a depth as `_draw` does if all others are discarded, in one go.

    An argument has depth d at most with probability `a_d`: a digit, of depth 0, or an operator all
    of whose K arguments have depth d - 1 at most, `a_d = 1 - p + p E[a_{d-1}^K]`. So an operator of
    depth d has k arguments with a probability as `a_{d-1}^k - a_{d-2}^k`, and which of them is the
    first to have depth d - 1 follows likewise.
    """

    def __init__(self, parameters: ListOpsParameters, random: Random) -> None:
        self.parameters, self.random = parameters, random
        self.counts = range(parameters.min_arguments, parameters.max_arguments + 1)
        chance = parameters.operator_probability
        self.at_most = [1 - chance]
        for _ in range(max(parameters.depths, default=1)):
            mean = sum(self.at_most[-1] ** k for k in self.counts) / len(self.counts)
            self.at_most.append(1 - chance + chance * mean)

    def draw(self, depth: int) -> Tokens | None:
        """One expression of this depth; None if its length is not allowed."""
        tokens: list[str] = []
        self._add_operator(tokens, depth, exactly=True)
        shortest = 1 if depth == 1 else self.parameters.min_length
        return tuple(tokens) if shortest <= len(tokens) <= self.parameters.max_length else None

    def _add_operator(self, tokens: list[str], depth: int, *, exactly: bool) -> None:
        """An operator of this depth, or of at most it, unless the expression is too long."""
        tokens.append(_operator(self.parameters, self.random))
        high = self.at_most[depth - 1]
        low = self.at_most[depth - 2] if exactly and depth > 1 else 0.0
        count = self.counts[self._pick([high**k - low**k for k in self.counts])]
        for left in reversed(range(count)):
            if len(tokens) > self.parameters.max_length:
                return
            if not exactly:
                self._add_argument(tokens, depth - 1, exactly=False)
            elif self._pick([(high - low) * high**left, low * (high**left - low**left)]) == 0:
                self._add_argument(tokens, depth - 1, exactly=True)
                exactly = False
            else:
                self._add_argument(tokens, depth - 2, exactly=False)
        tokens.append(CLOSE)

    def _add_argument(self, tokens: list[str], depth: int, *, exactly: bool) -> None:
        digit = self.at_most[0] / self.at_most[depth]  # of those of at most this depth
        if depth == 0 or (not exactly and self.random.random() < digit):
            tokens.append(DIGITS[_below(10, self.random)])
        else:
            self._add_operator(tokens, depth, exactly=exactly)

    def _pick(self, weights: list[float]) -> int:
        """An index, drawn in proportion to the weights."""
        left = self.random.random() * sum(weights)
        for i, weight in enumerate(weights[:-1]):
            if left < weight:
                return i
            left -= weight
        return len(weights) - 1


def _operator(parameters: ListOpsParameters, random: Random) -> str:
    return f"[{parameters.operators[_below(len(parameters.operators), random)]}"


def _below(n: int, random: Random) -> int:
    """An integer from 0 to n - 1. Only `Random.random` draws the same on every Python."""
    return int(random.random() * n)
