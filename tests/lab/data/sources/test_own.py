from pathlib import Path

from sparsewood.lab.data.sources import Classify, Pairs


def test_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("y,one,two\n" + "".join(f"p,a {i},b\n" for i in range(10)))
    single = Classify(str(path), test=str(path), label="y", text="two").load()
    assert single.task == "classify"
    sizes = {name: len(s) for name, s in single.splits.items()}
    assert sizes == {"train": 9, "test": 10, "validation": 1}
    assert single.splits["test"][0].sentences[0].words == ("b",)
    pairs = Pairs(str(path), str(path), label="y", text="one", text2="two").load()
    assert pairs.task == "nli"
    assert [s.words for s in pairs.splits["validation"][3].sentences] == [("a", "3"), ("b",)]
