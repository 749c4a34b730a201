"""Readers, sources, vocabulary, word vectors and batches."""

from spinney.data.batches import Batch, Batches, EncodedSplit, Padded
from spinney.data.cache import cache_folder
from spinney.data.columns import read_columns, read_plain
from spinney.data.conllu import read_conllu
from spinney.data.examples import Corpus, Example, Sentence
from spinney.data.heads_file import attach_heads, count_missing, read_heads_file
from spinney.data.listops import generate_splits, read_listops
from spinney.data.sources import (
    SOURCES,
    Classify,
    ListOps,
    Pairs,
    RevDict,
    Sick,
    Snli,
    Source,
    Sst,
    Subj,
    source_from_json,
    source_to_json,
)
from spinney.data.text import tokenize
from spinney.data.vectors import WordVectors, load_vectors
from spinney.data.vocabulary import Vocabulary

__all__ = [
    "SOURCES",
    "Batch",
    "Batches",
    "Classify",
    "Corpus",
    "EncodedSplit",
    "Example",
    "ListOps",
    "Padded",
    "Pairs",
    "RevDict",
    "Sentence",
    "Sick",
    "Snli",
    "Source",
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
