"""A transformer over words: lengths, padding, positions and invariances."""

import pytest
import torch

from sparsewood.nn import TransformerReader

KINDS = [
    {"positions": positions, "pooling": pooling}
    for positions in ("sinusoidal", "relative")
    for pooling in ("mean", "first")
]


def made(**options) -> TransformerReader:
    torch.manual_seed(0)
    module = TransformerReader(3, 8, heads=2, dropout=0.0, clip=2, **options).double()
    if module.bias is not None:
        torch.nn.init.normal_(module.bias)
    return module


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("training", [True, False])
def test_vectors_are_those_of_each_sentence_alone(options, training):
    module, lengths = made(**options).train(training), torch.tensor([5, 1, 3])
    x = torch.randn(3, 5, 3, dtype=torch.float64)
    x[1, 1:] = x[2, 3:] = torch.nan
    x.requires_grad_()
    with torch.set_grad_enabled(training):
        vectors = module(x, lengths)
        assert vectors.shape == (3, 8)
        for b, n in enumerate(lengths.tolist()):
            torch.testing.assert_close(vectors[b], module(x[b : b + 1, :n])[0])
    if training:
        vectors.sum().backward()
        assert x.grad is not None
        assert x.grad.isfinite().all()
        assert not x.grad[1, 1:].any()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in module.parameters())


@pytest.mark.parametrize("options", KINDS)
def test_training_and_test_say_the_same_without_dropout(options):
    module, x = made(**options), torch.randn(2, 4, 3, dtype=torch.float64)
    with torch.no_grad():
        torch.testing.assert_close(module.train()(x), module.eval()(x))


@pytest.mark.parametrize("options", KINDS)
def test_the_order_of_words_matters(options):
    module, x = made(**options), torch.randn(1, 5, 3, dtype=torch.float64)
    assert not torch.allclose(module(x), module(x[:, [1, 0, 2, 3, 4]]))


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_without_positions_the_order_does_not_matter(pooling):
    module, x = made(positions="relative", pooling=pooling), torch.randn(1, 5, 3).double()
    assert module.bias is not None
    torch.nn.init.zeros_(module.bias)
    torch.testing.assert_close(module(x), module(x[:, [1, 0, 4, 2, 3]]))


def test_far_words_are_at_one_distance():
    """Beyond the clip, distances are one: exchanging two words far from a third changes nothing."""
    module = made(positions="relative", pooling="first", layers=1)
    x = torch.randn(1, 8, 3).double()
    torch.testing.assert_close(module(x), module(x[:, [0, 1, 2, 7, 4, 5, 6, 3]]))
    assert not torch.allclose(module(x), module(x[:, [1, 0, 2, 3, 4, 5, 6, 7]]))


def test_the_size_of_the_feed_forward_networks():
    for size, options in ((32, {}), (5, {"feedforward": 5})):
        assert made(**options).state_dict()["encoder.layers.0.linear1.weight"].shape == (size, 8)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="word vectors: expected"):
        made()(torch.zeros(2, 4, 7).double())
    with pytest.raises(ValueError, match="lengths"):
        made()(torch.zeros(2, 4, 3).double(), torch.tensor([5, 1]))
    with pytest.raises(ValueError, match=r"heads: expected a divisor of half of hidden_size \(8\)"):
        TransformerReader(3, 8, heads=3)
    with pytest.raises(ValueError, match="positions: expected "):
        TransformerReader(3, 8, positions="rotary")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="pooling: expected "):
        TransformerReader(3, 8, pooling="max")  # type: ignore[arg-type]
