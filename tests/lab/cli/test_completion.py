"""The scripts, by the shells that read them."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sparsewood.lab.cli import COMMANDS
from sparsewood.lab.cli.completion import SCRIPTS, script
from sparsewood.lab.data.sources import SOURCES

_ASK = """
source "$1"; shift
sparsewood() {
  echo "usage: $* --first-option --second"; echo "$*" >> "$LOG"
  [[ $1 == table ]] && echo "  pairs     Pairs" || echo "  sst       Trees"
}
COMP_WORDS=(sparsewood "$@") COMP_CWORD=$#
_sparsewood; _sparsewood
echo "${COMPREPLY[*]}"
"""


def _shell(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name}")
    return path


@pytest.fixture
def completes(tmp_path: Path) -> Callable[..., list[str]]:
    """(*words) -> what bash offers for the last of them."""
    bash = _shell("bash")
    (tmp_path / "script").write_text(script("bash"))

    def ask(*words: str) -> list[str]:
        command = [bash, "--norc", "-c", _ASK, "bash", str(tmp_path / "script"), *words]
        environment = {"LOG": str(tmp_path / "log"), "PATH": "/usr/bin:/bin"}
        out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert out.stderr == ""
        return out.stdout.split()

    return ask


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_is_one_of_the_shell(
    shell: str, prints: Callable[..., str], tmp_path: Path
) -> None:
    (tmp_path / "script").write_text(prints("completion", shell))
    subprocess.run([_shell(shell), "-n", str(tmp_path / "script")], check=True)


def test_commands_and_sources(completes: Callable[..., list[str]]) -> None:
    assert completes("tr") == ["train", "trees"]
    assert completes("") == [*COMMANDS, "help"]
    assert completes("help", "ev") == ["evaluate"]
    assert completes("train", "") == completes("sweep", "s") == ["sst"]
    assert completes("table", "p") == ["pairs"]
    assert completes("evaluate", "run", "") == ["sst"]
    assert completes("evaluate", "") == []  # a folder, by the shell itself
    assert completes("completion", "") == list(SCRIPTS)
    assert completes("predict", "run") == []  # files, by the shell itself


def test_options_are_asked_for_once(completes: Callable[..., list[str]], tmp_path: Path) -> None:
    assert completes("train", "sst", "--data", "x", "--f") == ["--first-option"]
    assert (tmp_path / "log").read_text() == "train sst --help-all\n"


def test_sources_are_asked_for_once(completes: Callable[..., list[str]], tmp_path: Path) -> None:
    assert completes("compare", "") == ["sst"]
    assert (tmp_path / "log").read_text() == "compare --help\n"


def test_fish(tmp_path: Path) -> None:
    fish = _shell("fish")
    (tmp_path / "script").write_text(script("fish"))
    ask = (
        "source $argv[1]; function sparsewood; echo '  pairs  Pairs'; end; "
        "complete -C 'sparsewood tr'; complete -C 'sparsewood table pa'"
    )
    command = [fish, "-c", ask, str(tmp_path / "script")]
    out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [line.split("\t")[0] for line in out.stdout.splitlines()] == ["train", "trees", "pairs"]


@pytest.mark.parametrize("command", ["train", "table"])
def test_help_lists_the_sources_in_the_form_that_the_scripts_read(
    command: str, prints: Callable[..., str]
) -> None:
    found = re.findall(r"^  ([a-z]*) ", prints(command, "--help"), re.MULTILINE)
    assert found == [name for name in SOURCES if command == "train" or name != "parse"]


def test_shells_that_are_none(fails: Callable[..., str]) -> None:
    assert fails("completion", "bsh") == "unknown shell 'bsh': did you mean 'bash'?"
    assert "expected one shell" in fails("completion", "bash", "zsh")
