"""Dispatch, exit codes and help."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from sparsewood.lab.cli import COMMANDS, Interrupted, main
from sparsewood.lab.cli._tables import latent_sources
from sparsewood.lab.data.sources import SOURCES

Prints = Callable[..., str]

HELPS = [
    *([name] for name in COMMANDS),
    *([name, source] for name in ("train", "table", "sweep") for source in latent_sources()),
    *(["evaluate", "run", source] for source in SOURCES),
    ["data", "listops"],
]


@pytest.mark.parametrize("command", HELPS, ids=" ".join)
def test_help_fits_a_screen_and_shows_an_example(
    command: list[str], prints: Prints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = prints(*command, "--help")
    assert "Example: sparsewood " in text
    assert len(text.rstrip().splitlines()) <= 55


def test_the_general_help_names_every_command(prints: Prints) -> None:
    text = prints("--help")
    assert all(f"\n  {name} " in text for name in COMMANDS)
    assert prints() == text
    for name in COMMANDS:
        assert callable(import_module(f"sparsewood.lab.cli.{name}").main)


def test_help_is_a_command_too(prints: Prints, fails: Callable[..., str]) -> None:
    assert prints("help") == prints("--help")
    for command in (["train"], ["train", "sst"], ["predict"], ["data", "listops"]):
        assert prints("help", *command) == prints(*command, "--help")
    assert "did you mean 'train'?" in fails("help", "trian")


def test_warnings_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def warn(_args: list[str]) -> None:
        for _ in range(2):
            warnings.warn_explicit("mind\nthis", UserWarning, "a.py", 1, module="sparsewood.a")

    monkeypatch.setattr("sparsewood.lab.cli.report.main", warn)
    assert main(["report"]) == 0
    assert capsys.readouterr().err == "sparsewood: warning: mind this\n" * 2


@pytest.mark.parametrize("arguments", [["--help"], ["completion", "bash"]], ids=" ".join)
def test_help_and_completion_need_no_torch(arguments: list[str]) -> None:
    code = (
        f"import sys; from sparsewood.lab.cli import main; main({arguments}); "
        "print('torch' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "False"


def test_python_m_sparsewood() -> None:
    command = [sys.executable, "-m", "sparsewood", "--version"]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert out.stdout.startswith("sparsewood ")


def test_unknown_commands_and_options(fails: Callable[..., str]) -> None:
    assert fails("trian") == "unknown command 'trian': did you mean 'train'? (sparsewood --help)"
    assert fails("q").startswith("unknown command 'q': expected one of train, evaluate")
    assert fails("report", "--no-such-option").startswith("no option --no-such-option")


def test_debug_shows_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "absent"), "--debug"]) == 2
    error = capsys.readouterr().err
    assert "Traceback" in error
    assert error.splitlines()[-1].startswith("sparsewood: ")


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (Interrupted("saved; go on with this"), 130, "sparsewood: saved; go on with this"),
        (KeyboardInterrupt(), 130, "sparsewood: interrupted"),
        (FileNotFoundError(2, "No such file", "a/b"), 2, "sparsewood: a/b: no such file"),
        (OSError(28, "No space left on device"), 2, "sparsewood: no space left on device"),
        (ValueError("two\nlines"), 2, "sparsewood: two lines"),
    ],
)
def test_exit_codes(
    raised: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(_args: list[str]) -> None:
        raise raised

    monkeypatch.setattr("sparsewood.lab.cli.report.main", broken)
    assert main(["report"]) == code
    assert capsys.readouterr().err.strip() == said


def test_mistakes_of_the_program_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_args: list[str]) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("sparsewood.lab.cli.report.main", broken)
    with pytest.raises(ZeroDivisionError):
        main(["report"])


@pytest.mark.full
def test_a_reader_may_leave_early(latent: Path) -> None:
    command = [sys.executable, "-m", "sparsewood", "trees", str(latent), "[MAX 2 9 ]"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait() == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
