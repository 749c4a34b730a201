"""Compiles the core to WebAssembly: src/sparsewood/draw/web/sparsewood.wasm.

    python native/web/build_wasm.py            build it
    python native/web/build_wasm.py --check    build it elsewhere, and compare

Zig's C++ compiler comes from PyPI (the extra `wasm`) with its own C library. Equal sources give
equal bytes on any machine. The last section of the file is a hash of what the compiler reads, so
that checking whether it is up to date needs no compiler.
"""

import argparse
import hashlib
import os
import runpy
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WASM = ROOT / "src/sparsewood/draw/web/sparsewood.wasm"
CORE = ("group/rows.cpp", "solver/batch.cpp", "solver/columns.cpp", "web/wasm.cpp")
MOST_MEMORY = 1 << 30  # memory limit of a page, above which calls fail

ZIG = "0.17.0"
AS_COMPILED = runpy.run_path(str(ROOT / "src/sparsewood/_internal/cuda/includes.py"))["as_compiled"]
FLAGS = (
    "-target wasm32-wasi -mexec-model=reactor -mcpu=generic+simd128 "
    "-std=c++17 -Oz -Xclang -Oz -ffp-contract=off -fno-exceptions -fno-rtti "
    "-Wall -Wextra -Wsign-conversion -Werror "
    f"-s -Wl,--max-memory={MOST_MEMORY}"
).split()


def sources() -> list[str]:
    """The source files, relative to the folder `native`."""
    families = (ROOT / "native/families").glob("*.cpp")
    return [*CORE, *sorted(f"families/{path.name}" for path in families)]


def digest() -> str:
    """SHA-256 of the compiler version, its flags and everything it reads."""
    includes = "".join(f'#include "{path}"\n' for path in sources())
    text = AS_COMPILED(includes, ROOT / "native")
    return hashlib.sha256(f"{ZIG} {' '.join(FLAGS)}\n{text}".encode()).hexdigest()


def section(content: str) -> bytes:
    """A custom section called "sources", which engines skip."""
    name, body = b"sources", content.encode()
    return bytes([0, 1 + len(name) + len(body), len(name)]) + name + body


def is_up_to_date(wasm: bytes) -> bool:
    """Whether the file was built from the current sources."""
    return wasm.endswith(section(digest()))


def build() -> bytes:
    """The file, compiled and linked."""
    if (found := version("ziglang")) != ZIG:
        raise SystemExit(f"expected Zig {ZIG}, as other versions give different bytes; got {found}")
    cache = ROOT / "build/wasm"
    places = {"ZIG_LOCAL_CACHE_DIR": str(cache), "ZIG_GLOBAL_CACHE_DIR": str(cache)}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "sparsewood.wasm"
        files = [f"native/{name}" for name in sources()]
        command = [sys.executable, "-m", "ziglang", "c++", *FLAGS, "-I", "native", *files]
        subprocess.run([*command, "-o", str(out)], cwd=ROOT, env=os.environ | places, check=True)
        return out.read_bytes() + section(digest())


def main() -> None:
    parser = argparse.ArgumentParser(description="Compiles the core to WebAssembly.")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    if parser.parse_args().check:
        if build() != WASM.read_bytes():
            raise SystemExit(f"{WASM.name} does not match its sources: run `make wasm`")
        print(f"{WASM.name} matches its sources")
        return
    made = build()
    new = WASM.with_suffix(".new")
    new.write_bytes(made)
    new.replace(WASM)
    print(f"{WASM.relative_to(ROOT)}: {len(made):,} bytes")


if __name__ == "__main__":
    main()
