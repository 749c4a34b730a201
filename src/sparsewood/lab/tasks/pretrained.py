"""Pretrained encoders: word vectors by any encoder of transformers with a fast tokenizer."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import torch
from huggingface_hub.utils import logging as hub_logging
from torch import Tensor, nn

from sparsewood.lab._extras import require
from sparsewood.lab.tasks.subwords import SubWords

BILSTM = "bilstm"
_PREFIX = "hf:"

EncoderPrecision = Literal["auto", "float32", "bfloat16"]


def pretrained_name(encoder: str) -> str | None:
    """The name or folder after "hf:" in the option `encoder`; None for the BiLSTM."""
    return encoder.removeprefix(_PREFIX) if encoder.startswith(_PREFIX) else None


def encoder_checks(encoder: str, tuned: bool, precision: str) -> list[tuple[str, bool, str]]:
    """The checks of the options `encoder`, `tune_encoder` and `encoder_precision`."""
    name = pretrained_name(encoder)
    known = get_args(EncoderPrecision)
    unless = "unless the encoder is hf:NAME"
    return [
        ("encoder", encoder == BILSTM or bool(name), f"{BILSTM!r}, or 'hf:' and a name or folder"),
        ("tune_encoder", name is not None or not tuned, f"False {unless}"),
        ("encoder_precision", precision in known, "auto, float32 or bfloat16"),
        ("encoder_precision", name is not None or precision == "auto", f"auto {unless}"),
    ]


def unread_vectors(encoder: str) -> str:
    """The error message for word vectors with a pretrained encoder."""
    return f"vectors: the encoder {encoder} replaces them; leave them out"


@dataclass(frozen=True)
class Pretrained:
    """A pretrained encoder without its weights, as JSON.

    Attributes:
        config: configuration of transformers.
        tokenizer: content of `tokenizer.json`.
        unknown: the sub-word for unknown words.
        limit: maximum sub-words per window; None for no limit.
    """

    config: dict[str, Any]
    tokenizer: str
    unknown: int
    limit: int | None

    @classmethod
    def load(cls, name: str) -> tuple["Pretrained", nn.Module]:
        """The encoder in a folder, or with that name on the Hugging Face hub, and its network.

        Raises:
            ValueError: if it cannot be loaded, with the reason.
        """
        transformers = require("transformers", extra="hf")
        place = Path(name).expanduser()
        if name.startswith((".", "/", "~")) and not place.is_dir():
            raise ValueError(f"model.encoder: no such folder of a pretrained encoder: {place}")
        where = str(place) if place.is_dir() else name
        try:
            with _quiet(transformers):
                transformers.AutoConfig.from_pretrained(where)  # fails early without a hub
                tokenizer = transformers.AutoTokenizer.from_pretrained(where)
                network = _without_pooler(transformers.AutoModel.from_pretrained, where)
                return cls._of(tokenizer, network), network
        except Exception as error:  # other folders fail in many ways
            reason = " ".join(str(error).partition("\n")[0].split()) or type(error).__name__
            raise ValueError(f"model.encoder: {name!r} cannot be read ({reason})") from error

    @classmethod
    def _of(cls, tokenizer: Any, network: Any) -> "Pretrained":
        if not tokenizer.is_fast:
            raise ValueError(f"{type(tokenizer).__name__} is not a fast tokenizer")
        size = network.get_input_embeddings().num_embeddings
        if len(tokenizer) > size:
            raise ValueError(f"the tokenizer has {len(tokenizer)} sub-words, the encoder {size}")
        config = json.loads(network.config.to_json_string(use_diff=False))
        config.pop("_name_or_path", None)  # the original path is useless elsewhere
        unknown = tokenizer.unk_token_id
        return cls(
            config,
            tokenizer.backend_tokenizer.to_str(),
            0 if unknown is None else unknown,
            _limit(tokenizer, network),
        )

    @classmethod
    def saved_in(cls, config: Mapping[str, Any]) -> "Pretrained | None":
        """The pretrained encoder in the configuration of a model, if any."""
        told = config.get("pretrained")
        return None if told is None else cls(**told)

    def network(self) -> nn.Module:
        """The network, with untrained weights."""
        transformers = require("transformers", extra="hf")
        with _quiet(transformers):
            config = transformers.AutoConfig.for_model(**self.config)
            return _without_pooler(transformers.AutoModel.from_config, config)

    def subwords(self) -> SubWords:
        """The splitter into sub-words."""
        return SubWords(self.tokenizer, self.unknown, self.limit)


class PretrainedEncoder(nn.Module):
    """A pretrained encoder: sub-words -> word vectors (B, n, hidden_size).

    The vector of a word is a linear layer over the mean of the last hidden states of its sub-words.
    Padding is never read: vectors do not depend on the other sentences of the batch.

    Args:
        network: a network of transformers, called with `input_ids` and `attention_mask`.
        shape: configuration and tokenizer of `network`.
        hidden_size: size of the returned vectors.
        tuned: whether training changes the network. If not, it stays in evaluation mode, without
            dropout and gradients.
        dropout: dropout on the result in training.
        precision: precision of the network; see `dtype_on`. Its parameters stay in float32.

    Attributes:
        size: size of a hidden state of the network.
    """

    def __init__(
        self,
        network: nn.Module,
        shape: Pretrained,
        hidden_size: int,
        *,
        tuned: bool = False,
        dropout: float = 0.0,
        precision: EncoderPrecision = "auto",
    ) -> None:
        super().__init__()
        self.shape, self.hidden_size, self.tuned = shape, hidden_size, tuned
        self.precision = precision
        self.split = shape.subwords()
        self.network = network.requires_grad_(tuned)
        config = cast(Any, network).config
        self.size: int = config.hidden_size
        self._padding = config.pad_token_id or 0
        self.projection = nn.Linear(self.size, hidden_size)
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
        precision: EncoderPrecision = "auto",
    ) -> "PretrainedEncoder":
        """The encoder of the option `encoder`, "hf:NAME"; with untrained weights if its shape is
        given.

        Raises:
            ValueError: if it cannot be loaded, with the reason.
        """
        if shape is None:
            shape, network = Pretrained.load(pretrained_name(encoder) or "")
        else:
            network = shape.network()
        return cls(network, shape, hidden_size, tuned=tuned, dropout=dropout, precision=precision)

    def train(self, mode: bool = True) -> "PretrainedEncoder":
        super().train(mode)
        self.network.train(mode and self.tuned)
        return self

    def dtype_on(self, device: torch.device) -> torch.dtype:
        """The precision of the network's products on a device.

        "auto" is that of the surrounding autocast context, if any; otherwise bfloat16 on a GPU that
        supports it, float32 elsewhere.
        """
        if self.precision != "auto":
            return getattr(torch, self.precision)
        if torch.is_autocast_enabled(device.type):
            return torch.get_autocast_dtype(device.type)
        half = device.type == "cuda" and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if half else torch.float32

    def forward(self, subwords: Tensor, owners: Tensor, batch: int, n: int) -> Tensor:
        """The vector of each word in its sentence.

        Args:
            subwords: (R, p) int64, -1 beyond the end of a window.
            owners: (R, p) int64, b * n + i for word i of sentence b; -1 for special sub-words.
            batch: B, the number of sentences.
            n: words of a sentence, including padding.

        Returns:
            (B, n, hidden_size), zero for words without a sub-word, beyond the end of a sentence.
        """
        owned = owners.new_zeros(batch * n + 1, dtype=torch.bool)
        owned[owners.flatten()] = True  # -1 is the last entry
        means = self.outputs(subwords, owners, batch, n)
        return self._projected(means, owned[:-1].view(batch, n))

    def outputs(self, subwords: Tensor, owners: Tensor, batch: int, n: int) -> Tensor:
        """(B, n, size) the mean of the last hidden states of the sub-words of each word.

        The arguments are those of `forward`; the result is zero for words without a sub-word.
        """
        inside = subwords >= 0
        ids = torch.where(inside, subwords, self._padding)
        dtype, kind = self.dtype_on(subwords.device), subwords.device.type
        half = dtype != torch.float32
        with (
            nullcontext() if self.tuned else torch.no_grad(),
            torch.autocast(kind, dtype if half else None, enabled=half),
        ):
            states = self.network(input_ids=ids, attention_mask=inside.long()).last_hidden_state
        states = states.to(self.projection.weight.dtype).flatten(0, 1)
        rest = batch * n  # an extra row for special sub-words
        rows = torch.where(owners < 0, rest, owners).flatten()
        sums = states.new_zeros(rest + 1, states.shape[1]).index_add(0, rows, states)[:rest]
        counts = states.new_zeros(rest + 1).index_add(0, rows, torch.ones_like(states[:, 0]))[:rest]
        return (sums / counts.clamp(min=1)[:, None]).view(batch, n, self.size)

    def of_outputs(self, outputs: Tensor, lengths: Tensor) -> Tensor:
        """What `forward` returns, given `outputs` (B, n, size) and `lengths` (B,) in words."""
        inside = torch.arange(outputs.shape[1], device=outputs.device) < lengths[:, None]
        return self._projected(outputs.to(self.projection.weight.dtype), inside)

    def _projected(self, outputs: Tensor, inside: Tensor) -> Tensor:
        """(B, n, hidden_size), zero unless `inside` (B, n)."""
        return self.dropout(self.projection(outputs) * inside[..., None])


def saved(encoder: nn.Module | None) -> dict[str, Any]:
    """The entry of a pretrained encoder in the configuration of a model, if it is one."""
    return {"pretrained": asdict(encoder.shape)} if isinstance(encoder, PretrainedEncoder) else {}


def _without_pooler(make: Any, source: Any) -> nn.Module:
    """A network in float32; of an encoder-decoder, the encoder.

    The pooler is left out if possible: its output is not used.
    """
    try:
        network = make(source, add_pooling_layer=False)
    except TypeError:
        network = make(source)
    if network.config.is_encoder_decoder:
        network = network.get_encoder()
    return network.float()


def _limit(tokenizer: Any, network: Any) -> int | None:
    """The maximum sub-words per window; None for no limit."""
    told = [tokenizer.model_max_length, getattr(network.config, "max_position_embeddings", None)]
    for name, module in network.named_modules():
        if isinstance(module, nn.Embedding) and name.endswith("position_embeddings"):
            # If padding has its own position, positions of words start after it.
            before = 0 if module.padding_idx is None else module.padding_idx + 1
            told.append(module.num_embeddings - before)
    known = [int(limit) for limit in told if limit is not None and 0 < limit < 1_000_000_000]
    return min(known, default=None)


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Silence transformers and the hub: no messages, no progress bars."""
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
