"""Sentences with parses and word vectors: real ones from a folder, or random ones like them.

The folder holds `parses/sst_train.tsv` (label 0-4, tokens, heads and relations, tab-separated, each
but the label separated by spaces; heads count from 1, 0 is the root) and
`glove/glove.6B.300d.float16.npz` (`words`, one newline-separated UTF-8 bytes object; `vectors`).
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood._internal.host import move

VARIABLE = "SPARSEWOOD_DATA"
SIZE = 300  # of a word vector
PARSES, GLOVE = Path("parses", "sst_train.tsv"), Path("glove", "glove.6B.300d.float16.npz")
LENGTHS = (19.0, 9.0, 2, 52)  # mean, deviation, least and most words of an SST sentence


@dataclass
class Batch:
    tokens: Tensor  # (B, n) int64
    lengths: Tensor  # (B,)
    heads: Tensor  # (B, n) int64, -1 beyond the lengths
    labels: Tensor  # (B,) 0 or 1

    def to(self, device: torch.device) -> Batch:
        """A copy on `device`, in one transfer."""
        return Batch(*move([getattr(self, field.name) for field in fields(self)], device))


@dataclass
class Sentence:
    tokens: list[int]
    heads: list[int]
    label: int


@dataclass
class Corpus:
    source: str
    sentences: list[Sentence]
    vectors: Tensor  # (V, 300) float32

    def batches(self, size: int, count: int) -> list[Batch]:
        """`count` batches, in random order and not sorted by length; the same on every run."""
        order = np.random.default_rng(size).permutation(len(self.sentences))
        wanted = np.resize(order, size * count).reshape(count, size)
        return [_pad([self.sentences[i] for i in row]) for row in wanted]


def add_option(parser: argparse.ArgumentParser) -> None:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get(VARIABLE, beside)),
        help=f"folder of SST parses and GloVe (default: ${VARIABLE}, then ../shared/data); "
        "random sentences of the same lengths if it is absent",
    )


def load(folder: Path, count: int = 2048) -> Corpus:
    """`count` sentences of the binary task of SST, or as many random ones."""
    if not (folder / PARSES).exists() or not (folder / GLOVE).exists():
        return _made_up(count)
    rows = (folder / PARSES).read_text(encoding="utf-8").splitlines()
    parsed = [row.split("\t") for row in rows if not row.startswith("2\t")]
    chosen = np.random.default_rng(0).permutation(len(parsed))[:count]
    words: dict[str, int] = {}
    sentences = []
    for label, tokens, heads, *_ in (parsed[i] for i in chosen):
        index = [words.setdefault(word.lower(), len(words)) for word in tokens.split()]
        sentences.append(Sentence(index, [int(h) for h in heads.split()], int(int(label) > 2)))
    return Corpus("SST, GloVe", sentences, _glove(folder / GLOVE, words))


def _glove(path: Path, words: dict[str, int]) -> Tensor:
    """The vectors of `words`, zero where GloVe has none."""
    vectors = torch.zeros(len(words), SIZE)
    with np.load(path, allow_pickle=False) as archive:
        known = bytes(archive["words"]).decode().split("\n")
        table = torch.from_numpy(archive["vectors"])
    for i, word in enumerate(known):
        if word in words:
            vectors[words[word]] = table[i].float()
    return vectors


def _made_up(count: int) -> Corpus:
    """Random words, labels and trees; lengths distributed like those of SST."""
    rng = np.random.default_rng(0)
    mean, deviation, least, most = LENGTHS
    lengths = rng.normal(mean, deviation, count).round().clip(least, most).astype(int)
    scores = torch.from_numpy(rng.standard_normal((count, most, most + 1)))
    heads = sp.DependencyTrees(single_root=True).argmax(scores, torch.from_numpy(lengths))
    sentences = [
        Sentence(rng.integers(5000, size=n).tolist(), tree[:n].tolist(), int(rng.integers(2)))
        for n, tree in zip(lengths, heads, strict=True)
    ]
    vectors = torch.from_numpy(rng.standard_normal((5000, SIZE)) * 0.4).float()
    return Corpus("made up", sentences, vectors)


def _pad(sentences: list[Sentence]) -> Batch:
    lengths = torch.tensor([len(s.tokens) for s in sentences])
    tokens = torch.zeros(len(sentences), int(lengths.max()), dtype=torch.int64)
    heads = torch.full_like(tokens, -1)
    for b, sentence in enumerate(sentences):
        tokens[b, : lengths[b]] = torch.tensor(sentence.tokens)
        heads[b, : lengths[b]] = torch.tensor(sentence.heads)
    return Batch(tokens, lengths, heads, torch.tensor([s.label for s in sentences]))
