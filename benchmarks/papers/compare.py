"""Printed beside measured: verdicts and the tables that show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

POINTS = 0.03
"""A figure agrees within two standard deviations or three points, whichever is more."""
WORDS = {
    "agrees": ("agrees", "agree"),
    "differs": ("differs", "differ"),
    "better": ("is better", "are better"),
    "worse": ("is worse", "are worse"),
    "not measured": ("was not measured", "were not measured"),
}
"""The verdict on a figure as a verb, for one figure and for several."""


@dataclass(frozen=True)
class Compared:
    """One printed figure and the values measured for it.

    why : the cause of a difference, as far as it was tested; a figure that differs without one says so.
    higher : whether more is better; None where neither is, as for an exponent or a number of nodes.
    """

    what: str
    printed: float
    values: Sequence[float]
    why: str = ""
    higher: bool | None = True
    points: float = POINTS

    @property
    def mean(self) -> float:
        return float(np.mean(self.values)) if len(self.values) else float("nan")

    @property
    def deviation(self) -> float:
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0

    @property
    def verdict(self) -> str:
        """agrees, better, worse, or differs (where neither direction is better)."""
        if not len(self.values):
            return "not measured"
        difference = self.mean - self.printed
        if abs(difference) <= max(2 * self.deviation, self.points) + 1e-9:
            return "agrees"
        if self.higher is None:
            return "differs"
        return "better" if (difference > 0) == self.higher else "worse"


def compared_table(rows: Sequence[Compared], digits: int = 3) -> str:
    """paper | ours: mean and standard deviation | ratio | verdict | why."""
    lines = ["| | paper | ours | ratio | verdict | |", "|---|---|---|---|---|---|"]
    for row in rows:
        ours = f"{row.mean:.{digits}f} ± {row.deviation:.{digits}f}" if len(row.values) else ""
        ratio = f"{row.mean / row.printed:.2f}" if row.printed and len(row.values) else ""
        why = row.why or ("" if row.verdict in ("agrees", "better", "not measured") else "not explained")
        lines.append(f"| {row.what} | {row.printed:.{digits}f} | {ours} | {ratio} | {row.verdict} | {why} |")
    return "\n".join(lines)


def plain_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Any other table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def tally(rows: Iterable[Compared]) -> str:
    """How many figures agree, are better, differ: the sentence under a table."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.verdict] = counts.get(row.verdict, 0) + 1
    parts = [f"{number} {WORDS.get(verdict, (verdict, verdict))[number != 1]}" for verdict, number in counts.items()]
    text = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"Of {_figures(sum(counts.values()))}, {text}"


def _figures(number: int) -> str:
    return "1 figure" if number == 1 else f"{number} figures"


@dataclass(frozen=True)
class Claim:
    """One claim of a paper in our words, what became of it, and the number it rests on."""

    text: str
    verdict: str
    number: str

    VERDICTS = ("holds", "holds partly", "does not hold", "not tested")

    def __post_init__(self) -> None:
        if self.verdict not in self.VERDICTS:
            raise ValueError(f"a verdict must be one of {self.VERDICTS}, got {self.verdict!r}")


def judge(share: float, whole: float = 1.0, part: float = 0.5) -> str:
    """holds where `share` of the cases follow the claim, holds partly from `part` of them."""
    if not np.isfinite(share):
        return "not tested"
    return "holds" if share >= whole else "holds partly" if share >= part else "does not hold"
