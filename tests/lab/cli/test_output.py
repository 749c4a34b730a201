"""Where lines go."""

from pathlib import Path

import pytest

from sparsewood.lab.cli._output import Output


def test_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with Output(None) as out:
        out.print("one")
    assert capsys.readouterr() == ("one\n", "")


def test_a_file_is_there_in_full_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new" / "a.txt"
    with Output(path) as out:
        out.print("one")
        assert not path.exists()
        out.print("two\n")
    assert path.read_text() == "one\ntwo\n\n"
    assert capsys.readouterr() == ("", f"written: {path}\n")

    def fail() -> None:
        with Output(path) as out:
            out.print("three")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "one\ntwo\n\n"


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a b")
    with pytest.raises(ValueError, match="is one of the input files"):
        Output(path, ["a sentence", str(tmp_path / "." / "a.txt")])
    Output(path, ["a sentence"])
    with pytest.raises(ValueError, match="/dev/null: is not a regular file"):
        Output(Path("/dev/null"))
