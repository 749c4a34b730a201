"""The public names."""

import doctest
import importlib

import pytest

import spinney as sp


def test_all_names_exist() -> None:
    assert sorted(sp.__all__) == sp.__all__
    for name in sp.__all__:
        assert hasattr(sp, name)


@pytest.mark.parametrize("name", ["spinney", "spinney.inference.sparsemap"])
def test_the_examples_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
