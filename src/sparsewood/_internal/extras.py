"""How to install what an optional extra brings, whether or not sparsewood is on a package index."""

import re
import shlex
from importlib import metadata

_NAME = "sparsewood"
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[^\]]*)\])?")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def how_to_install(extra: str) -> str:
    """The command that installs the packages of an extra, those that are there already left out.

    It names the packages themselves, so that it works for a checkout too.
    """
    try:
        own, others = _packages(extra)
    except metadata.PackageNotFoundError:  # the sources are used without having been installed
        return f"pip install '.[{extra}]' in the folder of sparsewood's pyproject.toml"
    missing = [package for package in (*others, *own) if not _is_installed(package)]
    return f"pip install {shlex.join(missing or own or others)}"  # or one there is broken


def _packages(extra: str) -> tuple[list[str], list[str]]:
    """The packages of an extra, "ray[client]" say, and those of extras that it brings along."""
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
