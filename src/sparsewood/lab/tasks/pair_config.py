"""The options of models of two sentences."""

from dataclasses import dataclass
from typing import Annotated, Literal

from sparsewood._internal.numbers import check_choice
from sparsewood.lab._checks import check
from sparsewood.lab.tasks.model_config import ModelConfig
from sparsewood.lab.tasks.readers import Reader, from_name

Attention = Literal["none", "softmax", "matching"]
Over = Literal["words", "subtrees"]


@dataclass(frozen=True)
class PairConfig(ModelConfig):
    """The shape of a model of two sentences: a `ModelConfig` and cross-attention.

    Attributes:
        attention: attention between the sentences: none, softmax or matching. With "softmax", as in
            ESIM, each word attends to all words of the other sentence before composition; with
            "matching", to those of a latent matching.
        attention_over: units that attend to each other: words, or the subtrees that they head.
    """

    attention: Annotated[Attention, "KIND"] = "none"
    attention_over: Over = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("model.attention", self.attention, Attention)
        check_choice("model.attention_over", self.attention_over, Over)
        attends, subtrees = self.attention != "none", self.attention_over == "subtrees"
        has_subtrees = (
            not isinstance(from_name(self.estimator), Reader) and self.composer != "messages"
        )
        check(
            "model",
            self,
            (
                "attention",
                not attends or self.composer_input == "context",
                '"none" where composer_input is "words"',
            ),
            (
                "attention_over",
                not subtrees or (attends and has_subtrees),
                f'"words" with attention {self.attention}, {self.estimator} and {self.composer}',
            ),
        )
