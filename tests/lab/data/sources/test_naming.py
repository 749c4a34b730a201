"""Names of data sets say what tells them apart, and nothing else."""

from pathlib import Path

from sparsewood.lab.data.sources import Classify, ListOps, Sst, source_to_json
from sparsewood.lab.data.sources.naming import headings


def test_one_of_a_kind_is_called_by_that() -> None:
    sources = [source_to_json(s) for s in (Sst(Path("data/sst"), fine=True), Classify("a.tsv"))]
    assert headings(sources) == ["sst", "classify"]
    assert headings([{}]) == ["data"]


def test_files_tell_data_sets_apart() -> None:
    sources = [Classify("data/a.tsv"), Classify("data/b.tsv", skip_bad=True)]
    names = headings([source_to_json(source) for source in sources])
    assert names == ["classify: a.tsv", "classify: b.tsv, skip bad"]
    alike = [Classify("one/train.tsv"), Classify("two/train.tsv")]
    names = headings([source_to_json(source) for source in alike])
    assert names == ["classify: one/train.tsv", "classify: two/train.tsv"]


def test_options_tell_data_sets_apart() -> None:
    deep = source_to_json(ListOps(max_depth=6, operators=("MIN",)))
    old = {"kind": "listops", "max_depth": 5}  # of a version that wrote fewer options
    assert headings([deep, old]) == [
        "listops: operators MIN, max depth 6",
        "listops: operators MIN MAX MED SM, max depth 5",
    ]
    fine = Sst(Path("data/sst"), fine=True)
    coarse = Sst(Path("data/sst"))
    assert headings([source_to_json(s) for s in (fine, coarse)]) == ["sst: fine", "sst"]
