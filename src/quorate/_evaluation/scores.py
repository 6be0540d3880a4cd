"""A labelling compared with the members of its ensemble.

The scores are computed from contingency tables, in linear time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import Labelling, Pairing, code_beside, code_labelling, pair_rows
from quorate._data.rows import compress
from quorate._data.soft_members import soft_or_labels
from quorate._types import AnyEnsemble, Ensemble, FloatArray, SoftEnsemble
from quorate.solvers import contingency as tables_of
from quorate.solvers.contingency import AVERAGES, Average, Contingency
from quorate.solvers.label_rows import one_hot, tally_and_sizes
from quorate.solvers.members import mean_of_others, member_pairs


class Scored(NamedTuple):
    """The labelled objects as pairs of row and cluster, and the table of the labelling with every member.

    Of soft members a table holds sums of memberships, and `squares` sums of squared memberships in the same cells;
    those of labels are the counts themselves.
    """

    rows: AnyEnsemble
    sizes: NDArray[Any]
    tables: list[Contingency]
    squares: list[NDArray[Any]] | None = None

    def anmi(self, average: tables_of.Average = "geometric") -> float:
        """Return the mean NMI with the members, each weighted by its weight times the number of objects it labels."""
        return tables_of.mean_nmi(self.tables, self.rows.weights, average)

    def member_nmi(self) -> FloatArray:
        """Return the NMI of each member with the labelling; NaN if they share no object."""
        return np.array([tables_of.nmi(table, "geometric") if table.total else np.nan for table in self.tables])


def score_labelling(labelling: Labelling, ensemble: AnyEnsemble) -> Scored:
    """Count a labelling of the rows of an ensemble against every member."""
    if isinstance(ensemble, SoftEnsemble):
        return _score_soft(labelling, ensemble)
    if ensemble.card is not None:
        from quorate._device.card_tables import tally_and_sizes_on_card

        stacked, sizes = tally_and_sizes_on_card(ensemble, labelling.codes, labelling.n_clusters)
        tables = [tables_of.non_empty(table) for table in np.split(stacked, ensemble.offsets[1:-1])]
        return Scored(ensemble, tables_of.squarable(sizes), tables)
    return score_pairs(pair_rows(ensemble, labelling.codes, labelling.n_clusters))


def _score_soft(labelling: Labelling, ensemble: SoftEnsemble) -> Scored:
    """Add up memberships in place of objects, so that a member of labels gives the table that its labels give."""
    from scipy.sparse import csr_array

    summed, sizes = tally_and_sizes(ensemble, labelling.codes, labelling.n_clusters)
    known = np.flatnonzero(labelling.codes >= 0)
    shape = (ensemble.n_rows, labelling.n_clusters)
    objects = csr_array((ensemble.counts[known], (known, labelling.codes[known])), shape=shape)
    squared = (one_hot(ensemble).power(2).T @ objects).toarray()
    parts = zip(np.split(summed, ensemble.offsets[1:-1]), np.split(squared, ensemble.offsets[1:-1]), strict=True)
    tables, squares = [], []
    for part, square in parts:
        cells = np.nonzero(part)
        tables.append(Contingency(cells[0], cells[1], part[cells]))
        squares.append(square[cells])
    return Scored(ensemble, sizes, tables, squares)


def score_pairs(pairs: Pairing) -> Scored:
    """Do what `score_labelling` does for rows and clusters that are already paired."""
    tables = tables_of.member_contingencies(pairs.rows, pairs.labels, pairs.n_clusters)
    return Scored(pairs.rows, pairs.sizes, tables)


def densities_within(scored: Scored) -> FloatArray:
    """Return the mean co-association of the pairs of objects within each cluster; 0 for a cluster of one object."""
    pairs = np.zeros(len(scored.sizes))
    squares = scored.squares or [table.counts for table in scored.tables]
    for table, square, weight in zip(scored.tables, squares, scored.rows.weights, strict=True):
        together = np.zeros(len(pairs), dtype=table.counts.dtype)
        np.add.at(together, table.second, table.counts * table.counts - square)
        pairs += weight * together
    sizes = scored.sizes.astype(np.float64)
    every = scored.rows.weights.sum() * sizes * (sizes - 1)
    densities: FloatArray = np.divide(pairs, every, out=np.zeros(len(sizes)), where=sizes > 1)
    return densities


def mean_density_within(scored: Scored) -> float:
    """Return the mean of the densities within clusters, weighted by the sizes of the clusters."""
    return float(scored.sizes @ densities_within(scored) / scored.sizes.sum())


def densities_between(scored: Scored) -> FloatArray:
    """Return the (k, k) mean co-association of objects of each two clusters.

    The diagonal holds that within each cluster.
    """
    from scipy.sparse import csr_array

    n_clusters = len(scored.sizes)
    together = np.zeros((n_clusters, n_clusters))
    for table, weight in zip(scored.tables, scored.rows.weights, strict=True):
        shape = (n_clusters, int(table.first.max(initial=0)) + 1)
        shares = csr_array((table.counts, (table.second, table.first)), shape=shape)
        together += weight * (shares @ shares.T).toarray()
    sizes = scored.sizes.astype(np.float64)
    result: FloatArray = together / (scored.rows.weights.sum() * np.outer(sizes, sizes))
    np.fill_diagonal(result, densities_within(scored))
    return result


def mean_density_between(scored: Scored) -> float:
    """Return the mean co-association of two objects in different clusters; 0 if there is only one cluster.

    It is counted as the pairs within base clusters minus those of them that are within one cluster.
    """
    if len(scored.sizes) == 1:
        return 0.0
    # Integers are used because the difference may be tiny compared with the squares.
    every = int(scored.sizes.sum()) ** 2 - int((scored.sizes**2).sum())
    between = [(table.first_sizes**2).sum() - (table.counts**2).sum() for table in scored.tables]
    weights = scored.rows.weights
    return float(weights @ np.array(between, dtype=np.float64) / (weights.sum() * every))


def scores_of_truth(labelling: Labelling, truth: Any, ensemble: Ensemble) -> dict[str, float]:
    """Return the scores of a labelling compared with the known classes of the objects, by the names of `Scores`."""
    classes = code_beside(truth, "truth", ensemble, advice="put None where the class is not known")
    table = shared_table(labelling, classes, ensemble.counts, "labels and truth")
    return {
        "nmi": tables_of.nmi(table, "geometric"),
        "nmi_arithmetic": tables_of.nmi(table, "arithmetic"),
        "ari": tables_of.ari(table),
        "accuracy": tables_of.accuracy(table),
        "ami": tables_of.adjusted_information(table, "arithmetic"),
        "jaccard": tables_of.pair_jaccard(table),
        "fowlkes_mallows": tables_of.pair_fowlkes_mallows(table),
        "element_similarity": _mean_of_elements(table),
        "variation_of_information": tables_of.variation(table),
    }


def _mean_of_elements(table: Contingency) -> float:
    return float(table.counts @ tables_of.element_shares(table)) / table.total


def shared_table(one: Labelling, other: Labelling, counts: NDArray[np.int64], names: str) -> Contingency:
    """Return the contingency table of two labellings over the objects that both label."""
    table = tables_of.contingency(one.codes, other.codes, one.n_clusters, other.n_clusters, counts)
    if not len(table.counts):
        raise ValueError(f"{names} have no labelled object in common; they cannot be compared.")
    return table


ADVICE = "score all objects against the ensemble of all objects, or rows against the compressed ensemble"


def nmi(first: Any, second: Any, *, average: Average = "geometric") -> float:
    """Normalised mutual information: 1 if two labellings are the same partition, 0 if they are independent.

    Parameters
    ----------
    first, second : array of labels, or Consensus
        Labels of any type, one per object. Objects without a label (-1, None, NaN) in either are left out;
        if -1 is a class of its own, pass the labels as text.
    average : {"geometric", "arithmetic"}
        The mean of the two entropies by which the mutual information is divided.

    Returns
    -------
    float
        1 for two trivial labellings (one cluster each), 0 if only one is trivial.

    See Also
    --------
    ari : Adjusted Rand index.
    ami : Mutual information adjusted for chance.
    element_similarities : How alike the clusters of each object are.
    accuracy : Share of objects on which two matched labellings agree.
    anmi : Average NMI of a labelling with the members of an ensemble.

    Examples
    --------
    >>> nmi([0, 0, 1, 1], ["b", "b", "a", "a"])
    1.0
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.816497
    """
    _check.choice(average, "average", AVERAGES)
    return tables_of.nmi(_table_of_two(first, second), average)


def ari(first: Any, second: Any) -> float:
    """Adjusted Rand index of two labellings: 1 if they are the same partition, 0 on average by chance.

    Parameters
    ----------
    first, second : array of labels, or Consensus
        See `nmi`.

    Examples
    --------
    >>> round(ari([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.571429
    """
    return tables_of.ari(_table_of_two(first, second))


def accuracy(first: Any, second: Any) -> float:
    """Share of objects on which two labellings agree when their clusters are matched one to one in the best way.

    This is also known as the consistency index. The objects of clusters without a match count as errors.

    Parameters
    ----------
    first, second : array of labels, or Consensus
        See `nmi`.

    Examples
    --------
    >>> accuracy([0, 0, 1, 1], ["x", "x", "y", "z"])
    0.75
    """
    return tables_of.accuracy(_table_of_two(first, second))


def ami(first: Any, second: Any, *, average: Average = "arithmetic") -> float:
    """Adjusted mutual information: 1 if two labellings are the same partition, 0 on average by chance.

    Parameters
    ----------
    first, second : array of labels, or Consensus
        See `nmi`.
    average : {"geometric", "arithmetic"}
        The mean of the two entropies that bounds the mutual information.

    Notes
    -----
    Chance is a random labelling with clusters of the same sizes [1]_. NMI rises with the number of clusters by chance
    alone; AMI does not.

    References
    ----------
    .. [1] N. X. Vinh, J. Epps, J. Bailey, "Information theoretic measures for clusterings comparison", Journal of
       Machine Learning Research 11, 2010.

    Examples
    --------
    >>> round(ami([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.571429
    """
    _check.choice(average, "average", AVERAGES)
    return tables_of.adjusted_information(_table_of_two(first, second), average)


def jaccard(first: Any, second: Any) -> float:
    """Jaccard index: of the pairs of objects that either labelling puts together, the share that both do.

    Parameters
    ----------
    first, second : array of labels, or Consensus
        See `nmi`.

    Examples
    --------
    >>> jaccard([0, 0, 1, 1], [0, 0, 1, 2])
    0.5
    """
    return tables_of.pair_jaccard(_table_of_two(first, second))


def fowlkes_mallows(first: Any, second: Any) -> float:
    """Fowlkes-Mallows index: how many of the pairs that one labelling puts together the other does, in both directions.

    It is the geometric mean of the two shares, and 1 for equal partitions.

    Parameters
    ----------
    first, second : array of labels, or Consensus
        See `nmi`.

    Examples
    --------
    >>> round(fowlkes_mallows([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.707107
    """
    return tables_of.pair_fowlkes_mallows(_table_of_two(first, second))


def variation_of_information(first: Any, second: Any) -> float:
    """Variation of information: what each labelling leaves open about the other, in nats; 0 if they are the same.

    It is a distance between partitions: the sum of the two conditional entropies. Divided by the logarithm of the
    number of objects it lies in [0, 1].

    Parameters
    ----------
    first, second : array of labels, or Consensus
        See `nmi`.

    Examples
    --------
    >>> round(variation_of_information([0, 0, 1, 1], [0, 0, 1, 2]), 6)
    0.346574
    """
    return tables_of.variation(_table_of_two(first, second))


def element_similarity(first: Any, second: Any) -> float:
    """Element-centric similarity: the mean over the objects of how alike their clusters are in two labellings.

    Parameters
    ----------
    first, second : array of labels, or Consensus
        See `nmi`.

    See Also
    --------
    element_similarities : The value of each object.

    Examples
    --------
    >>> element_similarity([0, 0, 1, 1], [0, 0, 1, 2])
    0.75
    """
    return _mean_of_elements(_table_of_two(first, second))


def element_similarities(first: Any, second: Any) -> FloatArray:
    """Element-centric similarity of each object: how alike its clusters are in two labellings, from 0 to 1.

    Parameters
    ----------
    first, second : array of labels, or Consensus
        See `nmi`.

    Returns
    -------
    array of shape (n_objects,)
        NaN for objects without a label in either.

    Notes
    -----
    The similarity compares the random walks with restart from an object within its cluster in either labelling [1]_. In
    partitions it is ``|A & B| / max(|A|, |B|)``, where A and B are the clusters of the object, for any chance of a
    restart.

    References
    ----------
    .. [1] A. J. Gates, I. B. Wood, W. P. Hetrick, Y.-Y. Ahn, "Element-centric clustering comparison unifies overlaps
       and hierarchy", Scientific Reports 9, 2019, doi:10.1038/s41598-019-44892-y.

    Examples
    --------
    >>> element_similarities([0, 0, 1, 1, 1], ["a", "a", "b", "c", None])
    array([1. , 1. , 0.5, 0.5, nan])
    """
    one, other = _two_labellings(first, second)
    table = tables_of.contingency(
        one.codes, other.codes, one.n_clusters, other.n_clusters, np.ones(len(one.codes), dtype=np.int64)
    )
    known = (one.codes >= 0) & (other.codes >= 0)
    cells = table.first.astype(np.int64) * other.n_clusters + table.second
    wanted = one.codes[known].astype(np.int64) * other.n_clusters + other.codes[known]
    values = np.full(len(known), np.nan)
    # the cells of a table are in rising order
    values[known] = tables_of.element_shares(table)[np.searchsorted(cells, wanted)]
    return values


def anmi(labels: Any, ensemble: Any, *, average: Average = "geometric") -> float:
    """Average NMI of a labelling with the members of an ensemble.

    The NMI of a member is computed over the objects that the member labels; its weight in the average is the number of
    these objects times the weight of the member.

    Parameters
    ----------
    labels : array of labels, or Consensus
        One label per row of the ensemble. Rows without a label are left out.
    ensemble : Ensemble, or anything `as_ensemble` takes
    average : {"geometric", "arithmetic"}
        See `nmi`.

    Examples
    --------
    >>> round(anmi([0, 0, 1, 1], {"a": [0, 0, 1, 1], "b": [0, 0, 1, 2], "c": [0, None, 0, None]}), 6)
    0.726599
    """
    _check.choice(average, "average", AVERAGES)
    return _scored(labels, ensemble).anmi(average)


def cluster_density(labels: Any, ensemble: Any) -> FloatArray:
    """Mean co-association of the pairs of objects within each cluster; 0 for a cluster of one object.

    Parameters
    ----------
    labels : array of labels, or Consensus
        One label per row of the ensemble. Rows without a label are left out.
    ensemble : Ensemble, or anything `as_ensemble` takes

    Returns
    -------
    array of shape (n_clusters,)
        Clusters in order of first appearance, which for a Consensus is the order of its labels.

    See Also
    --------
    density : Mean of the cluster densities.
    inter_density : Mean co-association between clusters.

    Notes
    -----
    D(C) = sum_f w_f alpha_f (alpha_f - 1) / (W |C| (|C| - 1)), where alpha_f objects of C are in base cluster f,
    w_f is the weight of its member and W that of all members [1]_. Missing labels are in no base cluster.

    References
    ----------
    .. [1] G. Candel, "Linear time Evidence Accumulation Clustering with KMeans", 2023, arXiv:2311.09272.

    Examples
    --------
    >>> cluster_density(["a", "a", "b", "b", "c"], [[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    array([1. , 0.5, 0. ])
    """
    return densities_within(_scored(labels, ensemble))


def density(labels: Any, ensemble: Any) -> float:
    """Mean of the cluster densities, weighted by the sizes of the clusters.

    It can be used to compare labellings with the same number of clusters.

    Parameters
    ----------
    labels, ensemble
        See `cluster_density`.

    Examples
    --------
    >>> density(["a", "a", "b", "b", "c"], [[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    0.6
    """
    return mean_density_within(_scored(labels, ensemble))


def inter_density(labels: Any, ensemble: Any) -> FloatArray:
    """Mean co-association between each two clusters; the diagonal holds that within each cluster (`cluster_density`).

    Parameters
    ----------
    labels, ensemble
        See `cluster_density`.

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
    return densities_between(_scored(labels, ensemble))


def member_nmi_matrix(ensemble: Any, *, average: Average = "geometric") -> FloatArray:
    """NMI of every two members over the objects that both label; NaN if there are none.

    Parameters
    ----------
    ensemble : Ensemble, or anything `as_ensemble` takes
    average : {"geometric", "arithmetic"}
        See `nmi`.

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
    """ANMI of each member with the other members; NaN for a member that shares no objects with any other.

    Parameters
    ----------
    ensemble : Ensemble, or anything `as_ensemble` takes
    average : {"geometric", "arithmetic"}
        See `nmi`.

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


def _table_of_two(first: Any, second: Any) -> Contingency:
    one, other = _two_labellings(first, second)
    return shared_table(one, other, np.ones(len(one.codes), dtype=np.int64), "first and second")


def _two_labellings(first: Any, second: Any) -> tuple[Labelling, Labelling]:
    one = code_labelling(first, "first")
    other = code_labelling(second, "second", ids=one.ids, default_index=one.default_index)
    if len(one.codes) != len(other.codes):
        raise ValueError(
            f"first and second must label the same objects, got {len(one.codes):,} and {len(other.codes):,} "
            f"labels; put None where an object has no label."
        )
    return one, other


def _scored(labels: Any, ensemble: Any) -> Scored:
    members = soft_or_labels(ensemble)
    return score_labelling(code_beside(labels, "labels", members, advice=ADVICE), members)
