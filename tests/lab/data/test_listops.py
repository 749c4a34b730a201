"""ListOps: values and trees, and the files."""

import os
import re
import statistics
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import sparsewood as sp
from sparsewood.lab.data.listops import (
    evaluate,
    heads,
    read_expression,
    read_listops,
    write_listops,
)
from sparsewood.lab.data.listops_generator import generate_splits
from sparsewood.lab.data.listops_parameters import ListOpsParameters

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
OFFICIAL = Path(os.environ.get("SPARSEWOOD_DATA", BESIDE)) / "listops"

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
        ("", "expected a list operation, found nothing"),
        ("[MAX 1 2", "token 1: '\\[MAX' has no closing ']'"),
        ("[MAX 1 [MIN 2", "token 3: '\\[MIN' has no closing ']'"),
        ("[MAX ]", "token 2: expected an argument for '\\[MAX', found ']'"),
        ("]", "token 1: found ']' without an operator to close"),
        ("1 2", "token 2: expected nothing after the end of the expression, found '2'"),
        ("[MAX 1 ] ]", "token 4: expected nothing after the end of the expression, found ']'"),
        ("[SUM 1 2 ]", "token 1: expected a digit, .* found '\\[SUM'"),
        ("[MAX 10 ]", "token 2: expected a digit, .* found '10'"),
    ],
)
def test_what_is_no_expression_is_refused(text, message):
    for function in (evaluate, heads):
        with pytest.raises(ValueError, match=message):
            function(text.split())


@given(EXPRESSIONS, st.data())
def test_spaces_commas_and_case_do_not_matter(expression, data):
    tokens = written(expression)
    gaps = st.sampled_from([" ", "", "  ", ", "])
    typed = ""
    for token in tokens:
        gap = data.draw(gaps)
        # Two digits need something between them.
        typed += " " if not gap and typed[-1:].isdigit() and token.isdigit() else gap
        typed += data.draw(st.sampled_from([token, token.lower(), token.replace("[", "[ ")]))
    sentence = read_expression(typed)
    assert sentence.words == tuple(tokens)
    assert sentence.heads == tuple(arcs(expression))
    assert sentence.scored == tuple(token != "]" for token in tokens)


def test_what_stands_next_to_each_other_is_told_apart():
    for text in ("[MAX 2 9 [MIN 4 7] 0]", "[max 2,9[min 4 7]0]", "( ( ( [MAX 2 ) 9 ) ] )"):
        words = read_expression(text).words
        assert words[:3] == ("[MAX", "2", "9")
        assert words[-1] == "]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  ", "expected a list operation, found nothing"),
        ("[MAX 2 9 [MIN 4 7] 0", "'[MAX' has no closing ']', at character 1: ▸[MAX 2"),
        ("[MAX 2 9]]", "found ']', at character 10: [MAX 2 9]▸]"),
        ("[MAX 2 29]", "found '29', at character 8: [MAX 2 ▸29]"),
        ("MAX 2 9]", "found 'MAX', at character 1: ▸MAX 2 9]"),
        ("[top 2 9]", "found '[TOP', at character 1: ▸[top 2 9]"),
        ("[MAX 2 -9]", "found '-', at character 8: [MAX 2 ▸-9]"),
        (
            f"[SM {'1 ' * 40}x {'1 ' * 40}]",
            f"found 'x', at character 85: …{'1 ' * 15}▸x {'1 ' * 14}",
        ),
        ("([MAX 2 9])", "expected no parentheses, or a pair around each operator"),
    ],
)
def test_where_a_typed_expression_goes_wrong_is_shown(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_expression(text)


def test_files_round_trip(tmp_path):
    path = tmp_path / "train.tsv"
    examples = generate_splits(ListOpsParameters(train=300, validation=0, test=0))["train"]
    write_listops(examples, path)
    assert read_listops(path) == examples
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
        ("2\t[MAX 1 2", "'\\[MAX' has no closing ']', at character 1: ▸\\[MAX 1 2"),
        ("2\t( [MAX 1 2 ] )", "expected no parentheses, or a pair around"),
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
