"""A frozen pretrained encoder is run once: its outputs are kept, and batches contain them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from importlib.metadata import version

import torch
from torch import nn

from sparsewood.lab.data.batches import Split, cut_by_words
from sparsewood.lab.data.cache import cache_folder
from sparsewood.lab.data.windows import padded_windows, subwords_in
from sparsewood.lab.data.word_states import (
    Computed,
    NoRoomError,
    Words,
    kept_states,
    size_in_bytes,
)
from sparsewood.lab.tasks.pretrained import PretrainedEncoder

_BUDGET = 4096  # maximum sub-words of a batch, including padding

Watch = Callable[[Sequence[list[int]]], Iterator[list[int]]]
"""Yields the batches, and shows the progress over them."""


def frozen_encoder(model: nn.Module) -> PretrainedEncoder | None:
    """The pretrained encoder of a model that training does not change, if any."""
    found = (module for module in model.modules() if isinstance(module, PretrainedEncoder))
    return next((encoder for encoder in found if not encoder.tuned), None)


def keep_outputs(
    model: nn.Module,
    splits: Mapping[str, Split],
    limit: float,
    note: Callable[[str], None] = lambda _: None,
    watch: Watch = iter,
) -> None:
    """Keep the outputs of the model's frozen encoder for all splits, whose batches then have them.

    They are in a file in the folder `encoders` of `cache_folder()`, named by a hash of encoder,
    sentences and precision, so that other runs with the same encoder and data read them too. If
    they exceed the limit, the splits stay as they are, and the encoder is run for every batch.

    Args:
        model: on its device, in the autocast context of its training.
        splits: splits that the model encoded.
        limit: maximum size of all kept outputs, in GB; 0 keeps none.
        note: called with one line about what is done.
        watch: shows the progress.
    """
    encoder = frozen_encoder(model)
    if encoder is None or not limit:
        return
    examples = (example for split in splits.values() for example in split.examples)
    sentences = sorted({s.words for example in examples for s in example.sentences})
    path = cache_folder() / "encoders" / f"{_name(encoder, sentences)}.npy"
    size = f"{size_in_bytes(sentences, encoder.size) / 1e9:.2f} GB"
    told = f"the outputs of the frozen encoder for {len(sentences):,} sentences"

    def compute() -> Computed:
        note(f"computing {told}, once: {size} in {path}")
        return _outputs(encoder, sentences, watch)

    try:
        found = path.exists()
        states = kept_states(path, sentences, encoder.size, compute, limit=limit * 1e9)
    except NoRoomError as error:
        note(f"{told} take {size}; {error}: they are computed anew in every epoch")
        return
    if found:
        note(f"reading {told} from {path}")
    for split in splits.values():
        split.states = states


def digest_of(encoder: PretrainedEncoder) -> bytes:
    """A hash of an encoder: configuration, tokenizer, weights, and the code that runs it."""
    digest = blake2b(digest_size=16)
    digest.update(json.dumps(asdict(encoder.shape), sort_keys=True).encode())
    digest.update(version("transformers").encode())
    for name, weight in sorted(encoder.network.state_dict().items()):
        digest.update(name.encode())
        digest.update(weight.cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.digest()


def _name(encoder: PretrainedEncoder, sentences: Sequence[Words]) -> str:
    digest = blake2b(digest_of(encoder), digest_size=16)
    digest.update(str(encoder.dtype_on(_device(encoder))).encode())
    for words in sentences:
        digest.update("\0".join([*words, "\0"]).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _outputs(encoder: PretrainedEncoder, sentences: Sequence[Words], watch: Watch) -> Computed:
    """The outputs for each sentence, in batches of similar numbers of sub-words."""
    windows = [encoder.split(words) for words in sentences]
    sizes = list(map(subwords_in, windows))
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    device, was_training = _device(encoder), encoder.training
    encoder.eval()
    try:
        for rows in watch(list(cut_by_words(order, sizes, _BUDGET))):
            n = max(len(sentences[row]) for row in rows)
            tables = padded_windows([windows[row] for row in rows], n)
            subwords, owners = (table.to(device) for table in tables)
            with torch.no_grad():
                found = encoder.outputs(subwords, owners, len(rows), n).float().cpu().numpy()
            yield from ((row, found[b, : len(sentences[row])]) for b, row in enumerate(rows))
    finally:
        encoder.train(was_training)


def _device(encoder: PretrainedEncoder) -> torch.device:
    return encoder.projection.weight.device
