"""Word vectors from characters."""

import torch
from torch import Tensor, nn


class Spelling(nn.Module):
    """One vector per word from its characters: (U, c) -> (U, filters).

    A convolution over three characters, with max-pooling.
    """

    def __init__(self, alphabet: int, size: int, filters: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(alphabet, size, padding_idx=0)
        self.convolution = nn.Conv1d(size, filters, 3, padding=1)

    def forward(self, spellings: Tensor) -> Tensor:
        answers = self.convolution(self.embedding(spellings).mT)
        return answers.masked_fill(spellings[:, None] == 0, -torch.inf).amax(-1)
