"""Printed beside measured: verdicts and the tables that show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

POINTS = 0.01
"""The difference that counts as none: one point, or a hundredth of a figure that is no share."""
RULE = (
    "A figure *agrees* if the 95% interval of the difference (Student's t, over our runs) lies within one point and "
    "half a unit of the last printed digit; it is *better*, *worse* or *differs* if the interval lies outside, and "
    "*undecided* if it reaches both, as it does after a single run. Where the paper says how many runs its means have, "
    "their error is taken to be that of as many runs of ours."
)
"""What the verdicts of all five pages mean, in the words of the pages."""
WORDS = {
    "agrees": ("agrees", "agree"),
    "differs": ("differs", "differ"),
    "better": ("is better", "are better"),
    "worse": ("is worse", "are worse"),
    "undecided": ("is undecided", "are undecided"),
    "not measured": ("was not measured", "were not measured"),
}
"""The verdict on a figure as a verb, for one figure and for several."""


def verdict(difference: float, error: float, runs: int, margin: float, higher: bool | None) -> str:
    """Judge a difference of means by its standard error: the one rule of all pages, see `RULE`.

    The rule is a test of equivalence: agreement has to be shown, and little data show neither agreement nor difference.
    """
    if runs < 2:
        return "undecided"
    reach = float(stats.t.ppf(0.975, runs - 1)) * error
    if abs(difference) + reach <= margin + 1e-9:
        return "agrees"
    if abs(difference) - reach <= margin:
        return "undecided"
    if higher is None:
        return "differs"
    return "better" if (difference > 0) == higher else "worse"


@dataclass(frozen=True)
class Compared:
    """One printed figure and the values measured for it.

    why : the cause of a difference, as far as it was tested; a figure that differs without one says so.
    higher : whether more is better; None where neither is, as for an exponent or a number of nodes.
    points : the difference that counts as none; rounding : half a unit of the last printed digit.
    runs : the number of runs of the printed mean; None where the paper does not say it.
    """

    what: str
    printed: float
    values: Sequence[float]
    why: str = ""
    higher: bool | None = True
    points: float = POINTS
    rounding: float = 0.0005
    runs: int | None = None

    @property
    def mean(self) -> float:
        return float(np.mean(self.values)) if len(self.values) else float("nan")

    @property
    def deviation(self) -> float:
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0

    @property
    def error(self) -> float:
        """The standard error of the difference; not a number after a single run."""
        n = len(self.values)
        return self.deviation * (1 / n + (1 / self.runs if self.runs else 0)) ** 0.5 if n > 1 else float("nan")

    @property
    def verdict(self) -> str:
        """agrees, undecided, better, worse, or differs (where neither direction is better)."""
        if not len(self.values):
            return "not measured"
        margin = self.points + self.rounding
        return verdict(self.mean - self.printed, self.error, len(self.values), margin, self.higher)


def compared_table(rows: Sequence[Compared], digits: int = 3) -> str:
    """paper | ours: mean of n runs | difference and its standard error | verdict | why."""
    lines = ["| | paper | ours | difference | verdict | |", "|---|---|---|---|---|---|"]
    for row in rows:
        ours = f"{row.mean:.{digits}f} ({len(row.values)})" if len(row.values) else ""
        error = f" ± {row.error:.{digits}f}" if len(row.values) > 1 else ""
        difference = f"{row.mean - row.printed:+.{digits}f}{error}" if len(row.values) else ""
        why = row.why or ("not explained" if row.verdict in ("worse", "differs") else "")
        lines.append(f"| {row.what} | {row.printed:.{digits}f} | {ours} | {difference} | {row.verdict} | {why} |")
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
