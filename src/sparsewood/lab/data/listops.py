"""ListOps: nested list operations whose value and whose tree are known.

    [MAX 2 9 [MIN 4 7 ] 0 ]  is  9

Nangia & Bowman (2018), "ListOps: A Diagnostic Dataset for Latent Tree Learning".
"""

from collections.abc import Callable, Iterable, Sequence
from math import prod
from pathlib import Path
from statistics import median

from sparsewood.lab._files import whole_file
from sparsewood.lab.data._lines import fault, numbered_lines
from sparsewood.lab.data.examples import Example, Sentence

CLOSE = "]"
OPERATORS: dict[str, Callable[[list[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(median(values)),
    "[SM": lambda values: sum(values) % 10,
    # The published files hold three more, which the published generator leaves out.
    "[FIRST": lambda values: values[0],
    "[LAST": lambda values: values[-1],
    "[PM": lambda values: prod(values) % 10,
}
DIGITS = tuple("0123456789")


def evaluate(tokens: Sequence[str]) -> int:
    """The value of an expression, 0 to 9. `[SM` is the sum modulo 10, `[MED` int(median).

    Raises:
        ValueError: if the tokens are not one expression.
    """
    _check(tokens)
    operators: list[str] = []
    values: list[list[int]] = [[]]
    for token in tokens:
        if token in OPERATORS:
            operators.append(token)
            values.append([])
        elif token == CLOSE:
            value = OPERATORS[operators.pop()](values.pop())
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
        if token in OPERATORS:
            around.append(position)
        elif token == CLOSE:
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


def example_of(tokens: tuple[str, ...]) -> Example:
    """An expression with its value as the label and its gold heads.

    Which operator heads a closing bracket is a matter of form: brackets are not scored.
    """
    scored = tuple(token != CLOSE for token in tokens)
    return Example((Sentence(tokens, heads(tokens), scored),), str(evaluate(tokens)))


def _parse(line: str) -> Example:
    label, tab, text = line.partition("\t")
    if not tab:
        raise ValueError(f"expected a value, a tab and an expression, got {line[:60]!r}")
    written = text.split()
    tokens = tuple(token for token in written if token not in ("(", ")"))
    example = example_of(tokens)
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
        if token in OPERATORS:
            parts.append([token])
            continue
        argument = ["(", *parts.pop(), token, ")"] if token == CLOSE else [token]
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
        if token == CLOSE:
            if not arguments:
                raise ValueError(f"token {position}: a closing bracket without an operator")
            if arguments.pop() == 0:
                raise ValueError(f"token {position}: an operator without arguments is closed")
        elif token in OPERATORS:
            if arguments:
                arguments[-1] += 1
            arguments.append(0)
        elif token in DIGITS:
            if arguments:
                arguments[-1] += 1
        else:
            raise ValueError(
                f"token {position}: expected a digit, ']' or one of {', '.join(OPERATORS)}; "
                f"got {token!r}"
            )
    if arguments:
        raise ValueError(f"{len(arguments)} operators are not closed")
