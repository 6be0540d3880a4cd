"""`divide`: the sub-clusters of one cluster, with a verdict, and labels such as "2.1"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._consensus.consensus import consensus
from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import Labelling, code_beside
from quorate._data.outside import part_inside
from quorate._data.rows import as_objects
from quorate._trust.agreement import evaluate
from quorate._trust.split_tests import SplitTree, measurements_beside, significant_splits
from quorate._types import Consensus, Ensemble, FloatArray, Scores
from quorate.ops.coding import canonical

WHOLE = "The members have no more in common within the cluster than permuted labels, so that it is left whole."
UNTESTED = "Give the measurements (features=, in the shell --features), so that the divisions can be tested."
ALPHA = 0.05
"""The family-wise error at which divisions of a cluster are significant."""
LEAST_PART = 10
"""A sub-cluster found by significant divisions has at least so many objects, or a tenth of those of a small cluster."""


@dataclass(frozen=True, eq=False, repr=False)
class Division:
    """One cluster divided, as `divide` returns it; prints as sentences.

    Parameters
    ----------
    cluster : str
        The name of the cluster that was divided.
    result : Consensus
        All objects, those of the cluster in its sub-clusters, whose names are "2.1", "2.2" and so on. The confidence of
        an object of the cluster is that of the cluster times that of the sub-cluster.
    parts : Consensus
        The consensus of the objects of the cluster alone.
    scores : Scores or None
        How far to believe the sub-clusters, as `evaluate` has it; None if there is one.
    splits : SplitTree or None
        The divisions that were tested, if their number was to be found.
    """

    cluster: str
    result: Consensus
    parts: Consensus
    scores: Scores | None
    splits: SplitTree | None = None

    @property
    def labels(self) -> NDArray[Any]:
        """The hierarchical name of the cluster of each object; None for objects outside."""
        names = np.array([*self.result.shown_names, None], dtype=object)
        found: NDArray[Any] = names[self.result.labels]
        return found

    @property
    def verdict(self) -> str:
        """How far to believe the sub-clusters, in words: which divisions are significant, and what members say."""
        words = [] if self.splits is None else [self._significance(self.splits)]
        if self.scores is not None:
            words.append(self.scores.verdict.text)
            if self.splits is None and self.scores.from_measurements:
                words.append(UNTESTED)
        return " ".join(words) or WHOLE

    def _significance(self, tree: SplitTree) -> str:
        found = tree.n_clusters - 1
        beside = f"at a family-wise error of {tree.alpha:.0%}, compared with {tree.reference}"
        if not found:
            return f"No division of the cluster is significant {beside}, so that it is left whole."
        words = (
            f"{_check.counted(found, 'division')} of the cluster {'is' if found == 1 else 'are'} significant {beside}."
        )
        if self.parts.n_clusters < tree.n_clusters:
            most = self.parts.n_clusters
            words += (
                f" No member has more than {_check.counted(most, 'cluster')} there, so that there are no more parts."
            )
        return words

    def as_dict(self) -> dict[str, Any]:
        """Return the sub-clusters with their sizes, the scores and the verdict as plain types."""
        names = self._part_names()
        return {
            "cluster": self.cluster,
            "n_objects": len(self.parts.labels),
            "parts": dict(zip(names, self.parts.sizes.tolist(), strict=True)),
            "verdict": self.verdict,
            "scores": None if self.scores is None else self.scores.as_dict(),
            "splits": None if self.splits is None else self.splits.as_dict(),
        }

    def _part_names(self) -> list[str]:
        return part_names(self.cluster, self.parts.n_clusters)

    def __str__(self) -> str:
        n_objects, sizes = len(self.parts.labels), self.parts.sizes.tolist()
        if len(sizes) == 1:
            return f"cluster {self.cluster} ({n_objects:,} objects) stays whole\n{self.verdict}"
        told = ", ".join(f"{name} ({size:,})" for name, size in zip(self._part_names(), sizes, strict=True))
        return f"cluster {self.cluster} ({n_objects:,} objects) comes apart into {len(sizes)}: {told}\n{self.verdict}"

    __repr__ = __str__


def divide(
    labels: Any,
    cluster: int | str,
    ensemble: Any,
    n_clusters: Any = None,
    *,
    method: str | Callable[..., Any] = "auto",
    random_state: Any = None,
    null: Any = "auto",
    features: Any = None,
) -> Division:
    """Divide one cluster into sub-clusters, and say how far to believe them.

    Parameters
    ----------
    labels : Consensus, or labels of the objects
        A result, perhaps one that was divided before: ``divide(...).result``.
    cluster : int or str
        The number or the name of the cluster to divide.
    ensemble : Ensemble, or anything `as_ensemble` takes
        The members: those that the clusters were made from, or finer ones.
    n_clusters : int, "auto", (low, high) or range, optional
        The number of sub-clusters. By default it follows from the divisions of the cluster that are significant at a
        family-wise error of 5%, and is 1 if there is none; "auto" chooses it as `consensus` does. Members that
        `generate` made can be tested with `features` only, and are treated as with "auto" without them. By default
        there are never more sub-clusters than some member has within the cluster.
    method, random_state
        As for `consensus`.
    null : int, "auto" or None
        The permutations that the agreement within the cluster is compared with, as for `evaluate`.
    features : array or data frame of numbers, optional
        The measurements of all objects that the members were made from: divisions are then compared with those of
        measurements without clusters instead of permuted labels. Members that were made from the same measurements
        agree within any cluster, so give the measurements if there are any.

    Returns
    -------
    Division
        ``result`` has all objects with the sub-clusters, ``labels`` their hierarchical names, ``verdict`` says how far
        to believe the sub-clusters.

    See Also
    --------
    recut : Cuts a tree into another number of clusters.
    significant_splits : How divisions are tested.
    evaluate : Where the verdict comes from.

    Notes
    -----
    Within the cluster, members are compared with one another alone: their labels are permuted among its objects. That
    the members agreed on the cluster itself therefore counts for nothing.

    Examples
    --------
    >>> members = [[0, 0, 0, 1, 1, 1, 2, 2, 2, 2], [0, 0, 0, 1, 1, 1, 2, 2, 2, 2], [0, 0, 0, 1, 1, 1, 3, 3, 3, 3]]
    >>> found = divide(["a", "a", "a", "a", "a", "a", "b", "b", "b", "b"], "a", members, 2, null=None)
    >>> found.labels.tolist()
    ['a.1', 'a.1', 'a.1', 'a.2', 'a.2', 'a.2', 'b', 'b', 'b', 'b']
    """
    members = as_ensemble(ensemble)
    coded = code_beside(labels, "labels", members)
    names = [str(name) for name in coded.categories.tolist()]
    number = _number_of(cluster, names)
    rows = np.flatnonzero(coded.codes == number)
    if members.labels[rows].max() < 0:
        raise ValueError(f"no member labels an object of cluster {names[number]!r}, so that nothing can divide it.")
    part = part_inside(members, rows)
    # members of the same measurements agree within any cluster, so that permuted labels would divide it without end
    is_testable = features is not None or part.info.get("k") is None
    tree = _tested(part, features, members, rows, random_state) if n_clusters is None and is_testable else None
    limits: dict[str, Any] = {}
    if tree is not None:
        n_clusters = min(tree.n_clusters, _most_parts(part))
    elif n_clusters is None:
        n_clusters, limits = "auto", {"max_clusters": max(2, _most_parts(part))}
    parts = consensus(part, n_clusters, method=method, random_state=random_state, **limits)
    scores = evaluate(parts, part, null=null) if parts.n_clusters > 1 else None
    result = _joined(labels, coded, names, number, rows, parts)
    return Division(
        names[number], replace(result, object_ids=members.object_ids, id_name=members.id_name), parts, scores, tree
    )


def _tested(part: Ensemble, features: Any, members: Ensemble, rows: NDArray[np.intp], random_state: Any) -> SplitTree:
    """Test the divisions of the objects of a cluster, which are `rows` of the members."""
    least = min(LEAST_PART, max(2, part.n_rows // LEAST_PART))
    seed = random_state
    if not isinstance(seed, int | np.integer):
        seed = _check.generator(random_state).integers(2**31)
    measured = None
    if features is not None:
        measured = np.asarray(measurements_beside(features, members).data[rows])
    return significant_splits(as_objects(part), measured, alpha=ALPHA, min_size=least, random_state=int(seed))


def _most_parts(part: Ensemble) -> int:
    """The largest number of clusters that any member has within a cluster: what nobody saw cannot be claimed."""
    return max(1, int(part.n_clusters.max()))


def _number_of(cluster: int | str, names: list[str]) -> int:
    """Return the number of a cluster: its place among the names, or the number itself."""
    if str(cluster) in names:
        return names.index(str(cluster))
    if isinstance(cluster, str):
        meant = _check.did_you_mean(cluster, names)
        raise ValueError(f"there is no cluster {cluster!r}{meant}; the clusters are {', '.join(names[:20])}.")
    return _check.integer(cluster, "cluster", low=0, high=len(names) - 1)


def part_names(cluster: str, n_parts: int) -> list[str]:
    """Return the names of the parts of a cluster; a cluster that stays whole keeps its name."""
    return [cluster] if n_parts == 1 else [f"{cluster}.{number + 1}" for number in range(n_parts)]


def _joined(
    labels: Any, coded: Labelling, names: list[str], number: int, rows: NDArray[np.intp], parts: Consensus
) -> Consensus:
    """Return all objects as one Consensus, those of the cluster in its parts."""
    codes = coded.codes.astype(np.int64) * (parts.n_clusters + 1)
    codes[rows] += parts.labels
    codes[coded.codes < 0] = -1
    used, dense = np.unique(codes[codes >= 0], return_inverse=True)
    whole = np.full(len(codes), -1, dtype=np.int32)
    whole[codes >= 0] = canonical(dense.reshape(-1).astype(np.int32), len(used))
    own = part_names(names[number], parts.n_clusters)
    shown = {int(code): names[code // (parts.n_clusters + 1)] for code in used.tolist()}
    shown |= {number * (parts.n_clusters + 1) + place: name for place, name in enumerate(own)}
    # the name of each new number is that of the first object that has it
    called = tuple(shown[int(codes[np.flatnonzero(whole == new)[0]])] for new in range(len(used)))
    confidence: FloatArray | None = labels.confidence if isinstance(labels, Consensus) else None
    if confidence is not None:
        confidence = confidence.copy()
        confidence[rows] *= 1.0 if parts.confidence is None else parts.confidence
    info = {"divided": {"cluster": names[number], "into": parts.n_clusters}}
    return Consensus(whole, parts.objective, confidence=confidence, info=info, method="divide", cluster_names=called)
