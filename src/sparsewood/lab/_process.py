"""A run in its own process, started without loading PyTorch in this one."""

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

_POLL = 0.1  # seconds between two checks of a process


class Process:
    """A run in its own process, which saves its state and ends when this process ends.

    Args:
        config: configuration of the run, as JSON.
        folder: folder of the run; its `log.txt` has the output of the process.
        cwd: folder for relative paths in the configuration.
        env: environment variables, in addition to those of this process.
        patience: seconds to wait for another process that uses the folder.
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
                process_group=0,  # Ctrl-C goes to this process, which forwards it
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
        """Wait for the end; returns the exit code and the last line of output."""
        code = self._process.wait()
        self._stdin.close()
        text = self._log.read_text(encoding="utf-8", errors="replace")
        return code, text.strip().rpartition("\n")[2]


def attend(
    config: dict[str, Any], folder: str, cwd: str, env: Mapping[str, str], patience: float
) -> tuple[int, str]:
    """The body of a Ray task: start a run in its own process and return its exit code and last
    line.

    The run is not in the Ray worker itself, which has its own signal handlers, is reused by other
    tasks together with the GPU memory that a run leaves behind, and can be killed without a chance
    to save. The process is the same as in a local pool. However the task ends, the process saves
    its state:

    - if it is cancelled or the worker is terminated, an exception is raised here, and the process
    gets SIGTERM; - if the worker is killed, the standard input of the process is closed, and it
    stops by itself. The next process waits for the lock of the folder.

    Cancelling does not interrupt system calls, so this polls the process instead of waiting for it.
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
