"""The parameters of generated list operations: number, depth, length."""

from dataclasses import dataclass
from itertools import pairwise

from sparsewood.lab._checks import check
from sparsewood.lab.data.listops import OPERATORS

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class ListOpsParameters:
    """Parameters of the generator. Depth, arguments and probability default to the published data.

    Attributes:
        train: number of training expressions.
        validation: number of validation expressions.
        test: number of test expressions.
        operators: operators to draw, among MIN, MAX, MED, SM, FIRST, LAST and PM.
        max_depth: maximum levels of an expression; the last level has only digits.
        depths: depths of expressions; every split has equally many of each. Only operators count:
            `[MAX 2 9 ]` has depth 1, but two levels for `max_depth`.
        depth_1_share: additional training expressions of depth 1, as a share of `train`.
        min_arguments: minimum arguments of an operator.
        max_arguments: maximum arguments of an operator.
        operator_probability: probability that an argument is an operator, not a digit.
        min_length: minimum tokens of an expression. It does not apply to `depth_1_share`.
        max_length: maximum tokens of an expression.
        test_lengths: greatest lengths of further tests, of longer expressions. "80 120" adds a test
            of max_length + 1 to 80 tokens and one of 81 to 120, named by these lengths; `depths`
            does not apply to them.
        test_per_length: number of expressions in each of these tests.
        split_seed: seed of all draws.
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
    test_lengths: tuple[int, ...] = ()
    test_per_length: int = 300
    split_seed: int = 0

    def __post_init__(self) -> None:
        known = [name.removeprefix("[") for name in OPERATORS]
        names, depths, chance = self.operators, self.depths, self.operator_probability
        shortest = self.min_arguments + 2
        longest = f"at least min_length ({self.min_length}) and the {shortest} tokens of the "
        increasing = all(a < b for a, b in pairwise((self.max_length, *self.test_lengths)))
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
            (
                "test_lengths",
                increasing,
                f"increasing lengths above max_length ({self.max_length})",
            ),
            ("test_per_length", self.test_per_length >= 1, "at least 1"),
        )

    @property
    def bins(self) -> dict[str, tuple[int, int]]:
        """The fewest and the most tokens of each further test, by its name."""
        ends = (self.max_length, *self.test_lengths)
        return {f"{low + 1}-{high}": (low + 1, high) for low, high in pairwise(ends)}
