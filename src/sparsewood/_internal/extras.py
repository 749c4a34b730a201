"""How to install the packages of an optional extra."""

import re
import shlex
import shutil
import sys
import sysconfig
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

_NAME = "sparsewood"
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[^\]]*)\])?")
_EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")


def how_to_install(extra: str) -> str:
    """The command that installs an extra into the running Python.

    It names the extra if sparsewood comes from an index. Otherwise, as in a checkout, it names the
    missing packages: no index need have sparsewood, and nothing is compiled again.
    """
    try:
        installed = metadata.distribution(_NAME)
    except metadata.PackageNotFoundError:  # a source tree that is not installed
        return f"{_install()} '.[{extra}]' in the folder of sparsewood's pyproject.toml"
    if installed.read_text("direct_url.json") is None:  # PEP 610
        return f"{_install()} '{_NAME}[{extra}]'"
    own, others = _packages(extra)
    missing = [package for package in (*others, *own) if not _is_installed(package)]
    needed = missing or own or others  # or an installed one is broken, or too old
    return f"{_install()} {shlex.join(needed)}"


def _install() -> str:
    """`pip install`, by the running Python if the shell would find another one's pip."""
    found = shutil.which("pip")
    if found is not None and Path(found).parent == Path(sysconfig.get_path("scripts")):
        return "pip install"
    path, here = Path(sys.executable), Path.cwd()
    if path.is_relative_to(here):
        path = path.relative_to(here)
    python = shlex.quote(str(path))
    if find_spec("pip") is None and shutil.which("uv") is not None:  # an environment made by uv
        return f"uv pip install --python {python}"
    return f"{python} -m pip install"


def _packages(extra: str) -> tuple[list[str], list[str]]:
    """The packages of an extra, such as "ray[client]>=2", and those of extras that it includes."""
    own, others = list[str](), list[str]()
    for requirement in metadata.requires(_NAME) or []:
        needed, _, marker = requirement.partition(";")
        named, found = _EXTRA.search(marker), _REQUIREMENT.match(needed.strip())
        if named is None or named[1] != extra or found is None:
            continue
        if found["name"] != _NAME:
            own.append(needed.strip())
            continue
        for other in (found["extras"] or "").split(","):
            its_own, its_others = _packages(other.strip())
            others += [p for p in (*its_others, *its_own) if p not in others]
    return own, others


def _is_installed(package: str) -> bool:
    found = _REQUIREMENT.match(package)
    try:
        metadata.version(found["name"] if found else package)
    except metadata.PackageNotFoundError:
        return False
    return True
