"""Expansion of a C++ source and its headers to what a compiler reads."""

from pathlib import Path

import pytest

from sparsewood._internal.cuda.includes import as_compiled

SOURCE = '#include "first.h"\n#include <vector>\nint main() { return first() + 1; }\n'
FIRST = '#pragma once\n#include "more/second.h"\nint first() { return second(\'/\', "// no"); }\n'
SECOND = '#pragma once\n#include "third.h"\n'
FILES = {"first.h": FIRST, "more/second.h": SECOND, "more/third.h": "int second(char, char*);\n"}


def _read(folder: Path, changed: dict[str, str]) -> str:
    for name, text in (FILES | changed).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return as_compiled(SOURCE, folder)


@pytest.mark.parametrize(
    "change",
    [
        {"more/third.h": "// two\nint second(char, /* a\ntext */ char*);  // end \\\n goes on\n"},
        {"first.h": "\n\n" + FIRST + "\n/* the end */\n"},
        {"other.h": "int other();\n"},
    ],
)
def test_what_a_compiler_does_not_see_changes_nothing(
    change: dict[str, str], tmp_path: Path
) -> None:
    before = _read(tmp_path, {})
    assert _read(tmp_path, change) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("more/third.h", "char*", "int*"),
        ("first.h", "// no", "// yes"),
        ("first.h", "'/'", "'*'"),
        ("more/second.h", '#include "third.h"', '// #include "third.h"'),
    ],
)
def test_a_changed_token_does(name: str, old: str, new: str, tmp_path: Path) -> None:
    before = _read(tmp_path, {})
    assert _read(tmp_path, {name: FILES[name].replace(old, new)}) != before


def test_each_header_once_before_what_needs_it(tmp_path: Path) -> None:
    text = _read(tmp_path, {"more/third.h": '#include "../first.h"\nint n = 1\'000; // thousand\n'})
    lines = ["int n = 1'000;", "int first()", "int main()"]
    assert [text.count(line) for line in lines] == [1, 1, 1]
    assert sorted(lines, key=text.index) == lines
    assert "thousand" not in text
