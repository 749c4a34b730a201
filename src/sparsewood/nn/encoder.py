"""The sentence encoder: contextual word vectors."""

import torch
from torch import Tensor, nn

from sparsewood._internal.host import host_copy
from sparsewood.nn._bilstm import run_bilstm
from sparsewood.nn._check import check_lengths


class SentenceEncoder(nn.Module):
    """An embedding and a bidirectional LSTM: tokens (B, n) -> word vectors (B, n, hidden_size).

    Padding is never read: the vectors of a sentence do not depend on the other sentences. Half of
    each vector comes from each direction.

    Args:
        vocabulary_size: V; tokens are 0..V - 1.
        embedding_size: size of the embeddings.
        hidden_size: size of the returned vectors; even.
        layers: layers of the LSTM. With 0 layers the embeddings are returned, without context, and
            `hidden_size` must equal `embedding_size`.
        dropout: dropout on the embeddings, between layers and on the result, during training.
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_size: int,
        hidden_size: int,
        *,
        layers: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if layers == 0 and hidden_size != embedding_size:
            raise ValueError(
                f"hidden_size: expected {embedding_size}, the size of the embeddings, for 0 "
                f"layers, got {hidden_size}"
            )
        if layers > 0 and (hidden_size < 2 or hidden_size % 2):
            raise ValueError(f"hidden_size: expected an even number, got {hidden_size}")
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(vocabulary_size, embedding_size)
        self.dropout = nn.Dropout(dropout)
        self.lstm = None
        if layers > 0:
            self.lstm = nn.LSTM(
                embedding_size,
                hidden_size // 2,
                num_layers=layers,
                batch_first=True,
                bidirectional=True,
                dropout=dropout if layers > 1 else 0.0,
            )

    @classmethod
    def from_vectors(
        cls,
        vectors: Tensor,
        hidden_size: int,
        *,
        freeze: bool = False,
        layers: int = 1,
        dropout: float = 0.0,
    ) -> "SentenceEncoder":
        """An encoder whose embedding is initialised with pretrained `vectors` (V, embedding_size).

        Args:
            vectors: copied; the modules take their floating dtype.
            freeze: do not train the embedding.
            hidden_size, layers, dropout: as above.
        """
        if vectors.ndim != 2 or not vectors.is_floating_point():
            raise ValueError(
                "vectors: expected floating (V, embedding_size), "
                f"got {vectors.dtype} of shape {tuple(vectors.shape)}"
            )
        vocabulary_size, embedding_size = vectors.shape
        encoder = cls(vocabulary_size, embedding_size, hidden_size, layers=layers, dropout=dropout)
        encoder.to(vectors.dtype)
        encoder.embedding.weight.data.copy_(vectors)
        encoder.embedding.weight.requires_grad_(not freeze)
        return encoder

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """The vector of each word in its sentence.

        Args:
            tokens: (B, n) integers; any values beyond `lengths`.
            lengths: (B,) number of words of each sentence. Default: n.

        Returns:
            (B, n, hidden_size); with an LSTM, zero beyond `lengths`.
        """
        tokens, lengths = self._check(tokens, lengths)
        if len(tokens) == 0:
            return self.embedding.weight.new_zeros(*tokens.shape, self.hidden_size)
        x = self.dropout(self.embedding(tokens))
        return x if self.lstm is None else self.dropout(run_bilstm(self.lstm, x, lengths))

    def _check(self, tokens: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
        """Tokens with 0 for padding, and lengths, both on the device of the tokens."""
        if (
            tokens.ndim != 2
            or tokens.shape[1] == 0
            or tokens.dtype not in (torch.int32, torch.int64)
        ):
            raise ValueError(
                "tokens: expected int64 (B, n) with n >= 1 words, "
                f"got {tokens.dtype} of shape {tuple(tokens.shape)}"
            )
        batch, n = tokens.shape
        lengths = check_lengths(lengths, batch, n, tokens.device)
        if not torch.compiler.is_compiling():  # a graph cannot branch on values
            self._check_range(host_copy(tokens), host_copy(lengths))
        inside = torch.arange(n, device=tokens.device) < lengths[:, None]
        return torch.where(inside, tokens, 0), lengths

    def _check_range(self, tokens: Tensor, lengths: Tensor) -> None:
        """Raise ValueError for tokens within `lengths`, both on the CPU, outside the vocabulary."""
        vocabulary = self.embedding.num_embeddings
        if tokens.numel() == 0:
            return
        low, high = tokens.aminmax()
        if low >= 0 and high < vocabulary:  # including the padding
            return
        inside = torch.arange(tokens.shape[1]) < lengths[:, None]
        bad = inside & ((tokens < 0) | (tokens >= vocabulary))
        if bad.any():
            b, i = bad.nonzero()[0].tolist()
            raise ValueError(
                f"tokens[{b}, {i}] is {int(tokens[b, i])}: expected 0 to {vocabulary - 1}"
            )
