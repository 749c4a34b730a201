"""Logical inference: the relation of two expressions whose trees are known.

    >    ( not ( c ( and ( not d ) ) ) )    d

Bowman, Manning & Potts (2015), "Tree-structured composition in neural networks without
tree-structured architectures".
"""

import re
from collections.abc import Sequence
from pathlib import Path

from sparsewood.lab.data._lines import fault, full_lines
from sparsewood.lab.data._split import hold_out
from sparsewood.lab.data.examples import Example, Sentence

LETTERS = tuple("abcdef")
BRACKETS = ("(", ")")
OPERATORS = ("and", "or", "not")
RELATIONS = ("=", "<", ">", "^", "|", "v", "#")
TRAINED = 6  # operators of the longest expressions that models are trained on
_FILE = re.compile(r"(train|test)(\d+)")


def heads(words: Sequence[str]) -> tuple[int, ...]:
    """The gold tree of an expression, as the head of each word: 0 the root, j word j.

    An expression is a letter, `( not E )`, `( E ( and E ) )` or `( E ( or E ) )`. An operator heads
    its arguments and the brackets around them: two of `not`, four of `and` and `or`. An argument
    is headed through its own operator, or is a letter. The outermost operator, or a lone letter,
    hangs from the root. Brackets are leaves, as in list operations, and the tree is projective.

    Raises:
        ValueError: if the words are not one expression.
    """
    found = [0] * len(words)
    _, end = _attach(words, 0, found)
    if end < len(words):
        raise ValueError(f"word {end + 1}: expected the end of the expression, got {words[end]!r}")
    return tuple(found)


def read_logic(
    folder: Path, *, max_operators: int = TRAINED, tests: Sequence[int] = (), seed: int = 0
) -> dict[str, list[Example]]:
    """The splits of a folder with the public files, `train0`, `train1`, ... and `test0`, ...

    The number of a file is that of the operators in the longer one of two expressions. A line is a
    relation, a premise and a hypothesis between tabs.

    Args:
        folder: of the files.
        max_operators: train on files up to this number; a tenth is held out for validation.
        tests: the numbers of the test files. Default: all that are larger than `max_operators`.
        seed: of what is held out.

    Returns:
        "train", "validation", and each test by its number: "7", "8", ...

    Raises:
        ValueError: if a file is not there, or at the first wrong line.
    """
    present: dict[str, list[int]] = {"train": [], "test": []}
    for path in folder.iterdir():
        if path.is_file() and (match := _FILE.fullmatch(path.name)):
            present[match[1]].append(int(match[2]))
    wanted = {
        "train": range(max_operators + 1),
        "test": tests or sorted(n for n in present["test"] if n > max_operators),
    }
    missing = [f"{k}{n}" for k, numbers in wanted.items() for n in numbers if n not in present[k]]
    if missing:
        raise ValueError(f"{folder}: no file {', '.join(missing)}")
    if not wanted["test"]:
        raise ValueError(f"{folder}: no test of more than {max_operators} operators; name --tests")
    train = [e for n in wanted["train"] for e in _read(folder / f"train{n}")]
    own = {str(n): _read(folder / f"test{n}") for n in wanted["test"]}
    return hold_out(train, seed) | own


def _read(path: Path) -> list[Example]:
    return [_example(line, path, number) for number, line in full_lines(path)]


def _example(line: str, path: Path, number: int) -> Example:
    columns = line.split("\t")
    if len(columns) != 3:
        fault(
            path,
            number,
            f"expected a relation, a premise and a hypothesis separated by tabs; found "
            f"{len(columns)} column{'s' * (len(columns) != 1)}",
        )
    relation, *texts = columns
    if relation not in RELATIONS:
        fault(path, number, f"expected a relation among {' '.join(RELATIONS)}")
    try:
        return Example(tuple(_sentence(text.split()) for text in texts), relation)
    except ValueError as error:
        fault(path, number, str(error))


def _sentence(words: Sequence[str]) -> Sentence:
    """The words with their gold heads. Those of brackets, a convention, are not scored."""
    scored = tuple(word not in BRACKETS for word in words)
    return Sentence(tuple(words), heads(words), scored)


def _attach(words: Sequence[str], start: int, found: list[int]) -> tuple[int, int]:
    """Head all words of the expression at `start` but its root; its root, and where it ends."""
    if _at(words, start) in LETTERS:
        return start, start + 1
    _expect(words, start, "(", f"a letter {LETTERS[0]} to {LETTERS[-1]} or '('")
    inner = start  # the bracket that opens before the operator
    arguments: list[int] = []
    if _at(words, start + 1) != "not":
        argument, inner = _attach(words, start + 1, found)
        arguments.append(argument)
        _expect(words, inner, "(")
    operator = inner + 1
    if arguments:
        _expect(words, operator, "and or", "'and' or 'or'")
    argument, close = _attach(words, operator + 1, found)
    arguments.append(argument)
    end = close + len(arguments)
    for bracket in range(close, end):
        _expect(words, bracket, ")")
    for word in {*arguments, start, inner, *range(close, end)}:
        found[word] = operator + 1
    return operator, end


def _at(words: Sequence[str], place: int) -> str:
    return words[place] if place < len(words) else "the end"


def _expect(words: Sequence[str], place: int, allowed: str, expected: str = "") -> None:
    """Raise ValueError unless one of the words in `allowed` is at this place."""
    if _at(words, place) not in allowed.split():
        expected = expected or repr(allowed)
        raise ValueError(f"word {place + 1}: expected {expected}, got {_at(words, place)!r}")
