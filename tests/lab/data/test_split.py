from sparsewood.lab.data._split import hold_out
from sparsewood.lab.data.examples import Example, Sentence


def test_a_tenth_is_held_out_by_the_seed() -> None:
    examples = [Example((Sentence((str(i),)),)) for i in range(40)]
    splits = hold_out(examples, seed=1)
    assert len(splits["validation"]) == 4
    assert sorted(map(str, [*splits["train"], *splits["validation"]])) == sorted(map(str, examples))
    assert hold_out(examples, seed=1) == splits
    assert hold_out(examples, seed=2) != splits
    assert hold_out([]) == {"train": [], "validation": []}


def test_no_label_leaves_training() -> None:
    examples = [Example((Sentence((str(i),)),), str(i // 2)) for i in range(60)]
    for seed in range(20):
        splits = hold_out(examples, seed)
        assert {e.label for e in splits["train"]} == {e.label for e in examples}
        assert splits["validation"]
    alone = Example((Sentence(("a",)),), "x")
    assert hold_out([alone]) == {"train": [alone], "validation": []}


def test_numbers_are_held_out_however_different():
    examples = [Example((Sentence(("a",)),), str(i)) for i in range(20)]
    assert len(hold_out(examples, target="number")["validation"]) == 2
    assert hold_out(examples)["validation"] == []


def test_none_of_several_labels_leaves_training():
    rare = [Example((Sentence(("a",)),), labels=("x", f"own {i}")) for i in range(10)]
    plain = [Example((Sentence(("a",)),), labels=("x",) * (i % 2)) for i in range(30)]
    for seed in range(20):
        held = hold_out([*rare, *plain], seed, "labels")["validation"]
        assert held
        assert not set(held) & set(rare)
