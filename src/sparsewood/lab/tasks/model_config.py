"""The options of the models of latent trees, whichever the task."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args

from sparsewood.estimators import Estimator, Given
from sparsewood.lab._checks import check
from sparsewood.lab.tasks.pretrained import BILSTM, encoder_checks, pretrained_name
from sparsewood.lab.tasks.readers import (
    MAX_ACTIVE,
    Reader,
    from_name,
    known_names,
    name_of,
    name_stored,
)
from sparsewood.nn._composer import TreeComposer
from sparsewood.nn.ordered import OrderedComposer
from sparsewood.nn.tree_gru import TreeGRU
from sparsewood.nn.tree_lstm import ChildSumTreeLSTM
from sparsewood.nn.tree_messages import TreeMessages

ESTIMATORS = "|".join(known_names())  # what help offers

Scorer = Literal["mlp", "between", "both"]
COMPOSERS: dict[str, type[TreeComposer | TreeMessages]] = {
    "tree_lstm": ChildSumTreeLSTM,
    "tree_gru": TreeGRU,
    "ordered": OrderedComposer,
    "messages": TreeMessages,
}


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a model. The defaults are what most of the published runs share.

    Attributes:
        estimator: trees (sparsemap: at most ten); the name of what gives them. Options follow a
            colon: "sparsemap" keeps at most ten trees per sentence, "sparsemap:max_active=none" has
            no cap. A reader has no dependency trees: mean, bow, lstm, chart, transformer.
        encoder: "bilstm", or "hf:NAME", a pretrained one. It gives words their vectors in the
            sentence. The BiLSTM reads embeddings; a pretrained encoder takes the place of both.
            NAME is a folder or a name on the Hugging Face hub; a word is the mean of its sub-words.
        tune_encoder: fine-tune the pretrained encoder, at the learning rate `encoder_lr`.
        scorer: arc scorer of latent trees: mlp, between or both. "mlp" reads the vectors of the
            encoder (`nn.MLPArcScorer`); "between" reads the embeddings of the two words and of
            those between them, for sentences longer than those trained on (`nn.BetweenArcScorer`,
            without any encoder); "both" adds the two scores.
        channels: number of sums that the scorer "between" computes over the words in between.
        hidden: size of the word and tree vectors.
        embedding: size of the word embeddings where no vectors are given.
        tune_vectors: go on learning the word vectors that are given.
        dropout: on the embeddings, the word vectors and the tree vectors.
        composer: how a tree becomes a vector: "tree_lstm", "tree_gru", "ordered", which reads the
            children of a word one after another, or "messages", which reads soft trees too.
        message_steps: how often messages are passed, with the composer "messages".
        composer_input: what the composer reads of a word: the vector of the encoder, which has seen
            the sentence ("context"), or the embedding ("words"). With the latter only the parser
            has context, and what words are to each other is the trees' to tell.
        own_embeddings: parser and composer have embeddings of their own, with "words"; a pretrained
            encoder shares none anyway.
        noise: the scale of Gumbel noise on the arc scores, in training.
        entropy: the loss of an example is less by this times the entropy of its trees, in training.
        projective: only projective trees are latent.
        single_root: only trees with one word at the root are latent.
        known_root: only trees with this word, counted from 1, at the root are latent.
        leaves: words that are leaves of all latent trees, as closing brackets or full stops may be.
            A sentence that has no tree then is read as if none of its words were named here.
        loss: "marginal" is -log sum_h p(h | x) p(y | h, x); "expected" is
            sum_h p(h | x) (-log p(y | h, x)).
    """

    estimator: Annotated[str, ESTIMATORS] = f"sparsemap:max_active={MAX_ACTIVE}"
    scorer: Annotated[Scorer, "mlp|between|both"] = "mlp"
    channels: int = 4
    hidden: int = 300
    embedding: int = 300
    tune_vectors: bool = False
    dropout: float = 0.5
    composer: Literal["tree_lstm", "tree_gru", "ordered", "messages"] = "tree_lstm"
    message_steps: int = 5
    composer_input: Literal["context", "words"] = "context"
    own_embeddings: bool = False
    noise: float = 0.0
    entropy: float = 0.0
    projective: bool = False
    single_root: bool = False
    known_root: int | None = None
    leaves: tuple[str, ...] = ()
    loss: Literal["marginal", "expected"] = "marginal"
    encoder: str = BILSTM
    tune_encoder: bool = False

    @property
    def needs_heads(self) -> bool:
        """Whether examples need heads."""
        return isinstance(from_name(self.estimator), Given)

    @property
    def pretrained(self) -> bool:
        """Whether the encoder is a pretrained one."""
        return pretrained_name(self.encoder) is not None

    @property
    def reads_vectors(self) -> bool:
        """Whether word vectors are of use."""
        return not self.pretrained or self.composer_input == "words"

    def __post_init__(self) -> None:
        estimator = from_name(self.estimator)
        fitting = [name for name, composer in COMPOSERS.items() if _fits(composer, estimator)]
        composers = f"{' or '.join(fitting)} with {self.estimator}"
        check(
            "model",
            self,
            *encoder_checks(self.encoder, self.tune_encoder),
            ("scorer", self.scorer in get_args(Scorer), "mlp, between or both"),
            (
                "scorer",
                self.scorer == "mlp" or not self.pretrained,
                '"mlp" with a pretrained encoder, which has no embeddings',
            ),
            ("channels", self.channels >= 1, "at least 1"),
            ("hidden", self.hidden >= 2 and self.hidden % 2 == 0, "an even number of at least 2"),
            ("embedding", self.embedding >= 1, "at least 1"),
            ("dropout", 0 <= self.dropout < 1, "at least 0, less than 1"),
            ("composer", self.composer in fitting, composers),
            ("message_steps", self.message_steps >= 1, "at least 1"),
            ("composer_input", self.composer_input in ("context", "words"), "context or words"),
            (
                "own_embeddings",
                self.composer_input == "words" or not self.own_embeddings,
                'False unless composer_input is "words"',
            ),
            (
                "composer_input",
                self.composer_input == "words" or self.scorer != "between",
                '"words" with the scorer "between", which builds no encoder',
            ),
            ("known_root", self.known_root is None or self.known_root >= 1, "at least 1"),
            ("noise", 0 <= self.noise < float("inf"), "at least 0"),
            ("entropy", 0 <= self.entropy < float("inf"), "at least 0"),
        )
        object.__setattr__(self, "estimator", name_of(estimator))  # one spelling of each
        object.__setattr__(self, "leaves", tuple(self.leaves))  # JSON has lists

    @classmethod
    def from_stored(cls, options: Mapping[str, Any]) -> Self:
        """The options that a model or a run of any version was saved with."""
        return cls(**stored_options(options))


def stored_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as JSON that any version has written, the estimator by its current name."""
    named = options.get("estimator")
    return dict(options) | ({"estimator": name_stored(named)} if isinstance(named, str) else {})


def _fits(composer: type[TreeComposer | TreeMessages], estimator: Estimator | Reader) -> bool:
    """Whether the composer reads what the estimator gives, and passes its gradient on."""
    if isinstance(estimator, Reader):  # there is nothing to compose
        return True
    reads = composer.reads_soft or estimator.gives_structures
    return reads and (composer.reads_parts or estimator.gradient_through != "parts")
