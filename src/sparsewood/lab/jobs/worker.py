"""A run in its own process: `python -m sparsewood.lab.jobs.worker FOLDER [SECONDS]`.

SECONDS is how long to wait for another process that writes to the folder. The first line of stdin
is the configuration. The parent process keeps stdin open: when it closes, the parent has ended, and
the run is saved and stopped.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path

from sparsewood.lab._files import wait_for_writer
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.interrupt import TrainingInterrupted
from sparsewood.lab.run.losses import NonFiniteLoss
from sparsewood.lab.run.progress import Lines
from sparsewood.lab.run.setup import train

# Exit codes of a stopped run, and of one whose loss is not finite.
STOPPED, DIVERGED = 130, 3


def main() -> int:
    """Train or resume; the last line of stderr is the error message, if any."""
    config = RunConfig.from_json(json.loads(sys.stdin.readline()))
    threading.Thread(target=_watch, daemon=True).start()
    folder, patience = Path(sys.argv[1]), float(*sys.argv[2:])
    try:
        wait_for_writer(folder, patience)
        train(config, folder, resume=True, progress=Lines())
    except (TrainingInterrupted, KeyboardInterrupt) as stop:
        print(stop, file=sys.stderr)
        return STOPPED
    except (ValueError, OSError, RuntimeError) as error:
        print(f"{type(error).__name__}: {error}".replace("\n", " "), file=sys.stderr)
        return DIVERGED if isinstance(error, NonFiniteLoss) else 1
    return 0


def _watch() -> None:
    # Not through sys.stdin, whose lock a waiting thread must not hold at exit.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # does not wait for the watching thread
