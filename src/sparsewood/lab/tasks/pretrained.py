"""Pretrained encoders: word vectors by any encoder of transformers with a fast tokenizer."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from huggingface_hub.utils import logging as hub_logging
from torch import Tensor, nn

from sparsewood.lab._extras import require
from sparsewood.lab.tasks.subwords import SubWords

BILSTM = "bilstm"
_PREFIX = "hf:"


def pretrained_name(encoder: str) -> str | None:
    """The hub's name, or the folder, that the option `encoder` has after "hf:"; None without."""
    return encoder.removeprefix(_PREFIX) if encoder.startswith(_PREFIX) else None


def encoder_checks(encoder: str, tuned: bool) -> list[tuple[str, bool, str]]:
    """What `check` asks of the options `encoder` and `tune_encoder`."""
    name = pretrained_name(encoder)
    return [
        ("encoder", encoder == BILSTM or bool(name), f"{BILSTM!r}, or 'hf:' and a name or folder"),
        ("tune_encoder", name is not None or not tuned, "False unless the encoder is hf:NAME"),
    ]


def unread_vectors(encoder: str) -> str:
    """What is wrong with word vectors beside a pretrained encoder."""
    return f"vectors: the encoder {encoder} takes their place; leave them out"


@dataclass(frozen=True)
class Pretrained:
    """All of a pretrained encoder but its weights, as JSON holds it.

    Attributes:
        config: of transformers.
        tokenizer: as `tokenizer.json` has it.
        unknown: the sub-word of words that have no other.
        limit: the most sub-words that are read together; None: any number.
    """

    config: dict[str, Any]
    tokenizer: str
    unknown: int
    limit: int | None

    @classmethod
    def load(cls, name: str) -> tuple["Pretrained", nn.Module]:
        """The encoder of a folder, or of that name on the Hugging Face hub, and its network.

        Raises:
            ValueError: if it cannot be had, saying why.
        """
        transformers = require("transformers", extra="hf")
        place = Path(name).expanduser()
        if name.startswith((".", "/", "~")) and not place.is_dir():
            raise ValueError(f"model.encoder: no such folder of a pretrained encoder: {place}")
        where = str(place) if place.is_dir() else name
        try:
            with _quiet(transformers):
                transformers.AutoConfig.from_pretrained(where)  # asks a hub that is away only once
                tokenizer = transformers.AutoTokenizer.from_pretrained(where)
                network = _without_pooler(transformers.AutoModel.from_pretrained, where)
                return cls._of(tokenizer, network), network
        except Exception as error:  # what is no such encoder fails in many ways
            reason = " ".join(str(error).partition("\n")[0].split()) or type(error).__name__
            raise ValueError(f"model.encoder: {name!r} cannot be read ({reason})") from error

    @classmethod
    def _of(cls, tokenizer: Any, network: Any) -> "Pretrained":
        if not tokenizer.is_fast:
            raise ValueError(f"{type(tokenizer).__name__} is no fast tokenizer")
        size = network.get_input_embeddings().num_embeddings
        if len(tokenizer) > size:
            raise ValueError(f"the tokenizer has {len(tokenizer)} sub-words, the encoder {size}")
        config = json.loads(network.config.to_json_string(use_diff=False))
        config.pop("_name_or_path", None)  # where it was is of no use to those who get the model
        unknown = tokenizer.unk_token_id
        return cls(
            config,
            tokenizer.backend_tokenizer.to_str(),
            0 if unknown is None else unknown,
            _limit(tokenizer, network),
        )

    @classmethod
    def saved_in(cls, config: Mapping[str, Any]) -> "Pretrained | None":
        """That in the configuration of a model, if there is one."""
        told = config.get("pretrained")
        return None if told is None else cls(**told)

    def network(self) -> nn.Module:
        """The network, with any weights."""
        transformers = require("transformers", extra="hf")
        with _quiet(transformers):
            config = transformers.AutoConfig.for_model(**self.config)
            return _without_pooler(transformers.AutoModel.from_config, config)

    def subwords(self) -> SubWords:
        """What splits words for it."""
        return SubWords(self.tokenizer, self.unknown, self.limit)


