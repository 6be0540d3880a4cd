"""Members as labellings: their scores, their gaps filled, and an order that does not depend on theirs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, E, Ensemble, FloatArray, read_only
from quorate.ops.tables import nearest_clusters
from quorate.solvers.contingency import mean_nmi, member_contingencies
from quorate.solvers.label_rows import likeliest_labels, one_hot, tally


def anmi(ensemble: Ensemble, labels: NDArray[np.int32], n_clusters: int) -> float:
    """ANMI of a labelling of the rows (-1: unlabelled), geometric."""
    return mean_nmi(member_contingencies(ensemble, labels, n_clusters), ensemble.weights, "geometric")


def column(ensemble: Ensemble, member: int) -> NDArray[np.int32]:
    """A member's labels as a labelling of the rows."""
    return ensemble.labels[:, member].astype(np.int32)


def column_scores(ensemble: Ensemble) -> list[float]:
    """ANMI of each member with all members, itself included."""
    return [anmi(ensemble, column(ensemble, member), int(k)) for member, k in enumerate(ensemble.n_clusters)]


def in_content_order(ensemble: E) -> E:
    """The same ensemble with members sorted by what they say, so that no result can depend on their order.

    Members that say the same and weigh the same are interchangeable, so ties do not matter.
    """
    columns = np.ascontiguousarray(likeliest_labels(ensemble).T)
    details = _member_bytes(ensemble)
    order = sorted(range(ensemble.n_members), key=lambda q: (columns[q].tobytes(), details[q], ensemble.weights[q]))
    shared: dict[str, Any] = {
        "n_clusters": ensemble.n_clusters[order],
        "weights": ensemble.weights[order],
        "member_names": tuple(ensemble.member_names[q] for q in order),
        "categories": tuple(ensemble.categories[q] for q in order),
    }
    if isinstance(ensemble, Ensemble):
        return replace(ensemble, labels=columns[order].T, **shared)
    places = [np.arange(ensemble.offsets[q], ensemble.offsets[q + 1]) for q in order]
    matrix = one_hot(ensemble)[:, np.concatenate(places)]
    matrix.sort_indices()
    memberships = np.rint(matrix.data * ensemble.unit).astype(np.int32)
    return replace(ensemble, columns=matrix.indices.astype(np.int32), memberships=memberships, **shared)


def _member_bytes(ensemble: AnyEnsemble) -> list[bytes]:
    """What tells apart members of the same likeliest labels; nothing where members are labels."""
    if isinstance(ensemble, Ensemble):
        return [b""] * ensemble.n_members
    matrix = one_hot(ensemble).tocsc()
    found = []
    for first, last in pairwise(ensemble.offsets):
        part = slice(matrix.indptr[first], matrix.indptr[last])
        lengths = np.diff(matrix.indptr[first : last + 1])
        found.append(
            b"".join(values.astype(">f8").tobytes() for values in (matrix.data[part], matrix.indices[part], lengths))
        )
    return found


def cluster_means(ensemble: AnyEnsemble, labels: NDArray[np.int32], n_clusters: int) -> tuple[FloatArray, FloatArray]:
    """Mean one-hot rows of the clusters times the member weights, (d, k), and the clusters' sizes in objects."""
    table = tally(ensemble, labels, n_clusters)
    known = labels >= 0
    sizes: FloatArray = np.bincount(labels[known], ensemble.counts[known], n_clusters).astype(np.float64)
    weights = np.repeat(ensemble.weights, ensemble.n_clusters)[:, None]
    return table * weights / np.maximum(sizes, 1.0), sizes


def completed(ensemble: Ensemble, labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.int32]:
    """Labels with each unlabelled row given to the cluster of the highest mean co-association.

    A row that shares nothing with any cluster joins the largest.
    """
    gaps = np.flatnonzero(labels < 0)
    if not len(gaps):
        return labels
    means, sizes = cluster_means(ensemble, labels, n_clusters)
    nearest, score = np.empty(len(gaps), dtype=np.int32), np.empty(len(gaps))
    rows = read_only(ensemble.labels[gaps])
    no_bias = np.zeros(n_clusters)
    nearest_clusters(
        rows, ensemble.offsets, means, np.ones(n_clusters), no_bias, np.ones(1), 0, len(gaps), nearest, score
    )
    nearest[score == 0.0] = np.argmax(sizes)
    filled = labels.copy()
    filled[gaps] = nearest
    return filled


def by_member_name(ensemble: AnyEnsemble, columns: NDArray[Any], names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """For each member, in the order of `names`, the part of a vector over base clusters that is its own."""
    pieces = dict(zip(ensemble.member_names, np.split(columns, ensemble.offsets[1:-1]), strict=True))
    return {name: pieces[name] for name in names}
