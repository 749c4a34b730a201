"""The generator of list operations: splits, limits, exact depths."""

import statistics
from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.listops import evaluate, heads
from sparsewood.lab.data.listops_generator import generate_splits
from sparsewood.lab.data.listops_lengths import ExactLength
from sparsewood.lab.data.listops_parameters import ListOpsParameters

SMALL = ListOpsParameters(train=300, validation=40, test=50)


def nesting(tokens: tuple[str, ...]) -> int:
    depth = deepest = 0
    for token in tokens:
        depth += token.startswith("[")
        deepest = max(deepest, depth + token.isdigit())
        depth -= token == "]"
    return deepest


def words(examples: list[Example]) -> list[tuple[str, ...]]:
    return [example.sentences[0].words for example in examples]


@pytest.fixture(scope="module")
def splits():
    return generate_splits(SMALL)


def test_splits_have_their_sizes_and_share_no_expression(splits):
    sizes = {name: len(rows) for name, rows in splits.items()}
    assert sizes == {"train": 300, "validation": 40, "test": 50}
    counts = Counter(w for rows in splits.values() for w in words(rows))
    assert set(counts.values()) == {1}


def test_generated_examples_carry_value_and_tree(splits):
    for example in splits["train"]:
        (sentence,) = example.sentences
        assert sentence.words[0].startswith("[")
        assert example.label == str(evaluate(sentence.words))
        assert sentence.heads == heads(sentence.words)
        assert sentence.scored == tuple(word != "]" for word in sentence.words)


def test_a_seed_fixes_everything(splits):
    assert generate_splits(SMALL) == splits
    assert generate_splits(replace(SMALL, split_seed=1)) != splits


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 6),
    st.integers(1, 3),
    st.integers(0, 3),
    st.floats(0.1, 0.9),
    st.integers(12, 40),
    st.integers(0, 9),
)
def test_limits_are_kept(max_depth, fewest, more, probability, max_length, seed):
    limits = ListOpsParameters(
        train=20,
        validation=0,
        test=0,
        max_depth=max_depth,
        min_arguments=fewest,
        max_arguments=fewest + more,
        operator_probability=probability,
        max_length=max_length,
        split_seed=seed,
    )
    for tokens in words(generate_splits(limits)["train"]):
        assert len(tokens) <= max_length
        assert nesting(tokens) <= max_depth
        arguments = Counter(heads(tokens)[:-1])
        del arguments[0]
        for operator, count in arguments.items():
            closed = operator != 1  # the last bracket is cut off above
            assert fewest <= count - closed <= fewest + more


def test_shortest_length_is_kept():
    drawn = words(generate_splits(replace(SMALL, min_length=30, max_length=60))["train"])
    assert all(30 <= len(tokens) <= 60 for tokens in drawn)


def test_splits_have_like_lengths():
    """Short expressions are drawn first, so that without a shuffle the tests would be longer."""
    drawn = generate_splits(replace(SMALL, train=3000, validation=1000, test=1000))
    means = {name: statistics.mean(map(len, words(rows))) for name, rows in drawn.items()}
    assert max(means.values()) < 1.1 * min(means.values())


def test_too_narrow_limits_are_said():
    narrow = replace(SMALL, max_depth=2, max_arguments=2, train=400)
    with pytest.raises(ValueError, match="only 400 of 490 distinct expressions.*max_depth=2"):
        generate_splits(narrow)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train": -1}, "train: expected at least 0, got -1"),
        ({"max_depth": 1}, "max_depth: expected at least 2"),
        ({"min_arguments": 0}, "min_arguments: expected at least 1, got 0"),
        ({"min_arguments": 6}, "max_arguments: expected at least min_arguments, got 5"),
        ({"operator_probability": 1.5}, "operator_probability: expected 0 to 1"),
        ({"max_length": 3}, "the 4 tokens of the shortest expression, got 3"),
        ({"min_length": 101}, "at least min_length \\(101\\)"),
        ({"operators": ()}, r"operators: expected at least one, got \(\)"),
        ({"operators": ("MIN", "SUM")}, "operators: expected some of MIN, MAX, .*'SUM'"),
        ({"operators": ("MIN", "MIN")}, "operators: expected each once"),
        ({"depths": (0, 1)}, "depths: expected numbers of at least 1"),
        ({"depths": (2, 2)}, "depths: expected each once"),
        ({"depths": (4, 5), "max_depth": 5}, r"depths: expected less than max_depth \(5\)"),
        ({"depths": (1,), "operator_probability": 1.0}, "less than 1, for exact depths"),
        ({"depths": (1, 2), "operator_probability": 0.0}, "more than 0, for such depths"),
        ({"depth_1_share": -0.1}, "depth_1_share: expected at least 0"),
    ],
)
def test_impossible_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        ListOpsParameters(**changes)


def test_the_draws_are_the_same_on_every_machine():
    assert (
        " ".join(words(generate_splits(SMALL)["test"])[1])
        == "[SM 1 4 1 [MED [MED 7 2 9 9 5 ] 1 ] 7 ]"
    )
    deep = words(generate_splits(replace(SMALL, depths=(3,), depth_1_share=0.1))["test"])[0]
    assert (
        " ".join(deep) == "[MED [MAX 9 5 ] [MAX 6 [MIN 2 7 0 ] 5 ] 5 [SM 7 0 [MED 1 1 6 9 ] 9 4 ] ]"
    )


