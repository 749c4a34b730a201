from pathlib import Path

import pytest

from sparsewood.lab.data.sources import Logic, Mnli, Sick, Snli, Source, Sst, Subj


def test_sst(tmp_path: Path) -> None:
    for name in ("train", "dev", "test"):
        (tmp_path / f"{name}.txt").write_text("(3 (1 not) (4 bad))\n(2 so)\n")
    corpus = Sst(tmp_path, phrases=True).load()
    assert corpus.task == "classify"
    sizes = {name: len(split) for name, split in corpus.splits.items()}
    assert sizes == {"train": 3, "validation": 1, "test": 1}
    assert Sst(tmp_path, fine=True).load().labels == ["neutral", "positive"]
    (tmp_path / "dev.txt").unlink()
    with pytest.raises(ValueError, match="dev.txt: cannot be read"):
        Sst(tmp_path).load()


def test_subj_sick_and_inference(tmp_path: Path) -> None:
    for name in ("train", "dev", "test"):
        (tmp_path / f"subj_{name}.tsv").write_text("0\ta\t0\n")
        header = "gold_label\tsentence1\tsentence2\n"
        (tmp_path / f"snli_1.0_{name}.txt").write_text(f"{header}neutral\ta\tb\n")
    for name in ("train", "val"):
        header = "sentence1\tsentence2\tlabel\n"
        (tmp_path / f"mnli_{name}.tsv").write_text(header + "a\tb\tneutral\n" * 10)
    for name in ("train", "trial", "test_annotated"):
        header = "sentence_A\tsentence_B\tentailment_judgment\n"
        (tmp_path / f"SICK_{name}.txt").write_text(f"{header}a\tb\tNEUTRAL\n")
    neutral = [(source, "neutral") for source in (Snli, Mnli, Sick)]
    for source, label in ((Subj, "objective"), *neutral):
        corpus = source(tmp_path).load()
        assert corpus.task == source.task
        assert corpus.labels == [label]
        assert list(corpus.splits) == ["train", "validation", "test"]


@pytest.mark.parametrize("source", [Sst, Subj, Snli, Mnli, Sick, Logic])
def test_a_folder_that_is_not_there(source: type[Source], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="absent: no such folder; expected one with "):
        source(tmp_path / "absent").load()  # type: ignore[call-arg]


def test_logic(tmp_path: Path) -> None:
    for n in (0, 1):
        line = ["=\ta\tb\n", "<\t( not a )\tb\n"][n]
        (tmp_path / f"train{n}").write_text(line * 10)
        (tmp_path / f"test{n}").write_text(line)
    corpus = Logic(tmp_path, max_operators=0).load()
    assert corpus.task == "nli"
    assert corpus.tests == ["1"]
    assert Logic(tmp_path, max_operators=1, tests=(0, 1)).load().tests == ["0", "1"]
    for wrong in ({"max_operators": -1}, {"tests": (-1,)}, {"tests": (3, 3)}):
        with pytest.raises(ValueError, match=f"logic.{next(iter(wrong))}: expected "):
            Logic(tmp_path, **wrong)  # type: ignore[arg-type]
