"""Generated list operations: expressions within limits, of exact depths, or of given lengths."""

from collections.abc import Callable
from random import Random

from sparsewood.lab.data._draws import below, digit, operator
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.listops import CLOSE, Tokens, example_of
from sparsewood.lab.data.listops_lengths import ExactLength
from sparsewood.lab.data.listops_parameters import SPLITS, ListOpsParameters

_PATIENCE = 20_000  # consecutive draws without a new expression before giving up

Draw = Callable[[], Tokens | None]  # one expression; None if its length is not allowed


def generate_splits(parameters: ListOpsParameters) -> dict[str, list[Example]]:
    """The splits "train", "validation", "test" and further ones by length, as `bins` has them.

    Examples have values as labels and gold heads. All expressions are distinct, over all splits. As
    in the published data, they are drawn from the outermost operator inwards, those outside the
    limits of length are discarded, and they are shuffled before they are split. The outermost token
    is always an operator; the published generator also draws single digits.

    Raises:
        ValueError: if the limits allow too few expressions.
    """
    random = Random(parameters.split_seed)
    sizes = {name: getattr(parameters, name) for name in SPLITS}
    exact = _ExactDepth(parameters, random)
    # The draws, and the number of each per split.
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
        # Short expressions tend to be drawn early.
        expressions.sort(key=lambda _: random.random())
        for name, count in counts.items():
            splits[name] += expressions[:count]
            del expressions[:count]
    if len(parts) > 1:
        for split in splits.values():
            split.sort(key=lambda _: random.random())
    splits |= _long_splits(parameters, found)
    return {name: [example_of(tokens) for tokens in split] for name, split in splits.items()}


def _long_splits(parameters: ListOpsParameters, found: set[Tokens]) -> dict[str, list[Tokens]]:
    """The splits of `bins`; the same for any number of training expressions."""
    if not parameters.test_lengths:
        return {}
    exact = ExactLength(parameters, Random(parameters.split_seed))
    return {
        name: _draw_distinct(
            lambda low=low, high=high: exact.draw(low, high),
            parameters.test_per_length,
            found,
            parameters,
        )
        for name, (low, high) in parameters.bins.items()
    }


def _shares(total: int, count: int) -> list[int]:
    """`total` as a sum of `count` almost equal numbers, the larger ones first."""
    return [total // count + (i < total % count) for i in range(count)]


def _draw_distinct(
    draw: Draw, count: int, found: set[Tokens], parameters: ListOpsParameters
) -> list[Tokens]:
    """Draw `count` expressions that are not in `found`, and add them to it."""
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
                f"row had no new one within {parameters}; widen the limits or request fewer"
            )
    return new


def _draw(parameters: ListOpsParameters, random: Random) -> Tokens | None:
    """Draw an expression from the outermost operator inwards; None if its length is not allowed."""
    tokens: list[str] = []
    missing: list[int] = []  # number of missing arguments of each open operator
    while True:
        depth = len(missing) + 1
        if depth == 1 or (
            depth < parameters.max_depth and random.random() < parameters.operator_probability
        ):
            tokens.append(operator(parameters, random))
            spread = parameters.max_arguments - parameters.min_arguments
            missing.append(parameters.min_arguments + below(spread + 1, random))
        else:
            tokens.append(digit(random))
        while missing and missing[-1] == 0:
            tokens.append(CLOSE)
            missing.pop()
        if len(tokens) > parameters.max_length:
            return None
        if not missing:
            return tuple(tokens) if len(tokens) >= parameters.min_length else None
        missing[-1] -= 1


class _ExactDepth:
    """Draws expressions of a given depth with the distribution of `_draw`, without rejection.

    An argument has a depth of at most d with probability `a_d`: a digit, of depth 0, or an operator
    whose K arguments all have a depth of at most d - 1, `a_d = 1 - p + p E[a_{d-1}^K]`. So an
    operator of depth d has k arguments with a probability proportional to `a_{d-1}^k - a_{d-2}^k`,
    and likewise for the first of them with depth d - 1.
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
        """Draw an expression of this depth; None if its length is not allowed."""
        tokens: list[str] = []
        self._add_operator(tokens, depth, exactly=True)
        shortest = 1 if depth == 1 else self.parameters.min_length
        return tuple(tokens) if shortest <= len(tokens) <= self.parameters.max_length else None

    def _add_operator(self, tokens: list[str], depth: int, *, exactly: bool) -> None:
        """Add an operator of this depth, or of at most this depth, unless the expression is too
        long.
        """
        tokens.append(operator(self.parameters, self.random))
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
        share = self.at_most[0] / self.at_most[depth]  # of digits among those of at most this depth
        if depth == 0 or (not exactly and self.random.random() < share):
            tokens.append(digit(self.random))
        else:
            self._add_operator(tokens, depth, exactly=exactly)

    def _pick(self, weights: list[float]) -> int:
        """A random index with probabilities proportional to the weights."""
        left = self.random.random() * sum(weights)
        for i, weight in enumerate(weights[:-1]):
            if left < weight:
                return i
            left -= weight
        return len(weights) - 1
