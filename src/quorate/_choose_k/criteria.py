"""The criteria for the number of clusters: what each is worth, how they are weighed, and the decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._evaluation.binning import mean_co_association
from quorate._evaluation.consensus_index import ambiguity
from quorate._solve.run_method import TREE_ROWS
from quorate._summaries import WORDS
from quorate._types import AnyEnsemble, Consensus, Ensemble, FloatArray
from quorate.solvers.linkage.dendrogram import lifetimes
from quorate.solvers.local_weights import cluster_certainty, edge_weights
from quorate.solvers.spectral.transfer_cut import DENSE_CLUSTERS, leading_values

Run = Callable[[str, int], Consensus]
"""Runs a method, given by its name, for a number of clusters."""

MOST = 20
"""The largest number of clusters that "auto" tries, unless the members have more clusters."""
PAC_MEMBERS = 5
"""At least so many members must have one number of clusters for its proportion of ambiguous pairs."""
CERTAINTY_SCALE = 0.4
"""The parameter theta of the certainties by which edges of the graph are weighted, as in `lwgp`."""
EIGENVALUE_FLOOR, MERGE_FLOOR, LINK_FLOOR = 0.003, 0.01, 0.005
"""Added before logarithms are taken: differences as small as these mean nothing."""


def highest_number(ensemble: AnyEnsemble) -> int:
    """Return the largest number of clusters that "auto" tries: 20, or more if a quarter of the members have more."""
    usual = int(np.quantile(ensemble.n_clusters, 0.75))
    return min(max(MOST, usual), ensemble.n_rows)


def eigengaps(ensemble: Ensemble, numbers: Sequence[int], rng: np.random.Generator) -> dict[int, float]:
    """Return the gap after the first k eigenvalues of the graph of rows and base clusters, for each number k.

    With eigenvalues v, of which the first is 1, the gap after k of them is the logarithm of the ratio of -log(v) on
    both sides of it. Edges are weighted by the certainty of their cluster. If the members have very many clusters,
    nothing is returned, because so many eigenvalues cannot be computed in a short time. The graph of H members with d
    clusters has at most d - H + 1 eigenvalues above 0 if no label is missing: the gap after so many says how many
    clusters the members have, not how many there are, so that such numbers are left out.
    """
    n_clusters = int(ensemble.offsets[-1])
    if n_clusters > DENSE_CLUSTERS:
        return {}
    rank = n_clusters - ensemble.n_members + 1 if ensemble.n_members > 1 else n_clusters + 1
    weights = edge_weights(ensemble, cluster_certainty(ensemble, CERTAINTY_SCALE))
    values = leading_values(ensemble, weights, max(numbers) + 1, rng)
    missing = max(0, max(numbers) + 1 - len(values))
    lost = -np.log(np.clip(np.append(values, np.zeros(missing)), 1e-12, 1.0)) + EIGENVALUE_FLOOR
    return {k: float(np.log(lost[k] / lost[k - 1])) for k in numbers if k <= len(values) and k < rank}


def merge_gaps(ensemble: Ensemble, labels: NDArray[np.int32], numbers: Sequence[int]) -> dict[int, float]:
    """Return the gap between the similarities of two merges, for each number of clusters.

    The clusters of a labelling of many clusters are merged two by two, always the two that are most similar: their
    co-association, divided by the geometric mean of that within either of them, is largest. The gap of k is the
    logarithm of the ratio of the similarity of the two that were merged to get k clusters, and of the next two.
    """
    n_clusters = int(labels.max()) + 1
    sizes = np.bincount(labels, weights=ensemble.counts, minlength=n_clusters)
    sums = mean_co_association(ensemble, labels, n_clusters) * np.outer(sizes, sizes)
    similar = merged_similarities(sums, _within)
    if n_clusters == ensemble.n_rows:
        # a further split would divide objects that all members put together
        similar = np.append(similar, 1.0)
    return _gaps(similar, MERGE_FLOOR, numbers)


def link_gaps(links: Sequence[FloatArray], numbers: Sequence[int]) -> dict[int, float]:
    """Return the same for links between nearest neighbours, as a share of the links of the cluster that has fewer.

    Small cells are merged. The mean over several divisions into cells is taken, each an array of shape (cells, cells).
    """
    gaps = [_gaps(merged_similarities(part, _fewer), LINK_FLOOR, numbers) for part in links]
    known = {k: [gaps[k] for gaps in gaps if k in gaps] for k in numbers}
    return {k: float(np.mean(gaps)) for k, gaps in known.items() if gaps}


def modularities(links: Sequence[FloatArray], numbers: Sequence[int]) -> dict[int, float]:
    """Return the modularity of each number: the share of links within clusters, less that expected by chance.

    Small cells are merged, always the two by which modularity gains most. The mean over several divisions into cells is
    taken.
    """
    found: list[dict[int, float]] = []
    for part in links:
        found.append({})
        for sums, _ in merging(part, _gain):
            share = sums / sums.sum()
            found[-1][len(sums)] = float(np.trace(share) - (share.sum(axis=1) ** 2).sum())
    return {k: float(np.mean([part[k] for part in found])) for k in numbers if found and all(k in p for p in found)}


def _gain(sums: FloatArray) -> FloatArray:
    """Return how much modularity, up to a factor, is gained by merging any two clusters."""
    share = sums / sums.sum()
    gain: FloatArray = share - np.outer(share.sum(axis=1), share.sum(axis=1))
    return gain


def _within(sums: FloatArray) -> FloatArray:
    own = np.sqrt(np.maximum(np.diag(sums), 1e-300))
    within: FloatArray = sums / np.outer(own, own)
    return within


def _fewer(sums: FloatArray) -> FloatArray:
    total = np.maximum(sums.sum(axis=1), 1e-300)
    fewer: FloatArray = sums / np.minimum.outer(total, total)
    return fewer


def _gaps(similar: FloatArray, floor: float, numbers: Sequence[int]) -> dict[int, float]:
    logs = np.log(similar + floor)
    return {k: float(logs[k + 1] - logs[k]) for k in numbers if k + 1 < len(similar)}


def merged_similarities(sums: FloatArray, similarity: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Merge clusters two by two, and return how similar the two are that are merged next, for each number of clusters.

    Parameters
    ----------
    sums : array of shape (K, K)
        The sum of a similarity over pairs of objects of two clusters, or of one.
    similarity : callable
        From such sums to the similarity of any two clusters.

    Returns
    -------
    array of shape (K + 1,)
        Entry k is the largest similarity of two of k clusters. Entries 0 and 1 are 0. Ties go to the first clusters.
    """
    similar = np.zeros(len(sums) + 1)
    for part, likeness in merging(sums, similarity):
        similar[len(part)] = likeness.max() if len(part) > 1 else 0.0
    return similar


