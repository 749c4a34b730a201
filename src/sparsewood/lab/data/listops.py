"""ListOps: nested list operations whose value and whose tree are known.

    [MAX 2 9 [MIN 4 7 ] 0 ]  is  9

Nangia & Bowman (2018), "ListOps: A Diagnostic Dataset for Latent Tree Learning".
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from random import Random
from statistics import median

from sparsewood.lab._files import whole_file
from sparsewood.lab.data._lines import fault, numbered_lines
from sparsewood.lab.data.examples import Example, Sentence

_CLOSE = "]"
_GENERATED: dict[str, Callable[[list[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(median(values)),
    "[SM": lambda values: sum(values) % 10,
}
# The published files hold three more, which the published generator leaves out.
_OPERATORS = _GENERATED | {
    "[FIRST": lambda values: values[0],
    "[LAST": lambda values: values[-1],
    "[PM": lambda values: prod(values) % 10,
}
_DRAWN = tuple(_GENERATED)
_DIGITS = tuple("0123456789")
_PATIENCE = 20_000  # draws in a row without a new expression before the limits are to blame


@dataclass(frozen=True)
class ListOpsParameters:
    """What is generated. Depth, arguments and probability are those of the published data.

    Attributes:
        train: expressions of the training split.
        validation: of the validation split.
        test: of the test split.
        max_depth: levels of an expression; those at the last are digits.
        min_arguments: the fewest arguments of an operator.
        max_arguments: the most arguments of an operator.
        operator_probability: that an argument is an operator and not a digit.
        min_length: the fewest tokens of an expression.
        max_length: the most tokens of an expression.
        split_seed: of all draws.
    """

    train: int = 20_000
    validation: int = 2_000
    test: int = 2_000
    max_depth: int = 20
    min_arguments: int = 2
    max_arguments: int = 5
    operator_probability: float = 0.25
    min_length: int = 1
    max_length: int = 100
    split_seed: int = 0

    def __post_init__(self) -> None:
        for name in ("train", "validation", "test"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: expected at least 0, got {getattr(self, name)}")
        if self.max_depth < 2:
            raise ValueError(f"max_depth: expected at least 2, got {self.max_depth}")
        if not 1 <= self.min_arguments <= self.max_arguments:
            raise ValueError(
                "min_arguments, max_arguments: expected 1 <= min <= max, got "
                f"{self.min_arguments} and {self.max_arguments}"
            )
        if not 0 <= self.operator_probability <= 1:
            raise ValueError(
                f"operator_probability: expected 0 to 1, got {self.operator_probability}"
            )
        shortest = self.min_arguments + 2
        if self.max_length < max(self.min_length, shortest):
            raise ValueError(
                f"max_length: expected at least min_length ({self.min_length}) and the "
                f"{shortest} tokens of the shortest expression, got {self.max_length}"
            )


def generate_splits(parameters: ListOpsParameters) -> dict[str, list[Example]]:
    """The splits "train", "validation" and "test", with values as labels and gold heads.

    All expressions are distinct. As in the published data they are drawn from the outermost
    operator inwards, those outside the limits of length discarded, and shuffled before they are
    split. The outermost is always an operator; the published generator also draws lone digits.

    Raises:
        ValueError: if the limits allow too few expressions.
    """
    random = Random(parameters.split_seed)
    sizes = {name: getattr(parameters, name) for name in ("train", "validation", "test")}
    expressions = _draw_distinct(parameters, sum(sizes.values()), random)
    # The short ones tend to be drawn early.
    expressions.sort(key=lambda _: random.random())
    examples = iter([_example(tokens) for tokens in expressions])
    return {name: [next(examples) for _ in range(size)] for name, size in sizes.items()}


def evaluate(tokens: Sequence[str]) -> int:
    """The value of an expression, 0 to 9. `[SM` is the sum modulo 10, `[MED` int(median).

    Raises:
        ValueError: if the tokens are not one expression.
    """
    _check(tokens)
    operators: list[str] = []
    values: list[list[int]] = [[]]
    for token in tokens:
        if token in _OPERATORS:
            operators.append(token)
            values.append([])
        elif token == _CLOSE:
            value = _OPERATORS[operators.pop()](values.pop())
            values[-1].append(value)
        else:
            values[-1].append(int(token))
    return values[0][0]


def heads(tokens: Sequence[str]) -> tuple[int, ...]:
    """The gold tree of an expression, as the head of each token: 0 the root, j token j.

    An operator heads its arguments, nested operators included, and its closing bracket. The
    outermost operator hangs from the root. The tree is projective.

    Raises:
        ValueError: if the tokens are not one expression.
    """
    _check(tokens)
    result: list[int] = []
    around = [0]  # the operators that are open, the innermost last
    for position, token in enumerate(tokens, 1):
        result.append(around[-1])
        if token in _OPERATORS:
            around.append(position)
        elif token == _CLOSE:
            around.pop()
    return tuple(result)


def read_listops(path: Path | str) -> list[Example]:
    """The examples of a file in the published format, with their gold heads.

    A line is a value, a tab and an expression of which each operator takes its arguments one by
    one, with a pair of parentheses for each: `9<TAB>( ( ( [MAX 2 ) 9 ) ] )`. The parentheses may
    be left out.

    Raises:
        ValueError: naming the line, if one is not of this form or its value is not that of the
            expression.
    """
    examples: list[Example] = []
    for number, line in numbered_lines(Path(path)):
        try:
            examples.append(_parse(line))
        except ValueError as error:
            fault(path, number, str(error))
    return examples


def write_listops(examples: Iterable[Example], path: Path | str) -> None:
    """Write examples in the published format, which `read_listops` reads."""
    rows = [
        f"{example.label}\t{' '.join(_binarised(example.sentences[0].words))}\n"
        for example in examples
    ]
    with whole_file(Path(path)) as draft:
        draft.write_text("".join(rows), encoding="utf-8", newline="\n")


def _draw_distinct(
    parameters: ListOpsParameters, count: int, random: Random
) -> list[tuple[str, ...]]:
    found: dict[tuple[str, ...], None] = {}
    in_vain = 0
    while len(found) < count:
        tokens = _draw(parameters, random)
        if tokens is not None and tokens not in found:
            found[tokens] = None
            in_vain = 0
            continue
        in_vain += 1
        if in_vain == _PATIENCE:
            raise ValueError(
                f"found only {len(found)} of {count} distinct expressions: {_PATIENCE} draws in a "
                f"row brought no new one within {parameters}; widen the limits or ask for fewer"
            )
    return list(found)


def _draw(parameters: ListOpsParameters, random: Random) -> tuple[str, ...] | None:
    """One expression from the outermost operator inwards; None if its length is not allowed."""
    tokens: list[str] = []
    missing: list[int] = []  # arguments to come of each operator that is open
    while True:
        depth = len(missing) + 1
        if depth == 1 or (
            depth < parameters.max_depth and random.random() < parameters.operator_probability
        ):
            tokens.append(_DRAWN[_below(len(_DRAWN), random)])
            spread = parameters.max_arguments - parameters.min_arguments
            missing.append(parameters.min_arguments + _below(spread + 1, random))
        else:
            tokens.append(_DIGITS[_below(10, random)])
        while missing and missing[-1] == 0:
            tokens.append(_CLOSE)
            missing.pop()
        if len(tokens) > parameters.max_length:
            return None
        if not missing:
            return tuple(tokens) if len(tokens) >= parameters.min_length else None
        missing[-1] -= 1


def _below(n: int, random: Random) -> int:
    """An integer from 0 to n - 1. Only `Random.random` draws the same on every Python."""
    return int(random.random() * n)


def _example(tokens: tuple[str, ...]) -> Example:
    return Example((Sentence(tokens, heads(tokens)),), str(evaluate(tokens)))


def _parse(line: str) -> Example:
    label, tab, text = line.partition("\t")
    if not tab:
        raise ValueError(f"expected a value, a tab and an expression, got {line[:60]!r}")
    written = text.split()
    tokens = tuple(token for token in written if token not in ("(", ")"))
    example = _example(tokens)
    if len(written) != len(tokens) and written != _binarised(tokens):
        raise ValueError(
            "expected a pair of parentheses around each operator and its first argument, around "
            f"that and the second, and so on to the bracket; got {text[:60]!r}"
        )
    if label != example.label:
        raise ValueError(
            f"the value is given as {label!r}, but the expression's is {example.label}"
        )
    return example


def _binarised(tokens: Sequence[str]) -> list[str]:
    """With parentheses that give each operator its arguments one by one, the bracket last."""
    parts: list[list[str]] = [[]]  # the last is what is written of the innermost open operator
    for token in tokens:
        if token in _OPERATORS:
            parts.append([token])
            continue
        argument = ["(", *parts.pop(), token, ")"] if token == _CLOSE else [token]
        parts[-1] = ["(", *parts[-1], *argument, ")"] if len(parts) > 1 else argument
    return parts[0]


def _check(tokens: Sequence[str]) -> None:
    """That the tokens are one expression: a digit, or an operator, its arguments and a bracket."""
    if not tokens:
        raise ValueError("expected an expression, got no tokens")
    arguments: list[int] = []  # of each operator that is open
    for position, token in enumerate(tokens, 1):
        if position > 1 and not arguments:
            raise ValueError(f"token {position}, {token!r}: the expression has ended before it")
        if token == _CLOSE:
            if not arguments:
                raise ValueError(f"token {position}: a closing bracket without an operator")
            if arguments.pop() == 0:
                raise ValueError(f"token {position}: an operator without arguments is closed")
        elif token in _OPERATORS:
            if arguments:
                arguments[-1] += 1
            arguments.append(0)
        elif token in _DIGITS:
            if arguments:
                arguments[-1] += 1
        else:
            raise ValueError(
                f"token {position}: expected a digit, ']' or one of {', '.join(_OPERATORS)}; "
                f"got {token!r}"
            )
    if arguments:
        raise ValueError(f"{len(arguments)} operators are not closed")
