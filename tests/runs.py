"""Configurations of runs: words of their own, an induced parser, a pretrained encoder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from sparsewood.lab.run import Progress, RunConfig

QUIET = Progress()
WORDS = {"composer_input": "words", "own_embeddings": True, "noise": 1.0, "entropy": 0.01}
INDUCTION = {
    "parser_lr": 0.1,
    "composer_first": 1,
    "warm_up": 4,
    "average": 0.8,
    "anneal_epochs": 2,
    "anneal": ("temperature=4:1", "max_active=2:10", "noise=1:0"),
}


def with_words(config: RunConfig, **options: Any) -> RunConfig:
    return replace(config, model=replace(config.model, **{**WORDS, **options}))


def with_encoder(config: RunConfig, folder: Path, **options: Any) -> RunConfig:
    return replace(config, model=replace(config.model, encoder=f"hf:{folder}", **options))
