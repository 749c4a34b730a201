"""Optional dependencies: imported where they are used, asked for by name when they are missing."""

import importlib
from types import ModuleType


class MissingExtra(ValueError):  # noqa: N818 (named after what happened)
    """A module of an optional extra is not installed; the message says how to install it."""


def require(module: str, extra: str) -> ModuleType:
    """Import `module`, or raise `MissingExtra` naming the extra of this package that brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise  # `module` is here; something that it needs is not
        raise MissingExtra(
            f"{package} needs the extra [{extra}]: pip install 'sparsewood[{extra}]'"
        ) from None
