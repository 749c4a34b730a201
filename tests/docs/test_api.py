"""The API pages list every public name once."""

import inspect
import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "api"
PAGES = "\n".join(page.read_text(encoding="utf-8") for page in sorted(FOLDER.glob("*.md")))
DIRECTIVE = re.compile(r"^\.\. auto(\w+):: ([\w.]+)(?:\(\))?\n((?:   :.*\n)*)", re.M)
DATA = re.compile(r"^\.\. py:data:: (\w+)\n   :module: ([\w.]+)\n", re.M)
PACKAGES = (
    "sparsewood",
    "sparsewood.draw",
    "sparsewood.estimators",
    "sparsewood.inference",
    "sparsewood.jax",
    "sparsewood.nn",
    "sparsewood.structures",
    "sparsewood.testing",
    "sparsewood.lab.data",
    "sparsewood.lab.report",
    "sparsewood.lab.tasks",
    "sparsewood.lab.run",
)


def listed() -> Iterator[Any]:
    """The things that the pages describe."""
    for name, module in DATA.findall(PAGES):
        yield getattr(import_module(module), name)
    for kind, name, options in DIRECTIVE.findall(PAGES):
        if kind != "module":
            home, _, last = name.rpartition(".")
            yield getattr(import_module(home), last)
            continue
        module = import_module(name)
        yield module
        if ":members:" in options:  # only names with a docstring
            members = [getattr(module, public) for public in module.__all__]
            yield from (m for m in members if _is_code(m))


def _is_code(thing: Any) -> bool:
    return inspect.isclass(thing) or inspect.isfunction(inspect.unwrap(thing))


DESCRIBED = Counter(id(thing) for thing in listed())


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_on_one_page(package: str) -> None:
    module = import_module(package)
    times = {name: DESCRIBED[id(getattr(module, name))] for name in module.__all__}
    wrong = {name: count for name, count in times.items() if count != 1}
    wrong.pop("nn", None)  # a module whose names are on several pages
    assert not wrong, f"docs/api describes {wrong} times of {package}"


@pytest.mark.parametrize("package", PACKAGES)
def test_what_is_described_has_something_to_say(package: str) -> None:
    module = import_module(package)
    for name in module.__all__:
        thing = getattr(module, name)
        if _is_code(thing) or isinstance(thing, ModuleType):
            assert inspect.getdoc(thing), f"{package}.{name} has no docstring"
