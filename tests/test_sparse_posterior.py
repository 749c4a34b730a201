"""The certificate of a posterior."""

import pickle
from copy import deepcopy

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


def bytes_of(post: sp.SparsePosterior) -> int:
    listed = post._listed
    assert listed is not None
    held = [value for value in vars(post).values() if isinstance(value, torch.Tensor)]
    return sum(table.nbytes for table in (*held, listed.used))


def test_tables_of_parts_are_made_on_demand() -> None:
    scores = draw_scores("normal", 2, (30, 40), seed=0)
    paths = sp.Alignment()
    post = sp.sparsemap(scores, paths)
    small = bytes_of(post)
    assert small < post.weights.shape[0] * 30 * 40 * 8 / 10
    best, mode = post.topk(3), post.mode
    drawn = post.sample(4, generator=torch.Generator().manual_seed(0))
    second = post[1]
    copies = deepcopy(post), pickle.loads(pickle.dumps(post))
    assert repr(second).count("\n") > 0
    assert bytes_of(post) < 2 * small  # so far there is only the table of the mode
    everything = post.structures
    assert everything is post.structures
    assert everything.dtype == torch.int64
    assert everything.shape == (post.weights.shape[0], 30, 40)
    assert paths.contains(everything, (30, 40)).all()
    assert torch.equal(post.parts, everything.double())
    torch.testing.assert_close(post.expect(post.parts), post.marginals)
    plain = sp.Posterior(paths, everything, post.weights, post.sizes, post.shape)
    assert torch.equal(best.structures, plain.topk(3).structures)
    assert torch.equal(mode, plain.mode)
    again = plain.sample(4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(drawn, again)
    assert torch.equal(second.structures, plain[1].structures)
    assert torch.equal(second.marginals, post.marginals[1:])
    for copy in copies:
        assert torch.equal(copy.structures, everything)
