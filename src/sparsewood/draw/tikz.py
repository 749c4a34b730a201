"""Dependency trees for LaTeX, by the package tikz-dependency."""

from collections.abc import Sequence

from sparsewood.draw._arcs import stacked_arcs
from sparsewood.draw._trees import Drawable, agreement, percent, printable

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\symbol{38}",  # \& parts the words of a deptext
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
_PREAMBLE = r"""% \usepackage{tikz-dependency}
\definecolor{sparsewoodagree}{HTML}{2A7FC9}
\definecolor{sparsewooddiffer}{HTML}{D5601C}"""
_STYLES = {
    "plain": "",
    "agree": ", edge style={draw=sparsewoodagree}",
    "differ": ", edge style={draw=sparsewooddiffer, dashed}",
}


def trees_tikz(drawable: Drawable) -> str:
    """The trees of one sentence one under another, each after its probability."""
    blocks = [_PREAMBLE]
    for heads, weight in zip(drawable.trees, drawable.weights, strict=True):
        note = agreement(heads, drawable.given).replace("✓ ", "")
        title = f"{percent(weight)} {f'({note})' if note else ''}".strip()
        title = title.replace("<", r"\textless{}").replace("%", r"\%")
        tree = tree_tikz(heads, drawable.words, drawable.given)
        blocks.append(f"\\noindent\\textbf{{{title}}}\\par\\noindent\n{tree}\\par\\medskip")
    return "\n\n".join(blocks)


def tree_tikz(
    heads: Sequence[int], words: Sequence[str], given: Sequence[int] | None = None
) -> str:
    """One `dependency` environment."""
    # Braces keep a word that begins with [ from being read as options.
    row = r" \& ".join(f"{{{latex(word)}}}" for word in words)
    lines = [
        r"\begin{dependency}[hide label]",
        r"  \begin{deptext}[column sep=.6em]",
        rf"    {row} \\",
        r"  \end{deptext}",
    ]
    levels = {arc.dependent + 1: arc.level for arc in stacked_arcs(heads)}
    top = 1 + max(levels.values(), default=0)
    for word, head in enumerate(heads, start=1):
        kind = "plain" if given is None else "agree" if given[word - 1] == head else "differ"
        options = f"edge height={2 + 1.6 * levels.get(word, top):.1f}ex{_STYLES[kind]}"
        command = rf"\depedge[{options}]{{{head}}}" if head else rf"\deproot[{options}]"
        lines.append(rf"  {command}{{{word}}}{{{'' if head else 'root'}}}")
    return "\n".join([*lines, r"\end{dependency}"])


def latex(text: str) -> str:
    """Text with the characters that LaTeX reads as commands escaped."""
    return "".join(_ESCAPES.get(character, character) for character in printable(text))
