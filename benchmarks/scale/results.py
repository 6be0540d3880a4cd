"""What was measured, one line of JSON for each stage, way and n; other ways of working add lines of their own.

A line: {"way": "memory", "stage": "compress", "n": 1000000, "seconds": 0.07, "peak_bytes": 123456789}, and further keys
that only some stages have. Ways are "memory", "stream" and "dask", or the name of a peer.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.jsonl"

Key = tuple[str, str, int]


class Results:
    """The lines of a file; of several with the same way, stage and n the last one counts."""

    def __init__(self, path: Path = RESULTS) -> None:
        self.path = path
        self.found: dict[Key, dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._take(json.loads(line))

    def _take(self, record: dict[str, Any]) -> None:
        self.found[record["way"], record["stage"], record["n"]] = record

    def add(self, record: dict[str, Any]) -> None:
        """Keep a line and write it to the file at once."""
        self._take(record)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def ways(self) -> list[str]:
        """The ways of working, Quorate's own first."""
        order = {"memory": 0, "stream": 1, "dask": 2}
        return sorted({way for way, _, _ in self.found}, key=lambda way: (order.get(way, 3), way))

    def stages(self, way: str) -> list[str]:
        """The stages of a way, in the order in which they were measured."""
        return list(dict.fromkeys(stage for own, stage, _ in self.found if own == way))

    def sizes(self) -> list[int]:
        """All numbers of objects, increasing."""
        return sorted({n for _, _, n in self.found})

    def of(self, way: str, stage: str) -> dict[int, dict[str, Any]]:
        """The lines of one stage by n, increasing."""
        return {n: self.found[way, stage, n] for n in self.sizes() if (way, stage, n) in self.found}


def exponent(records: dict[int, dict[str, Any]], value: str = "seconds", *, least: int = 0) -> float | None:
    """The slope of log value over log n by least squares, for n of at least `least`; None for fewer than two sizes."""
    points = [(math.log(n), math.log(max(record[value], 1e-9))) for n, record in records.items() if n >= least]
    if len(points) < 2:
        return None
    mean_x, mean_y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
