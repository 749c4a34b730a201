"""A run in its own process: `python -m sparsewood.lab.jobs.worker FOLDER [SECONDS]`.

Another process that is writing to the folder is given so many seconds to leave it. The first line
of stdin is the configuration. Whoever starts the process keeps stdin open: when it closes, its
owner is gone, and the run is saved and stopped.
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

# Exit codes of a run that was asked to stop, and of one whose loss is not finite.
STOPPED, DIVERGED = 130, 3


def main() -> int:
    """Train or go on; the last line of stderr says what went wrong, if anything."""
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
    # Not through sys.stdin: at exit, its lock must not be held by a thread that waits.
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # the watching thread may be waiting
