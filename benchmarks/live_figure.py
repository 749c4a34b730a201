"""The live figure: time from a drag to the picture, against a frame at 60 frames/s.

    python benchmarks/live_figure.py [--words 10 20 40] [--drags 60] [--scale 2]

In headless Chromium, the temperature is dragged over two octaves, then the score of an arc. Four
times are measured per event: the solve; the script (solve, picture and cards); all work of the
page's thread (script, style, layout, painting) in CPU time, which other programs do not affect; and
the time until the frame is painted, including the wait for it. The run fails if the final solution
differs from Python's by more than 1e-9.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from playwright.sync_api import CDPSession, Page, sync_playwright
from rich.console import Console
from rich.table import Table
from torch import Tensor

import sparsewood as sp
from sparsewood.draw import live

FRAME = 1000 / 60  # milliseconds
TOL = 1e-9
TREES = sp.DependencyTrees(single_root=True)
FIGURE = "document.querySelector('.sparsewood-live').sparsewood"
DRAG = f"""async ([kind, drags]) => {{
    const figure = {FIGURE};
    const slider = document.querySelector(".sparsewood-live input[type=range]");
    const marginals = [...figure.state().marginals];
    const part = marginals.indexOf(Math.max(...marginals));
    const svg = document.querySelector(".sparsewood-summary svg");
    const at = (type, y) => svg.querySelector(`[data-part="${{part}}"] .sparsewood-hit`)
        .dispatchEvent(new PointerEvent(type, {{bubbles: true, button: 0, clientY: y}}));
    svg.setPointerCapture = () => {{}};  // no pointer is down that could be captured
    const painted = () => new Promise((done) => requestAnimationFrame(() => {{
        const channel = new MessageChannel();
        channel.port1.onmessage = done;
        channel.port2.postMessage(null);
    }}));
    if (kind === "score") at("pointerdown", 0);
    const times = {{solve: [], script: [], picture: []}};
    for (let i = 1; i <= drags; i++) {{
        const start = performance.now();
        if (kind === "score") at("pointermove", 4 + i);
        else {{
            slider.value = String(-1 + (2 * i) / drags);
            slider.dispatchEvent(new Event("input"));
        }}
        await painted();
        times.picture.push(performance.now() - start);
        const {{ms, solveMs}} = figure.state();
        times.script.push(ms);
        times.solve.push(solveMs);
    }}
    const {{temperature, scores, weights}} = figure.state();
    const plain = [...scores].map((score) => score === -Infinity ? null : score);
    return {{times, temperature, scores: plain, weights: [...weights]}};
}}"""


def differs(answer: dict[str, list[float]], scores: Tensor) -> float:
    """The difference to the weights in Python."""
    table = torch.tensor([0.0 if x is None else x for x in answer["scores"]], dtype=torch.float64)
    temperature = float(answer["temperature"])  # type: ignore[arg-type]
    post = sp.sparsemap(table.reshape(scores.shape), TREES, temperature=temperature)
    ours = torch.tensor(answer["weights"], dtype=torch.float64)
    if ours.shape != post.weights.shape:
        return 1.0
    return (ours - post.weights).abs().max().item()


def busy(session: CDPSession) -> float:
    """CPU time of the page's thread in milliseconds."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return 1000 * next(one["value"] for one in metrics if one["name"] == "TaskDuration")


def add_rows(table: Table, page: Page, n: int, run: argparse.Namespace) -> bool:
    generator = torch.Generator().manual_seed(n)
    scores = run.scale * torch.randn(n, n + 1, generator=generator, dtype=torch.float64)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    right = True
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figure.html"
        live(scores, TREES, [f"word{i}" for i in range(n)]).save(path)
        for kind in ("temperature", "score"):
            page.goto(path.as_uri())
            page.wait_for_function(FIGURE)
            before = busy(session)
            answer = page.evaluate(DRAG, [kind, run.drags])
            work = (busy(session) - before) / run.drags
            medians = [torch.tensor(times).median().item() for times in answer["times"].values()]
            solve, script, picture = medians
            right &= differs(answer, scores) <= TOL
            table.add_row(
                str(n), kind, str(len(answer["weights"])), f"{solve:.1f}", f"{script:.1f}",
                f"{work:.1f}", f"{work / FRAME:.2f}", f"{picture:.1f}", f"{picture / FRAME:.2f}",
            )  # fmt: skip
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--words", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--drags", type=int, default=60, help="events of each")
    parser.add_argument("--scale", type=float, default=2.0, help="deviation of the scores")
    run = parser.parse_args()
    table = Table(
        "words", "dragged", "trees", "solve", "script", "CPU", "of a frame",
        "painted", "of a frame",
        title="Milliseconds of a drag: medians, the mean of the CPU time",
        caption=f"a frame: {FRAME:.1f} ms; painted: including the wait for it",
    )  # fmt: skip
    right = True
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        for n in run.words:
            right &= add_rows(table, page, n, run)
        browser.close()
    Console(width=None if sys.stdout.isatty() else 100).print(table)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
