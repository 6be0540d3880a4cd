"""Signals at random moments: what was there stays, what is new is whole, and a stopped run is taken up again."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reliability.cases import Case
from benchmarks.reliability.server import SIGNALS, Server, moments
from benchmarks.reliability.shell import prepare, snapshot

_GENERATE = ["generate", "X.npy", "--members", "12", "--k", "30", "--base", "kmeans", "--jobs", "1", "--force"]
_SAVE = ["consensus", "labels.csv", "--id", "id", "-k", "3", "-m", "kmeans", "--no-null", "--force"]
JOBS: dict[str, Case] = {
    "generate": Case("generate", [*_GENERATE, "-o", "out.npz", "--checkpoint", "stopped"]),
    "save as csv": Case("csv", [*_SAVE, "-o", "old.csv"], {"old.csv": {"copy": "result.csv"}}),
    "save as npz": Case("npz", [*_SAVE, "-o", "old.npz"], {"old.npz": {"copy": "result.npz"}}),
    "save as zarr": Case("zarr", [*_SAVE, "-o", "new.zarr"]),
    "report": Case(
        "report", ["report", "labels.csv", "result.csv", "--id", "id", "-o", "old.html", "--force"], {"old.html": "old"}
    ),
}


@dataclass
class Signalled:
    """How many runs got a signal, how many of them it met before they had ended, and what was wrong."""

    sent: int = 0
    met: int = 0
    wrong: list[str] = field(default_factory=list)


def send_signals(server: Server, job: str, name: str, times: int, seed: int = 0) -> Signalled:
    """Run a job several times, each time with a signal at a random moment, and judge what is left."""
    case, found = JOBS[job], Signalled()
    with tempfile.TemporaryDirectory(prefix="quorate-signal-") as place:
        whole = _prepared(case, Path(place))
        # zarr starts a thread, which copies of the process would not have
        server.warm_up([word.replace(".zarr", ".npy") for word in case.run], _prepared(case, Path(place)))
        server.run(case.run, whole)
        measured = server.run(case.run, _prepared(case, Path(place)))
        good = _outputs(snapshot(whole))
        for delay in moments(times, 1.1 * measured["seconds"], seed):
            folder = _prepared(case, Path(place))
            before = snapshot(folder)
            answer = server.run(case.run, folder, SIGNALS[name], delay)
            found.sent += 1
            found.met += answer["status"] != 0
            found.wrong += [f"{job}, {name}: {text}" for text in _judge(before, folder, good, name, answer)]
            again = server.run(case.run, folder)
            if again["status"] != 0:
                found.wrong.append(f"{job}, {name}: the next run failed: {again['err'][-300:]}")
            elif _outputs(snapshot(folder)) != good:
                found.wrong.append(f"{job}, {name}: the next run gave another result")
    return found


def _prepared(case: Case, place: Path) -> Path:
    folder = Path(tempfile.mkdtemp(dir=place))
    prepare(case, folder)
    if "X.npy" in case.run:
        rng = np.random.default_rng(0)
        np.save(folder / "X.npy", (rng.integers(8, size=(20_000, 1)) + rng.normal(size=(20_000, 6))).round(3))
    return folder


def _outputs(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files that a job writes, without the checkpoint, and pages without the minute they were written."""
    written = {name: files[name] for name in files if name.startswith(("old", "new", "out"))}
    return {name: re.sub(rb"\d{4}-\d\d-\d\d \d\d:\d\d UTC", b"", content) for name, content in written.items()}


def _judge(
    before: dict[str, bytes], folder: Path, good: dict[str, bytes], name: str, answer: dict[str, Any]
) -> list[str]:
    """Return what is wrong after a signal: an output must be absent, as it was, or whole."""
    wrong = []
    after = snapshot(folder)
    if "Traceback" in answer["err"] or len(answer["err"].splitlines()) > 1:
        wrong.append(f"standard error: {answer['err'][-600:]}")
    expected = {0, -SIGNALS[name]} if name == "SIGKILL" else {0, 128 + SIGNALS[name]}
    if name in ("SIGTERM", "SIGHUP") and not answer["err"]:
        # before the command answers signals, and after its end, the system ends the process; a shell reads that alike
        expected.add(-SIGNALS[name])
    if answer["status"] not in expected:
        wrong.append(f"exit status {answer['status']}")
    for path, content in _outputs(after).items():
        if content not in (before.get(path), good.get(path)):
            wrong.append(f"{path} is neither the old nor the new one")
    if any(path not in after for path in before):
        wrong.append("a file is gone")
    if any(after[path] != before[path] for path in before if path not in good):
        wrong.append("an input was changed")
    if name != "SIGKILL" and any(path.endswith(".part") for path in after):
        wrong.append("a part was left behind")
    return wrong
