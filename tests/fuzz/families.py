"""The families that are fuzzed: `FUZZED` of each file of tests/structures that has it."""

from importlib import import_module
from pathlib import Path

from tests.fuzz.family import Family


def _families() -> dict[str, Family]:
    tests = Path(__file__).parents[1]
    names = sorted(path.stem for path in (tests / "structures").glob("test_*.py"))
    files = [import_module(f"tests.structures.{name}") for name in names]
    return {family.name: family for file in files for family in getattr(file, "FUZZED", ())}


FAMILIES = _families()
