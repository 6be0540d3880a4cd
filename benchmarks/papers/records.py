"""What was measured: one JSON line a case, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Case = Mapping[str, Any]
"""What is measured: names, numbers and the repeat, which is also the seed."""
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Record:
    """One case of one experiment with the values found."""

    experiment: str
    case: dict[str, Any]
    values: dict[str, Any]
    seconds: float


class Results:
    """The file of one paper. A case that stands in it is not measured again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: dict[tuple[str, str], Record] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._keep(line)

    def _keep(self, line: str) -> None:
        try:
            record = Record(**json.loads(line))
        except (ValueError, TypeError):
            return  # the last line of a run that was killed while writing it
        self._records[record.experiment, _name(record.case)] = record

    def missing(self, experiment: str, cases: Iterable[Case]) -> list[Case]:
        """The cases that are still to be measured."""
        return [case for case in cases if (experiment, _name(case)) not in self._records]

    def measure(self, experiment: str, case: Case, how: Callable[[Case], Values]) -> Record:
        """Measure one case and write it down at once."""
        start = time.perf_counter()
        values = {name: _plain(value) for name, value in how(case).items()}
        record = Record(experiment, dict(case), values, round(time.perf_counter() - start, 3))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # a line that was cut off must not swallow the next one
        broken = self.path.exists() and not self.path.read_bytes().endswith(b"\n") and self.path.stat().st_size > 0
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * broken + json.dumps(record.__dict__, separators=(",", ":")) + "\n")
        self._records[experiment, _name(case)] = record
        return record

    def of(self, experiment: str, cases: Iterable[Case] | None = None) -> list[Record]:
        """All records of an experiment, or those of the given cases, in the order of the cases."""
        if cases is None:
            return [record for (name, _), record in self._records.items() if name == experiment]
        keys = [(experiment, _name(case)) for case in cases]
        return [self._records[key] for key in keys if key in self._records]


def _name(case: Case) -> str:
    return json.dumps(dict(case), sort_keys=True)


def _plain(value: Any) -> Any:
    """NumPy's numbers and arrays as Python's, floats to eight digits: enough for a table, small enough for git."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
