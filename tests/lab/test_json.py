"""Options as JSON: what fits is read, what does not is named."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from sparsewood.lab._json import decode, encode


@dataclass(frozen=True)
class Options:
    data: Path
    size: int = 1
    rate: float | None = None
    kind: Literal["a", "b"] = "a"
    files: tuple[Path, ...] = ()
    names: tuple[str, ...] = field(default_factory=tuple)


def test_both_ways() -> None:
    options = Options(Path("d"), 2, 0.5, "b", (Path("x"), Path("y")))
    assert decode(Options, json.loads(json.dumps(encode(options))), "o") == options
    assert decode(Options, {"data": "d", "rate": 1}, "o") == Options(Path("d"), rate=1)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"data": 3}, "o.data: expected a path, got 3"),
        ({"size": True}, "o.size: expected int, got True"),
        ({"rate": False}, "o.rate: expected float or null, got False"),
        ({"kind": "c"}, "o.kind: expected 'a' or 'b', got 'c'"),
        ({"files": ["x", 1]}, "o.files: expected a list of a path, got"),
        ({"files": "x"}, "o.files: expected a list of a path, got 'x'"),
        ({"colour": 1}, "o: unknown colour; expected data, size, rate, kind, files, names"),
    ],
)
def test_what_does_not_fit(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(Options, {"data": "d", **entry}, "o")


def test_what_is_missing() -> None:
    with pytest.raises(ValueError, match="o.data is missing"):
        decode(Options, {}, "o")
