"""The number of threads."""

import pytest
import torch

import sparsewood as sp
from sparsewood.testing import draw_scores


@pytest.fixture(autouse=True)
def restore():
    yield
    sp.set_num_threads(None)


def test_default_is_that_of_torch() -> None:
    assert sp.get_num_threads() == torch.get_num_threads()


def test_set_and_reset() -> None:
    sp.set_num_threads(3)
    assert sp.get_num_threads() == 3
    sp.set_num_threads(None)
    assert sp.get_num_threads() == torch.get_num_threads()


@pytest.mark.parametrize("bad", [0, -1, 1.5])
def test_bad_numbers(bad: int) -> None:
    with pytest.raises(ValueError, match="threads"):
        sp.set_num_threads(bad)


def test_results_do_not_depend_on_it() -> None:
    scores = draw_scores("normal", 16, (10, 11), seed=0)
    results = []
    for threads in (1, 2, 5):
        sp.set_num_threads(threads)
        results.append(sp.sparsemap(scores, sp.DependencyTrees()))
    for other in results[1:]:
        assert torch.equal(other.weights, results[0].weights)
        assert torch.equal(other.structures, results[0].structures)
        assert torch.equal(other.marginals, results[0].marginals)
