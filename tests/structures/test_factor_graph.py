"""Factor graphs: variables, factors and errors."""

import pytest
import torch

import sparsewood as sp


def test_variables_are_numbered_in_order() -> None:
    graph = sp.FactorGraph()
    x, one, y = graph.variables(2, 3), graph.variables(), graph.variables(2)
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (int(one), y.tolist(), len(graph)) == (6, [7, 8], 9)
    assert graph.shapes == [(2, 3), (), (2,)]


def test_degrees_and_penalties() -> None:
    graph = sp.FactorGraph()
    x, both = graph.variables(3), graph.variables()
    assert graph.add(sp.Xor(), x) == 0
    assert graph.add(sp.Pairwise(), [x[0], x[2], both]) == 1
    assert graph.degree.tolist() == [2, 1, 2, 1]
    assert graph.penalised.tolist() == [True, True, True, False]
    assert repr(graph) == "FactorGraph(4 variables, 2 factors)"


def test_parts_that_are_never_read() -> None:
    """A variable at a self arc is fixed to 0; -1 omits it."""
    graph = sp.FactorGraph()
    x = graph.variables(2, 3)
    graph.add(sp.DependencyTrees(), x)
    assert graph.off.tolist() == [False, True, False, False, False, True]
    assert graph.degree.tolist() == [1, 0, 1, 1, 1, 0]
    arcs = x.clone()
    arcs[0, 1] = arcs[1, 2] = -1
    graph.add(sp.DependencyTrees(projective=True), arcs)
    assert graph.degree.tolist() == [2, 0, 2, 2, 2, 0]


def test_forest() -> None:
    graph = sp.FactorGraph()
    x = graph.variables(5)
    assert graph.is_forest
    graph.add(sp.Xor(), x[:3])
    graph.add(sp.Or(), x[2:])
    assert graph.is_forest
    graph.add(sp.AtMostOne(), x[[0, 4]])
    assert not graph.is_forest


def test_a_factor_that_holds_a_variable_twice_is_a_loop() -> None:
    graph = sp.FactorGraph()
    x = graph.variables(2)
    graph.add(sp.Or(), [x[0], x[0], x[1]])
    assert graph.degree.tolist() == [2, 1]
    assert not graph.is_forest


def test_the_callers_index_may_change_afterwards() -> None:
    graph = sp.FactorGraph()
    x = graph.variables(3)
    graph.add(sp.Xor(), x)
    x[0] = 2
    assert graph.factors[0].variables.tolist() == [0, 1, 2]


def test_join() -> None:
    graph = sp.FactorGraph()
    graph.variables(2, 2)
    graph.variables()
    table, single = torch.arange(8.0).reshape(2, 2, 2), torch.tensor([8.0, 9.0])
    joined = graph.join(table, single)
    assert joined.tolist() == [[0, 1, 2, 3, 8], [4, 5, 6, 7, 9]]
    deep = graph.join(table.expand(3, 2, 2, 2), single.expand(3, 2))
    assert torch.equal(deep, joined.expand(3, 2, 5))
    assert torch.equal(graph.join(table[1], single[1]), joined[1])
    with pytest.raises(ValueError, match="2 groups of variables, got 1"):
        graph.join(table)
    with pytest.raises(ValueError, match=r"group 0 has shape \(2, 2\).*got \(2, 4\)"):
        graph.join(table.flatten(1), single)


@pytest.mark.parametrize(
    ("structure", "variables", "message"),
    [
        (sp.Xor(), [], r"factor 1 \(Xor\): expected the numbers of at least one"),
        (sp.Xor(), [0.0, 1.0], "expected the numbers"),
        (sp.Xor(), [0, 6], r"variable 6 at part \(1,\) is not one of the 6"),
        (sp.Xor(), [0, -2], r"variable -2 at part \(1,\)"),
        (sp.Xor(), [0, -1], r"part \(1,\), which is read"),
        (sp.Xor(), [[0, 1]], r"factor 1 \(Xor\): .*expected scores \(\*batch, n\)"),
        (sp.Budget(1, negated=(2,)), [0, 1], "negated position 2"),
        (sp.DependencyTrees(), [[0, 1], [2, 3]], r"factor 1 \(DependencyTrees\): .*\(1, 2, 2\)"),
        (sp.Pairwise(), [0, 1, 2], "variable 2 is used by a part without penalty"),
        (sp.Pairwise(), [3, 4, 3], "variable 3 is used by a part without penalty"),
    ],
)
def test_bad_factors_are_named(structure: sp.Structure, variables: list, message: str) -> None:
    graph = sp.FactorGraph()
    x = graph.variables(6)
    graph.add(sp.Or(), x[:3])
    with pytest.raises(ValueError, match=message):
        graph.add(structure, variables)
    assert len(graph.factors) == 1
    assert graph.degree.tolist() == [1, 1, 1, 0, 0, 0]
    assert graph.penalised.all()


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"size in \(2, 0\) must be at least 1, got 0"):
        sp.FactorGraph().variables(2, 0)


def test_members_satisfy_every_factor() -> None:
    graph = sp.FactorGraph()
    x = graph.variables(2, 3)
    graph.add(sp.DependencyTrees(), x)  # the arcs of two words
    graph.add(sp.AtMostOne(), x[:, 0])  # one root
    assignments = torch.tensor(
        [
            [[1, 0, 0], [0, 1, 0]],
            [[1, 0, 0], [1, 0, 0]],  # two roots
            [[0, 0, 1], [0, 1, 0]],  # a cycle
            [[0, 1, 0], [1, 0, 0]],  # a word as its own head
            [[1, 0, 0], [0, 2, 0]],
        ]
    )
    assert graph.contains(assignments.flatten(1)).tolist() == [True, False, False, False, False]
