"""The options of a parser."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from torch import Tensor

from sparsewood.inference import crf_loss, hinge_loss, perceptron_loss, sparsemap_loss
from sparsewood.lab._checks import check
from sparsewood.lab.tasks.pretrained import (
    BILSTM,
    EncoderPrecision,
    encoder_checks,
    pretrained_name,
)

# Options of the BiLSTM and its input, which a pretrained encoder replaces.
_OF_BILSTM = ("embedding", "characters", "filters", "layers", "scorer")
LOSSES: dict[str, Callable[..., Tensor]] = {
    "crf": crf_loss,
    # The scores of an untrained parser are almost equal: SparseMAP would keep about n^2 trees.
    "sparsemap": partial(sparsemap_loss, max_active=50),
    "hinge": hinge_loss,
    "perceptron": perceptron_loss,
}


@dataclass(frozen=True)
class ParserConfig:
    """The shape of a parser and its loss.

    Attributes:
        loss: training loss of the arc scores.
        encoder: "bilstm", or "hf:NAME" for a pretrained encoder. The latter replaces the BiLSTM and
            its inputs. NAME is a folder or a name on the Hugging Face hub; the vector of a word is
            the mean over its sub-words.
        tune_encoder: fine-tune the pretrained encoder, by default at rate 3e-5; see `encoder_lr`
            and `warm_up`.
        encoder_precision: precision of the pretrained encoder; auto is bfloat16 on a GPU, float32
            on a CPU. Parameters stay in float32.
        embedding: size of learned word embeddings and projected word vectors.
        characters: size of the character embeddings.
        filters: number of filters of the convolution over characters.
        layers: number of layers of the BiLSTM.
        hidden: size of each direction of a layer. With a pretrained encoder, half the size of its
            projected vectors.
        scorer: "biaffine", over the vectors of the encoder, or "both": the sum of that and of
            `nn.BetweenArcScorer`, which reads what the BiLSTM reads.
        arc: size of the vectors that the biaffine scorer compares; of the other's hidden layer too.
        dropout: dropout of whole words, between layers and in the scorer.
        projective: predict only projective trees.
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
    encoder_precision: EncoderPrecision = "auto"

    @property
    def pretrained(self) -> bool:
        """Whether the encoder is pretrained."""
        return pretrained_name(self.encoder) is not None

    @property
    def reads_vectors(self) -> bool:
        """Whether the parser uses word vectors."""
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
            *encoder_checks(self.encoder, self.tune_encoder, self.encoder_precision),
            *((name, getattr(self, name) >= 1, "at least 1") for name in sizes),
            *(
                (name, getattr(self, name) == value, f"{value}: {self.encoder} has no {name}")
                for name, value in unread.items()
            ),
            ("dropout", 0 <= self.dropout < 1, "at least 0, less than 1"),
        )
