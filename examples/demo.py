"""The worked example of `make demo`: one ambiguous sentence, from scores to trees and back.

"She saw the man with the telescope": who holds the telescope? SparseMAP keeps both readings, with
probabilities that a gradient can move. What is printed is also written to demo/report.html.
"""

from pathlib import Path

import torch
from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

import spinney as sp
from spinney.draw import posterior_text, tree_text

WORDS = "She saw the man with the telescope".split()
MAN_WITH_TELESCOPE = (2, 0, 4, 2, 4, 7, 5)  # "with" hangs from "man"
TEMPERATURES = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
REPORT = Path("demo") / "report.html"

TREES = sp.DependencyTrees(single_root=True)


def hand_made_scores() -> torch.Tensor:
    """Arc scores (1, n, n + 1), row = dependent, column = head, column 0 = the root."""
    scores = [
        ("She", {"saw": 3.0, "man": 0.5}),
        ("saw", {"ROOT": 3.0, "man": 0.5}),
        ("the", {"man": 3.0, "telescope": 0.5}),
        ("man", {"saw": 2.6, "ROOT": 1.0, "with": 0.8}),
        ("with", {"saw": 1.7, "man": 1.4, "telescope": 1.0}),
        ("the", {"telescope": 3.0, "man": 1.0}),
        ("telescope", {"with": 2.4, "saw": 1.2, "man": 0.9}),
    ]
    column = {"ROOT": 0} | {word: i for i, word in enumerate(WORDS, start=1)}
    table = torch.zeros(1, len(WORDS), len(WORDS) + 1, dtype=torch.float64)
    for row, (_, heads) in enumerate(scores):
        for head, score in heads.items():
            table[0, row, column[head]] = score
    return table


def temperature_table(scores: torch.Tensor) -> Table:
    """One solve of the batch of all temperatures."""
    batch = scores.expand(len(TEMPERATURES), -1, -1)
    post = sp.sparsemap(batch, TREES, temperature=torch.tensor(TEMPERATURES, dtype=scores.dtype))
    table = Table("temperature", "trees kept", "entropy", "best tree", "gap")
    for column in table.columns:
        column.justify = "right"
    for i, temperature in enumerate(TEMPERATURES):
        one = post[i]
        table.add_row(
            f"{temperature:g}",
            f"{int(one.sizes[0])}",
            f"{float(one.entropy()[0]):.3f}",
            f"{float(one.weights.max()):.1%}",
            f"{float(one.gap[0]):.1e}",
        )
    return table


def raise_probability(
    scores: torch.Tensor, tree: torch.Tensor, steps: int = 4, rate: float = 0.3
) -> tuple[torch.Tensor, Table]:
    """Gradient ascent on the probability of one tree; returns the new scores and the log."""
    scores = scores.clone().requires_grad_()
    optimizer = torch.optim.SGD([scores], lr=rate, maximize=True)
    table = Table("step", "probability", "", "trees kept")
    for step in range(steps + 1):
        post = sp.sparsemap(scores, TREES)
        (probability,) = post.expect(lambda trees, _: (trees == tree).all(-1).to(scores.dtype))
        shown = float(probability.detach())
        bar = Text("█" * round(30 * shown), style="green")
        table.add_row(f"{step}", f"{shown:.1%}", bar, f"{int(post.sizes[0])}")
        if step < steps:
            optimizer.zero_grad()
            probability.backward()
            optimizer.step()
    return scores.detach(), table


def write_report(console: Console) -> None:
    """Writes beside the final name, then renames: a reader never sees half a report."""
    REPORT.parent.mkdir(exist_ok=True)
    unfinished = REPORT.with_suffix(".tmp")
    unfinished.write_text(console.export_html(), encoding="utf-8")
    unfinished.replace(REPORT)


def coloured(drawing: str) -> Text:
    text = Text(drawing)
    text.highlight_regex("[─│╭╮┬┼▼]+", "cyan")
    text.highlight_regex("ROOT", "bold magenta")
    text.highlight_regex("[0-9.]+%  █*", "bold green")
    return text


def main() -> None:
    console = Console(record=True, width=96, highlight=False)
    scores = hand_made_scores()
    tree = torch.tensor(MAN_WITH_TELESCOPE)

    def section(title: str, *content: Text | Table) -> None:
        console.print("", Rule(title, align="left"), "", *content, sep="\n")

    console.print(Panel(Text(" ".join(WORDS), style="bold"), title="spinney", expand=False))
    count = TREES.count(len(WORDS))
    console.print(f"{count:,} dependency trees are possible. SparseMAP keeps the few that matter.")

    section("The temperature decides how many", temperature_table(scores))
    before = sp.sparsemap(scores, TREES)
    section("The trees at temperature 1", coloured(posterior_text(before, WORDS)))
    moved, log = raise_probability(scores, tree)
    section("Gradient steps towards one of them", coloured(tree_text(tree, WORDS)), log)
    after = sp.sparsemap(moved, TREES)
    section("The trees after those steps", coloured(posterior_text(after, WORDS)))

    write_report(console)
    console.print(f"\nThe same as a page: {REPORT}")


if __name__ == "__main__":
    main()