def test_operators_are_those_that_are_asked_for():
    drawn = words(generate_splits(replace(SMALL, operators=("MED", "FIRST")))["train"])
    assert {t for tokens in drawn for t in tokens if t.startswith("[")} == {"[MED", "[FIRST"}


def test_exact_depths_in_equal_numbers_and_more_of_depth_1():
    wanted = replace(SMALL, train=401, depths=(2, 5, 3, 4), depth_1_share=0.25)
    splits = generate_splits(replace(wanted, min_length=10, max_length=49))
    depths = {name: Counter(nesting(t) - 1 for t in words(s)) for name, s in splits.items()}
    assert depths["train"] == {2: 101, 3: 100, 4: 100, 5: 100, 1: 100}
    assert depths["validation"] == dict.fromkeys((2, 3, 4, 5), 10)
    assert depths["test"] == {2: 13, 5: 13, 3: 12, 4: 12}
    everything = [t for split in splits.values() for t in words(split)]
    assert len(set(everything)) == len(everything)
    assert all(10 <= len(t) <= 49 for t in everything if nesting(t) > 2)
    assert {len(t) for t in everything if nesting(t) == 2} == {4, 5, 6, 7}
    # In no order.
    assert len({nesting(t) for t in words(splits["train"])[:40]}) == 5


def test_more_of_depth_1_beside_expressions_of_any_depth():
    plain, more = generate_splits(SMALL), generate_splits(replace(SMALL, depth_1_share=0.5))
    for name in ("validation", "test"):
        assert sorted(words(more[name])) == sorted(words(plain[name]))
    assert set(words(plain["train"])) < set(words(more["train"]))
    assert len(set(words(more["train"]))) == 450


def test_exact_depths_are_drawn_as_if_others_were_discarded():
    """Numbers of arguments, operators and tokens: by mean, within four standard errors."""
    limits = ListOpsParameters(3000, 0, 0, min_length=8, max_length=40, operator_probability=0.3)
    exact = words(generate_splits(replace(limits, depths=(3,)))["train"])
    many = words(generate_splits(replace(limits, train=12_000, split_seed=1))["train"])
    kept = [tokens for tokens in many if nesting(tokens) == 4]
    for measure in (len, lambda t: t.count("]"), lambda t: heads(t).count(1)):
        a, b = [list(map(measure, drawn)) for drawn in (exact, kept)]
        error = (statistics.variance(a) / len(a) + statistics.variance(b) / len(b)) ** 0.5
        assert abs(statistics.mean(a) - statistics.mean(b)) < 4 * error


def test_depths_that_are_longer_than_allowed_end_in_a_message():
    deep = replace(SMALL, depths=(12,), operator_probability=0.9, max_length=30)
    with pytest.raises(ValueError, match="found only 0 of 390 distinct expressions"):
        generate_splits(deep)


def test_longer_tests_have_their_lengths_and_leave_the_rest_alone(splits):
    limits = replace(SMALL, test_lengths=(120, 1000), test_per_length=20)
    found = generate_splits(limits)
    assert list(found) == [*splits, "101-120", "121-1000"]
    assert all(found[name] == splits[name] for name in splits)
    for name, (low, high) in limits.bins.items():
        rows = words(found[name])
        assert len(set(rows)) == 20
        assert all(low <= len(w) <= high for w in rows)
        assert all(nesting(w) <= limits.max_depth for w in rows)
    assert max(map(len, words(found["121-1000"]))) > 700  # each length is as likely
    assert generate_splits(replace(limits, train=2))["101-120"] == found["101-120"]


def test_exact_lengths_are_drawn_as_if_all_others_were_discarded():
    def shapes(rows: list[tuple[str, ...]]) -> Counter[str]:
        return Counter("".join("d" if w.isdigit() else w[0] for w in tokens) for tokens in rows)

    limits = ListOpsParameters(6000, 0, 0, max_depth=4, operator_probability=0.4, split_seed=1)
    kept = replace(limits, min_length=12, max_length=12, operators=("MIN",), max_arguments=4)
    exact = ExactLength(replace(kept, min_length=1, max_length=6, test_lengths=(12,)), Random(2))
    rejected = shapes(words(generate_splits(kept)["train"]))
    drawn = shapes([exact.draw(12, 12) for _ in range(6000)])
    assert len(drawn) > 20
    assert rejected.keys() == drawn.keys()
    for shape, count in drawn.items():
        spread = (count + rejected[shape]) ** 0.5
        assert abs(count - rejected[shape]) < 4 * spread, shape


def test_lengths_that_no_expression_has_are_refused():
    few = ListOpsParameters(1, 1, 1, max_depth=3, max_arguments=2, min_arguments=2, max_length=8)
    with pytest.raises(ValueError, match="no expression of 11 to 30 tokens"):
        generate_splits(replace(few, max_length=10, test_lengths=(30,)))
    with pytest.raises(
        ValueError, match="test_lengths: expected increasing lengths above max_length"
    ):
        ListOpsParameters(max_length=50, test_lengths=(50, 80))
    with pytest.raises(ValueError, match="test_per_length: expected at least 1"):
        ListOpsParameters(test_per_length=0)
