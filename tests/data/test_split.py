from spinney.data._split import hold_out
from spinney.data.examples import Example, Sentence


def test_a_tenth_is_held_out_by_the_seed() -> None:
    examples = [Example((Sentence((str(i),)),)) for i in range(40)]
    splits = hold_out(examples, seed=1)
    assert len(splits["validation"]) == 4
    assert sorted(map(str, [*splits["train"], *splits["validation"]])) == sorted(map(str, examples))
    assert hold_out(examples, seed=1) == splits
    assert hold_out(examples, seed=2) != splits
    assert hold_out([]) == {"train": [], "validation": []}
