"""ListOps: nested list operations with known values and trees.

    [MAX 2 9 [MIN 4 7 ] 0 ]  is  9

Nangia & Bowman (2018), "ListOps: A Diagnostic Dataset for Latent Tree Learning".
"""

import re
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
    # Three more occur in the published files, but not in the published generator.
    "[FIRST": lambda values: values[0],
    "[LAST": lambda values: values[-1],
    "[PM": lambda values: prod(values) % 10,
}
DIGITS = tuple("0123456789")
Tokens = tuple[str, ...]
_TOKEN = re.compile(r"\[\s*[A-Za-z]+|[][()]|[0-9]+|[^][()0-9\s,]+")
_EXCERPT = 30  # characters shown on either side of an error


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
    outermost operator is the root's child. The tree is projective.

    Raises:
        ValueError: if the tokens are not one expression.
    """
    _check(tokens)
    result: list[int] = []
    around = [0]  # the open operators, the innermost last
    for position, token in enumerate(tokens, 1):
        result.append(around[-1])
        if token in OPERATORS:
            around.append(position)
        elif token == CLOSE:
            around.pop()
    return tuple(result)


def read_expression(text: str) -> Sentence:
    """The tokens of a typed expression, and its gold tree.

    Spaces and commas between tokens and the case of operators do not matter: `[max 2, 9[min 4 7]0]`
    is read as `[MAX 2 9 [MIN 4 7 ] 0 ]`. The parentheses of the published format are allowed.

    Raises:
        ValueError: if the text is not one expression, with the place of the error.
    """
    matches = list(_TOKEN.finditer(text))
    written = [_canonical(match[0]) for match in matches]
    inside = [i for i, token in enumerate(written) if token not in ("(", ")")]
    tokens = tuple(written[i] for i in inside)
    if fault := _fault(tokens):
        token, problem = fault
        raise ValueError(problem + _place(text, matches[inside[token]] if tokens else None))
    if len(written) != len(tokens) and written != _binarised(tokens):
        raise ValueError(
            "expected no parentheses, or a pair around each operator and its first argument, "
            f"around that and the second, and so on to the bracket; found {text[:60]!r}"
        )
    return _sentence(tokens)


def read_listops(path: Path | str) -> list[Example]:
    """The examples of a file in the published format, with their gold heads.

    A line is a value, a tab and an expression of which each operator takes its arguments one by
    one, with a pair of parentheses for each: `9<TAB>( ( ( [MAX 2 ) 9 ) ] )`. The parentheses may
    be left out.

    Raises:
        ValueError: if a line is malformed or its value is wrong, with the line.
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
    """An expression with its value as the label and its gold heads."""
    return Example((_sentence(tokens),), str(evaluate(tokens)))


def _sentence(tokens: tuple[str, ...]) -> Sentence:
    """The tokens with their gold heads.

    The heads of closing brackets are a convention: brackets are not scored.
    """
    return Sentence(tokens, heads(tokens), tuple(token != CLOSE for token in tokens))


def _parse(line: str) -> Example:
    label, tab, text = line.partition("\t")
    if not tab:
        raise ValueError(f"expected a value, a tab and an expression, found {line[:60]!r}")
    expression = read_expression(text)
    value = str(evaluate(expression.words))
    if label != value:
        raise ValueError(f"the value is given as {label!r}, but the expression's is {value}")
    return Example((expression,), value)


def _binarised(tokens: Sequence[str]) -> list[str]:
    """The tokens with parentheses that apply operators to one argument at a time."""
    parts: list[list[str]] = [[]]  # the last one belongs to the innermost open operator
    for token in tokens:
        if token in OPERATORS:
            parts.append([token])
            continue
        argument = ["(", *parts.pop(), token, ")"] if token == CLOSE else [token]
        parts[-1] = ["(", *parts[-1], *argument, ")"] if len(parts) > 1 else argument
    return parts[0]


def _check(tokens: Sequence[str]) -> None:
    """Raise ValueError with the invalid token unless the tokens are one expression."""
    if fault := _fault(tokens):
        raise ValueError(f"token {fault[0] + 1}: {fault[1]}" if tokens else fault[1])


def _fault(tokens: Sequence[str]) -> tuple[int, str] | None:
    """The index of the invalid token and its error; None for a valid expression: a digit, or an
    operator with its arguments and a bracket.
    """
    if not tokens:
        return 0, "expected a list operation, found nothing"
    opened: list[int] = []  # the open operators
    arguments: list[int] = []  # number of arguments of each
    for i, token in enumerate(tokens):
        if i > 0 and not opened:
            return i, f"expected nothing after the end of the expression, found {token!r}"
        if token == CLOSE:
            if not opened:
                return i, f"found {CLOSE!r} without an operator to close"
            if arguments.pop() == 0:
                return i, f"expected an argument for {tokens[opened[-1]]!r}, found {CLOSE!r}"
            opened.pop()
            continue
        if token not in OPERATORS and token not in DIGITS:
            known = ", ".join(OPERATORS)
            return i, f"expected a digit, {CLOSE!r} or an operator ({known}), found {token!r}"
        if opened:
            arguments[-1] += 1
        if token in OPERATORS:
            opened.append(i)
            arguments.append(0)
    if opened:
        return opened[-1], f"{tokens[opened[-1]]!r} has no closing {CLOSE!r}"
    return None


def _canonical(token: str) -> str:
    """`[MAX` for `[ max`; other tokens are unchanged."""
    return "[" + token[1:].strip().upper() if len(token) > 1 and token[0] == "[" else token


def _place(text: str, match: re.Match[str] | None) -> str:
    """The position of a match in a text, with its context."""
    if match is None:
        return ""
    start, stop = match.span()
    before = ("…" if start > _EXCERPT else "") + text[max(0, start - _EXCERPT) : start]
    after = text[start : stop + _EXCERPT] + ("…" if stop + _EXCERPT < len(text) else "")
    return f", at character {start + 1}: {before}▸{after}"