class PretrainedEncoder(nn.Module):
    """A pretrained encoder: sub-words -> word vectors (B, n, hidden_size).

    The vector of a word is a linear layer of the mean of the last hidden states of its sub-words.
    Padding is never read: a sentence gets the vectors it would get alone.

    Args:
        network: of transformers: what it is called with is `input_ids` and `attention_mask`.
        shape: what `network` and its tokenizer are.
        hidden_size: of the vectors returned.
        tuned: whether training changes the network. If not, it is as out of training, without
            dropout, all the time, and nothing is remembered for gradients.
        dropout: on the result, while training.
    """

    def __init__(
        self,
        network: nn.Module,
        shape: Pretrained,
        hidden_size: int,
        *,
        tuned: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.shape, self.hidden_size, self.tuned = shape, hidden_size, tuned
        self.split = shape.subwords()
        self.network = network.requires_grad_(tuned)
        config = cast(Any, network).config
        self._padding = config.pad_token_id or 0
        self.projection = nn.Linear(config.hidden_size, hidden_size)
        self.dropout = nn.Dropout(dropout)
        self.train(self.training)

    @classmethod
    def make(
        cls,
        encoder: str,
        shape: Pretrained | None,
        hidden_size: int,
        *,
        tuned: bool,
        dropout: float = 0.0,
    ) -> "PretrainedEncoder":
        """That of the option `encoder`, "hf:NAME", or where its shape is given, with any weights.

        Raises:
            ValueError: if it cannot be had, saying why.
        """
        if shape is None:
            shape, network = Pretrained.load(pretrained_name(encoder) or "")
        else:
            network = shape.network()
        return cls(network, shape, hidden_size, tuned=tuned, dropout=dropout)

    def train(self, mode: bool = True) -> "PretrainedEncoder":
        super().train(mode)
        self.network.train(mode and self.tuned)
        return self

    def forward(self, subwords: Tensor, owners: Tensor, batch: int, n: int) -> Tensor:
        """The vector of each word in its sentence.

        Args:
            subwords: (R, p) int64, -1 beyond the end of a window.
            owners: (R, p) int64, b * n + i for word i of sentence b; -1: no word's.
            batch: B, how many sentences there are.
            n: words of a sentence, padding included.

        Returns:
            (B, n, hidden_size), zero where a word has no sub-word: beyond the end of a sentence.
        """
        inside = subwords >= 0
        ids = torch.where(inside, subwords, self._padding)
        with nullcontext() if self.tuned else torch.no_grad():
            states = self.network(input_ids=ids, attention_mask=inside.long()).last_hidden_state
        states = states.to(self.projection.weight.dtype).flatten(0, 1)
        rest = batch * n  # takes what is no word's
        rows = torch.where(owners < 0, rest, owners).flatten()
        sums = states.new_zeros(rest + 1, states.shape[1]).index_add(0, rows, states)[:rest]
        counts = states.new_zeros(rest + 1).index_add(0, rows, torch.ones_like(states[:, 0]))[:rest]
        means = sums / counts.clamp(min=1)[:, None]
        vectors = self.projection(means) * (counts > 0)[:, None]
        return self.dropout(vectors).view(batch, n, self.hidden_size)


def saved(encoder: nn.Module | None) -> dict[str, Any]:
    """The entry of the configuration of a model that has the pretrained encoder, if it is one."""
    return {"pretrained": asdict(encoder.shape)} if isinstance(encoder, PretrainedEncoder) else {}


def _without_pooler(make: Any, source: Any) -> nn.Module:
    """A network in float32, of an encoder and a decoder the encoder.

    Nothing reads what a pooler says, and not all networks can do without.
    """
    try:
        network = make(source, add_pooling_layer=False)
    except TypeError:
        network = make(source)
    if network.config.is_encoder_decoder:
        network = network.get_encoder()
    return network.float()


def _limit(tokenizer: Any, network: Any) -> int | None:
    """The most sub-words that the network reads together; None: any number."""
    told = [tokenizer.model_max_length, getattr(network.config, "max_position_embeddings", None)]
    for name, module in network.named_modules():
        if isinstance(module, nn.Embedding) and name.endswith("position_embeddings"):
            # Where padding has a position of its own, those of words come after it.
            before = 0 if module.padding_idx is None else module.padding_idx + 1
            told.append(module.num_embeddings - before)
    known = [int(limit) for limit in told if limit is not None and 0 < limit < 1_000_000_000]
    return min(known, default=None)


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Within it transformers and the hub tell nothing of their own accord, and show no bars."""
    logs = (transformers.utils.logging, hub_logging)
    levels = [log.get_verbosity() for log in logs]
    bars = logs[0].is_progress_bar_enabled()
    for log in logs:
        log.set_verbosity_error()
    logs[0].disable_progress_bar()
    try:
        yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.set_verbosity(level)
        if bars:
            logs[0].enable_progress_bar()
