"""Batch dimensions: errors in terms of the caller's shapes, views, derivatives, graphs."""

import copy
from collections.abc import Callable
from math import prod
from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood._internal.batch import BatchShape
from tests.seats import Seats

TREES = sp.DependencyTrees()
FLAT = torch.zeros(6, 3, 4, dtype=torch.float64)
HEADS = torch.zeros(6, 3, dtype=torch.int64)
CYCLES = torch.tensor([0, 0, 0] * 5 + [2, 1, 0]).reshape(6, 3)


def _with(value: float, *at: int | slice) -> Tensor:
    scores = FLAT.clone()
    scores[at] = value
    return scores


# Input whose last instance is invalid: scores, options, the messages for (2, 3) and for ().
@pytest.mark.parametrize(
    ("call", "scores", "options", "deep", "alone"),
    [
        (
            sp.map,
            _with(torch.nan, 5, 1, 0),
            {},
            r"scores\[1, 2, 1, 0\] is nan \(instance \(1, 2\), part \(1, 0\), .*\(2, 3, 3, 4\)\)",
            r"scores\[1, 0\] is nan \(instance \(\), part \(1, 0\), scores of shape \(3, 4\)\)",
        ),
        (
            sp.sparsemap,
            _with(-torch.inf, 5),
            {},
            r"instance \(1, 2\) has no structure left.*scores has shape \(2, 3, 3, 4\)",
            r"instance \(\) has no structure left.*scores has shape \(3, 4\)",
        ),
        (
            sp.marginals,
            _with(-torch.inf, 5),
            {},
            r"instance \(1, 2\) has no structure left.*\(scores of shape \(2, 3, 3, 4\)\)",
            r"instance \(\) has no structure left.*\(scores of shape \(3, 4\)\)",
        ),
        (
            sp.kbest,
            _with(torch.inf, 5, 2, 2),
            {"k": 2},
            r"scores\[1, 2, 2, 2\] is \+inf.*\(2, 3, 3, 4\), instance \(1, 2\) has length 3",
            r"scores\[2, 2\] is \+inf.*\(3, 4\), instance \(\) has length 3",
        ),
        (
            sp.map,
            FLAT,
            {"lengths": torch.tensor([3, 3, 3, 3, 3, 7])},
            r"lengths\[1, 2\] is 7: expected 1 to 3",
            r"lengths is 7: expected 1 to 3",
        ),
        (
            sp.sparsemap,
            FLAT,
            {"temperature": torch.tensor([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])},
            r"temperature\[1, 2\] must be positive and finite, got -1.0",
            r"temperature must be positive and finite, got -1.0",
        ),
        (
            sp.hinge_loss,
            FLAT,
            {"gold": CYCLES},
            r"gold\[1, 2\] is not one of .* \(2, 3, 3, 4\): \[2, 1, 0\]",
            r"gold is not one of .* \(3, 4\): \[2, 1, 0\]",
        ),
        (
            sp.crf_loss,
            FLAT,
            {"gold": HEADS[:, :2]},
            r"gold of shape \(2, 3, 2\) does not fit .* \(2, 3, 3, 4\): expected \(2, 3, 3\)",
            r"gold of shape \(2,\) does not fit scores of shape \(3, 4\): expected \(3,\)",
        ),
        (
            sp.map,
            FLAT[..., :3],
            {},
            r"expected \(\*batch, n, n \+ 1\) .* got shape \(2, 3, 3, 3\)",
            r"expected \(\*batch, n, n \+ 1\) .* got shape \(3, 3\)",
        ),
    ],
)
def test_errors_speak_of_what_was_given(
    call: Callable[..., object],
    scores: Tensor,
    options: dict[str, Tensor | int],
    deep: str,
    alone: str,
) -> None:
    for batch, message in (((2, 3), deep), ((), alone)):

        def last(table: Any, batch: tuple[int, ...] = batch) -> Any:
            if not isinstance(table, Tensor):
                return table
            return table[-prod(batch) :].reshape((*batch, *table.shape[1:]))

        given = {name: last(value) for name, value in options.items()}
        with pytest.raises(ValueError, match=message):
            call(last(scores), structure=TREES, **given)


