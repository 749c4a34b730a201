"""ListOps: values and trees, the generator and the files."""

import os
import statistics
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsewood as sp
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.listops import (
    ListOpsParameters,
    evaluate,
    generate_splits,
    heads,
    read_listops,
    write_listops,
)

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
OFFICIAL = Path(os.environ.get("SPARSEWOOD_DATA", BESIDE)) / "listops"
SMALL = ListOpsParameters(train=300, validation=40, test=50)

# An expression is a digit or (operator, arguments).
OPERATORS = ["MIN", "MAX", "MED", "SM", "FIRST", "LAST", "PM"]
EXPRESSIONS = st.recursive(
    st.integers(0, 9),
    lambda inner: st.tuples(st.sampled_from(OPERATORS), st.lists(inner, min_size=1, max_size=5)),
    max_leaves=20,
)


def written(expression) -> list[str]:
    if isinstance(expression, int):
        return [str(expression)]
    operator, arguments = expression
    return [f"[{operator}", *(t for a in arguments for t in written(a)), "]"]


def value(expression) -> int:
    if isinstance(expression, int):
        return expression
    operator, arguments = expression
    values = [value(a) for a in arguments]
    if operator == "PM":
        return int(torch.tensor(values).prod()) % 10
    chosen = {
        "MIN": sorted(values)[0],
        "MAX": sorted(values)[-1],
        "MED": int(statistics.median(values)),
        "SM": sum(values) % 10,
        "FIRST": values[0],
        "LAST": values[-1],
    }
    return chosen[operator]


def arcs(expression, head: int = 0, start: int = 1) -> list[int]:
    """The heads of an expression whose first token is number `start`."""
    if isinstance(expression, int):
        return [head]
    result = [head]
    for argument in expression[1]:
        result += arcs(argument, start, start + len(result))
    return [*result, start]


def nesting(tokens: tuple[str, ...]) -> int:
    depth = deepest = 0
    for token in tokens:
        depth += token.startswith("[")
        deepest = max(deepest, depth + token.isdigit())
        depth -= token == "]"
    return deepest


def words(examples: list[Example]) -> list[tuple[str, ...]]:
    return [example.sentences[0].words for example in examples]


@given(EXPRESSIONS)
def test_value_and_tree_follow_the_definition(expression):
    tokens = written(expression)
    assert evaluate(tokens) == value(expression)
    assert heads(tokens) == tuple(arcs(expression))


@given(EXPRESSIONS)
def test_the_tree_is_projective_with_one_root(expression):
    tree = torch.tensor(heads(written(expression)))
    trees, n = sp.DependencyTrees(projective=True, single_root=True), len(tree)
    assert trees.contains(tree[None], (n, n + 1)).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no tokens"),
        ("[MAX 1 2", "1 operators are not closed"),
        ("[MAX ]", "token 2: an operator without arguments"),
        ("]", "token 1: a closing bracket without an operator"),
        ("1 2", "token 2, '2': the expression has ended"),
        ("[MAX 1 ] ]", "token 4, ']': the expression has ended"),
        ("[SUM 1 2 ]", "token 1: expected a digit, .* got '\\[SUM'"),
        ("[MAX 10 ]", "token 2: expected a digit, .* got '10'"),
    ],
)
def test_what_is_no_expression_is_refused(text, message):
    for function in (evaluate, heads):
        with pytest.raises(ValueError, match=message):
            function(text.split())


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
        ({"min_arguments": 0}, "1 <= min <= max, got 0 and 5"),
        ({"min_arguments": 6}, "1 <= min <= max, got 6 and 5"),
        ({"operator_probability": 1.5}, "operator_probability: expected 0 to 1"),
        ({"max_length": 3}, "the 4 tokens of the shortest expression, got 3"),
        ({"min_length": 101}, "at least min_length \\(101\\)"),
    ],
)
def test_impossible_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        ListOpsParameters(**changes)


def test_files_round_trip(splits, tmp_path):
    path = tmp_path / "train.tsv"
    write_listops(splits["train"], path)
    assert read_listops(path) == splits["train"]
    assert [file.name for file in tmp_path.iterdir()] == ["train.tsv"]


def test_the_published_form_is_written(tmp_path):
    path = tmp_path / "one.tsv"
    path.write_text("7\t[MAX 2 [MIN 9 7 ] ]\n3\t3\n")
    write_listops(read_listops(path), path)
    assert path.read_text() == "7\t( ( ( [MAX 2 ) ( ( ( [MIN 9 ) 7 ) ] ) ) ] )\n3\t3\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[MAX 1 2 ]", "expected a value, a tab and an expression"),
        ("1\t[MAX 1 2 ]", "given as '1', but the expression's is 2"),
        ("2\t[MAX 1 2", "1 operators are not closed"),
        ("2\t( [MAX 1 2 ] )", "expected a pair of parentheses"),
        ("", "expected a value, a tab"),
    ],
)
def test_the_line_at_fault_is_named(line, message, tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_text(f"3\t[SM 1 2 ]\n{line}\n3\t3\n")
    with pytest.raises(ValueError, match=f"bad.tsv:2: .*{message}"):
        read_listops(path)


@pytest.mark.parametrize("name", ["test_d20s", "test_d5c", "test_d8"])
def test_official_files_verify(name):
    path = OFFICIAL / f"{name}.tsv"
    if not path.exists():
        pytest.skip(f"no {path}; $SPARSEWOOD_DATA names the folder of the data")
    assert len(read_listops(path)) == 10_000
