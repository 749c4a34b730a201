"""A dependency parser: words in, one tree for each sentence out."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import torch
from huggingface_hub import PyTorchModelHubMixin
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from sparsewood.inference import crf_loss, hinge_loss, perceptron_loss, sparsemap_loss
from sparsewood.lab.data.batches import cut_by_words
from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.data.vectors import WordVectors
from sparsewood.lab.data.vocabulary import UNKNOWN, Vocabulary
from sparsewood.lab.tasks._parser_input import (
    ParserBatch,
    ParserInput,
    characters_of,
)
from sparsewood.lab.tasks._weights import save_weights
from sparsewood.nn._bilstm import run_bilstm
from sparsewood.nn.scorers import BiaffineArcScorer
from sparsewood.structures.dependency import DependencyTrees

ParserLoss = Literal["crf", "sparsemap", "hinge", "perceptron"]

LOSSES: dict[ParserLoss, Callable[..., Tensor]] = {
    "crf": crf_loss,
    # The scores of an untrained parser are all alike: SparseMAP would keep some n^2 trees.
    "sparsemap": partial(sparsemap_loss, max_active=50),
    "hinge": hinge_loss,
    "perceptron": perceptron_loss,
}
_TASK = "parse"  # in config.json, where models of other tasks name theirs


@dataclass(frozen=True)
class ParserConfig:
    """The shape of a parser.

    Attributes:
        vectors: size of the fixed word vectors; 0: none.
        embedding: size of the learned word embeddings, and of the projected word vectors.
        characters: size of the learned embeddings of characters.
        filters: of the convolution over characters; the size of what it says of a word.
        layers: of the BiLSTM.
        hidden: of each direction of a layer.
        arc: size of the vectors that the biaffine scorer compares.
        dropout: on words as a whole, between layers, and in the scorer.
        projective: parse to projective trees only.
    """

    vectors: int = 0
    embedding: int = 100
    characters: int = 50
    filters: int = 100
    layers: int = 3
    hidden: int = 400
    arc: int = 500
    dropout: float = 0.33
    projective: bool = False

    def __post_init__(self) -> None:
        for name in ("embedding", "characters", "filters", "layers", "hidden", "arc"):
            if getattr(self, name) < 1:
                raise ValueError(f"parser.{name}: expected at least 1, got {getattr(self, name)}")
        if self.vectors < 0:
            raise ValueError(f"parser.vectors: expected at least 0, got {self.vectors}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"parser.dropout: expected at least 0, below 1, got {self.dropout}")


_CARD = """\
---
{{ card_data }}
---

A dependency parser made with sparsewood. `config.json` holds its options, words and characters.

