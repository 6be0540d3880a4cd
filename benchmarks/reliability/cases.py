"""Cases as data: the files of tests/corpus, whose lines describe what is run and what must come of it.

A line is one JSON object; blank lines and lines that begin with # are left out. Its keys are:

run
    The arguments after `quorate`, as one line of a shell or as a list.
files
    Files to make first, by name; see `files.py`. Good files that `run` names are there without being listed.
exit
    The exit status, 0 or 2. Without it either is right: a damaged file may be refused, or read if what was damaged is
    not used.
says
    Words that the line on standard error must contain.
each, and
    Lists of values. The line is then one case for each value of `each` (crossed with each of `and`), and `{1}` (and
    `{2}`) in run, files and says stand for the value. A value may be a list of two: the value, and what is said.
input
    What standard input holds; empty by default.
process
    true: run in a process of its own.
about
    Why the case is there, if that is not plain.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[2] / "tests" / "corpus"
KEYS = {"run", "files", "exit", "says", "each", "and", "input", "process", "about"}


@dataclass(frozen=True)
class Case:
    """One run of the shell tool, the files it needs, and what must come of it."""

    name: str
    run: list[str]
    files: dict[str, Any] = field(default_factory=dict)
    exit: int | None = None
    says: str = ""
    input: str = ""
    process: bool = False

    def as_line(self) -> str:
        """Return the line of a file of cases that describes this case."""
        facts: dict[str, Any] = {"run": self.run, "files": self.files}
        if self.exit is not None:
            facts["exit"] = self.exit
        return json.dumps(facts, ensure_ascii=True)


def read_corpus(folder: Path = CORPUS) -> list[Case]:
    """Return all cases of a folder, in the order of the file names and lines."""
    return [case for path in sorted(folder.glob("*.cases")) for case in read_cases(path)]


def read_cases(path: Path) -> Iterator[Case]:
    """Yield the cases of one file; an error names the line that is wrong."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            facts = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number} is no JSON: {error}.") from error
        if unknown := set(facts) - KEYS:
            raise ValueError(f"{path}, line {number} has the unknown keys {sorted(unknown)}; known are {sorted(KEYS)}.")
        yield from _expanded(facts, f"{path.stem}:{number}")


def _expanded(facts: dict[str, Any], name: str) -> Iterator[Case]:
    run = shlex.split(facts["run"]) if isinstance(facts["run"], str) else facts["run"]
    first, second = facts.get("each", [""]), facts.get("and", [""])
    for place, (one, other) in enumerate((one, other) for one in first for other in second):
        says = facts.get("says", "")
        if isinstance(one, list):
            one, says = one
        if isinstance(other, list):
            other, says = other
        marks = {"{1}": one, "{2}": other} if "each" in facts else {}
        yield Case(
            name if not marks else f"{name}:{place}",
            [_filled(word, marks) for word in run],
            _filled(facts.get("files", {}), marks),
            facts.get("exit"),
            _filled(says, marks),
            _filled(facts.get("input", ""), marks),
            facts.get("process", False),
        )


def _filled(value: Any, marks: dict[str, str]) -> Any:
    """Return the value with all marks in its texts replaced."""
    if isinstance(value, dict):
        return {_filled(key, marks): _filled(item, marks) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, marks) for item in value]
    if isinstance(value, str):
        for mark, text in marks.items():
            value = value.replace(mark, text)
    return value
