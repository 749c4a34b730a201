"""Keep bfloat16 products from ending the process on machines that offer AMX and refuse it.

Some virtual machines list AMX among the features of their processor and raise SIGILL at its
instructions. oneDNN, which multiplies bfloat16 matrices on CPUs, goes by the list.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

VARIABLE = "ONEDNN_MAX_CPU_ISA"  # read when oneDNN is first used
_WITHOUT_AMX = "AVX512_CORE_FP16"
_PRODUCT = "import torch; x = torch.ones(256, 256, dtype=torch.bfloat16); x @ x"
PROBE = (sys.executable, "-c", _PRODUCT)


def avoid_refused_amx(note: Callable[[str], None]) -> None:
    """Tell oneDNN to do without AMX if a bfloat16 product in a child process dies of it.

    Nothing is tried where the processor has no AMX or the user has set `ONEDNN_MAX_CPU_ISA`. Call
    this before the first bfloat16 product of the process.

    Args:
        note: told in one line if AMX is avoided.
    """
    if VARIABLE in os.environ or not offers_amx() or survives(PROBE):
        return
    os.environ[VARIABLE] = _WITHOUT_AMX
    note(
        "this machine offers AMX but refuses its instructions: bfloat16 products do without "
        f"({VARIABLE}={_WITHOUT_AMX})"
    )


def offers_amx(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether Linux lists AMX among the features of the processor."""
    try:
        return " amx_" in cpuinfo.read_text(encoding="utf-8")
    except OSError:  # not Linux: no such virtual machine is known
        return False


def survives(command: Sequence[str]) -> bool:
    """Whether a command ends by itself rather than by a signal."""
    return subprocess.run(command, capture_output=True, check=False).returncode >= 0
