"""A run in a process of its own, and who attends to it: without PyTorch, which the run needs."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from sparsewood.lab._waiting import wait_briefly

_POLL = 0.1  # seconds between two looks at a process


class Process:
    """A run in a process of its own, which saves and ends when the one that made it ends.

    Args:
        config: of the run, as JSON.
        folder: of the run; its `log.txt` has what the process prints.
        cwd: what relative paths of the configuration start from.
        env: variables of the environment, beside those of this process.
        patience: seconds that another process is given to leave the folder.
    """

    def __init__(
        self,
        config: dict[str, Any],
        folder: Path,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        patience: float = 0,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "log.txt"
        command = ["-m", "sparsewood.lab.jobs.worker", str(folder), f"{patience:g}"]
        environment = {**os.environ, **(env or {})}
        wait_briefly(environment)
        with self._log.open("a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
                cwd=cwd,
                env=environment,
                process_group=0,  # Ctrl-C reaches this process, which passes it on
            )
        self._stdin.write(json.dumps(config) + "\n")
        self._stdin.flush()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def _stdin(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    def stop(self) -> None:
        """Ask the process to save its state and end."""
        if not self.ended:
            self._process.terminate()

    def wait(self) -> tuple[int, str]:
        """Wait for the end; the exit code and the last line that was printed."""
        code = self._process.wait()
        self._stdin.close()
        text = self._log.read_text(encoding="utf-8", errors="replace")
        return code, text.strip().rpartition("\n")[2]


def attend(
    config: dict[str, Any], folder: str, cwd: str, env: Mapping[str, str], patience: float
) -> tuple[int, str]:
    """What a task of Ray does: the exit code and the last line of a run in a process of its own.

    The run is not in the worker of Ray itself, since that has its own handlers of signals, is used
    again for other tasks with whatever memory a run leaves behind on the GPU, and can be killed
    without a chance to save. The process is that of a local pool. However the task ends, it is
    told to save:

    - cancelled, or the worker terminated: an exception is raised here, the process gets SIGTERM;
    - the worker killed: the process finds its standard input closed and stops by itself. The lock
      of the folder, for which the next process waits, says when it has.

    Cancelling interrupts no system call, so this looks at the process instead of waiting for it.
    """
    # Ray cancels by SIGINT, which stays ignored where it was when the cluster was started: by
    # `nohup`, or in the background of a script.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    process = Process(config, Path(folder), cwd=cwd, env=env, patience=patience)
    try:
        while not process.ended:
            time.sleep(_POLL)
    except KeyboardInterrupt:
        process.stop()
    except BaseException:
        process.stop()
        process.wait()
        raise
    return process.wait()
