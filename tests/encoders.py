"""Tiny transformers encoders, created from a configuration and saved to a folder."""

from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

import torch

WORDS = "oak elm ash yew fir box may bay fig tea the red fox like good dull film".split()
MERGES = "Ġ o,a k,Ġo ak,e l,el m,Ġ elm,Ġ t,h e,Ġt he,Ġ f,o x,Ġf ox,Ġ O,ĠO ak".split(",")
LIMIT = 48  # positions
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def word_pieces() -> Any:
    """A tokenizer in lower case whose words may be unknown, [CLS] and [SEP] around them."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    letters = [*ascii_lowercase, *digits]
    pieces = [*_SPECIAL, *letters, *(f"##{c}" for c in letters), *WORDS]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer: Any = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return _between(tokenizer)


def byte_pairs() -> Any:
    """A byte-level tokenizer, with a space before each word and [CLS], [SEP] around them."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    merges = [(pair.split()[0], pair.split()[1]) for pair in MERGES]
    bytes_of = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*_SPECIAL, *bytes_of, *("".join(pair) for pair in merges)]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    tokenizer: Any = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return _between(tokenizer)


def _between(tokenizer: Any) -> Any:
    from tokenizers import processors

    tokenizer.add_special_tokens(list(_SPECIAL))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def save_encoder(folder: Path, kind: str = "bert", **options: Any) -> Path:
    """Save an encoder with random weights to `folder`.

    Args:
        folder: of the encoder.
        kind: "bert" reads word pieces; "roberta", "modernbert" and "bart", which has a decoder too,
            bytes.
        options: of its configuration.
    """
    import transformers

    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=word_pieces() if kind == "bert" else byte_pairs(),
        **dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), _SPECIAL, strict=False)),
    )
    small: dict[str, Any] = {
        "bert": {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
        "roberta": {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
        "modernbert": {"cls_token_id": 2, "sep_token_id": 3},
        "bart": {"d_model": 12, "dropout": 0.0},
    }[kind]
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    if kind == "bart":
        sides = ("encoder", "decoder")
        layers = {f"{s}_{n}": 2 for s in sides for n in ("layers", "attention_heads", "ffn_dim")}
    else:
        layers["hidden_size"] = 12
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    sizes = {"vocab_size": len(tokenizer), "max_position_embeddings": LIMIT}
    config = transformers.AutoConfig.for_model(
        kind, **{**ids, **sizes, **layers, **small, **options}
    )
    state = torch.get_rng_state()
    torch.manual_seed(0)
    network = transformers.AutoModel.from_config(config)
    torch.set_rng_state(state)
    with torch.no_grad():
        for parameter in network.parameters():  # far from zero, so that all of it counts
            parameter += 0.1 * torch.ones_like(parameter).cumsum(0).sin()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    network.save_pretrained(folder)
    return folder
