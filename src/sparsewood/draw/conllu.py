"""Dependency trees as CoNLL-U: one block for each tree of a sentence.

The comment `# weight` is the tree's probability. Where heads are given to compare with,
`# agreement` counts the words that have the given head, and the last column of the others holds
it as `GivenHead`.
"""

from sparsewood.draw._trees import Drawable


def trees_conllu(drawable: Drawable) -> str:
    """One block for each tree; each ends with an empty line."""
    forms = [form(word) for word in drawable.words]
    blocks = []
    for heads, weight in zip(drawable.trees, drawable.weights, strict=True):
        given = drawable.given or heads
        lines = [f"# weight = {weight:.6g}", f"# text = {' '.join(forms)}"]
        if drawable.given is not None:
            same = sum(head == wanted for head, wanted in zip(heads, given, strict=True))
            lines.append(f"# agreement = {same}/{len(heads)}")
        for i, (word, head, wanted) in enumerate(zip(forms, heads, given, strict=True), start=1):
            relation = "root" if head == 0 else "dep"
            misc = "_" if head == wanted else f"GivenHead={wanted}"
            lines.append(f"{i}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t{misc}")
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


def form(word: str) -> str:
    """The word in one column: white space inside it becomes one space; nothing becomes `_`."""
    return " ".join(word.split()) or "_"
