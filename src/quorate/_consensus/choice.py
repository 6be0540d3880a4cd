"""The result of choose_k: a recommended number of clusters, other candidates, and the evidence for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

CRITERIA = {
    "eigengap": "eigengap",
    "merge_gap": "merge gap",
    "link_gap": "link gap",
    "density_gain": "density gain",
    "lifetime": "lifetime",
    "anmi": "ANMI",
    "stability": "stability",
    "pac": "PAC",
}
"""The criteria in the order in which they are shown, and their names in words."""

WORDS = {
    "eigengap": "the gap after that many eigenvalues of the graph of objects and clusters is widest",
    "merge_gap": "merging two further clusters would cost most",
    "link_gap": "clusters have fewest links between nearest neighbours, compared with one cluster more",
    "density_gain": "the density gained by a further split falls most",
    "lifetime": "the tree's lifetime is longest",
    "anmi": "ANMI is highest",
    "stability": "two halves of the members agree best",
    "pac": "the fewest pairs are ambiguous",
}
"""What each criterion says about the number that it speaks for."""
MOST_LINES = 20
"""The largest number of lines that a printed choice has."""


@dataclass(frozen=True)
class Candidate:
    """One number of clusters and the values of the criteria for it; None if a criterion was not computed for it.

    Attributes
    ----------
    n_clusters : int
    anmi : float or None
        The mean NMI of the method's labelling with the members.
    density_gain : float or None
        The density won by the split of bisecting k-means that makes so many clusters.
    lifetime : float or None
        The length of the interval of thresholds at which the tree has so many clusters.
    pac : float or None
        The proportion of ambiguous pairs among the members of that many clusters.
    eigengap : float or None
        How much larger the cut of one more cluster would be: the logarithm of the ratio of two neighbouring
        eigenvalues of the graph of objects and clusters.
    merge_gap : float or None
        The same for the two most similar clusters that would be merged next.
    link_gap : float or None
        The same with links between nearest neighbours in the measurements, if these are known.
    stability : float or None
        The ARI of the consensuses of two halves of the members, on a part of the objects.
    support : float or None
        The weighted share of the criteria that speak for this number, from 0 to 1.
    """

    n_clusters: int
    anmi: float | None = None
    density_gain: float | None = None
    lifetime: float | None = None
    pac: float | None = None
    eigengap: float | None = None
    merge_gap: float | None = None
    link_gap: float | None = None
    stability: float | None = None
    support: float | None = None


@dataclass(frozen=True, repr=False)
class Choice:
    """A recommended number of clusters, why, and the table behind it; made by `choose_k`, prints as a table.

    Attributes
    ----------
    n_clusters : int
        The recommended number; 1 if the members agree no better than chance.
    reason : str
        The recommendation in words.
    votes : mapping
        The number that each criterion speaks for. A criterion that is tied over all numbers abstains and is not in it.
    table : tuple of Candidate
        The values of the criteria for each number.
    method : str
        The consensus function.
    failed : mapping
        For numbers for which the method gave no answer, the reason.
    pairs_drawn : int
        The number of drawn pairs of objects behind each PAC, 0 if all pairs were counted.
    candidates : tuple of int
        Up to three numbers that have most support, the recommended one first; empty if `n_clusters` is 1.
    undecided : bool
        Whether another candidate has nearly as much support as the recommended number.
    chance : mapping
        The comparison with permuted labels: observed, expected, z, p_value and n_permutations; empty if it was left
        out, or if there is nothing to compare.
    """

    n_clusters: int
    reason: str
    votes: Mapping[str, int]
    table: tuple[Candidate, ...]
    method: str
    failed: Mapping[int, str] = field(default_factory=dict)
    pairs_drawn: int = 0
    candidates: tuple[int, ...] = ()
    undecided: bool = False
    chance: Mapping[str, float] = field(default_factory=dict)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled choice; one that an earlier version pickled knows no comparison with chance."""
        self.__dict__.update({"chance": {}, **state})

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def evidence(self, n_clusters: int) -> tuple[str, ...]:
        """Return what speaks for a number of clusters, in words."""
        return tuple(WORDS[name] for name in WORDS if self.votes.get(name) == n_clusters)

    def __str__(self) -> str:
        names = [n for n in (*CRITERIA, "support") if any(getattr(entry, n) is not None for entry in self.table)]
        lines = [f"{'k':>4}" + "".join(f"{CRITERIA.get(name, name):>14}" for name in names)]
        for entry in self._shown():
            values = [getattr(entry, name) for name in names]
            cells = "".join(f"{'-':>14}" if value is None else f"{value:>14.4f}" for value in values)
            lines.append(f"{entry.n_clusters:>4}{cells}{self._mark(entry.n_clusters)}")
        return "\n".join([*lines, self.reason])

    def _shown(self) -> list[Candidate]:
        """The lines that are printed: all, or those with most support if there are many."""
        ranked = sorted(self.table, key=lambda entry: -(entry.support or 0.0))
        return [entry for entry in self.table if len(ranked) <= MOST_LINES or entry in ranked[:MOST_LINES]]

    def _mark(self, k: int) -> str:
        if k == self.n_clusters:
            return "  *"
        return "  ?" if k in self.candidates else ""

    __repr__ = __str__
