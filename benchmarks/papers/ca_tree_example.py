"""Table I and Figures 1 to 3: the worked example, 100 points in nine core groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.papers.compare import plain_table
from benchmarks.papers.paper import Experiment
from benchmarks.papers.records import Case, Record, Values
from quorate import CATree, as_ensemble, ca_tree

VECTORS = (
    *((1, 2, 2, 1), (1, 2, 5, 3), (1, 3, 4, 5), (1, 3, 4, 6), (2, 2, 1, 4), (2, 4, 1, 4)),
    *((3, 1, 3, 2), (3, 1, 3, 5), (3, 4, 3, 2)),
)
COUNTS = (12, 13, 2, 23, 24, 1, 10, 3, 12)
"""Table I: the labels of each core group in the four base clusterings, and its number of patterns."""
NODES = {1.0: (9, 5, 4, 3), 0.8: (5, 4, 4, 3)}
"""Printed numbers of nodes at the thresholds 0 to 3, of all nodes and with alpha = .8 (Section 3.4, Figure 3)."""
LARGEST = 94
"""Patterns in the six largest core groups."""


def example_tree() -> CATree:
    return ca_tree(as_ensemble(np.repeat(VECTORS, COUNTS, axis=0), orientation="objects"))


def cases(quick: bool) -> Sequence[Case]:
    return [{"repeat": 0}]


def measure(case: Case) -> Values:
    tree = example_tree()
    values = {f"nodes {keep:g}": tree.curve(keep=keep)[1].tolist() for keep in NODES}
    values |= {f"patterns {theta}": sorted(tree.counts[tree.cut(theta / 4)].tolist()) for theta in range(4)}
    values["largest"] = int(np.sort(tree.rows.counts)[-6:].sum())
    return values


def page(records: list[Record], pictures: Path) -> str:
    values = records[0].values
    rows = [
        (f"nodes at thresholds 0, 1, 2, 3, alpha = {keep:g}", _listed(printed), _listed(values[f"nodes {keep:g}"]))
        for keep, printed in NODES.items()
    ]
    rows.append(("patterns in the six largest core groups", f"{LARGEST}%", f"{values['largest']}%"))
    rows.append(("patterns of the nodes at threshold 2", "the four clusters of 25", _listed(values["patterns 2"])))
    rows.append(("patterns of the nodes at threshold 1", "a picture", _listed(values["patterns 1"])))
    return (
        "The label vectors and numbers of patterns of Table I are printed, the points themselves are not. The tree of "
        "these 100 label vectors is that of Figure 2; every printed number comes out.\n\n"
        + plain_table(("", "paper", "ours"), rows)
    )


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


EXPERIMENT = Experiment("example", "Table I and Figures 1 to 3: the worked example", cases, measure, page)
