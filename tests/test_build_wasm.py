"""The WebAssembly file matches the current sources of the core."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parent.parent / "native/web/build_wasm.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_wasm", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_was_built_from_the_sources(script: ModuleType):
    assert script.is_up_to_date(script.WASM.read_bytes()), "the core has changed: run `make wasm`"


@pytest.mark.parametrize(("more", "noticed"), [("\n// more\n", False), ("int more;\n", True)])
def test_what_the_compiler_reads_of_a_header_is_noticed(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, more: str, noticed: bool
):
    before = script.digest()
    read = Path.read_text

    def changed(path: Path, encoding: str) -> str:
        return read(path, encoding) + (more if path.name == "triangle.h" else "")

    monkeypatch.setattr(Path, "read_text", changed)
    assert (script.digest() != before) is noticed


def test_no_path_of_a_machine_is_in_it(script: ModuleType):
    wasm = script.WASM.read_bytes()
    assert b"/home" not in wasm
    assert b"site-packages" not in wasm
    assert str(script.ROOT).encode() not in wasm
