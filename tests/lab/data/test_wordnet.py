import zipfile
from pathlib import Path

import pytest

from sparsewood.lab.data.wordnet import FILES, Definition, find_wordnet, is_wordnet, read_wordnet

LICENCE = "  1 A licence in two columns of spaces.\n"
LINES = {
    "data.noun": "00000001 14 n 02 coppice 0 small_wood 0 001 @ 00000002 n 0000 | a small wood; "
    'with undergrowth; "they hid in the coppice"  \n'
    "00000002 14 n 01 old_wood 0 000 | of several words only  \n",
    "data.verb": "00000003 30 v 02 Fell 0 fell 1 000 01 + 08 00 | cut down, \"fell a tree\"  \n",
    "data.adj": "00000004 00 a 01 woody(p) 0 000 | (of plants) made of wood  \n",
    "data.adv": '00000005 02 r 01 so 0 000 | "he said so"  \n',
}  # fmt: skip
DEFINITIONS = [
    Definition(("coppice",), "a small wood; with undergrowth", "noun"),
    Definition(("Fell", "fell"), "cut down", "verb"),
    Definition(("woody",), "(of plants) made of wood", "adj"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "wordnet"
    folder.mkdir()
    for name, text in LINES.items():
        (folder / name).write_text(LICENCE + text)
    return folder


def test_definitions_without_examples_and_licence(folder: Path) -> None:
    assert is_wordnet(folder)
    assert read_wordnet(folder) == DEFINITIONS


def test_a_zip_of_the_folder(folder: Path) -> None:
    path = folder.parent / "wordnet.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in FILES.values():
            archive.write(folder / name, f"wordnet/{name}")
    assert read_wordnet(path) == DEFINITIONS
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(folder / "data.noun", "wordnet/data.noun")
    with pytest.raises(ValueError, match="wordnet.zip: no data.verb in this archive"):
        read_wordnet(path)
    path.write_text("no archive")
    with pytest.raises(ValueError, match="wordnet.zip: cannot be read"):
        read_wordnet(path)


@pytest.mark.parametrize(
    "line",
    ["00000001 14 n 01 coppice 0", "00000001 14 n 02 a 0 | b", "00000001 | b", "x y z 0 | b"],
)
def test_a_line_that_is_no_synset_is_named(folder: Path, line: str) -> None:
    (folder / "data.verb").write_text(f"{LICENCE}{line}\n")
    with pytest.raises(ValueError, match="data.verb:2: expected a synset of WordNet"):
        read_wordnet(folder)


def test_it_is_found_where_nltk_keeps_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpora = folder.parent / "nltk_data" / "corpora"
    corpora.mkdir(parents=True)
    (folder.rename(corpora / "wordnet31"))
    monkeypatch.setenv("NLTK_DATA", str(folder.parent / "nltk_data"))
    monkeypatch.delenv("WNSEARCHDIR", raising=False)
    monkeypatch.setattr("sparsewood.lab.data.wordnet.SYSTEM", ())
    assert find_wordnet() == corpora / "wordnet31"
    monkeypatch.setenv("WNSEARCHDIR", str(corpora / "wordnet31"))
    monkeypatch.setenv("NLTK_DATA", "")
    assert find_wordnet() == corpora / "wordnet31"


def test_none_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsewood.lab.data.wordnet._places", lambda: iter([tmp_path]))
    with pytest.raises(ValueError, match="no WordNet is installed; .* wordnet-base"):
        find_wordnet()


def test_a_zip_of_other_text(tmp_path: Path) -> None:
    path = tmp_path / "wordnet.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data.noun", b"caf\xe9")
    with pytest.raises(ValueError, match="wordnet.zip: cannot be read"):
        read_wordnet(path)