```python
from sparsewood.lab.tasks import load_parser

parser = load_parser("this folder")
parser.parse([("Trees", "have", "roots", ".")])
```
"""


class DependencyParser(
    nn.Module, PyTorchModelHubMixin, library_name="sparsewood", model_card_template=_CARD
):
    """Words -> word vectors and spellings -> BiLSTM -> biaffine arc scores -> the best tree.

    The parser of Dozat & Manning (2017), without tags and labels. A word is three vectors side by
    side: a learned one, a fixed one that is projected, and what a convolution says of its
    characters (Ma & Hovy 2016). Each of the three is left out for some words while training. Trees
    have one root.

    `save_pretrained(folder)` writes weights and configuration, `from_pretrained(folder)` makes the
    parser anew from them.

    Args:
        options: the shape of the parser.
        words: the words with a learned embedding; the first is "<unk>".
        vector_words: the words with a fixed vector; the first is "<unk>", whose vector is zero.
        characters: those with a learned embedding.
    """

    vectors: Tensor

    def __init__(
        self,
        options: ParserConfig,
        words: list[str],
        vector_words: list[str],
        characters: list[str],
    ) -> None:
        super().__init__()
        self.options = options
        self.input = ParserInput(words, vector_words, characters)
        self.structure = DependencyTrees(projective=options.projective, single_root=True)
        self.embedding = nn.Embedding(len(words), options.embedding)
        self.spelling = _Spelling(self.input.alphabet, options.characters, options.filters)
        width = options.embedding + options.filters
        if options.vectors:
            # Half precision is kept on disk and in memory: the numbers have few digits anyway.
            table = torch.zeros(len(vector_words), options.vectors, dtype=torch.float16)
            self.register_buffer("vectors", table)
            self.projection = nn.Linear(options.vectors, options.embedding)
            width += options.embedding
        sizes = [width, *[2 * options.hidden] * (options.layers - 1)]
        self.layers = nn.ModuleList(
            nn.LSTM(size, options.hidden, batch_first=True, bidirectional=True) for size in sizes
        )
        self.scorer = BiaffineArcScorer(2 * options.hidden, options.arc, dropout=options.dropout)

    def _save_pretrained(self, save_directory: Path) -> None:
        save_weights(self, save_directory)
        described = {
            "task": _TASK,
            "options": asdict(self.options),
            "words": self.input.words.words,
            "vector_words": self.input.vector_words.words,
            "characters": self.input.characters,
        }
        text = json.dumps(described, indent=1, ensure_ascii=False)
        (save_directory / "config.json").write_text(text, encoding="utf-8")

    def forward(self, batch: ParserBatch) -> Tensor:
        """Arc scores (B, n, n + 1) of a batch on the parser's device."""
        known = [self.embedding(batch.words), self.spelling(batch.spellings)[batch.spelled]]
        if self.options.vectors:
            rows = self.vectors[batch.rows].to(self.projection.weight.dtype)
            known.append(self.projection(rows))
        x = torch.cat([self._drop_words(part) for part in known], -1)
        for layer in self.layers:
            assert isinstance(layer, nn.LSTM)
            x = run_bilstm(layer, self._drop_features(x), batch.lengths)
        return self.scorer(self._drop_features(x))

    def loss(self, batch: ParserBatch, loss: ParserLoss = "crf") -> Tensor:
        """The loss of the heads, a mean over the words of the batch."""
        if batch.heads is None:
            raise ValueError("loss: expected sentences with heads")
        scores = self(batch)
        total = LOSSES[loss](
            scores.float(), batch.heads, self.structure, lengths=batch.lengths, reduction="sum"
        )
        return total / int(batch.lengths.sum())

    def parse(
        self, sentences: Sequence[Sequence[str]], *, budget: int = 5000
    ) -> list[tuple[int, ...]]:
        """The heads of each sentence, given its words.

        Args:
            sentences: of at least one word each.
            budget: the most words, padding included, that are worked on at a time.
        """
        heads: list[tuple[int, ...]] = [()] * len(sentences)
        for row, tree in self.parsed(sentences, budget=budget):
            heads[row] = tree
        return heads

    def parsed(
        self, sentences: Sequence[Sequence[str]], *, budget: int = 5000
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """As `parse`, but as they come: which sentence, and its heads. Short ones come first."""
        for row, words in enumerate(sentences):
            if not words:
                raise ValueError(f"sentence {row} has no words")
        device = self.embedding.weight.device
        training = self.training
        self.eval()
        try:
            lengths = [len(words) for words in sentences]
            order = sorted(range(len(lengths)), key=lengths.__getitem__)
            for rows in cut_by_words(order, lengths, budget):
                batch = self.input.batch([Sentence(tuple(sentences[row])) for row in rows])
                with torch.no_grad():
                    scores = self(batch.to(device)).cpu()
                trees = self.structure.argmax(scores, batch.lengths).tolist()
                for row, tree, n in zip(rows, trees, batch.lengths.tolist(), strict=True):
                    yield row, tuple(tree[:n])
        finally:
            self.train(training)

    def _drop_words(self, x: Tensor) -> Tensor:
        """Zero for some words, the others scaled up: (B, n, d)."""
        return x * nn.functional.dropout(
            x.new_ones(*x.shape[:2], 1), self.options.dropout, self.training
        )

    def _drop_features(self, x: Tensor) -> Tensor:
        """Zero for some features, the same of all words of a sentence: (B, n, d).

        Gal & Ghahramani (2016), "A theoretically grounded application of dropout in RNNs".
        """
        return x * nn.functional.dropout(
            x.new_ones(len(x), 1, x.shape[2]), self.options.dropout, self.training
        )


class _Spelling(nn.Module):
    """A vector for each word from its characters: (U, c) -> (U, filters).

    A convolution over three characters, the largest answer of each filter.
    """

    def __init__(self, alphabet: int, size: int, filters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(alphabet, size, padding_idx=0)
        self.convolution = nn.Conv1d(size, filters, 3, padding=1)

    def forward(self, spellings: Tensor) -> Tensor:
        answers = self.convolution(self.embedding(spellings).mT)
        return answers.masked_fill(spellings[:, None] == 0, -torch.inf).amax(-1)


def build_parser(
    sentences: Iterable[Sentence],
    vectors: WordVectors | None = None,
    options: ParserConfig | None = None,
    *,
    min_count: int = 2,
) -> DependencyParser:
    """A parser for training on `sentences`, as initialised from the global random state.

    Args:
        sentences: of the training split.
        vectors: fixed, for all words the parser may come to see.
        options: the shape; the size of the vectors is taken from them.
        min_count: rarer words have no learned embedding of their own.
    """
    sentences = list(sentences)
    options = ParserConfig() if options is None else options
    words = Vocabulary.build(sentences, min_count=min_count).words
    size = 0 if vectors is None else vectors.size
    known = [] if vectors is None else sorted({w.lower() for w in vectors.words} - {UNKNOWN})
    parser = DependencyParser(
        replace(options, vectors=size), words, [UNKNOWN, *known], characters_of(sentences)
    )
    if vectors is not None and known:
        parser.vectors[1:] = vectors.lookup(known)
    return parser


def load_parser(folder: Path | str) -> DependencyParser:
    """The parser that `save_pretrained` wrote to `folder`.

    Raises:
        ValueError: if there is none, or it cannot be read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; expected one with a parser of sparsewood")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if config.get("task") != _TASK:
            raise ValueError("config.json is not that of a parser")
        parser = DependencyParser(
            ParserConfig(**config["options"]),
            config["words"],
            config["vector_words"],
            config["characters"],
        )
        parser.load_state_dict(load_file(folder / "model.safetensors"))
    except (
        OSError,
        ValueError,
        AttributeError,
        KeyError,
        TypeError,
        RuntimeError,
        SafetensorError,
    ) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{folder}: not a readable parser of sparsewood ({reason})") from error
    return parser.eval()
