"""From word vectors to one vector per sentence by self-attention, without trees."""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from sparsewood._internal.numbers import check_choice, check_whole
from sparsewood.nn._check import masked_words

Positions = Literal["sinusoidal", "relative"]
Pooling = Literal["mean", "first"]
_WAVE = 10_000.0  # the longest wavelength of sinusoidal positions, over 2 pi


class TransformerReader(nn.Module):
    """The mean of the last states of a transformer: (B, n, input_size) -> (B, hidden_size).

    `torch.nn.TransformerEncoder` over projected word vectors, with the norm before each block and
    after the last. Vaswani et al. (2017), "Attention is all you need".

    Args:
        input_size: size of a word vector.
        hidden_size: size of the states and of the result; even.
        layers: number of layers.
        heads: number of heads per layer; must divide `hidden_size`.
        feedforward: hidden size of the feed-forward networks. Default: four times `hidden_size`.
        positions: "sinusoidal" adds the waves of the paper to the vectors; "relative" adds a
            learned bias to the attention of each head of each layer, depending on the distance of
            the two words, as in Shaw et al. (2018) and Raffel et al. (2020).
        clip: maximum distance for "relative"; larger distances share its bias.
        pooling: the mean of the states, or the state of a learned vector put in front ("first").
        dropout: dropout of the encoder, in training.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        *,
        layers: int = 2,
        heads: int = 4,
        feedforward: int | None = None,
        positions: Positions = "sinusoidal",
        clip: int = 16,
        pooling: Pooling = "mean",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        check_choice("positions", positions, Positions)
        check_choice("pooling", pooling, Pooling)
        check_sizes(layers, heads, feedforward, clip)
        if hidden_size % (2 * heads):
            raise ValueError(
                f"heads: expected a divisor of half of hidden_size ({hidden_size}), got {heads}"
            )
        self.input_size, self.positions, self.pooling = input_size, positions, pooling
        self.clip, self.heads = clip, heads
        self.input = nn.Linear(input_size, hidden_size)
        layer = nn.TransformerEncoderLayer(
            hidden_size,
            heads,
            4 * hidden_size if feedforward is None else feedforward,
            dropout,
            _gelu,
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(
            layer, layers, nn.LayerNorm(hidden_size), enable_nested_tensor=False
        )
        self.first = nn.Parameter(torch.randn(hidden_size)) if pooling == "first" else None
        self.bias = None
        if positions == "relative":
            self.bias = nn.Parameter(torch.zeros(layers, heads, 2 * clip + 1))

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The vector of each sentence; any values beyond `lengths` (B,)."""
        words, lengths = masked_words(x, lengths, self.input_size)
        states = self.input(words)
        if self.first is not None:
            first = self.first.to(states.dtype).expand(len(states), 1, -1)
            states, lengths = torch.cat([first, states], 1), lengths + 1
        n = states.shape[1]
        inside = torch.arange(n, device=x.device) < lengths[:, None]
        outside = torch.zeros_like(inside, dtype=states.dtype).masked_fill(~inside, -torch.inf)
        if self.bias is None:
            states = states + _waves(n, states)
            states = self.encoder(states, src_key_padding_mask=outside)
        else:
            states = self._relative(states, outside, self.bias)
        if self.first is not None:
            return states[:, 0]
        total = states.masked_fill(~inside[..., None], 0).sum(1)
        return total / lengths[:, None].to(states.dtype)

    def _relative(self, states: Tensor, outside: Tensor, bias: Tensor) -> Tensor:
        """The states of the encoder, with a bias by distance in each layer."""
        n = states.shape[1]
        places = torch.arange(n, device=states.device)
        distances = (places - places[:, None]).clamp(-self.clip, self.clip) + self.clip
        for layer, numbers in zip(self.encoder.layers, bias, strict=True):
            mask = numbers[:, distances].to(states.dtype) + outside[:, None, None]
            states = layer(states, src_mask=mask.flatten(0, 1))
        assert self.encoder.norm is not None
        return self.encoder.norm(states)

    def extra_repr(self) -> str:
        return f"{self.input_size}, positions {self.positions}, pooling {self.pooling}"


def check_sizes(layers: int, heads: int, feedforward: int | None, clip: int) -> None:
    """Raise ValueError unless all are integers of at least 1."""
    sizes = {"layers": layers, "heads": heads, "feedforward": feedforward, "clip": clip}
    for name, value in sizes.items():
        if value is not None:
            check_whole(name, value)


def _gelu(x: Tensor) -> Tensor:
    """GELU under a name that PyTorch does not recognise.

    For known activations PyTorch has a fast path in evaluation, which treats a mask of floats as
    booleans.
    """
    return nn.functional.gelu(x)


def _waves(n: int, like: Tensor) -> Tensor:
    """(n, hidden) the sinusoidal positions of Vaswani et al. (2017), section 3.5."""
    half = like.shape[-1] // 2
    rates = torch.exp(torch.arange(half, device=like.device) * (-math.log(_WAVE) / half))
    angles = torch.arange(n, device=like.device)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], -1).to(like.dtype)
