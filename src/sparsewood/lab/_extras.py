"""Optional dependencies: imported where they are used, asked for by name when they are missing."""

import importlib
from types import ModuleType

from sparsewood._internal.extras import how_to_install


class MissingExtra(ValueError):  # noqa: N818 (named after what happened)
    """A module of an optional extra is not installed; the message says how to install it."""


def require(module: str, extra: str) -> ModuleType:
    """Import `module`, or raise `MissingExtra` saying how to install what the extra brings."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != package:
            raise  # `module` is here; something that it needs is not
        raise MissingExtra(
            f"{package} is not installed (extra [{extra}]): {how_to_install(extra)}"
        ) from None
