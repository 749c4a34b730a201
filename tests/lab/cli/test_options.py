import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from sparsewood.lab.cli._options import Group, _complaint, descriptions, parse_options


@dataclass(frozen=True)
class Base:
    """Shared.

    Attributes:
        data: the folder; more about it.
        loud: say much.
    """

    data: Path
    loud: bool = True


@dataclass(frozen=True)
class Own(Base):
    """Own.

    Attributes:
        kind: which one.
        first, second: a number.
        names: some names.
    """

    kind: Literal["left_to_right", "flat"] = "flat"
    first: int = 1
    second: int | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Other:
    """Other.

    Attributes:
        rare: seldom used.
        third: another number.
    """

    rare: float = 0.5
    third: int = 7


GROUPS = [
    Group("own", Own),
    Group("other", Other, ("third",), defaults={"rare": 2.0}),
]


def _parse(*args: str) -> list[object]:
    return parse_options("prog", args, GROUPS, "About.", "prog --data x")


def test_each_group_gets_its_own_fields() -> None:
    own, other = _parse("--data", "x", "--second", "3", "--names", "a", "b", "--third", "5")
    assert own == Own(Path("x"), second=3, names=("a", "b"))
    assert other == Other(rare=2.0, third=5)
    own, other = _parse("--data", "x", "--no-loud", "--rare", "3")
    assert own == Own(Path("x"), loud=False)
    assert other == Other(rare=3.0)


def test_short_and_long_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        _parse("--help")
    short = capsys.readouterr().out
    assert "--third N" in short
    assert "--rare" not in short
    assert "Example: prog --data x" in short
    with pytest.raises(SystemExit):
        _parse("--help-all")
    long = capsys.readouterr().out
    assert "--rare X" in long
    assert "--kind left_to_right|flat" in long
    assert "turn off: say much" in long


def test_a_name_belongs_to_one_group() -> None:
    groups = [Group("own", Own), Group("other", Base)]
    with pytest.raises(AssertionError, match="--data is an option of own and other"):
        parse_options("prog", [], groups, "", "")


def test_descriptions_come_from_the_docstrings() -> None:
    assert descriptions(Own) == {
        "data": "the folder; more about it",
        "loud": "say much",
        "kind": "which one",
        "first": "a number",
        "second": "a number",
        "names": "some names",
    }


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--data x --fist 3", "no option --fist: did you mean --first? (prog --help-all)"),
        ("--data x --zzz", "no option --zzz (prog --help-all)"),
        ("", "missing from prog: --data PATH the folder; more about it (prog --help)"),
        ("--data x y", "unrecognized options: y (prog --help)"),
    ],
)
def test_mistakes_are_one_line(args: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        _parse(*args.split())
    assert "\n" not in str(raised.value)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("args", ["--first abc", "--kind round", "--second"])
def test_wrong_values_are_named(args: str) -> None:
    with pytest.raises(ValueError, match=f"{args.split()[0]}.* \\(prog --help\\)$") as raised:
        _parse("--data", "x", *args.split())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "said",
    [
        "Value error\n ------ \n  Error in\n  --x. \n ------ \n  More help",
        "\x1b[31m╭─ Error ─╮\n│\x1b[0m Error in --x.\n\x1b[91;1m│ ── │\n│ More │\n╰────╯\x1b[0m",
        "Value error\nError in --x.",
    ],
)
def test_the_parser_s_complaint_without_its_frame(said: str) -> None:
    assert _complaint(said) == "error in --x"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--estimator lattent", "estimator: expected one of sparsemap, "),
        ("--estimator sparsemap:tol=much", "estimator sparsemap: tol: expected a number"),
        ("--estimator gibbs", "model.composer: expected messages with gibbs, got 'tree_lstm'"),
        ("--seed x", "--seed: expected a whole number, got 'x'"),
        ("--lr abc", "--lr: expected a number, got 'abc'"),
        ("--no-seed 3", "no option --no-seed"),
        ("--no-lowercse", "no option --no-lowercse: did you mean --no-lowercase?"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit(typed: str, said: str, fails: Callable[..., str]) -> None:
    assert fails("train", "listops", *typed.split()).startswith(said)
