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
from quorate._trust.agreement import evaluate
from quorate._types import Consensus, FloatArray, Scores
from quorate.ops.coding import canonical

WHOLE = "The members have no more in common within the cluster than permuted labels, so that it is left whole."


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
    """

    cluster: str
    result: Consensus
    parts: Consensus
    scores: Scores | None

    @property
    def labels(self) -> NDArray[Any]:
        """The hierarchical name of the cluster of each object; None for objects outside."""
        names = np.array([*self.result.shown_names, None], dtype=object)
        found: NDArray[Any] = names[self.result.labels]
        return found

    @property
    def verdict(self) -> str:
        """How far to believe the sub-clusters, in words."""
        return WHOLE if self.scores is None else self.scores.verdict.text

    def as_dict(self) -> dict[str, Any]:
        """Return the sub-clusters with their sizes, the scores and the verdict as plain types."""
        names = self._part_names()
        return {
            "cluster": self.cluster,
            "n_objects": len(self.parts.labels),
            "parts": dict(zip(names, self.parts.sizes.tolist(), strict=True)),
            "verdict": self.verdict,
            "scores": None if self.scores is None else self.scores.as_dict(),
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
        The number of sub-clusters; by default it is chosen, and may be 1 if the members have no more in common within
        the cluster than permuted labels.
    method, random_state
        As for `consensus`.
    null : int, "auto" or None
        The permutations that the agreement within the cluster is compared with, as for `evaluate`.

    Returns
    -------
    Division
        ``result`` has all objects with the sub-clusters, ``labels`` their hierarchical names, ``verdict`` says how far
        to believe the sub-clusters.

    See Also
    --------
    recut : Cuts a tree into another number of clusters.
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
    parts = consensus(part, n_clusters, method=method, random_state=random_state)
    scores = evaluate(parts, part, null=null) if parts.n_clusters > 1 else None
    result = _joined(labels, coded, names, number, rows, parts)
    return Division(names[number], replace(result, object_ids=members.object_ids), parts, scores)


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
