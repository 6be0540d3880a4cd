"""Scores of a labelling: against another one, and against the ensemble it was made from; in linear time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import code_values
from quorate._data.ensemble import as_ensemble, compress
from quorate._data.missing import DEFAULT, missing_rule
from quorate._data.tables import as_table
from quorate._types import Consensus, Ensemble, FloatArray, Scores
from quorate.solvers import contingency as tables_of
from quorate.solvers.contingency import AVERAGES, Average, Contingency
from quorate.solvers.member_agreement import mean_of_others, member_pairs, member_scores


class _Labelling(NamedTuple):
    """Codes by first appearance, -1 where unlabelled."""

    codes: NDArray[np.int32]
    n_clusters: int


class _Scored(NamedTuple):
    """The labelled objects as distinct rows, and the tables of their labelling with every member."""

    rows: Ensemble
    sizes: NDArray[Any]
    tables: list[Contingency]


def nmi(first: Any, second: Any, *, average: Average = "geometric") -> float:
    """Normalized mutual information: 1 where two labellings are the same partition, 0 where they are independent.

    Parameters
    ----------
    first, second : array of labels, or Consensus
        Labels of any type, one an object. Objects without a label (-1, None, NaN) in either are left out;
        where -1 is a class of its own, pass the labels as text.
    average : {"geometric", "arithmetic"}
        The mean of the two entropies that normalizes.

    Returns
    -------
    float
        1 for two trivial labellings (one cluster each), 0 where only one is trivial.

    Examples
    --------
    >>> nmi([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.816497
    """
    _check.choice(average, "average", AVERAGES)
    return tables_of.nmi(_contingency(first, second), average)


def ari(first: Any, second: Any) -> float:
    """Adjusted Rand index of two labellings: 1 where they are the same partition, 0 on average by chance.

    Parameters
    ----------
    first, second : array of labels, or Consensus
        As for `nmi`.

    Examples
    --------
    >>> round(ari([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.571429
    """
    return tables_of.ari(_contingency(first, second))


def accuracy(first: Any, second: Any) -> float:
    """Share of objects two labellings agree on when clusters are matched one to one in the best way.

    Also known as the consistency index. Clusters that find no partner count as errors.

    Parameters
    ----------
    first, second : array of labels, or Consensus
        As for `nmi`.

    Examples
    --------
    >>> accuracy([0, 0, 1, 1], ["x", "x", "y", "z"])
    0.75
    """
    return tables_of.accuracy(_contingency(first, second))


def anmi(labels: Any, ensemble: Any, *, average: Average = "geometric") -> float:
    """Average NMI of a labelling with the members of an ensemble.

    Each member's NMI is taken on the objects it knows, and counts by the number of these objects times the
    member's weight.

    Parameters
    ----------
    labels : array of labels, or Consensus
        One label a row of the ensemble; unlabelled rows are left out.
    ensemble : Ensemble, or anything `as_ensemble` takes
    average : {"geometric", "arithmetic"}
        As for `nmi`.

    Examples
    --------
    >>> round(anmi([0, 0, 1, 1], {"a": [0, 0, 1, 1], "b": [0, 0, 1, 2], "c": [0, None, 0, None]}), 6)
    0.726599
    """
    _check.choice(average, "average", AVERAGES)
    scored = _scored(_labelling(labels, "labels"), as_ensemble(ensemble))
    return tables_of.mean_nmi(scored.tables, scored.rows.weights, average)


def cluster_density(labels: Any, ensemble: Any) -> FloatArray:
    """Mean co-association of the pairs of objects within each cluster; 0 for a cluster of one object.

    Parameters
    ----------
    labels : array of labels, or Consensus
        One label a row of the ensemble; unlabelled rows are left out.
    ensemble : Ensemble, or anything `as_ensemble` takes

    Returns
    -------
    array of shape (n_clusters,)
        Clusters in order of first appearance, which for a Consensus is the order of its labels.

    Notes
    -----
    D(C) = sum_f w_f alpha_f (alpha_f - 1) / (W |C| (|C| - 1)), where alpha_f objects of C are in base cluster f,
    w_f is the weight of its member and W that of all members [1]_. A missing label shares nothing.

    References
    ----------
    .. [1] G. Candel, "Linear time Evidence Accumulation Clustering with KMeans", 2023, arXiv:2311.09272.

    Examples
    --------
    >>> cluster_density(["a", "a", "b", "b", "c"], [[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    array([1. , 0.5, 0. ])
    """
    return _cluster_density(_scored(_labelling(labels, "labels"), as_ensemble(ensemble)))


def density(labels: Any, ensemble: Any) -> float:
    """Mean of the cluster densities, clusters by their size; compares labellings with equally many clusters.

    Parameters
    ----------
    labels, ensemble
        As for `cluster_density`.

    Examples
    --------
    >>> density(["a", "a", "b", "b", "c"], [[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    0.6
    """
    return _density(_scored(_labelling(labels, "labels"), as_ensemble(ensemble)))


def inter_density(labels: Any, ensemble: Any) -> FloatArray:
    """Mean co-association between each two clusters; on the diagonal within each, as `cluster_density`.

    Parameters
    ----------
    labels, ensemble
        As for `cluster_density`.

    Returns
    -------
    array of shape (n_clusters, n_clusters)
        Symmetric; clusters in order of first appearance.

    Examples
    --------
    >>> inter_density(["a", "a", "b", "b"], [[0, 0, 1, 1], [0, 0, 0, 1]])
    array([[1.  , 0.25],
           [0.25, 0.5 ]])
    """
    from scipy.sparse import csr_array

    scored = _scored(_labelling(labels, "labels"), as_ensemble(ensemble))
    n_clusters = len(scored.sizes)
    together = np.zeros((n_clusters, n_clusters))
    for table, weight in zip(scored.tables, scored.rows.weights, strict=True):
        shape = (n_clusters, int(table.first.max(initial=0)) + 1)
        shares = csr_array((table.counts, (table.second, table.first)), shape=shape)
        together += weight * (shares @ shares.T).toarray()
    sizes = scored.sizes.astype(np.float64)
    result: FloatArray = together / (scored.rows.weights.sum() * np.outer(sizes, sizes))
    np.fill_diagonal(result, _cluster_density(scored))
    return result


def member_nmi_matrix(ensemble: Any, *, average: Average = "geometric") -> FloatArray:
    """NMI of every two members on the objects both know; NaN where there are none.

    Parameters
    ----------
    ensemble : Ensemble, or anything `as_ensemble` takes
    average : {"geometric", "arithmetic"}
        As for `nmi`.

    Returns
    -------
    array of shape (n_members, n_members)
        Symmetric, with ones on the diagonal.

    Examples
    --------
    >>> member_nmi_matrix([[0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 0, 1]]).round(3)
    array([[1.   , 0.816, 0.   ],
           [0.816, 1.   , 0.408],
           [0.   , 0.408, 1.   ]])
    """
    _check.choice(average, "average", AVERAGES)
    rows, _ = compress(as_ensemble(ensemble))
    return member_pairs(rows, average)[0]


def member_anmi(ensemble: Any, *, average: Average = "geometric") -> FloatArray:
    """ANMI of each member with the other members; NaN for one that shares objects with no other.

    Parameters
    ----------
    ensemble : Ensemble, or anything `as_ensemble` takes
    average : {"geometric", "arithmetic"}
        As for `nmi`.

    Returns
    -------
    array of shape (n_members,)

    Examples
    --------
    >>> member_anmi([[0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 0, 1]]).round(3)
    array([0.408, 0.612, 0.204])
    """
    _check.choice(average, "average", AVERAGES)
    rows, _ = compress(as_ensemble(ensemble))
    values, shared = member_pairs(rows, average)
    return mean_of_others(values, shared * rows.weights)


def evaluate(labels: Any, ensemble: Any, *, truth: Any = None) -> Scores:
    """Score a labelling against the ensemble it stands for, and against the truth where there is one.

    Parameters
    ----------
    labels : array of labels, or Consensus
        One label a row of the ensemble; unlabelled rows (-1, None, NaN) are left out.
    ensemble : Ensemble, or anything `as_ensemble` takes
        A row with a count of c stands for c objects.
    truth : array of labels, optional
        The classes the objects are known to belong to.

    Returns
    -------
    Scores
        `n_objects` counts the labelled objects, `n_clusters` the clusters they use. `anmi` and `density` are
        those of the functions of these names; `inter_density` is the mean co-association of two objects in
        different clusters, 0 where there is one cluster. `best_member` is the highest ANMI (geometric) of a
        member with the others, `mean_member` the mean NMI over pairs of members, weighted alike; None where
        there is no pair [1]_. With `truth`: `nmi`, `nmi_arithmetic`, `ari` and `accuracy`.

    References
    ----------
    .. [1] G. Candel, "Linear time Evidence Accumulation Clustering with KMeans", 2023, arXiv:2311.09272, 5.4.

    Examples
    --------
    >>> evaluate([0, 0, 1, 1], [[0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 1, 1]])
    n objects                   4
    n clusters                  2
    anmi                 0.720696
    anmi arithmetic      0.714570
    density              0.666667
    inter density        0.166667
    mean member          0.481421
    best member          0.581044
    """
    ensemble = as_ensemble(ensemble)
    labelling = _labelling(labels, "labels")
    scored = _scored(labelling, ensemble)
    mean_member, best_member = member_scores(compress(ensemble)[0])
    return Scores(
        n_objects=int(scored.sizes.sum()),
        n_clusters=labelling.n_clusters,
        anmi=tables_of.mean_nmi(scored.tables, ensemble.weights, "geometric"),
        anmi_arithmetic=tables_of.mean_nmi(scored.tables, ensemble.weights, "arithmetic"),
        density=_density(scored),
        inter_density=_mean_inter_density(scored),
        mean_member=mean_member,
        best_member=best_member,
        **({} if truth is None else _truth_scores(labelling, truth, ensemble)),
    )


def _labelling(labels: Any, name: str) -> _Labelling:
    """One labelling, coded as a member would be."""
    if isinstance(labels, Consensus):
        return _Labelling(labels.labels, labels.n_clusters)
    table = as_table(labels, None, None)
    if table.shape[1] != 1:
        raise ValueError(f"{name} must be one label an object, got a table of {table.shape[1]} columns; choose one.")
    column = table.columns[0] if table.block is None else table.block[:, 0]
    codes, categories = code_values(column, name, missing_rule(DEFAULT))
    if not len(categories):
        raise ValueError(f"{name} must label at least one object, but all of its {len(codes):,} labels are missing.")
    return _Labelling(codes.astype(np.int32), len(categories))


def _contingency(first: Any, second: Any) -> Contingency:
    one, other = _labelling(first, "first"), _labelling(second, "second")
    if len(one.codes) != len(other.codes):
        raise ValueError(
            f"first and second must label the same objects, got {len(one.codes):,} and {len(other.codes):,} "
            f"labels; put None where an object has no label."
        )
    return _shared(one, other, np.ones(len(one.codes), dtype=np.int64), "first and second")


def _shared(one: _Labelling, other: _Labelling, counts: NDArray[np.int64], names: str) -> Contingency:
    table = tables_of.contingency(one.codes, other.codes, one.n_clusters, other.n_clusters, counts)
    if not len(table.counts):
        raise ValueError(f"{names} have no labelled object in common; they cannot be compared.")
    return table


def _truth_scores(labelling: _Labelling, truth: Any, ensemble: Ensemble) -> dict[str, float]:
    classes = _labelling(truth, "truth")
    if len(classes.codes) != ensemble.n_rows:
        raise ValueError(
            f"truth must have one label a row of the ensemble, {ensemble.n_rows:,} in all, "
            f"got {len(classes.codes):,}; put None where it is not known."
        )
    table = _shared(labelling, classes, ensemble.counts, "labels and truth")
    return {
        "nmi": tables_of.nmi(table, "geometric"),
        "nmi_arithmetic": tables_of.nmi(table, "arithmetic"),
        "ari": tables_of.ari(table),
        "accuracy": tables_of.accuracy(table),
    }


def _scored(labelling: _Labelling, ensemble: Ensemble) -> _Scored:
    codes, n_clusters = labelling
    if len(codes) != ensemble.n_rows:
        raise ValueError(
            f"labels must have one label a row of the ensemble, {ensemble.n_rows:,} in all, got {len(codes):,}; "
            f"score all objects against the ensemble of all objects, or rows against the compressed ensemble."
        )
    rows, inverse = compress(ensemble)
    # distinct pairs of cluster and row: a cluster may hold some of the objects of a row and not the others
    pairs = tables_of.contingency(codes, inverse, n_clusters, rows.n_rows, ensemble.counts)
    rows = replace(rows, labels=rows.labels[pairs.second], counts=pairs.counts.astype(np.int64))
    tables = tables_of.member_contingencies(rows, pairs.first.astype(np.int32), n_clusters)
    return _Scored(rows, pairs.first_sizes, tables)


def _cluster_density(scored: _Scored) -> FloatArray:
    pairs = np.zeros(len(scored.sizes))
    for table, weight in zip(scored.tables, scored.rows.weights, strict=True):
        together = np.zeros(len(pairs), dtype=table.counts.dtype)
        np.add.at(together, table.second, table.counts * (table.counts - 1))
        pairs += weight * together
    sizes = scored.sizes.astype(np.float64)
    every = scored.rows.weights.sum() * sizes * (sizes - 1)
    densities: FloatArray = np.divide(pairs, every, out=np.zeros(len(sizes)), where=sizes > 1)
    return densities


def _density(scored: _Scored) -> float:
    return float(scored.sizes @ _cluster_density(scored) / scored.sizes.sum())


def _mean_inter_density(scored: _Scored) -> float:
    """The pairs that base clusters hold, less those of them that are within one cluster."""
    if len(scored.sizes) == 1:
        return 0.0
    # integers: the difference may be tiny beside the squares
    every = int(scored.sizes.sum()) ** 2 - int((scored.sizes**2).sum())
    between = [int((table.first_sizes**2).sum()) - int((table.counts**2).sum()) for table in scored.tables]
    weights = scored.rows.weights
    return float(weights @ np.array(between, dtype=np.float64) / (weights.sum() * every))
