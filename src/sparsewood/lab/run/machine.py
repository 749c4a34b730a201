"""The machine of a run: its description, and the detection of unusable instructions.

Some virtual machines list AMX among the features of their processor and raise SIGILL at its
instructions. oneDNN, which multiplies bfloat16 matrices on CPUs, relies on the list.
"""

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy
import torch

import sparsewood
from sparsewood.lab.run.distributed import World

VARIABLE = "ONEDNN_MAX_CPU_ISA"  # read when oneDNN is first used
_WITHOUT_AMX = "AVX512_CORE_FP16"
_PRODUCT = "import torch; x = torch.ones(256, 256, dtype=torch.bfloat16); x @ x"
PROBE = (sys.executable, "-c", _PRODUCT)


def environment(world: World) -> dict[str, Any]:
    """Versions, machine, threads, command line and time."""
    device = world.device
    cuda = device.type == "cuda"
    return {
        "sparsewood": sparsewood.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "device": torch.cuda.get_device_name(device) if cuda else _processor(),
        "threads": torch.get_num_threads(),
        "processes": world.size,
        "command": sys.argv,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "cpu"


def avoid_refused_amx(note: Callable[[str], None]) -> None:
    """Disable AMX in oneDNN if it makes a bfloat16 product in a child process crash.

    Nothing is tested if the processor has no AMX or the user has set `ONEDNN_MAX_CPU_ISA`. Call
    this before the first bfloat16 product of the process.

    Args:
        note: called with one line if AMX is disabled.
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
    except OSError:  # not Linux, where the problem is unknown
        return False


def survives(command: Sequence[str]) -> bool:
    """Whether a command ends without a signal."""
    return subprocess.run(command, capture_output=True, check=False).returncode >= 0
