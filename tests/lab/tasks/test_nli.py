"""Natural language inference against loops over all pairs of trees."""

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.lab.data.batches import Batch
from sparsewood.lab.tasks import load_model
from sparsewood.lab.tasks.nli import PairModel
from sparsewood.lab.tasks.pair_config import PairConfig

ATTENTION = {
    "softmax": {"attention": "softmax"},
    "matching": {"attention": "matching"},
    "subtrees": {"attention": "softmax", "attention_over": "subtrees"},
    "matched subtrees": {"attention": "matching", "attention_over": "subtrees"},
}


@pytest.fixture(params=ATTENTION)
def attention(request):
    return ATTENTION[request.param]


@pytest.mark.parametrize("loss", ["marginal", "expected"])
def test_loss_is_the_sum_over_pairs_of_trees(make, tree_vectors, estimator, loss):
    model, batch = make("nli", estimator=estimator, loss=loss)
    output = model(batch)
    left, right = output.posteriors
    for b, target in enumerate(batch.targets.tolist()):
        p = torch.zeros(3, dtype=torch.float64)
        expected = 0.0
        for weight, u in tree_vectors(model, batch.sides[0], left, b):
            for other, v in tree_vectors(model, batch.sides[1], right, b):
                features = torch.cat([u, v, u - v, u * v])
                hidden = torch.tanh(model.compare.weight @ features + model.compare.bias)
                logits = model.output.weight @ hidden + model.output.bias
                of_pair = logits.exp() / logits.exp().sum()
                p += weight * other * of_pair
                expected -= weight * other * of_pair[target].log()
        torch.testing.assert_close(output.prediction[b], p)
        wanted = -p[target].log() if loss == "marginal" else expected
        torch.testing.assert_close(output.loss[b], wanted)


def test_some_sentences_have_several_trees_on_both_sides(make):
    """So that the sum above is over pairs indeed."""
    model, batch = make("nli")
    left, right = model(batch).posteriors
    assert ((left.sizes > 1) & (right.sizes > 1)).any()


def _alone(model: PairModel, batch: Batch, b: int) -> tuple[Tensor, ...]:
    """The vectors of the trees of either side of pair b, and their weights, without a batch."""
    assert model.trees is not None
    assert model.attention is not None
    read, posts = [], []
    for side in batch.sides:
        n = int(side.lengths[b])
        x = model.encoder(side.tokens[b : b + 1, :n], torch.tensor([n]))
        read.append(x)
        assert side.heads is not None
        heads = side.heads[b : b + 1, :n] if model.reads_heads else None
        posts.append(model.trees.posterior(x, heads=heads))
    if model.second_composer is None:
        joined = model.attention(*read)
        roots = [model.trees.composer(x, p.forest()) for x, p in zip(joined, posts, strict=True)]
    else:
        states = []
        for x, post in zip(read, posts, strict=True):
            expected = torch.zeros(x.shape[1], model.options.hidden, dtype=x.dtype)
            for weight, heads in zip(post.weights, post.structures, strict=True):
                tree = sp.Forest.from_heads(
                    heads[None], torch.tensor([len(heads)]), post.instance[:1]
                )
                nodes = model.trees.composer(x, tree, return_nodes=True)[1][:-1]
                expected = expected.index_add(0, tree.word[:-1], weight * nodes)
            states.append(x + expected)
        joined = model.attention(*states)
        roots = [model.second_composer(x, p.forest()) for x, p in zip(joined, posts, strict=True)]
    return (*roots, *(post.weights for post in posts))


def test_with_attention_pairs_are_those_of_each_alone(make, estimator, attention):
    model, batch = make("nli", estimator=estimator, **attention)
    output = model(batch)
    for b in range(len(batch)):
        us, vs, left, right = _alone(model, batch, b)
        p = torch.zeros(3, dtype=torch.float64)
        for weight, u in zip(left, us, strict=True):
            for other, v in zip(right, vs, strict=True):
                hidden = model.compare(torch.cat([u, v, u - v, u * v])).tanh()
                p += weight * other * model.output(hidden).softmax(-1)
        torch.testing.assert_close(output.prediction[b], p)


def test_models_with_attention_learn(make, estimator, attention, check_learns):
    check_learns(*make("nli", estimator=estimator, **attention))


@pytest.mark.parametrize("kind", ["softmax", "matching"])
def test_readers_attend_too(make, reader, kind, check_learns):
    model, batch = make("nli", estimator=reader, attention=kind)
    check_learns(model, batch)
    whole = model.eval()(batch).prediction
    flipped = Batch(batch.sides[::-1], batch.targets, batch.rows)
    assert not torch.allclose(model(flipped).prediction, whole)


def test_each_side_sees_the_other(make, attention):
    """Another hypothesis changes the vectors of the premise, and not its trees."""
    model, batch = make("nli", **attention)
    (one, before), *_ = model.read_pair(*batch.sides)
    (two, after), *_ = model.read_pair(batch.sides[0], batch.sides[0])
    assert torch.equal(one.structures, two.structures)
    assert not torch.allclose(before, after)


def test_a_model_with_attention_comes_back_from_a_folder(make, attention, tmp_path):
    model, batch = make("nli", **attention)
    model = model.float().eval()
    model.save_pretrained(tmp_path)
    for again in (load_model(tmp_path), PairModel.from_pretrained(tmp_path).eval()):
        assert again.options == model.options
        torch.testing.assert_close(again(batch).prediction, model(batch).prediction)


def test_attention_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="attention: expected .*softmax"):
        PairConfig(attention="max")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r'attention: expected "none" where composer_input is'):
        PairConfig(attention="softmax", composer_input="words")
    for options in (
        {"attention": "none"},
        {"attention": "softmax", "estimator": "mean"},
        {"attention": "softmax", "composer": "messages"},
    ):
        with pytest.raises(ValueError, match='attention_over: expected "words" with attention'):
            PairConfig(attention_over="subtrees", **options)  # pyright: ignore[reportArgumentType]
