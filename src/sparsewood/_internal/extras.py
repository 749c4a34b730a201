"""How to install the packages of an optional extra."""

import re
import shlex
from importlib import metadata

_NAME = "sparsewood"
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[^\]]*)\])?")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def how_to_install(extra: str) -> str:
    """The command that installs the missing packages of an extra.

    It names the packages, so that it also works for a checkout.
    """
    try:
        own, others = _packages(extra)
    except metadata.PackageNotFoundError:  # a source tree that is not installed
        return f"pip install '.[{extra}]' in the folder of sparsewood's pyproject.toml"
    missing = [package for package in (*others, *own) if not _is_installed(package)]
    return f"pip install {shlex.join(missing or own or others)}"  # or an installed one is broken


def _packages(extra: str) -> tuple[list[str], list[str]]:
    """The packages of an extra, such as "ray[client]", and those of extras that it includes."""
    own, others = list[str](), list[str]()
    for requirement in metadata.requires(_NAME) or []:
        needed, _, marker = requirement.partition(";")
        named, found = _EXTRA.search(marker), _REQUIREMENT.match(needed.strip())
        if named is None or named[1] != extra or found is None:
            continue
        if found["name"] != _NAME:
            own.append(found[0])
            continue
        for other in (found["extras"] or "").split(","):
            its_own, its_others = _packages(other.strip())
            others += [p for p in (*its_others, *its_own) if p not in others]
    return own, others


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package.partition("[")[0])
    except metadata.PackageNotFoundError:
        return False
    return True