def merging(
    sums: FloatArray, similarity: Callable[[FloatArray], FloatArray]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Merge the two most similar clusters again and again, down to one.

    The sums and the similarities, with -1 on the diagonal, are yielded for each number of clusters.
    """
    sums = np.array(sums, dtype=np.float64)
    for n_clusters in range(len(sums), 0, -1):
        similar = similarity(sums)
        np.fill_diagonal(similar, -1.0)
        yield sums, similar
        first, second = divmod(int(similar.argmax()), n_clusters)
        sums[first] += sums[second]
        sums[:, first] += sums[:, second]
        sums = np.delete(np.delete(sums, second, axis=0), second, axis=1)


def density_gains(ensemble: Ensemble, most: int, run: Run) -> dict[int, float]:
    """Return the density won by the split that leads to each number of clusters, up to one number beyond `most`."""
    splits = run("bisecting", min(most + 1, ensemble.n_rows)).info["splits"]
    return {place + 2: split.gain for place, split in enumerate(splits)}


def tree_lifetimes(ensemble: Ensemble, own: Consensus | None, run: Run) -> dict[int, float]:
    """Return the lifetime of each number of clusters from 2 on.

    The tree is the method's own, or that of average-link evidence accumulation if there are few enough rows.
    """
    tree = None if own is None else own.tree
    if tree is None and 1 < ensemble.n_rows <= TREE_ROWS:
        tree = run("eac", min(2, ensemble.n_rows)).tree
    if tree is None or len(tree) != ensemble.n_rows - 1:
        return {}
    return {k: float(length) for k, length in enumerate(lifetimes(tree)[1:], start=2)}


def ambiguities(
    parts: Mapping[int, Ensemble], rng: np.random.Generator, bounds: tuple[float, float]
) -> tuple[dict[int, float], int]:
    """Return the PAC of each number of clusters for which there are enough members, and the pairs drawn for it."""
    proportions, drawn = {}, 0
    for k, part in parts.items():
        if part.n_members >= PAC_MEMBERS:
            everyone = np.arange(part.n_members, dtype=np.intp)
            result = ambiguity(part, everyone, rng, low=bounds[0], high=bounds[1])
            proportions[k], drawn = result.proportion, result.n_drawn
    return proportions, drawn


def falls(gains: Mapping[int, float], numbers: Sequence[int]) -> dict[int, float]:
    """Return how much less density the next split gains than the one that made each number of clusters."""
    return {k: gains.get(k, 0.0) - gains.get(k + 1, 0.0) for k in numbers} if gains else {}


def shares_of_best(values: Mapping[int, Any], *, from_lowest: bool = False) -> dict[int, float]:
    """Scale the values of a criterion so that the best number has 1; 0 for values below 0, or for the lowest value."""
    known = {k: float(value) for k, value in values.items() if value is not None}
    lowest = min(known.values(), default=0.0) if from_lowest else 0.0
    best = max(known.values(), default=0.0) - lowest
    return {k: max(value - lowest, 0.0) / best for k, value in known.items()} if best > 0 else {}


WEIGHTS = {
    "eigengap": 1.0,
    "merge_gap": 0.5,
    "link_gap": 1.5,
    "modularity": 2.0,
    "density_fall": 0.1,
    "lifetime": 0.1,
    "anmi": 0.1,
    "stability": 0.1,
}
"""What each criterion counts; docs/decisions/0067 and docs/trust.md tell how the weights were chosen."""
CLEAR_GAP = 1.0
"""With measurements, link gap and eigengap weigh less, in proportion, if their widest gap is below a factor e: the
widest of many narrow gaps says little. Links say little where clusters overlap, eigenvalues where they are thin."""
FROM_LOWEST = ("anmi", "stability")
"""Criteria that are high for every number, so that only differences count."""
LESS_MODULAR = 0.01
"""By so much less modularity than the best number has, a number has 1/e of its support: near the best all are alike."""
TEMPERATURE = 0.12
"""Numbers are right with probabilities proportional to exp(support / TEMPERATURE), as measured where they are known."""
DECIDED = 0.75
"""A choice is decided if the recommended number is right with at least this probability."""
MOST_CANDIDATES = 3
LEAST_SHARE = 1 / 3
"""A number is a candidate if it has more than this share of the support of the recommended one."""
TIED = 1e-12
"""Values of a criterion that differ by no more than this are equal: the difference is rounding."""
SHOWN_AS = {"density_fall": "density_gain"}
"""Under which name the number that a criterion speaks for is reported, if it is not its own."""

Values = Mapping[str, Mapping[int, float]]
"""For each criterion, its value for each number of clusters."""


class Decision(NamedTuple):
    """The recommended number, the candidates, whether it is undecided, support and probability of each number, and the
    reason."""

    n_clusters: int
    candidates: tuple[int, ...]
    undecided: bool
    support: Mapping[int, float]
    probability: Mapping[int, float]
    reason: str


def speaking(values: Values) -> dict[str, dict[int, float]]:
    """Return the criteria that distinguish between the numbers; the others abstain."""
    known = {name: dict(part) for name, part in values.items() if name in WEIGHTS and part}
    return {name: part for name, part in known.items() if max(part.values()) - min(part.values()) > TIED}


def supports(values: Values) -> dict[int, float]:
    """Return the weighted mean of the shares that each number has of the best value of each criterion, from 0 to 1."""
    shares = {name: _shares(name, part) for name, part in speaking(values).items()}
    weights = {name: WEIGHTS[name] for name, part in shares.items() if part}
    if "link_gap" in weights:
        for name in {"link_gap", "eigengap"} & set(weights):
            weights[name] *= min(1.0, max(values[name].values()) / CLEAR_GAP)
    total = sum(weights.values())
    numbers = sorted({k for part in values.values() for k in part})
    return {
        k: sum(weight * shares[name].get(k, 0.0) for name, weight in weights.items()) / total if total else 0.0
        for k in numbers
    }


def _shares(name: str, part: Mapping[int, float]) -> dict[int, float]:
    if name == "modularity":
        best = max(part.values())
        return {k: float(np.exp((value - best) / LESS_MODULAR)) for k, value in part.items()}
    return shares_of_best(part, from_lowest=name in FROM_LOWEST)


def voted(values: Values) -> dict[str, int]:
    """Return the number each criterion speaks for; ties go to the smaller number."""
    votes = {SHOWN_AS.get(name, name): _best(part) for name, part in speaking(values).items()}
    pac = values.get("pac", {})
    if pac and max(pac.values()) - min(pac.values()) > TIED:
        votes["pac"] = _best({k: -value for k, value in pac.items()})
    return votes


def _best(part: Mapping[int, float]) -> int:
    return max(sorted(part), key=lambda k: part[k])


def shortlist(support: Mapping[int, float], size: int) -> list[int]:
    """Return the numbers with most support, in increasing order; ties go to the smaller number."""
    return sorted(sorted(support, key=lambda k: (-support[k], k))[:size])


def decide(values: Values, answered: Sequence[int], failed: Mapping[int, str], wanted: Sequence[int]) -> Decision:
    """Weigh the criteria, and choose among the numbers for which the method gave an answer."""
    every = supports(values)
    support = {k: every.get(k, 0.0) for k in answered}
    ranked = sorted(support, key=lambda k: (-support[k], k))
    best = ranked[0]
    others = [k for k in ranked[1:] if support[k] > LEAST_SHARE * support[best]][: MOST_CANDIDATES - 1]
    votes = voted(values)
    likely = probabilities({k: every.get(k, 0.0) for k in {*wanted, *answered} - {*failed}})
    if votes and not others and likely[best] < DECIDED:
        others = ranked[1:2]
    undecided = bool(others) and likely[best] < DECIDED
    reason = _reason(best, others, votes, len(answered))
    if undecided:
        shares = [f"{k} of {likely[k]:.0%}" for k in others]
        reason += f" The choice is not clear: {best} has a probability of {likely[best]:.0%}, {' and '.join(shares)}."
    # fewer than two clusters are a question of its own, the comparison with chance
    if len(wanted) > 2 and (best == wanted[-1] or best == wanted[0] > 2):
        reason += " It is the end of the range that was tried."
    if failed:
        reason += f" The method gave no answer for {', '.join(map(str, failed))}."
    return Decision(best, (best, *others), undecided, every, likely, reason)


def probabilities(support: Mapping[int, float]) -> dict[int, float]:
    """Return how probably each number is the right one, by its support; they add up to 1."""
    highest = max(support.values())
    odds = {k: float(np.exp((value - highest) / TEMPERATURE)) for k, value in support.items()}
    return {k: value / sum(odds.values()) for k, value in odds.items()}


def _reason(best: int, others: Sequence[int], votes: Mapping[str, int], n_tried: int) -> str:
    terms = {k: "; ".join(WORDS[name] for name in WORDS if votes.get(name) == k) for k in (best, *others)}
    if not votes:
        only = "it is the only number to choose from"
        return f"{best} clusters: {only if n_tried == 1 else 'all criteria are the same for every number'}."
    n_best = sum(vote == best for vote in votes.values())
    first = f"best by {n_best} of {len(votes)} criteria, because {terms[best]}"
    why = first if terms[best] else "best by all criteria together, though by none of them alone"
    reason = f"{best} clusters: {why}."
    if others:
        parts = [f"{k} ({terms[k]})" if terms[k] else f"{k}" for k in others]
        reason += f" The next best numbers: {'; '.join(parts)}."
    return reason
