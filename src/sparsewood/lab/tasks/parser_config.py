"""The options of a parser."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from torch import Tensor

from sparsewood.inference import crf_loss, hinge_loss, perceptron_loss, sparsemap_loss
from sparsewood.lab._checks import check
from sparsewood.lab.tasks.pretrained import BILSTM, encoder_checks, pretrained_name

# Of the BiLSTM and of what it reads: a pretrained encoder takes the place of both.
_OF_BILSTM = ("embedding", "characters", "filters", "layers", "scorer")
LOSSES: dict[str, Callable[..., Tensor]] = {
    "crf": crf_loss,
    # The scores of an untrained parser are all alike: SparseMAP would keep some n^2 trees.
    "sparsemap": partial(sparsemap_loss, max_active=50),
    "hinge": hinge_loss,
    "perceptron": perceptron_loss,
}


@dataclass(frozen=True)
class ParserConfig:
    """The shape of a parser, and what it is trained by.

    Attributes:
        loss: of the arc scores against the heads.
        encoder: "bilstm", or in place of it and of all that it reads a pretrained one, "hf:NAME".
            NAME is a folder or a name on the Hugging Face hub, and a word the mean of its
            sub-words.
        tune_encoder: go on learning the pretrained encoder.
        embedding: size of the learned word embeddings, and of the projected word vectors.
        characters: size of the learned embeddings of characters.
        filters: of the convolution over characters; the size of what it says of a word.
        layers: of the BiLSTM.
        hidden: of each direction of a layer; of a pretrained encoder's vectors, half the size.
        scorer: "biaffine", over the vectors of the encoder, or "both": the sum of that and of
            `nn.BetweenArcScorer`, which reads what the BiLSTM reads.
        arc: size of the vectors that the biaffine scorer compares; of the other's hidden layer too.
        dropout: on words as a whole, between layers, and in the scorer.
        projective: parse to projective trees only.
    """

    needs_heads: ClassVar[bool] = True

    loss: Literal["crf", "sparsemap", "hinge", "perceptron"] = "crf"
    embedding: int = 100
    characters: int = 50
    filters: int = 100
    layers: int = 3
    hidden: int = 400
    scorer: Literal["biaffine", "both"] = "biaffine"
    arc: int = 500
    dropout: float = 0.33
    projective: bool = False
    encoder: str = BILSTM
    tune_encoder: bool = False

    @property
    def pretrained(self) -> bool:
        """Whether the encoder is a pretrained one."""
        return pretrained_name(self.encoder) is not None

    @property
    def reads_vectors(self) -> bool:
        """Whether word vectors are of use."""
        return not self.pretrained

    def __post_init__(self) -> None:
        sizes = ("embedding", "characters", "filters", "layers", "hidden", "arc")
        defaults = {name: getattr(ParserConfig, name) for name in _OF_BILSTM}
        unread = defaults if self.pretrained else {}
        check(
            "model",
            self,
            ("loss", self.loss in LOSSES, f"one of {', '.join(LOSSES)}"),
            ("scorer", self.scorer in ("biaffine", "both"), "biaffine or both"),
            *encoder_checks(self.encoder, self.tune_encoder),
            *((name, getattr(self, name) >= 1, "at least 1") for name in sizes),
            *(
                (name, getattr(self, name) == value, f"{value}: {self.encoder} has no {name}")
                for name, value in unread.items()
            ),
            ("dropout", 0 <= self.dropout < 1, "at least 0, less than 1"),
        )
