"""Readers of formats, sources, vocabulary, word vectors and batches."""

from sparsewood.lab.data.batches import Batch, Batches, EncodedSplit, PaddedSentences, Split
from sparsewood.lab.data.cache import cache_folder
from sparsewood.lab.data.columns import read_columns, read_plain
from sparsewood.lab.data.conllu import read_conllu
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.heads_file import attach_heads, count_missing, read_heads_file
from sparsewood.lab.data.listops import read_listops
from sparsewood.lab.data.listops_generator import generate_splits
from sparsewood.lab.data.read_options import ReadOptions
from sparsewood.lab.data.sources import (
    SOURCES,
    Classify,
    ListOps,
    Logic,
    Mnli,
    Pairs,
    Parse,
    RevDict,
    Sick,
    Snli,
    Source,
    Sst,
    Subj,
    source_from_json,
    source_to_json,
)
from sparsewood.lab.data.text import tokenize
from sparsewood.lab.data.vectors import WordVectors, load_vectors
from sparsewood.lab.data.vocabulary import Vocabulary

__all__ = [
    "SOURCES",
    "Batch",
    "Batches",
    "Classify",
    "Corpus",
    "EncodedSplit",
    "Example",
    "ListOps",
    "Logic",
    "Mnli",
    "PaddedSentences",
    "Pairs",
    "Parse",
    "ReadOptions",
    "RevDict",
    "Sentence",
    "Sick",
    "Snli",
    "Source",
    "Split",
    "Sst",
    "Subj",
    "Vocabulary",
    "WordVectors",
    "attach_heads",
    "cache_folder",
    "count_missing",
    "generate_splits",
    "load_vectors",
    "read_columns",
    "read_conllu",
    "read_heads_file",
    "read_listops",
    "read_plain",
    "source_from_json",
    "source_to_json",
    "tokenize",
]
