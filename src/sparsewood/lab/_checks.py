"""Checks of options."""


def check(where: str, options: object, *checks: tuple[str, bool, str]) -> None:
    """Raise ValueError, as "where.name: expected ..., got ...", at the first check that fails.

    Args:
        where: what the options are of: "model", "training".
        options: an object with them as attributes.
        checks: the name of an option, whether it holds, and what was expected.
    """
    for name, holds, expected in checks:
        if not holds:
            raise ValueError(f"{where}.{name}: expected {expected}, got {getattr(options, name)!r}")
