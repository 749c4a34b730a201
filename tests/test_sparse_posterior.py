"""The certificate of a posterior."""

import torch

import sparsewood as sp
from sparsewood.sparse_posterior import certificate_of
from sparsewood.testing import draw_scores

TREES = sp.DependencyTrees()


def posterior() -> sp.SparsePosterior:
    scores = torch.cat([60 * TREES.indicator(torch.tensor([[0, 1, 2, 3]])), torch.zeros(1, 4, 5)])
    return sp.sparsemap(scores, TREES, max_active=2)


def test_one_instance_has_its_own() -> None:
    post = posterior()
    assert post.status.tolist() == [sp.Status.SOLVED, sp.Status.CAPPED]
    assert post.converged.tolist() == [True, False]
    assert (post.calls >= 1).all()
    for i, one in enumerate(post):
        assert one.gap.tolist() == post.gap[i : i + 1].tolist()
        assert one.status.tolist() == post.status[i : i + 1].tolist()
        assert one.calls.tolist() == post.calls[i : i + 1].tolist()
        assert torch.equal(one.marginals, post.marginals[i : i + 1])


def test_repr_says_how_it_went() -> None:
    post = posterior()
    head = f"SparsePosterior({TREES}"
    gap = f"{float(post.gap[1]):.1e}"
    assert repr(post) == (
        f"{head}, 2 instances, 1 to 2 structures each, gap <= {gap}, 1 solved, 1 capped)"
    )
    assert repr(post[1]).splitlines()[0] == f"{head}, 2 structures, gap {gap}, capped)"


def test_which_posteriors_have_one() -> None:
    scores = draw_scores("normal", 1, (3, 4), seed=0)
    post = sp.SparseMAP()(scores, TREES)
    assert certificate_of(post) is post
    assert certificate_of(sp.TopK(2)(scores, TREES)) is None