@pytest.mark.parametrize("what", ["lengths", "gold", "scores", "temperature"])
def test_a_batch_of_another_shape_is_named(what: str) -> None:
    scores, gold = FLAT.reshape(2, 3, 3, 4), HEADS.reshape(2, 3, 3)
    calls: dict[str, tuple[Callable[[], object], str]] = {
        "lengths": (
            lambda: sp.map(scores, TREES, lengths=torch.full((6,), 3)),
            r"lengths: expected one entry per instance .* shape \(2, 3\), got shape \(6,\)",
        ),
        "gold": (
            lambda: sp.hinge_loss(scores, HEADS, TREES),
            r"gold: expected one entry per instance .* shape \(2, 3\), got shape \(6, 3\)",
        ),
        "scores": (
            lambda: sp.hinge_loss(FLAT[0, 0], gold, TREES),
            r"scores: expected \(\*batch, \*parts\) with parts of 2 dimensions .* shape \(4,\)",
        ),
        "temperature": (
            lambda: sp.marginals(scores, TREES, temperature=torch.ones(2)),
            r"temperature: expected a number or shape \(2, 3\) .* \(2, 3, 3, 4\), got \(2,\)",
        ),
    }
    call, message = calls[what]
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1), (2, 3)])
def test_a_temperature_is_expanded_to_the_batch(shape: tuple[int, ...]) -> None:
    scores = torch.randn(2, 3, 3, 4, dtype=torch.float64)
    temperature = torch.rand(shape, dtype=torch.float64) + 0.5
    for infer in (sp.sparsemap, sp.marginals):
        found = infer(scores, TREES, temperature=temperature).marginals
        each = infer(scores, TREES, temperature=temperature.expand(2, 3).clone()).marginals
        assert torch.equal(found, each)


def test_a_structure_that_says_nothing_of_its_parts_has_one_batch_dimension() -> None:
    class Plain(Seats):
        parts_ndim = None

    scores = torch.randn(2, 3, 4)
    with pytest.raises(ValueError, match="two seats or more, got"):
        sp.map(scores, Plain())
    with pytest.raises(ValueError, match=r"expected \(B, \*parts\) for .*got shape \(4,\)"):
        sp.map(scores[0, 0], Plain())
    assert torch.equal(sp.map(scores[0], Plain()).structures, sp.map(scores[0], Seats()).structures)
    with pytest.raises(ValueError, match="parts_ndim must be at least 1"):
        type("Bad", (Seats,), {}, parts_ndim=0)


def test_an_error_of_a_custom_oracle_names_the_index() -> None:
    class Fails(Seats):
        def best(self, scores):
            if scores[0] > 0:
                raise KeyError("no seat")
            return super().best(scores)

    scores = torch.zeros(2, 3, 4)
    scores[1, 2, 0] = 1.0
    with pytest.raises(sp.OracleError, match=r"instance \(1, 2\): best failed") as error:
        sp.map(scores, Fails())
    assert isinstance(error.value.__cause__, KeyError)


def test_views_where_there_can_be_one() -> None:
    table = torch.randn(2, 3, 4)
    batch = BatchShape(table.shape[:2])
    flat = batch.flatten("table", table)
    assert flat.data_ptr() == table.data_ptr()
    assert batch.restore(flat).data_ptr() == table.data_ptr()
    one = BatchShape(table.shape[:1])
    assert one.flatten("table", table) is table
    assert one.restore(table) is table


def _attention(scores: Tensor, lengths: Tensor) -> Tensor:
    dist = sp.marginals(scores, TREES, lengths=lengths)
    post = sp.sparsemap(scores, TREES, lengths=lengths)
    return dist.marginals.square() + post.marginals + post.entropy()[..., None, None]


def test_derivatives_of_any_order_and_kind() -> None:
    scores = torch.randn(2, 1, 2, 3, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([[2], [1]])
    assert torch.autograd.gradcheck(lambda x: _attention(x, lengths), scores, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda x: _attention(x, lengths), scores)
    alone, one = lengths[0, 0], scores[0, 0].detach().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: _attention(x, alone), one)


@pytest.mark.full
def test_a_compiled_graph_takes_any_batch() -> None:
    compiled = torch.compile(_attention, fullgraph=True, backend="aot_eager")
    for batch in ((2, 3), (4, 2), (), (3,)):
        scores = torch.randn(*batch, 3, 4, dtype=torch.float64, requires_grad=True)
        lengths = torch.randint(1, 4, batch)
        found, wanted = compiled(scores, lengths), _attention(scores, lengths)
        torch.testing.assert_close(found, wanted)
        (gradient,) = torch.autograd.grad(found.square().sum(), scores)
        torch.testing.assert_close(gradient, torch.autograd.grad(wanted.square().sum(), scores)[0])
    bad = torch.zeros(2, 3, 3, 4, dtype=torch.float64)
    bad[1, 2] = -torch.inf
    infer = torch.compile(
        lambda x: sp.sparsemap(x, TREES).marginals, fullgraph=True, backend="aot_eager"
    )
    with pytest.raises(
        ValueError, match=r"instance \(1, 2\) has no structure left.*\(2, 3, 3, 4\)"
    ):
        infer(bad)


def test_results_are_copied_with_their_batch() -> None:
    scores = torch.randn(2, 3, 3, 4, requires_grad=True)
    dist = copy.deepcopy(sp.marginals(scores, TREES))
    post = copy.deepcopy(sp.sparsemap(scores, TREES))
    assert dist.marginals.shape == post.marginals.shape == scores.shape
    assert dist.batch_shape == post.sizes.shape == (2, 3)
