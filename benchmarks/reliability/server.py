"""A process that runs the shell tool in copies of itself and sends them signals.

It is started as `python -m benchmarks.reliability.server`. It has compiled everything before, so that a run takes a
fraction of a second and signals meet its work, not its imports. It reads one JSON object per line from standard input
and answers each by one.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.reliability.shell import python_path, run_here


class Server:
    """The process, seen from the one that asks it to run commands."""

    def __init__(self) -> None:
        self._warm: list[list[str]] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.reliability.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # threads do not live on in a copy of a process
            env={**os.environ, "PYTHONPATH": python_path(), "NUMBA_NUM_THREADS": "1"},
        )

    def run(self, run: list[str], folder: Path, number: int = 0, delay: float = 0.0) -> dict[str, Any]:
        """Run a command in a folder, and send it a signal after a delay if `number` is not 0.

        Returns status (negative for the signal that ended it), out, err and seconds.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"run": run, "folder": str(folder), "signal": number, "delay": delay}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def warm_up(self, run: list[str], folder: Path) -> None:
        """Let the process run a command itself, so that its copies have everything imported and compiled."""
        if run not in self._warm:
            self._warm.append(run)
            self.run(run, folder, -1)

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=30)
        if self._process.stdout is not None:
            self._process.stdout.close()


def main() -> None:
    """Answer requests until standard input ends."""
    from quorate.cli import main as quorate_main  # noqa: F401 - imported before the process is copied

    for line in sys.stdin:
        request = json.loads(line)
        sys.stdout.write(json.dumps(_run(request) if request["signal"] >= 0 else _warm_up(request)) + "\n")
        sys.stdout.flush()


def _warm_up(request: dict[str, Any]) -> dict[str, Any]:
    """Run the command in this process, so that its copies have everything imported and compiled."""
    status, out, err = run_here(request["run"], Path(request["folder"]))
    return {"status": status, "out": out, "err": err, "seconds": 0.0}


def _run(request: dict[str, Any]) -> dict[str, Any]:
    streams = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115 - closed below
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        _become(request, [stream.fileno() for stream in streams])
    if request["signal"]:
        time.sleep(request["delay"])
        os.kill(child, request["signal"])
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    seconds = time.monotonic() - start
    texts = []
    for stream in streams:
        stream.seek(0)
        texts.append(stream.read().decode(errors="replace"))
        stream.close()
    return {"status": status, "out": texts[0], "err": texts[1], "seconds": seconds}


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Run the command in the copy of the process, which ends here."""
    from quorate.cli import main as quorate_main

    # a process that was started in the background ignores some signals, and its copies would, too
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.chdir(request["folder"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for place, stream in enumerate(streams, start=1):
        os.dup2(stream, place)
    status = quorate_main(request["run"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def moments(n_signals: int, seconds: float, seed: int) -> list[float]:
    """Return random delays within a run of so many seconds."""
    drawn = random.Random(seed)
    return [drawn.uniform(0, seconds) for _ in range(n_signals)]


SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP, "SIGINT": signal.SIGINT}

if __name__ == "__main__":
    main()
