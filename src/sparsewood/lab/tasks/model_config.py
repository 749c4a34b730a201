"""The options of models of latent trees, for all tasks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args

from sparsewood.estimators import Estimator, Given
from sparsewood.lab._checks import check
from sparsewood.lab.tasks.pretrained import (
    BILSTM,
    EncoderPrecision,
    encoder_checks,
    pretrained_name,
)
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

ESTIMATORS = "|".join(known_names())  # the names shown by --help

Scorer = Literal["mlp", "between", "both"]
COMPOSERS: dict[str, type[TreeComposer | TreeMessages]] = {
    "tree_lstm": ChildSumTreeLSTM,
    "tree_gru": TreeGRU,
    "ordered": OrderedComposer,
    "messages": TreeMessages,
}


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a model. The defaults are those of most published runs.

    Attributes:
        estimator: estimator (sparsemap: at most ten trees), or a reader. Options follow a colon:
            "sparsemap" keeps at most ten trees per sentence, "sparsemap:max_active=none" has no
            cap. Readers have no dependency trees: mean, bow, lstm, chart, transformer.
        encoder: "bilstm", or "hf:NAME" for a pretrained encoder. The latter replaces embeddings and
            BiLSTM. NAME is a folder or a name on the Hugging Face hub; the vector of a word is the
            mean over its sub-words.
        tune_encoder: fine-tune the pretrained encoder, by default at rate 3e-5; see `encoder_lr`
            and `warm_up`.
        encoder_precision: precision of the pretrained encoder; auto is bfloat16 on a GPU, float32
            on a CPU. Parameters stay in float32.
        scorer: arc scorer of latent trees: mlp, between or both. "mlp" reads the vectors of the
            encoder (`nn.MLPArcScorer`); "between" reads the embeddings of the two words and of
            those between them, for sentences longer than those trained on (`nn.BetweenArcScorer`,
            without any encoder); "both" adds the two scores.
        channels: number of sums that the scorer "between" computes over the words in between.
        hidden: size of the word and tree vectors.
        embedding: size of the word embeddings if no vectors are given.
        tune_vectors: fine-tune the given word vectors.
        dropout: dropout on embeddings, word vectors and tree vectors.
        composer: network that maps a tree to a vector. "ordered" reads the children of a word one
            after another; "messages" also reads soft trees.
        message_steps: number of message-passing steps of the composer "messages".
        composer_input: input of the composer: vectors of the encoder ("context") or embeddings
            ("words"). With "words", only the parser sees the whole sentence, and the composer
            depends on the tree for all relations between words.
        own_embeddings: separate embeddings for parser and composer, with --composer-input words. A
            pretrained encoder never shares embeddings.
        noise: scale of the Gumbel noise on arc scores in training.
        entropy: weight of the entropy of the trees, subtracted from the loss in training.
        projective: allow only projective trees.
        single_root: allow only trees with a single word at the root.
        known_root: allow only trees with this word at the root, counted from 1.
        leaves: words that never have children, such as closing brackets or full stops. The option
            is ignored for sentences that would have no tree.
        loss: "marginal" is -log sum_h p(h | x) p(y | h, x); "expected" is
            sum_h p(h | x) (-log p(y | h, x)).
    """

    estimator: Annotated[str, ESTIMATORS] = f"sparsemap:max_active={MAX_ACTIVE}"
    scorer: Annotated[Scorer, "KIND"] = "mlp"
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
    encoder_precision: EncoderPrecision = "auto"

    @property
    def needs_heads(self) -> bool:
        """Whether examples need heads."""
        return isinstance(from_name(self.estimator), Given)

    @property
    def pretrained(self) -> bool:
        """Whether the encoder is pretrained."""
        return pretrained_name(self.encoder) is not None

    @property
    def reads_vectors(self) -> bool:
        """Whether the model uses word vectors."""
        return not self.pretrained or self.composer_input == "words"

    def __post_init__(self) -> None:
        estimator = from_name(self.estimator)
        fitting = [name for name, composer in COMPOSERS.items() if _fits(composer, estimator)]
        composers = f"{' or '.join(fitting)} with {self.estimator}"
        check(
            "model",
            self,
            *encoder_checks(self.encoder, self.tune_encoder, self.encoder_precision),
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
        """The options of a model or run that any version has saved."""
        return cls(**stored_options(options))


def stored_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as JSON, written by any version, with the current name of the estimator."""
    named = options.get("estimator")
    return dict(options) | ({"estimator": name_stored(named)} if isinstance(named, str) else {})


def _fits(composer: type[TreeComposer | TreeMessages], estimator: Estimator | Reader) -> bool:
    """Whether the composer can read what the estimator returns, and passes its gradient on."""
    if isinstance(estimator, Reader):  # readers have no composer
        return True
    reads = composer.reads_soft or estimator.gives_structures
    return reads and (composer.reads_parts or estimator.gradient_through != "parts")
