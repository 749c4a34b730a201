"""The sentence encoder: sentences do not affect each other."""

import pytest
import torch

import sparsewood as sp

LENGTHS = torch.tensor([2, 5, 3])


def make(**options: float) -> sp.nn.SentenceEncoder:
    torch.manual_seed(0)
    return sp.nn.SentenceEncoder(11, 4, 6, **options)  # pyright: ignore[reportArgumentType]


def tokens() -> torch.Tensor:
    return torch.randint(11, (3, 5), generator=torch.Generator().manual_seed(0))


def test_batch_and_padding_change_nothing() -> None:
    encoder, batch = make(layers=2), tokens()
    padded = batch.masked_fill(torch.arange(5) >= LENGTHS[:, None], -999)
    states = encoder(padded, LENGTHS)
    assert states.shape == (3, 5, 6)
    for b, length in enumerate(LENGTHS.tolist()):
        torch.testing.assert_close(states[b, :length], encoder(batch[b : b + 1, :length])[0])
        assert (states[b, length:] == 0).all()
    assert (padded[0, 2:] == -999).all()


def test_each_word_sees_the_whole_sentence() -> None:
    encoder, batch = make(), tokens()
    other = batch.clone()
    other[:, -1] = (other[:, -1] + 1) % 11
    assert (encoder(batch)[:, 0] != encoder(other)[:, 0]).any(-1).all()


def test_without_layers_the_embeddings_are_returned() -> None:
    torch.manual_seed(0)
    encoder, batch = sp.nn.SentenceEncoder(11, 5, 5, layers=0, dropout=0.5), tokens()
    assert not torch.equal(encoder(batch, LENGTHS), encoder(batch, LENGTHS))
    encoder.eval()
    assert torch.equal(encoder(batch), encoder.embedding(batch))
    assert [name for name, _ in encoder.named_parameters()] == ["embedding.weight"]
    with pytest.raises(ValueError, match="hidden_size: expected 4, the size of .*got 6"):
        make(layers=0)


def test_dropout_acts_while_training_alone() -> None:
    encoder, batch = make(dropout=0.5), tokens()
    assert not torch.equal(encoder(batch), encoder(batch))
    encoder.eval()
    assert torch.equal(encoder(batch), encoder(batch))


@pytest.mark.parametrize("freeze", [True, False])
def test_pretrained_vectors(freeze: bool) -> None:
    vectors = torch.randn(11, 4, dtype=torch.float64)
    encoder = sp.nn.SentenceEncoder.from_vectors(vectors, 6, freeze=freeze)
    states = encoder(tokens(), LENGTHS)
    assert states.dtype == torch.float64
    assert torch.equal(encoder.embedding.weight, vectors)
    states.sum().backward()
    assert (encoder.embedding.weight.grad is None) == freeze
    encoder.embedding.weight.data.zero_()
    assert vectors.any()


def test_no_sentence() -> None:
    none = torch.zeros(0, 5, dtype=torch.int64)
    assert make()(none, none[:, 0]).shape == (0, 5, 6)


@pytest.mark.parametrize(
    ("given", "lengths", "message"),
    [
        (torch.zeros(3), None, r"tokens: expected int64 \(B, n\).*float32 of shape \(3,\)"),
        (torch.zeros(3, 0, dtype=torch.int64), None, r"n >= 1 words.*\(3, 0\)"),
        (torch.tensor([[0, 11]]), None, r"tokens\[0, 1\] is 11: expected 0 to 10"),
        (torch.tensor([[-1, 0]]), None, r"tokens\[0, 0\] is -1"),
        (tokens(), LENGTHS[:2], r"lengths: expected shape \(3,\).*\(2,\)"),
        (tokens(), LENGTHS.double(), "lengths: expected an integer dtype"),
        (tokens(), torch.tensor([2, 6, 3]), r"lengths\[1\] is 6: expected 1 to 5"),
        (tokens(), torch.tensor([2, 5, 0]), r"lengths\[2\] is 0"),
    ],
)
def test_bad_input(given: torch.Tensor, lengths: torch.Tensor | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()(given, lengths)


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="even number, got 5"):
        sp.nn.SentenceEncoder(11, 4, 5)
    with pytest.raises(ValueError, match=r"vectors: expected floating.*\(11,\)"):
        sp.nn.SentenceEncoder.from_vectors(torch.zeros(11), 6)
