"""The Stanford Sentiment Treebank: binary trees with a label from 0 to 4 at every node."""

from pathlib import Path

from sparsewood.lab.data._lines import fault, full_lines
from sparsewood.lab.data.examples import Example, Sentence
from sparsewood.lab.data.read_options import note_length

FINE = ("very negative", "negative", "neutral", "positive", "very positive")
_BINARY = ("negative", "negative", None, "positive", "positive")


def read_sst(path: Path, *, fine: bool = False, phrases: bool = False) -> list[Example]:
    """The sentences of a file of labelled trees, one per line: `(3 (2 It) (4 works))`.

    Args:
        path: path of the file.
        fine: five labels; otherwise "negative" (0 and 1) and "positive" (3 and 4), without neutral
            sentences.
        phrases: every node of the trees is an example, as usual in training; a repeated phrase with
            the same label counts once.

    Raises:
        ValueError: at a malformed line.
    """
    labels = FINE if fine else _BINARY
    examples = []
    for number, line in full_lines(path):
        nodes = _nodes(line, path, number)
        note_length(len(nodes[-1][1]), f"{path}:{number}")
        for score, words in nodes if phrases else nodes[-1:]:
            if (label := labels[score]) is not None:
                examples.append(Example((Sentence(words),), label))
    return list(dict.fromkeys(examples)) if phrases else examples


def _nodes(line: str, path: Path, number: int) -> list[tuple[int, tuple[str, ...]]]:
    """Label and words of every node, children before their parent, so that the sentence is last."""
    nodes: list[tuple[int, tuple[str, ...]]] = []
    words: list[str] = []
    opened: list[tuple[int, int]] = []  # label of the node and the number of words before it
    # A leaf may contain a no-break space, so only spaces separate tokens.
    tokens = [t for t in line.replace("(", " ( ").replace(")", " ) ").split(" ") if t]
    previous = ""
    for token in tokens:
        if not opened and (nodes or token != "(") and previous != "(":
            fault(path, number, "expected one tree in brackets, got text outside of it")
        if previous == "(":
            if token not in ("0", "1", "2", "3", "4"):
                fault(path, number, "expected a label from 0 to 4 after a bracket")
            opened.append((int(token), len(words)))
        elif token == ")":
            label, start = opened.pop()
            if start == len(words):
                fault(path, number, "a node without words")
            nodes.append((label, tuple(words[start:])))
        elif token != "(":
            words.append(token)
        previous = token
    if opened or previous == "(":
        fault(path, number, "expected a closing bracket, got the end of the line")
    return nodes
