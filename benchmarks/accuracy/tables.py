"""Numbers of the page: means over seeds, means over sets, ranks, wins and losses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.accuracy.algorithms import ALGORITHMS, DEFAULT
from benchmarks.accuracy.runs import Results
from benchmarks.accuracy.sets import GROUPS, SETS, development_sets, group_of

LOSS = 0.03
"""A set is named as lost where another algorithm's mean NMI is higher by more than this."""
LEVEL = 0.01
"""Two means of NMI that are not further apart count as level."""

Table = dict[str, dict[str, float]]
"""algorithm -> set -> mean over seeds"""


def means(results: Results, measure: str) -> Table:
    """The mean over seeds of one measure."""
    table: Table = {name: {} for name in ALGORITHMS}
    for (name, algorithm), values in results.values(measure).items():
        if algorithm in table:
            table[algorithm][name] = float(np.mean(values))
    return table


def common_sets(table: Table, group: str) -> list[str]:
    """The sets of a group on which every algorithm has a result."""
    sets = set.intersection(*(set(column) for column in table.values()))
    return sorted(name for name in sets if group_of(name) == group)


def mean_over(column: dict[str, float], sets: Iterable[str]) -> float:
    """The mean over sets, NaN without any."""
    values = [column[name] for name in sets]
    return float(np.mean(values)) if values else float("nan")


def mean_ranks(results: Results) -> dict[str, tuple[dict[str, float], int]]:
    """For each group: the mean rank by NMI of every algorithm over the common sets, and their number."""
    table, found = means(results, "nmi"), {}
    for group in GROUPS:
        sets = common_sets(table, group)
        if len(sets) > 1:
            scores = np.array([[table[name][where] for name in table] for where in sets])
            ranks = np.asarray(stats.rankdata(-np.round(scores, 6), axis=1)).mean(axis=0)
            found[group] = dict(zip(table, ranks.tolist(), strict=True)), len(sets)
    return found


class Balance(NamedTuple):
    """Sets on which Quorate is ahead, level and behind by NMI."""

    ahead: int
    level: int
    behind: int


def balance(table: Table, rival: str, group: str) -> Balance:
    """Quorate against a rival on all sets of a group that both have a result on."""
    shared = [name for name in table[DEFAULT] if name in table[rival] and group_of(name) == group]
    gaps = [table[DEFAULT][name] - table[rival][name] for name in shared]
    ahead, behind = sum(gap > LEVEL for gap in gaps), sum(gap < -LEVEL for gap in gaps)
    return Balance(ahead, len(gaps) - ahead - behind, behind)


def losses(table: Table) -> list[tuple[str, list[str]]]:
    """Every set that Quorate loses by more than LOSS, with the algorithms that are ahead so far, the best first."""
    found = []
    for name in sorted(table[DEFAULT], key=lambda name: (GROUPS.index(group_of(name)), name)):
        own = table[DEFAULT][name]
        ahead = [other for other in table if table[other].get(name, -1.0) > own + LOSS]
        if ahead:
            found.append((name, sorted(ahead, key=lambda other: -table[other][name])))
    return found


def sets_of(table: Table, group: str) -> list[str]:
    """The sets of a group on which Quorate has a result."""
    return [name for name in SETS if name in table[DEFAULT] and group_of(name) == group]


def both_halves(table: Table) -> list[str]:
    """The sets of decision 11 on which Quorate has a result."""
    return [name for name in development_sets() if name in table[DEFAULT]]


def seeds_of(results: Results, algorithm: str) -> dict[str, int]:
    """How many seeds an algorithm was run with on each set."""
    return {name: len(values) for (name, other), values in results.values("nmi").items() if other == algorithm}


def not_run(results: Results) -> dict[tuple[str, str], list[str]]:
    """(algorithm, reason) -> the sets it has no result on."""
    found: dict[tuple[str, str], list[str]] = {}
    for case in sorted(results.found):
        if "not" in results.found[case] and case.algorithm in ALGORITHMS:
            found.setdefault((case.algorithm, results.found[case]["not"]), []).append(case.set)
    return found


def table_text(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
