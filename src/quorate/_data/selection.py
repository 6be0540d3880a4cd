"""Members and rows of an ensemble selected, a member added, labels permuted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief
from quorate._data.coding import DEFAULT, code_integers, missing_rule, narrowest
from quorate._types import Ensemble, IntArray
from quorate.solvers.members import with_members


def select_members(ensemble: Ensemble, members: Sequence[int] | IntArray) -> Ensemble:
    """Select members by their numbers, in the order given; codes and rows stay as they are.

    An object that none of these members labels is kept as a row without labels.
    """
    return with_members(ensemble, np.asarray(members, dtype=np.intp))


def select_rows(ensemble: Ensemble, rows: IntArray, counts: NDArray[np.int64]) -> Ensemble:
    """Select rows, give them these counts, and code the labels anew.

    Clusters without any of these rows are left out, and so are members that label none of them.
    """
    if len(rows) == ensemble.n_rows:
        return replace(ensemble, counts=counts)
    return coded_anew(replace(ensemble, labels=ensemble.labels[rows], counts=counts))


def coded_anew(ensemble: Ensemble) -> Ensemble:
    """Code the labels of an ensemble by first appearance in its rows, without clusters and members that have no row."""
    chosen = select_members(ensemble, np.flatnonzero(ensemble.labels.max(axis=0) >= 0))
    # the kernel of the coder is compiled for int64 already, because users' tables mostly have that type
    codes, kept = code_integers(chosen.labels.astype(np.int64), chosen.member_names, missing_rule(DEFAULT))
    return replace(
        chosen,
        labels=codes,
        n_clusters=np.array([len(values) for values in kept], dtype=np.int64),
        categories=tuple(values[codes] for values, codes in zip(chosen.categories, kept, strict=True)),
    )


def side_by_side(ensembles: Sequence[Ensemble]) -> Ensemble:
    """Return the members of several ensembles of the same objects, in the same order, as one ensemble."""
    first = ensembles[0]
    n_clusters = np.concatenate([part.n_clusters for part in ensembles])
    columns = [part.labels.astype(narrowest(int(n_clusters.max()))) for part in ensembles]
    return replace(
        first,
        labels=np.concatenate(columns, axis=1),
        n_clusters=n_clusters,
        weights=np.concatenate([part.weights for part in ensembles]),
        member_names=tuple(f"member {number}" for number in range(len(n_clusters))),
        categories=tuple(values for part in ensembles for values in part.categories),
    )


def add_member(
    ensemble: Ensemble, codes: IntArray, categories: NDArray[Any], *, name: str | None = None, weight: float = 1.0
) -> Ensemble:
    """Return the ensemble with one more member, which has one code per row."""
    number = np.asarray(weight, dtype=np.float64)
    if number.ndim or not 0 < number < np.inf:
        raise ValueError(f"weight must be positive, got {brief(weight)}; leave out a member that should not count.")
    n_clusters = np.append(ensemble.n_clusters, len(categories))
    labels = np.empty((ensemble.n_rows, ensemble.n_members + 1), dtype=narrowest(int(n_clusters.max())))
    labels[:, :-1] = ensemble.labels
    labels[:, -1] = codes
    return replace(
        ensemble,
        labels=labels,
        n_clusters=n_clusters,
        weights=np.append(ensemble.weights, number),
        member_names=(*ensemble.member_names, name or f"member {ensemble.n_members}"),
        categories=(*ensemble.categories, categories),
    )


def as_objects(ensemble: Ensemble) -> Ensemble:
    """Return one row per object, because objects of the same row are permuted apart."""
    rows = np.repeat(np.arange(ensemble.n_rows), ensemble.counts)
    return replace(ensemble, labels=ensemble.labels[rows], counts=np.ones(len(rows), dtype=np.int64))


def permuted(ensemble: Ensemble, rng: np.random.Generator) -> Ensemble:
    """Permute each member's labels among the objects that it labels; missing labels stay where they are."""
    if not ensemble.has_missing:
        return replace(ensemble, labels=rng.permuted(ensemble.labels, axis=0))
    labels = ensemble.labels.copy()
    for column in labels.T:
        known = column >= 0
        column[known] = rng.permutation(column[known])
    return replace(ensemble, labels=labels)
