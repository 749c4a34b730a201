"""The solver in the browser against the native one, and its download size.

    python benchmarks/browser.py [--sizes 10 20 40] [--wasm FILE]

Needs Chromium and `playwright`. Every timed result is compared with the native one.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table
from timing import seconds

import sparsewood as sp
from sparsewood import _native

WEB = Path(sp.__file__).parent / "draw/web"
TREES = sp.DependencyTrees()
ROUNDS = 60
WORDS = 300  # per round, short enough that most rounds are not interrupted
SOLVE = """([tables, n, rounds]) => {
  const trees = tables.map((scores) => ({family: "trees", options: [0, 0], shape: [n, n + 1],
    size: [n], event: [n], scores: Float64Array.from(scores)}));
  for (let i = 0; i < 3; ++i) trees.forEach((problem) => solver.sparsemap(problem));
  let best = Infinity;
  for (let i = 0; i < rounds; ++i) {
    const start = performance.now();
    trees.forEach((problem) => solver.sparsemap(problem));
    best = Math.min(best, (performance.now() - start) / trees.length);
  }
  return [best, trees.map((problem) => Array.from(solver.sparsemap(problem).marginals))];
}"""


@contextmanager
def solver_page(wasm: Path) -> Iterator[Page]:
    """A page of Chromium with the solver in `solver`."""
    script = (WEB / "sparsewood.js").read_text(encoding="utf-8").replace("export class", "class")
    core = b64encode(wasm.read_bytes()).decode()
    with sync_playwright() as playwright:
        found = shutil.which("chromium") or playwright.chromium.executable_path
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_content(
            f'<script type="module">{script}\nconst bytes = Uint8Array.from(atob("{core}"), '
            "(letter) => letter.charCodeAt(0)); globalThis.solver = await Solver.load(bytes);"
            "</script>"
        )
        page.wait_for_function("globalThis.solver !== undefined")
        yield page
        browser.close()


def native_ms(scores: torch.Tensor) -> float:
    """Milliseconds of one solve on one thread, calling the extension per instance."""
    n = scores.shape[1]
    sizes, temperature = torch.full((1, 1), n), torch.ones(1, dtype=torch.float64)

    def solve() -> None:
        for one in scores:
            _native.solve(
                *TREES.native, one[None], sizes, [n], n, temperature, 1e-9, 0, 0, 0, False, 1
            )

    return 1e3 * seconds(solve, ROUNDS).best / len(scores)


def compare_solves(console: Console, page: Page, sizes: list[int]) -> None:
    table = Table("n", "browser ms", "native ms", "ratio", "max |u - native|",
                  title="One SparseMAP over dependency trees, the best of 60 rounds")  # fmt: skip
    for n in sizes:
        generator = torch.Generator().manual_seed(n)
        scores = torch.randn(WORDS // n, n, n + 1, dtype=torch.float64, generator=generator)
        browser, marginals = page.evaluate(SOLVE, [scores.flatten(1).tolist(), n, ROUNDS])
        native = native_ms(scores)
        wanted = sp.sparsemap(scores, TREES).marginals.flatten(1)
        worst = float((torch.tensor(marginals, dtype=torch.float64) - wanted).abs().max())
        if worst > 1e-12:
            raise SystemExit(f"n = {n}: the marginals differ by {worst:.1e}")
        ratio = f"{browser / native:.2f}x"
        table.add_row(str(n), f"{browser:.3f}", f"{native:.3f}", ratio, f"{worst:.0e}")
    console.print(table)


def show_size(console: Console, wasm: Path) -> None:
    content = wasm.read_bytes()
    packed = len(gzip.compress(content, 9, mtime=0))
    console.print(f"{wasm.name}: {len(content):,} bytes, {packed:,} gzipped")


def main() -> None:
    parser = argparse.ArgumentParser(description="The solver in the browser.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--wasm", type=Path, default=WEB / "sparsewood.wasm")
    options = parser.parse_args()
    console = Console()
    show_size(console, options.wasm)
    with solver_page(options.wasm) as page:
        compare_solves(console, page, options.sizes)


if __name__ == "__main__":
    main()
