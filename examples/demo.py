"""`make demo`: compare latent trees with fixed trees and the true trees on nested list operations.

    [MAX 2 9 [MIN 4 7 ] 0 ]  is  9

The value of such an expression follows from its tree, and the tree is known. Four models read the
same expressions: as a chain (left-to-right), as one list (flat), along the true tree (given), and
along trees that SparseMAP selects and that the model is never shown (sparsemap). They are trained
on expressions of up to 32 tokens and tested on expressions of up to 500. Training takes two to four
minutes on two cores. Stop it with Ctrl-C, and `make demo` continues later. The results are printed,
and written to demo/report.html with curves, accuracy by length and trees.

    python examples/demo.py --seed 3    # other initial weights and another order of the expressions
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from sparsewood.draw import draw
from sparsewood.lab.cli import main as sparsewood
from sparsewood.lab.data.listops import evaluate, heads
from sparsewood.lab.run import Run
from sparsewood.lab.study.rows import folder_name

FOLDER = Path("demo")
WORDS = "[MAX 2 9 [MIN 4 7 ] 0 ]".split()
LATENT = "sparsemap:max_active=5"
LR = 0.002
# The composer reads plain words, the children of a word in order, so only the tree can say how they
# are related. The parser scores an arc by its two words and by what lies between them, which does
# not depend on the length of the expression. At first, noise on its scores keeps it from settling
# on a tree too early.
# The model is told that digits and brackets are leaves. Without that, three seeds of ten find other
# trees that answer as well: they attach an operator to the bracket that closes it.
TABLE = f"""
    table listops --estimators left-to-right flat given {LATENT} --lrs {LR} --workers 2 --device cpu
    --operators MIN MAX MED --depths 2 3 4 --depth-1-share 0.25 --max-arguments 4
    --min-length 8 --max-length 32 --operator-probability 0.3
    --train 40000 --validation 1000 --test 2000 --test-lengths 100 500 --test-per-length 100
    --hidden 64 --embedding 64 --dropout 0 --composer ordered --composer-input words
    --own-embeddings --scorer between --projective --single-root --leaves ] 0 1 2 3 4 5 6 7 8 9
    --noise 1 --anneal noise=1:0 --anneal-epochs 4 --rounding 0.4 0.8
    --batch 32 --eval-batch 128 --max-epochs 5 --linear --clip 5 --no-temperatures
"""
SHOWN = 2  # sentences, and trees per sentence


def main(seed: int, folder: Path) -> int:
    """Train the models and print the results; return the exit code of the training."""
    console = Console(highlight=False)

    def section(title: str, *content: str | Text) -> None:
        console.print("", Rule(title, align="left"), "", *content, sep="\n")

    value, tree = evaluate(WORDS), draw(WORDS, [heads(WORDS)], [1.0]).partition("\n")[2]
    section(
        "List operations", Text(f"{' '.join(WORDS)} is {value}, by this tree:"), "", coloured(tree)
    )
    section("Four models")
    options = ["--out", str(folder), "--seeds", str(seed)]
    code = sparsewood([*TABLE.split(), *options, "--title", "Latent trees for list operations"])
    if code:
        return code
    run = Run(folder / folder_name(LATENT) / f"lr-{LR:g}" / f"seed-{seed}")
    section("Trees of the latent model; ✓ marks heads as in the true tree", *gallery(run))
    console.print(Text(learnt(run)), "", sep="\n")
    console.print(f"Curves, and more trees: [bold]{folder / 'report.html'}[/bold]")
    return 0


def learnt(run: Run) -> str:
    """What the latent model learnt, and whether it holds on longer expressions."""
    assert run.result is not None
    right = run.result["tests"]["test"]["attachment_without_brackets"]
    longest = run.result["tests"]["101-500"]
    return (
        "The latent model was shown expressions and their values, never a tree. It was only told "
        "that digits and brackets head nothing. From this its parser learnt which operator each "
        f"token belongs to: {right:.1f} % of the operators and digits of unseen expressions have "
        "the same head as in the true tree. It was trained on at most 32 tokens; of expressions of "
        f"101 to 500 tokens it gets {longest['accuracy']:.0f} % right, with "
        f"{longest['attachment_without_brackets']:.1f} % of the heads."
    )


def gallery(run: Run) -> Iterable[Text]:
    """The most probable trees of some expressions of the validation split."""
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
    parser = argparse.ArgumentParser(description="Latent trees for list operations.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=FOLDER)
    asked = parser.parse_args()
    sys.exit(main(asked.seed, asked.out))
