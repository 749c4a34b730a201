"""The public names."""

import doctest
import importlib
from pathlib import Path
from types import ModuleType

import pytest
import torch

import sparsewood as sp
import sparsewood.inference
import sparsewood.structures


def test_all_names_exist() -> None:
    assert len(set(sp.__all__)) == len(sp.__all__)
    for name in sp.__all__:
        assert hasattr(sp, name)


def modules_with_examples() -> list[str]:
    package = Path(sp.__file__).parent
    return [
        ".".join(("sparsewood", *file.relative_to(package).with_suffix("").parts))
        for file in sorted(package.rglob("*.py"))
        if ">>>" in file.read_text() and file.name != "__init__.py"
    ]


@pytest.mark.parametrize("package", [sparsewood.inference, sparsewood.structures])
def test_packages_offer_what_sparsewood_offers(package: ModuleType) -> None:
    for name in package.__all__:
        assert hasattr(package, name)
    there = {name for name in sp.__all__ if _module(name).startswith(package.__name__ + ".")}
    assert there <= set(package.__all__)


def _module(name: str) -> str:
    return getattr(getattr(sp, name), "__module__", "")


@pytest.mark.parametrize("name", ["sparsewood", "sparsewood.jax", *modules_with_examples()])
def test_the_examples_run(name: str) -> None:
    names = {"sp": sp, "torch": torch}
    result = doctest.testmod(importlib.import_module(name), extraglobs=names)
    assert result.attempted > 0
    assert result.failed == 0
