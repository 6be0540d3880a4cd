"""Figure 4 and Table II of the CA-tree paper: the three pictured sets, and the summary of all six."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.ca_tree_pictures import COLOURS, panels
from benchmarks.papers.ca_tree_sets import BY_NAME, SETS
from benchmarks.papers.compare import plain_table
from benchmarks.papers.paper import Experiment
from benchmarks.papers.records import Case, Record, Values

TABLE2 = {
    "Spherical5": (250, 16, 5, 4, 10),
    "Half-rings": (800, 2, 2, 8, 20),
    "3Rings": (900, 2, 3, 20, 50),
    "8d5k": (1000, 8, 5, 4, 10),
    "Opt-digits": (3823, 64, 10, 10, 40),
    "Pen-digits": (10992, 16, 10, 10, 40),
}
"""N, L, k*, k_min and k_max, as printed."""
PICTURED = ("Spherical5", "Half-rings", "3Rings")


def cases(quick: bool) -> Sequence[Case]:
    return [{"set": entry.name, "repeat": 0} for entry in SETS]


def measure(case: Case) -> Values:
    entry = BY_NAME[case["set"]]
    X, y = entry.make(entry.base, np.random.default_rng(case["repeat"]))
    return {"summary": [*X.shape, len(np.unique(y)), *entry.k], "sizes": np.bincount(y).tolist()}


def page(records: list[Record], pictures: Path) -> str:
    panels(pictures / "ca_tree_sets.png", PICTURED, _draw, "first dimension", "second")
    found = {record.case["set"]: record.values for record in records}
    rows = []
    for name, printed in TABLE2.items():
        values = found.get(name)
        told = "no data" if values is None else ", ".join(f"{value:,}" for value in values["summary"])
        sizes = "" if values is None else ", ".join(map(str, values["sizes"]))
        rows.append((name, ", ".join(f"{value:,}" for value in printed), told, sizes))
    return (
        "![Spherical5, Half-rings and 3Rings](images/ca_tree_sets.png)\n\n"
        "Our guesses at the three sets that the paper shows as pictures, in the first two dimensions.\n\n"
        + plain_table(("set", "N, L, k*, k_min, k_max: paper", "ours", "sizes of the classes"), rows)
    )


def _draw(axis: Any, name: str) -> None:
    entry = BY_NAME[name]
    X, y = entry.make(entry.base, np.random.default_rng(0))
    axis.scatter(X[:, 0], X[:, 1], c=np.array(COLOURS)[y], s=3)
    axis.set_aspect("equal", adjustable="datalim")


EXPERIMENT = Experiment("sets", "Figure 4 and Table II: the data sets", cases, measure, page)
