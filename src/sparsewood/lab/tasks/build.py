"""From a corpus to the model for it, and from a folder to the model saved there."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from sparsewood.lab.data.examples import Corpus
from sparsewood.lab.data.vectors import VectorReference, WordVectors
from sparsewood.lab.data.vocabulary import Vocabulary
from sparsewood.lab.tasks.classify import SentenceClassifier
from sparsewood.lab.tasks.model import ModelConfig, TreeModel
from sparsewood.lab.tasks.nli import PairClassifier
from sparsewood.lab.tasks.revdict import ReverseDictionary

MODELS: dict[str, type[TreeModel]] = {
    model.task: model for model in (SentenceClassifier, PairClassifier, ReverseDictionary)
}


class VectorTable(Protocol):
    """Where word vectors come from."""

    size: int

    def lookup(self, words: Sequence[str]) -> Tensor:
        """(words, size) float32, zero for a word that has no vector."""
        ...


def build_model(
    corpus: Corpus,
    config: ModelConfig,
    vectors: VectorTable | None = None,
    *,
    lowercase: bool = True,
    min_count: int = 1,
) -> TreeModel:
    """The model of the corpus's task, as initialised from the global random state.

    With `vectors` the vocabulary is that of all splits, since a word that was not seen in training
    has a vector too; without, that of the training split.
    """
    if vectors is None and corpus.task == "revdict":
        raise ValueError("a reverse dictionary needs word vectors")
    if vectors is None:
        train = (s for example in corpus.splits["train"] for s in example.sentences)
        vocabulary = Vocabulary.build(train, lowercase=lowercase, min_count=min_count)
    else:
        config = replace(config, embedding=vectors.size)
        vocabulary = Vocabulary.build(corpus.sentences(), lowercase=lowercase)
    labels = list(corpus.candidates) if corpus.task == "revdict" else corpus.labels
    name = vectors.name if isinstance(vectors, WordVectors) else None
    reference = None if name is None else VectorReference.to(name)
    model = MODELS[corpus.task](config, vocabulary.words, labels, lowercase, reference)
    if vectors is not None:
        model.set_vectors(vectors.lookup(vocabulary.words))
    if isinstance(model, ReverseDictionary) and vectors is not None:
        model.set_candidates(vectors.lookup(labels))
    return model


def load_model(folder: Path | str, *, vectors: Path | str | None = None) -> TreeModel:
    """The model that `save_pretrained` wrote to `folder`.

    Args:
        folder: of the model.
        vectors: where the file of its word vectors lies now, if it has moved.

    Raises:
        ValueError: if there is none, or it cannot be read.
    """
    folder = Path(folder)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        options = ModelConfig(**config["options"])
        told = config.get("vectors")
        reference = None if told is None else VectorReference(**told)
        if reference is not None and vectors is not None:
            reference = replace(reference, name=str(vectors))
        model = MODELS[config["task"]](
            options, config["words"], config["labels"], config["lowercase"], reference
        )
        model.load_state_dict(load_file(folder / "model.safetensors"))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{folder}: not a readable model of sparsewood ({reason})") from error
    return model.eval()
