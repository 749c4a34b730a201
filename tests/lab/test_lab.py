"""What the workbench needs, and who asks for it."""

import shlex
import subprocess
import sys

import pytest

_WITHOUT = "import sys; sys.modules.update(dict.fromkeys({absent}))\n"


def run_without(absent: tuple[str, ...], code: str) -> subprocess.CompletedProcess[str]:
    """`code` in a process where the modules `absent` are not installed."""
    script = _WITHOUT.format(absent=absent) + code
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )


def test_training_from_python_needs_no_command_line() -> None:
    done = run_without(("tyro", "docstring_parser"), "from sparsewood.lab.run import train")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("absent", [("tyro",), ("rich", "safetensors")])
def test_what_is_missing_is_told_in_a_line(absent: tuple[str, ...]) -> None:
    done = run_without(absent, "import sparsewood.__main__ as m; sys.exit(m.main())")
    assert done.returncode == 2
    names = ", ".join(absent)
    said, _, command = done.stderr.partition("pip install ")
    assert said.startswith(f"sparsewood: the workbench needs {names} (extra [lab]): ")
    assert set(absent) <= {package.partition(">")[0] for package in shlex.split(command)}
