"""Structures in plain Python: four ways to write the same one, and errors."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.oracle_error import OracleError, OracleValueError
from sparsewood.testing import StructureConformance, draw_scores
from tests.fuzz.family import Family
from tests.seats import Seats


class SeatsFamily(Family):
    def everything(self, size: tuple[int, ...]) -> NDArray[np.int64]:
        (n,) = size
        return np.eye(n, dtype=np.int64)[:-1] + np.eye(n, k=1, dtype=np.int64)[:-1]


FUZZED = [
    SeatsFamily(
        "custom",
        Seats(),
        ((2,), (3,), (5,)),
        lambda n: (n,),
        lengths=0,
        summed=False,
        make="__import__('tests.seats', fromlist=['Seats']).Seats()",
    )
]


class Items(sp.Custom):
    """Two of n items; a structure is their indices in rising order."""

    def __init__(self, n: int) -> None:
        self.n = n

    def check(self, shape: tuple[int, ...]) -> None:
        if shape != (self.n,):
            raise ValueError(f"expected {self.n} scores, got {shape}")

    def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        limit = torch.full((len(scores),), self.n) if lengths is None else lengths
        return torch.arange(self.n) < limit[:, None]

    def enumerate(self, n: int) -> Tensor:
        return torch.tensor(list(combinations(range(n), 2)))


def best_two(scores: Tensor) -> Tensor:
    return scores.topk(2, -1).indices.sort(-1).values


class OneByOne(Items):
    def parts(self, structure: Tensor) -> Any:
        return torch.zeros(self.n, dtype=torch.bool).scatter(0, structure, True)


class Pairs(OneByOne):
    def best(self, scores: Tensor, length: int | None = None) -> Tensor:
        return best_two(scores[:length])


class NumpyPairs(Items, arrays="numpy"):
    def best(self, scores: NDArray[np.float64], length: int | None = None) -> list[int]:
        return sorted(np.argsort(-scores[:length], kind="stable")[:2].tolist())

    def parts(self, structure: NDArray[np.int64]) -> NDArray[np.int32]:
        return np.isin(np.arange(self.n), structure).astype(np.int32)


class Batched(Items, batched=True):
    def parts(self, structure: Tensor) -> Tensor:
        return torch.zeros(len(structure), self.n).scatter(1, structure, 1.0)


class BatchedPairs(Batched):
    def best(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
        return best_two(torch.where(self.reads(scores, lengths), scores, -torch.inf))


class BatchedNumpyPairs(Items, batched=True, arrays="numpy"):
    def best(
        self, scores: NDArray[np.float64], lengths: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        if lengths is not None:
            scores[np.arange(self.n) >= lengths[:, None]] = -np.inf  # a copy: this is fine
        return np.sort(np.argsort(-scores, -1, kind="stable")[:, :2], -1)

    def parts(self, structure: NDArray[np.int64]) -> NDArray[np.bool_]:
        return (structure[:, :, None] == np.arange(self.n)).any(1)


KINDS = [Pairs, NumpyPairs, BatchedPairs, BatchedNumpyPairs]
kind = pytest.mark.parametrize("pairs", KINDS)


class TestPairs(StructureConformance):
    structure = Pairs(4)
    sizes = (4, 4)
    shape = staticmethod(lambda n: (n,))


@pytest.mark.full
class TestBatchedNumpyPairs(TestPairs):
    structure = BatchedNumpyPairs(4)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), lengths=st.lists(st.integers(2, 6), min_size=3, max_size=3))
def test_all_ways_agree_with_the_native_family(seed: int, lengths: list[int]) -> None:
    scores = draw_scores("normal", 3, (6,), seed)
    sizes = torch.tensor(lengths)
    before = scores.clone()
    expected = sp.sparsemap(scores, sp.Subset(2), lengths=sizes)
    for pairs in KINDS:
        post = sp.sparsemap(scores, pairs(6), lengths=sizes)
        torch.testing.assert_close(post.marginals, expected.marginals, rtol=0, atol=1e-9)
        assert post.structures.dtype == torch.int64
        assert torch.equal(scores, before)


@kind
def test_no_instances(pairs: type[Items]) -> None:
    assert pairs(4).argmax(torch.zeros(0, 4)).shape == (0, 2)
    assert pairs(4).indicator(torch.zeros(0, 2, dtype=torch.int64), (4,)).shape == (0, 4)


def test_a_structure_can_be_one_number() -> None:
    class Choice(sp.Custom, arrays="numpy"):
        def best(self, scores: NDArray[np.float64]) -> np.int64:
            return scores.argmax()

        def parts(self, structure: np.int64) -> NDArray[np.float64]:
            return np.eye(3)[structure]

        def check(self, shape: tuple[int, ...]) -> None:
            assert shape == (3,)

    scores = draw_scores("normal", 5, (3,), seed=0)
    post = sp.sparsemap(scores, Choice())
    expected = sp.sparsemap(scores, sp.Simplex()).marginals
    torch.testing.assert_close(post.marginals, expected, rtol=0, atol=1e-9)


class Failing(OneByOne):
    """Fails when the third score is above 5."""

    error: Exception = ZeroDivisionError("of all things")

    def best(self, scores: Tensor) -> Any:
        if scores[..., 2].max() > 5:
            raise self.error
        return best_two(scores)


class FailingBatch(Batched, Failing, batched=True):
    pass


@pytest.mark.parametrize("family", [Failing, FailingBatch])
def test_errors_of_the_oracle_name_the_instance(family: type[Failing]) -> None:
    scores = torch.zeros(4, 3)
    scores[3, 2] = 9.0
    with pytest.raises(RuntimeError, match="instance 3: best failed with ZeroDivisionError") as e:
        sp.sparsemap(scores, family(3))
    assert e.value.__cause__ is family.error
    assert not isinstance(e.value, ValueError)


def test_a_value_error_stays_one() -> None:
    class Refuses(Failing):
        error = ValueError("no talks at night")

    scores = torch.zeros(2, 3)
    scores[1, 2] = 9.0
    with pytest.raises(ValueError, match="instance 1: best failed with ValueError: no talks") as e:
        sp.sparsemap(scores, Refuses(3))
    assert isinstance(e.value, OracleValueError)
    assert e.value.__cause__ is Refuses.error


def test_the_instance_is_that_of_the_whole_batch() -> None:
    """Finished instances leave the batch of the solver; the others keep their index."""

    class FailsLate(OneByOne):
        def best(self, scores: Tensor) -> Tensor:
            if 0.05 < scores[0] < 0.5:  # only the last instance comes here, after a step
                raise KeyError("late")
            return best_two(scores)

    scores = torch.tensor([[9.0, 9.0, 0.0], [9.0, 9.0, 0.0], [1.0, 0.9, 0.8]])
    with pytest.raises(OracleError, match="instance 2: .*KeyError"):
        sp.sparsemap(scores, FailsLate(3))


def test_a_batch_that_fails_only_as_a_whole() -> None:
    class Two(Batched):
        def best(self, scores: Tensor) -> Tensor:
            if len(scores) > 1:
                raise MemoryError("too many")
            return best_two(scores)

    with pytest.raises(OracleError, match="^best failed with MemoryError: too many"):
        Two(3).argmax(torch.zeros(2, 3))


def answering(**answers: Any) -> Items:
    """Pairs of four, with `best` or `parts` replaced for index 1."""

    class Wrong(OneByOne):
        def best(self, scores: Tensor) -> Any:
            wrong = scores[0] == 1 and "best" in answers
            return answers["best"] if wrong else best_two(scores)

        def parts(self, structure: Tensor) -> Any:
            wrong = structure[0] == 1 and "parts" in answers
            return answers["parts"] if wrong else super().parts(structure)

    return Wrong(4)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"best": [0.0, 1.0]}, "instance 1: best returned torch.float32, expected integers"),
        ({"best": [0, float("nan")]}, "instance 1: best returned torch.float32"),
        ({"best": [0, 1, 2]}, r"instance 1: best returned shape \(3,\), but \(2,\)"),
        ({"best": "no"}, "instance 1: best failed with"),
        ({"best": None}, "instance 1: best failed with"),
        ({"best": [0, 3]}, r"instance 1: best uses the part \(3,\), which is padding or NaN"),
    ],
)
def test_answers_that_make_no_sense(answers: dict[str, Any], message: str) -> None:
    scores = torch.tensor([[0.0, 0.0, 2.0, 1.0], [1.0, 0.0, 0.0, torch.nan]])
    with pytest.raises(OracleError, match=message):
        answering(**answers).argmax(scores)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (torch.ones(3), r"structure 1: parts returned shape \(3,\), expected \(4,\)"),
        (torch.full((4,), 0.5), "structure 1: parts returned values other than 0 and 1"),
        (torch.full((4,), torch.nan), "structure 1: parts returned values other than 0 and 1"),
    ],
)
def test_parts_that_make_no_sense(parts: Tensor, message: str) -> None:
    with pytest.raises(OracleError, match=message):
        answering(parts=parts).indicator(torch.tensor([[0, 1], [1, 2]]), (4,))


@pytest.mark.parametrize("answer", [torch.zeros(3, 2, dtype=torch.int64), torch.tensor(1)])
def test_a_batch_with_too_many_or_no_answers(answer: Tensor) -> None:
    class Wrong(Batched):
        def best(self, scores: Tensor) -> Tensor:
            return answer

    with pytest.raises(OracleError, match="instance 0: best returned shape .* for a batch of 1"):
        Wrong(4).argmax(torch.zeros(2, 4))


def test_lengths_reach_the_oracle_as_numbers() -> None:
    seen: list[Any] = []

    class Asks(OneByOne):
        def best(self, scores: Tensor, length: Any = None) -> Tensor:
            seen.append(length)
            return best_two(scores)

        def reads(self, scores: Tensor, lengths: Tensor | None = None) -> Tensor:
            return torch.ones_like(scores, dtype=torch.bool)

    for lengths in ([2, 3], [[1, 2], [3, 4]]):
        seen.clear()
        Asks(3).argmax(torch.zeros(2, 3), torch.tensor(lengths))
        assert seen == lengths


def test_lengths_need_a_parameter() -> None:
    with pytest.raises(ValueError, match="`best` has no parameter"):
        sp.sparsemap(torch.zeros(1, 3), Failing(3), lengths=torch.tensor([2]))


def test_bad_scores_and_declarations() -> None:
    with pytest.raises(ValueError, match=r"expected 4 scores, got \(3,\)"):
        Pairs(4).validate(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="floating dtype, got torch.int64"):
        Pairs(4).validate(torch.zeros(2, 4, dtype=torch.int64))
    with pytest.raises(ValueError, match='"torch" or "numpy", got \'jax\''):

        class Wrong(Pairs, arrays="jax"):  # pyright: ignore[reportGeneralTypeIssues, reportArgumentType]
            pass


@kind
def test_members_are_found_by_the_oracle(pairs: type[Items]) -> None:
    structures = torch.tensor([[0, 1], [1, 3], [3, 1], [2, 2]])
    expected = [True, True, False, False]
    assert pairs(4).contains(structures, (4,)).tolist() == expected
    lengths = torch.tensor([2, 3, 4, 4])  # the second uses padding
    assert pairs(4).contains(structures, (4,), lengths).tolist() == [True, False, False, False]
    assert pairs(4).decode(torch.tensor([[0, 1, 0, 1]])).tolist() == [[1, 3]]


@kind
def test_losses_are_those_of_the_native_family(pairs: type[Items]) -> None:
    scores = draw_scores("normal", 3, (5,), seed=0)
    lengths = torch.tensor([5, 2, 4])
    gold = torch.tensor([[1, 4], [0, 1], [0, 3]])
    sets = pairs(5).indicator(gold, (5,)).long()
    for loss in (sp.perceptron_loss, sp.hinge_loss, sp.sparsemap_loss):
        ours = loss(scores, gold, pairs(5), lengths=lengths, reduction="none")
        expected = loss(scores, sets, sp.Subset(2), lengths=lengths, reduction="none")
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-9)
        with pytest.raises(ValueError, match=r"gold\[1\] is not one of"):
            loss(scores, torch.tensor([[1, 4], [1, 0], [0, 3]]), pairs(5))
        with pytest.raises(ValueError, match=r"gold\[2\] is not one of"):  # it uses padding
            loss(scores, torch.tensor([[1, 4], [0, 1], [0, 4]]), pairs(5), lengths=lengths)
        with pytest.raises(ValueError, match="do not fit scores|is not one of"):
            loss(scores, torch.tensor([[1, 9], [0, 1], [0, 3]]), pairs(5))
