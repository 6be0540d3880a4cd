"""The file of recorded results: written, read, and compared with results of today."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.frozen.outcomes import Outcome, versions

RESULTS = Path(__file__).with_name("results.json")


def write(path: Path, results: dict[str, Outcome]) -> None:
    """Results by name, and beside them the versions of the libraries they were made with."""
    text = json.dumps({**results, "versions": versions()}, indent=0, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> tuple[dict[str, Outcome], dict[str, str]]:
    """The recorded results, and the versions of the libraries they were made with."""
    results = json.loads(path.read_text(encoding="utf-8"))
    libraries = results.pop("versions")
    return results, libraries


def differences(before: dict[str, Outcome], after: dict[str, Outcome]) -> list[str]:
    """One line for each result that is not the same to the last bit."""
    lines = []
    for name in sorted(before.keys() & after.keys()):
        old, new = before[name], after[name]
        parts = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
        if parts:
            lines.append(f"{name}: " + ", ".join(f"{key} {old.get(key)} -> {new.get(key)}" for key in parts))
    return lines
