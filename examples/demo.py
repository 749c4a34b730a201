"""`make demo`: latent trees against fixed ones and the true ones, on nested list operations.

    [MAX 2 9 [MIN 4 7 ] 0 ]  is  9

The value of such an expression follows from its tree, and the tree is known. Four models read the
same expressions: from left to right, as a bag of words (flat), along the true tree (given), and
along trees that SparseMAP selects and nobody shows the model (sparsemap). Training takes two to
four minutes on two cores; it may be stopped with Ctrl-C, and `make demo` then goes on. The results
are printed, and written to demo/report.html with curves and trees.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from sparsewood.draw import draw
from sparsewood.lab.cli import main as sparsewood
from sparsewood.lab.data.listops import evaluate, heads
from sparsewood.lab.train import Run
from sparsewood.lab.train.rows import folder_name

FOLDER = Path("demo")
WORDS = "[MAX 2 9 [MIN 4 7 ] 0 ]".split()
ROWS = ("left_to_right", "flat", "given", "sparsemap:max_active=10")
LR, SEED = 0.003, 0
TABLE = f"""
    table listops --out {FOLDER} --estimators {" ".join(ROWS)} --lrs {LR} --seeds {SEED} --workers 2
    --train 12000 --validation 1000 --test 2000
    --max-depth 4 --max-arguments 3 --max-length 24 --operator-probability 0.4
    --hidden 64 --embedding 32 --dropout 0 --batch 32 --max-epochs 10 --device cpu
    --projective --single-root
"""
SHOWN = 2  # sentences, and trees of each


def main() -> int:
    """Returns the exit code of the training."""
    console = Console(highlight=False)

    def section(title: str, *content: str | Text) -> None:
        console.print("", Rule(title, align="left"), "", *content, sep="\n")

    value, tree = evaluate(WORDS), draw(WORDS, [heads(WORDS)], [1.0]).partition("\n")[2]
    section(
        "List operations", Text(f"{' '.join(WORDS)} is {value}, by this tree:"), "", coloured(tree)
    )
    section("Four models")
    code = sparsewood([*TABLE.split(), "--title", "Latent trees for list operations"])
    if code:
        return code
    run = Run(FOLDER / folder_name(ROWS[-1]) / f"lr-{LR:g}" / f"seed-{SEED}")
    section("Trees of the latent model; ✓ marks heads as in the true tree", *gallery(run))
    console.print(f"Curves, and more trees: [bold]{FOLDER / 'report.html'}[/bold]")
    return 0


def gallery(run: Run) -> Iterable[Text]:
    """The likeliest trees of some expressions of the validation split."""
    examples = sorted(run.gallery, key=lambda example: len(example["sides"][0]["words"]))
    for example in examples[:SHOWN]:
        side = example["sides"][0]
        trees = side["trees"][:SHOWN]
        likeliest = max(example["prediction"], key=lambda label: example["prediction"][label])
        drawing = draw(
            side["words"],
            [tree["heads"] for tree in trees],
            [tree["weight"] for tree in trees],
            side["given"],
        )
        said = f"{' '.join(side['words'])} is {example['label']}, the model says {likeliest}"
        yield coloured(f"{said}\n\n{drawing}\n")


def coloured(drawing: str) -> Text:
    text = Text(drawing)
    text.highlight_regex("[─│╭╮┬┼▼]+", "cyan")
    text.highlight_regex("ROOT", "bold magenta")
    text.highlight_regex("[█░]+|✓", "green")
    text.highlight_regex("✗", "red")
    return text


if __name__ == "__main__":
    sys.exit(main())
