"""Dependency trees as CoNLL-U, one block per tree of a sentence.

The comment `# weight` is the tree's probability; `# certificate` says whether the solution is
certified. If heads are given to compare with, `# agreement` counts the words that agree; for the
others, the last column holds `GivenHead` and, with labels, `GivenDeprel`.
"""

from sparsewood.draw._escape import printable
from sparsewood.draw._sheet import Sheet
from sparsewood.draw.arcs import Arcs


def sheet_conllu(sheet: Sheet) -> str:
    """One block per tree, each ending with an empty line."""
    blocks = []
    for tree, weight in zip(sheet.pictures, sheet.weights, strict=True):
        if not isinstance(tree, Arcs):
            others = "binary trees" if sheet.noun == "tree" else f"{sheet.noun}s"
            raise ValueError(f"format 'conllu': expected dependency trees, got {others}")
        lines = [f"# weight = {weight:.6g}"]
        if sheet.caption:
            lines.append(f"# certificate = {sheet.caption}")
        blocks.append("\n".join([*lines, *_block(tree)]) + "\n\n")
    return "".join(blocks)


def _block(tree: Arcs) -> list[str]:
    forms = [form(word) for word in tree.words]
    lines = [f"# text = {' '.join(forms)}"]
    if tree.agrees is not None:
        compared = [same for same in tree.agrees if same is not None]
        lines.append(f"# agreement = {sum(compared)}/{len(compared)}")
    for i, (word, head) in enumerate(zip(forms, tree.heads, strict=True)):
        relation = "root" if head == 0 else "dep"
        if tree.labels is not None:
            relation = form(tree.labels[i])
        lines.append(f"{i + 1}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t{_misc(tree, i)}")
    return lines


def _misc(tree: Arcs, word: int) -> str:
    if tree.given is None or tree.agrees is None or tree.agrees[word] in (None, True):
        return "_"
    head = f"GivenHead={tree.given[word]}"
    if tree.given_labels is None:
        return head
    return f"{head}|GivenDeprel={form(tree.given_labels[word]).replace('|', '·')}"


def form(word: str) -> str:
    """The word as one column: white space becomes single spaces, an empty word `_`."""
    return printable(" ".join(word.split())) or "_"
