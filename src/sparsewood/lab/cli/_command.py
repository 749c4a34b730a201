"""The command that trains a given run."""

import shlex
from pathlib import Path
from typing import Any

from sparsewood.lab.cli._options import default_of, fields
from sparsewood.lab.cli._runs import config_groups
from sparsewood.lab.run import RunConfig


def train_command(config: RunConfig) -> str:
    """`sparsewood train ...` with all options that are not defaults, quoted for a shell."""
    source = config.source
    words = ["sparsewood", "train", source.name]
    groups = config_groups(type(source), [])
    usual = RunConfig(source, config.model).training  # some defaults depend on the model
    for group, options in zip(groups, (source, config.model, config.training), strict=True):
        for field in fields(group):
            value = getattr(options, field.name)
            of_training = options is config.training
            if value != (getattr(usual, field.name) if of_training else default_of(group, field)):
                words += _option(field.name.replace("_", "-"), value)
    return shlex.join(words)


def _option(name: str, value: Any) -> list[str]:
    """The words of an option that is not at its default."""
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    if isinstance(value, tuple):
        return [f"--{name}", *map(_text, value)]
    text = _text(value)
    return [f"--{name}={text}"] if text.startswith("-") else [f"--{name}", text]


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | Path) else repr(value)
