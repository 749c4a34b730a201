"""What a run was made with."""

import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy
import torch

import sparsewood
from sparsewood.lab.run.distributed import World


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
