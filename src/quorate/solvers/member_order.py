"""The members in an order that follows from their labels, and facts about base clusters sorted out by member."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, E, Ensemble
from quorate.solvers.label_rows import likeliest_labels, one_hot

WHOLE_SUMS = "its sums are of whole numbers if weights are, so the order of members cannot change the labels"
LAST_DIGITS = "sorted members would change the last digits of its objective, which are those of version 0.1"
"""Two reasons why a method sees the members in their own order (`Method.own_order`)."""


def in_content_order(ensemble: E) -> E:
    """The same ensemble with its members sorted by their labels, so that no result can depend on their order.

    Members are compared by their labels as bytes, soft members then by their memberships, and last by their weights.
    Members equal in all of these are interchangeable, so it does not matter in which order they end up.
    """
    if ensemble.card is not None:
        from quorate._device.device_ensemble import in_content_order_on_card

        moved: E = in_content_order_on_card(ensemble)
        return moved
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
        ordered = replace(ensemble, labels=columns[order].T, **shared)
        ordered.remember(is_distinct=ensemble.is_distinct)
        return ordered
    places = [np.arange(ensemble.offsets[q], ensemble.offsets[q + 1]) for q in order]
    matrix = one_hot(ensemble)[:, np.concatenate(places)]
    matrix.sort_indices()
    memberships = np.rint(matrix.data * ensemble.unit).astype(np.int32)
    return replace(ensemble, columns=matrix.indices.astype(np.int32), memberships=memberships, **shared)


def _member_bytes(ensemble: AnyEnsemble) -> list[bytes]:
    """What tells apart two soft members with the same likeliest labels; empty for members that are labels."""
    if isinstance(ensemble, Ensemble):
        return [b""] * ensemble.n_members
    matrix = one_hot(ensemble).tocsc()
    details = []
    for first, last in pairwise(ensemble.offsets):
        part = slice(matrix.indptr[first], matrix.indptr[last])
        lengths = np.diff(matrix.indptr[first : last + 1])
        details.append(
            b"".join(values.astype(">f8").tobytes() for values in (matrix.data[part], matrix.indices[part], lengths))
        )
    return details


def by_member_name(ensemble: AnyEnsemble, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """For each member, by its name, its own part of a vector with one value per base cluster."""
    return dict(zip(ensemble.member_names, np.split(values, ensemble.offsets[1:-1]), strict=True))
