"""List operations of given lengths, drawn without discarding any."""

from random import Random
from typing import cast

import numpy
from numpy.typing import NDArray

from sparsewood.lab.data._draws import below, digit, operator
from sparsewood.lab.data.listops import CLOSE, Tokens
from sparsewood.lab.data.listops_parameters import ListOpsParameters

_Weights = NDArray[numpy.float64]  # (tokens + 1,) of what has so many tokens
_HALVINGS = 60  # of the interval in which the tilt is looked for


class ExactLength:
    """Draws expressions of n tokens as if all others were discarded, in one go.

    With r levels of operators allowed, an argument has n tokens with probability

        a_r[1] = 1 - p,    a_r[n] = p mean_k a_{r-1}^{*k}[n - 2]    (a_0[1] = 1)

    the power being a convolution of k arguments. From these tables follow the number of arguments
    of an operator of n tokens, and how many tokens each has. Expressions of n tokens keep their
    shares if `a_r[n]` is multiplied by x^n; x is such that the mean length is the largest one
    asked for, and no table underflows.

    Args:
        parameters: depths and limits of length are not regarded, `max_depth` is.
        random: of the draws.

    Raises:
        ValueError: if no expression is as long as the longest of `test_lengths`.
    """

    def __init__(self, parameters: ListOpsParameters, random: Random) -> None:
        self.parameters, self.random = parameters, random
        self.longest = parameters.test_lengths[-1]
        self.counts = range(parameters.min_arguments, parameters.max_arguments + 1)
        self.levels = min(parameters.max_depth - 1, self.longest)
        tilt = self._tilt()
        one = numpy.zeros(self.longest + 1)
        one[0] = 1.0
        argument = numpy.zeros_like(one)
        argument[1] = tilt
        chance = parameters.operator_probability
        whole = one
        # tables[r][k]: of k arguments with r levels of operators.
        self.tables: list[list[_Weights]] = []
        for _ in range(self.levels):
            self.tables.append([one, argument])
            for _ in range(parameters.max_arguments - 1):
                more = numpy.convolve(self.tables[-1][-1], argument)[: len(one)]
                self.tables[-1].append(more)
            mean = sum(self.tables[-1][k] for k in self.counts) / len(self.counts)
            whole = numpy.concatenate([[0.0, 0.0], cast(_Weights, mean)[:-2] * tilt**2])
            argument = chance * whole
            argument[1] = (1 - chance) * tilt
        self.possible = numpy.greater(whole, 0)

    def draw(self, low: int, high: int) -> Tokens:
        """An expression of `low` to `high` tokens, each length being as likely as the others.

        Raises:
            ValueError: if no expression is of such a length.
        """
        lengths = numpy.flatnonzero(self.possible[low : high + 1]) + low
        if not len(lengths):
            raise ValueError(f"no expression of {low} to {high} tokens within {self.parameters}")
        tokens: list[str] = []
        # What is still to be written, the next on top: arguments of n tokens, with r levels.
        ahead = [(self.levels, int(lengths[below(len(lengths), self.random)]))]
        while ahead:
            levels, size = ahead.pop()
            if size <= 1:
                tokens.append(digit(self.random) if size else CLOSE)
                continue
            tokens.append(operator(self.parameters, self.random))
            sizes = self._sizes(self.tables[levels - 1], size - 2)
            ahead += [(0, 0), *((levels - 1, n) for n in reversed(sizes))]
        return tuple(tokens)

    def _sizes(self, tables: list[_Weights], total: int) -> list[int]:
        """How many tokens each argument of an operator has, `total` in all."""
        weights = numpy.array([tables[k][total] for k in self.counts])
        left = self.counts[self._pick(weights)]
        sizes: list[int] = []
        while left > 1:
            left -= 1
            # The next argument has 1, 2, ... tokens, the others the rest.
            weights = tables[1][1:total] * tables[left][total - 1 : 0 : -1]
            sizes.append(1 + self._pick(weights))
            total -= sizes[-1]
        return [*sizes, total]

    def _pick(self, weights: _Weights) -> int:
        """An index, drawn in proportion to the weights."""
        sums = weights.cumsum()
        return int(sums.searchsorted(self.random.random() * sums[-1], side="right"))

    def _tilt(self) -> float:
        """The x at which expressions have `longest` tokens in the mean, or nearly so."""
        low, high = -20.0, 20.0  # of log x
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._mean(numpy.exp(middle)) < self.longest:
                low = middle
            else:
                high = middle
        return float(numpy.exp(low))

    def _mean(self, x: float) -> float:
        """The mean length at this tilt; infinite where it is beyond all numbers."""
        chance = self.parameters.operator_probability
        f, slope = x, x  # the sum of the weights, and its derivative by log x
        whole = change = 0.0
        with numpy.errstate(over="ignore", invalid="ignore"):
            for _ in range(self.levels):
                powers = [numpy.float64(f) ** (k - 1) for k in self.counts]
                whole = x**2 * f * sum(powers) / len(powers)
                inner = sum(k * p for k, p in zip(self.counts, powers, strict=True)) / len(powers)
                change = 2 * whole + x**2 * inner * slope
                f = (1 - chance) * x + chance * whole
                slope = (1 - chance) * x + chance * change
            mean = change / whole
        return float(mean) if numpy.isfinite(mean) else float("inf")
