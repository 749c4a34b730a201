import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sparsewood.lab._extras import MissingExtra
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.sources import Classify
from sparsewood.lab.tasks.parse import DependencyParser, ParserConfig
from sparsewood.lab.tasks.parsing import load_corpus, parse_corpus, parse_sentences, spacy_heads


class _Pipeline:
    """Every word hangs from the one before it; "." and the first word are roots."""

    vocab = None

    def __init__(self, version: str = "1.0", pipes: tuple[str, ...] = ("parser",)) -> None:
        self.meta = {"version": version}
        self.pipes = pipes
        self.parsed: list[list[str]] = []

    def has_pipe(self, name: str) -> bool:
        return name in self.pipes

    def pipe(self, docs: Iterable[list[str]]) -> Iterator[list[SimpleNamespace]]:
        for words in docs:
            self.parsed.append(words)
            tokens = [SimpleNamespace(i=i) for i in range(len(words))]
            for token, word in zip(tokens, words, strict=True):
                token.head = token if word == "." else tokens[max(token.i - 1, 0)]
            yield tokens


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> _Pipeline:
    nlp = _Pipeline()

    def load(name: str) -> _Pipeline:
        if name == "absent":
            raise OSError(name)
        return nlp

    def doc(_: object, words: list[str]) -> list[str]:
        return words

    spacy = SimpleNamespace(load=load, tokens=SimpleNamespace(Doc=doc))
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    return nlp


def test_heads_have_one_root(pipeline: _Pipeline) -> None:
    assert spacy_heads([("a", "b", ".", "c", ".")], progress=False) == [(0, 1, 1, 3, 1)]


def test_heads_are_kept_by_pipeline_version_and_words(pipeline: _Pipeline) -> None:
    one, two = ("a", "b"), ("a b",)
    assert spacy_heads([one, two, one], "md", progress=False) == [(0, 1), (0,), (0, 1)]
    assert pipeline.parsed == [["a", "b"], ["a b"]]
    assert spacy_heads([two, ("c",)], "md", progress=False) == [(0,), (0,)]
    assert pipeline.parsed[2:] == [["c"]]
    pipeline.meta["version"] = "2.0"
    spacy_heads([one], "md", progress=False)
    spacy_heads([one], "some/folder", progress=False)
    assert pipeline.parsed[3:] == [["a", "b"]] * 2


def test_only_sentences_without_heads_are_parsed(pipeline: _Pipeline) -> None:
    given, bare = Sentence(("a", "b"), (2, 0)), Sentence(("a", "b"))
    corpus = Corpus("nli", {"train": [Example((given, bare), "x")]})
    parsed = parse_corpus(corpus, "spacy", progress=False)
    assert parsed.splits["train"][0].sentences == (given, Sentence(("a", "b"), (0, 1)))
    assert parse_corpus(parsed, "spacy:absent", progress=False) is parsed


def test_a_source_with_a_parser_lacks_no_heads(pipeline: _Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_text("x\ta b c\ny\ta\n")
    source = Classify(str(path), str(path), parser="spacy", skip_unparsed=True, max_length=2)
    corpus = load_corpus(source)
    assert [e.sentences[0].heads for e in corpus.splits["train"]] == [(0,)]
    assert [e.sentences[0].heads for e in corpus.splits["validation"]] == [(0, 1, 2), (0,)]
    assert sorted(pipeline.parsed) == [["a"], ["a", "b", "c"]]
    bare = Classify(str(path), str(path), max_length=2)
    assert load_corpus(bare).splits["train"][0].sentences[0].heads is None


def test_what_is_missing_is_named(pipeline: _Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus("classify", {"train": [Example((Sentence(("a",)),), "x")]})
    with pytest.raises(ValueError, match="'spacy:PIPELINE' or the folder .* no folder 'udpipe'"):
        parse_corpus(corpus, "udpipe")
    with pytest.raises(ValueError, match="python -m spacy download absent"):
        parse_corpus(corpus, "spacy:absent")
    pipeline.pipes = ("tagger",)
    with pytest.raises(ValueError, match="'en_core_web_sm' has no dependency parser"):
        parse_corpus(corpus, "spacy")
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"\[parse\]\): .*pip install .*'spacy"):
        parse_corpus(corpus, "spacy")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with an untrained parser."""
    _save_parser(tmp_path / "parser")
    return tmp_path / "parser"


def _save_parser(folder: Path) -> DependencyParser:
    options = ParserConfig(embedding=4, characters=2, filters=3, layers=1, hidden=4, arc=4)
    sentence = Sentence(("a", "small", "wood"), (3, 3, 0))
    corpus = Corpus("parse", {"train": [Example((sentence,))]})
    parser = DependencyParser.build(corpus, options)
    parser.save_pretrained(folder)
    return parser.eval()


def test_a_parser_of_our_own(own: Path) -> None:
    parser = _save_parser(own)
    one, two = ("a", "wood"), ("a", "small", "wood", "a")
    expected = parser.parse([one, two])
    bare = Corpus("classify", {"train": [Example((Sentence(two),), "x")]})
    parsed = parse_corpus(bare, str(own), progress=False)
    assert parsed.splits["train"][0].sentences == (Sentence(two, expected[1]),)
    assert parse_sentences([two, one, two], str(own), progress=False) == [
        expected[1],
        expected[0],
        expected[1],
    ]


def test_heads_are_kept_by_what_the_parser_is(own: Path, cache: Path) -> None:
    sentences = [("a", "small", "wood")]
    heads = parse_sentences(sentences, str(own), progress=False)
    moved = own.rename(own.with_name("moved"))
    (kept,) = (cache / "parses").iterdir()
    key, _, _ = kept.read_text(encoding="utf-8").partition("\t")
    kept.write_text(f"{key}\t2 3 0\n", encoding="utf-8")
    assert parse_sentences(sentences, str(moved), progress=False) == [(2, 3, 0)]
    _save_parser(moved)  # other weights
    assert len(parse_sentences(sentences, str(moved), progress=False)[0]) == len(heads[0])
    assert len(list((cache / "parses").iterdir())) == 2
