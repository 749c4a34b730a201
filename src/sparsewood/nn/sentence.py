"""From word vectors to one vector per sentence, without trees: mean, bag of words, LSTM."""

import torch
from torch import Tensor, nn

from sparsewood.nn._check import masked_words


class MeanOfWords(nn.Module):
    """The mean of the word vectors: (B, n, input_size) -> (B, input_size).

    A baseline for models with trees.
    """

    def __init__(self, input_size: int) -> None:
        super().__init__()
        self.input_size = input_size

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The vector of each sentence; what lies beyond `lengths` (B,) may be anything."""
        words, lengths = masked_words(x, lengths, self.input_size)
        return words.sum(1) / lengths[:, None].to(words.dtype)

    def extra_repr(self) -> str:
        return str(self.input_size)


class BagOfWords(nn.Module):
    """The sum of projected word vectors, sum_i W x_i: (B, n, input_size) -> (B, hidden_size).

    The bag of words of Hill, Cho, Korhonen & Bengio (2016), "Learning to understand phrases by
    embedding the dictionary", section 2: an RNN whose update and nonlinearity are the identity.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size = input_size
        self.input = nn.Linear(input_size, hidden_size, bias=False)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The vector of each sentence; what lies beyond `lengths` (B,) may be anything."""
        words, _ = masked_words(x, lengths, self.input_size)
        return self.input(words.sum(1))


class LastState(nn.Module):
    """The last state of an LSTM from left to right: (B, n, input_size) -> (B, hidden_size).

    The LSTM of Hill, Cho, Korhonen & Bengio (2016), "Learning to understand phrases by embedding
    the dictionary", section 2.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size = input_size
        self.lstm = nn.LSTM(input_size, hidden_size, batch_first=True)

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The vector of each sentence; what lies beyond `lengths` (B,) may be anything."""
        words, lengths = masked_words(x, lengths, self.input_size)
        states, _ = self.lstm(words)  # a state does not depend on later words
        return states[torch.arange(len(states), device=x.device), lengths - 1]
