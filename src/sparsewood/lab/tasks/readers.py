"""The names that the option `estimator` of a model may have.

A name selects an estimator, the source of the trees, or a reader, which reads a sentence without
dependency trees. A new reader needs a line in `READERS`.

In the workbench `sparsemap` keeps at most `MAX_ACTIVE` trees; `sparsemap:max_active=none` removes
that cap. (`sp.SparseMAP()` of the library has no cap.) Names written to files always include it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, cast

import torch
from torch import Tensor, nn

from sparsewood._internal.numbers import check_choice, check_real
from sparsewood.estimators import Estimator, SparseMAP
from sparsewood.estimators.names import NAMES, Names, name_among, parse_among
from sparsewood.nn.chart import ChartTreeLSTM, Choice
from sparsewood.nn.sentence import BagOfWords, LastState, MeanOfWords
from sparsewood.nn.transformer import Pooling, Positions, TransformerReader, check_sizes
from sparsewood.posterior import Posterior
from sparsewood.structures.simplex import Simplex

Input = Literal["words", "context"]
MAX_ACTIVE = 10  # trees that `sparsemap` keeps: the solver of the paper stopped after ten steps


class Reader(ABC):
    """A frozen dataclass of options that builds a module: word vectors -> one vector per sentence.

    Attributes:
        input: the input per word: its embedding ("words") or the vector of the BiLSTM ("context").
        learns_trees: whether there are trees that the model learns.
    """

    input: Input
    learns_trees: ClassVar[bool] = False

    @abstractmethod
    def build(self, input_size: int, hidden_size: int) -> nn.Module:
        """The module: (B, n, input_size) and lengths (B,) -> (B, hidden_size)."""

    def read(self, module: nn.Module, x: Tensor, lengths: Tensor) -> tuple[Posterior, Tensor]:
        """A posterior with weight 1 per sentence, and the vectors (B, hidden_size)."""
        vectors = module(x, lengths)
        return without_structure(vectors), vectors

    @property
    def temperature_at_test(self) -> float | None:
        """The temperature of the trees at test time; None without one."""
        return None

    def parser_parameters(self, module: nn.Module) -> list[nn.Parameter]:
        """The parameters that only affect the distribution over trees."""
        return []


def without_structure(vectors: Tensor) -> Posterior:
    """A posterior over a single structure for each of B sentences, for (B, .) vectors."""
    only = torch.zeros(len(vectors), dtype=torch.int64, device=vectors.device)
    return Posterior.uniform(Simplex(), only, only.shape, (1,), None, vectors.dtype)


@dataclass(frozen=True)
class Mean(Reader):
    """The mean of the word vectors of the encoder, `nn.MeanOfWords`."""

    input: ClassVar[Input] = "context"  # pyright: ignore[reportIncompatibleVariableOverride]

    def build(self, input_size: int, hidden_size: int) -> nn.Module:
        return MeanOfWords(input_size)


@dataclass(frozen=True)
class _Chosen(Reader):
    """A reader with a choice of input."""

    input: Input = "words"

    def __post_init__(self) -> None:
        check_choice("input", self.input, Input)


@dataclass(frozen=True)
class Bow(_Chosen):
    """The bag of words of Hill et al. (2016), section 2: `nn.BagOfWords`."""

    def build(self, input_size: int, hidden_size: int) -> nn.Module:
        return BagOfWords(input_size, hidden_size)


@dataclass(frozen=True)
class LSTM(_Chosen):
    """The LSTM of Hill et al. (2016), section 2: `nn.LastState`."""

    def build(self, input_size: int, hidden_size: int) -> nn.Module:
        return LastState(input_size, hidden_size)


@dataclass(frozen=True)
class Chart(_Chosen):
    """The latent binary trees of Maillard, Clark & Yogatama (2017; 2019), section 3.

    Args:
        choice, temperature: as `nn.ChartTreeLSTM` has them.
    """

    choice: Choice = "soft"
    temperature: float = 0.125

    learns_trees: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("choice", self.choice, Choice)
        check_real("temperature", self.temperature, positive=True)

    def build(self, input_size: int, hidden_size: int) -> nn.Module:
        return ChartTreeLSTM(
            input_size, hidden_size, choice=self.choice, temperature=self.temperature
        )

    def read(self, module: nn.Module, x: Tensor, lengths: Tensor) -> tuple[Posterior, Tensor]:
        vectors, posterior = module(x, lengths)
        return posterior, vectors

    @property
    def temperature_at_test(self) -> float | None:
        # The best split is the same at any temperature.
        return self.temperature if self.choice == "soft" else None

    def parser_parameters(self, module: nn.Module) -> list[nn.Parameter]:
        assert isinstance(module, ChartTreeLSTM)
        return [module.direction]


@dataclass(frozen=True)
class Transformer(_Chosen):
    """A transformer over the words: `nn.TransformerReader`, whose arguments these are."""

    layers: int = 2
    heads: int = 4
    feedforward: int | None = None
    positions: Positions = "sinusoidal"
    clip: int = 16
    pooling: Pooling = "mean"
    dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("positions", self.positions, Positions)
        check_choice("pooling", self.pooling, Pooling)
        check_sizes(self.layers, self.heads, self.feedforward, self.clip)
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout: expected at least 0 and less than 1, got {self.dropout}")

    def build(self, input_size: int, hidden_size: int) -> nn.Module:
        options = {name: value for name, value in vars(self).items() if name != "input"}
        return TransformerReader(input_size, hidden_size, **options)


class SentenceReader(nn.Module):
    """The module of a reader.

    Args:
        kind: the reader.
        sizes: size of an embedding, and of a vector of the encoder, which is also the output size.
    """

    def __init__(self, kind: Reader, sizes: tuple[int, int]) -> None:
        super().__init__()
        self.kind = kind
        self.net = kind.build(sizes[0] if kind.input == "words" else sizes[1], sizes[1])

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Posterior, Tensor]:
        """A posterior with weight 1 per sentence, and the vectors (B, hidden)."""
        return self.kind.read(self.net, x, lengths)

    def set(self, name: str, value: float) -> None:
        """Set an option of the reader."""
        self.kind = replace(cast(Any, self.kind), **{name: value})
        setattr(self.net, name, value)


READERS: dict[str, tuple[type[Reader], dict[str, Any]]] = {
    "mean": (Mean, {}),
    "bow": (Bow, {}),
    "lstm": (LSTM, {}),
    "chart": (Chart, {}),
    "transformer": (Transformer, {}),
}


def known_names() -> Names:
    """All names for the option `estimator`: estimators and readers."""
    return {**NAMES, **READERS}


def from_name(text: str) -> Estimator | Reader:
    """The estimator or the reader of a name such as "flat" or "chart:choice=gumbel"."""
    return parse_among(text, known_names(), _defaults)


def name_of(value: Estimator | Reader) -> str:
    """The name that `from_name` turns into this estimator or reader."""
    return name_among(value, known_names(), _defaults)


def name_stored(text: str) -> str:
    """The current name of an estimator or reader that any version has saved.

    In earlier versions, `sparsemap` without `max_active` had no cap. Unknown names are returned as
    they are.
    """
    try:
        return name_of(parse_among(text, known_names()))
    except ValueError:
        return text


def scores_arcs(name: str) -> bool:
    """Whether this is the name of an estimator that reads arc scores."""
    try:
        value = from_name(name)
    except ValueError:
        return False
    return isinstance(value, Estimator) and value.reads_scores


def earlier_name(text: str) -> str:
    """The name that earlier versions had for this estimator or reader."""
    return name_among(from_name(text), known_names())


def _defaults(cls: type, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The default cap of SparseMAP, unless `max_support` limits the trees."""
    capped = cls is SparseMAP and options.get("max_support") is None
    return {"max_active": MAX_ACTIVE} if capped else {}


def learns_trees(value: Estimator | Reader) -> bool:
    """Whether there are trees that the model learns."""
    return value.learns_trees if isinstance(value, Reader) else value.reads_scores
