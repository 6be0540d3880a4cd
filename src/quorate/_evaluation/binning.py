"""Objects in the order of a picture and cut into as many bins as it has room for; work goes by rows, never by pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.alignment import aligned_result
from quorate._data.compression import compress
from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import code_beside
from quorate._data.pairing import Pairing, pair_rows
from quorate._types import Consensus, Ensemble, FloatArray, IntArray
from quorate.ops.tables import cluster_counts
from quorate.solvers.linkage.dendrogram import row_counts
from quorate.solvers.weights import cluster_weight_shares


class LabelledRows(NamedTuple):
    """Distinct rows with counts, each in one cluster; a row whose objects are in two clusters is there twice.

    `place` is the place of a row among the leaves of the tree, all zeros where there is none.
    """

    rows: Ensemble
    labels: NDArray[np.int32]
    sizes: NDArray[np.int64]
    place: NDArray[np.int64]
    has_tree: bool

    @property
    def n_clusters(self) -> int:
        return len(self.sizes)


class Bins(NamedTuple):
    """Objects in order, cut into bins within clusters; `pieces` are the parts of rows that fall into one bin.

    Bin b holds objects ``edges[b]`` to ``edges[b + 1] - 1`` of the order, and all of them are in ``clusters[b]``.
    """

    edges: NDArray[np.int64]
    clusters: NDArray[np.int32]
    row: NDArray[np.intp]
    bin: NDArray[np.int32]
    counts: NDArray[np.int64]

    def mean(self, values: FloatArray) -> FloatArray:
        """Mean over the objects of each bin of a value a row."""
        sums: FloatArray = np.bincount(self.bin, weights=values[self.row] * self.counts) / np.diff(self.edges)
        return sums

    def middle(self) -> NDArray[np.intp]:
        """The row of the object in the midst of each bin."""
        ends = np.cumsum(self.counts)
        return self.row[np.searchsorted(ends, (self.edges[1:] + self.edges[:-1]) // 2, side="right")]


def labelled_rows(result: Any, ensemble: Any) -> LabelledRows:
    """A labelling of the rows of an ensemble, brought to distinct rows; objects without a label are left out."""
    members = as_ensemble(ensemble)
    result = aligned_result(result, members.object_ids, "result")
    labelling = code_beside(result, "result", members)
    return with_places(pair_rows(members, labelling.codes, labelling.n_clusters), result, members)


def with_places(pairs: Pairing, result: Any, ensemble: Ensemble) -> LabelledRows:
    """Pairs of row and cluster, with the place of each row among the leaves of the tree that a result may have."""
    rows, inverse = compress(ensemble)
    place = _tree_places(result, inverse, rows.n_rows)
    nowhere = np.zeros(len(pairs.labels), dtype=np.int64)
    return LabelledRows(
        pairs.rows,
        pairs.labels,
        pairs.sizes.astype(np.int64),
        nowhere if place is None else place[pairs.distinct],
        place is not None,
    )


def _tree_places(result: Any, inverse: NDArray[np.intp], n_rows: int) -> NDArray[np.int64] | None:
    """For each distinct row its place among the leaves of the result's tree; None where there is no tree."""
    if not isinstance(result, Consensus) or result.tree is None or len(result.tree) < 2:
        return None
    from scipy.cluster.hierarchy import leaves_list

    leaves = leaves_list(row_counts(result.tree))
    position = np.empty(len(leaves), dtype=np.int64)
    position[leaves] = np.arange(len(leaves))
    place = np.empty(n_rows, dtype=np.int64)
    place[inverse] = position if result.rows is None else position[result.rows]
    return place


def mean_co_association(rows: Ensemble, groups: NDArray[np.int32], n_groups: int) -> FloatArray:
    """(n_groups, n_groups) mean co-association of two different objects, one from each group; by count tables.

    A group of a single object has 1 on the diagonal. Labels that are missing share nothing.
    """
    table = cluster_counts(rows.labels, rows.offsets, rows.counts, groups, n_groups).astype(np.float64)
    shares = cluster_weight_shares(rows)
    sizes = np.bincount(groups, weights=rows.counts, minlength=n_groups)
    together, pairs = table.T @ (shares[:, None] * table), np.outer(sizes, sizes)
    # an object is not a pair with itself
    np.fill_diagonal(together, together.diagonal() - shares @ table)
    np.fill_diagonal(pairs, pairs.diagonal() - sizes)
    result: FloatArray = np.divide(together, pairs, out=np.ones_like(pairs), where=pairs > 0)
    return np.clip(result, 0.0, 1.0)


def cluster_ranks(labelled: LabelledRows) -> NDArray[np.int64]:
    """For each cluster its rank in pictures: as the tree has them, or clusters that share much side by side."""
    if labelled.has_tree:
        first = np.full(labelled.n_clusters, np.iinfo(np.int64).max)
        np.minimum.at(first, labelled.labels, labelled.place)
        return np.argsort(np.argsort(first, kind="stable"))
    between = mean_co_association(labelled.rows, labelled.labels, labelled.n_clusters)
    return np.argsort(leaf_order(between))


def leaf_order(similarity: FloatArray) -> NDArray[np.intp]:
    """Order of the leaves of an average-link tree, neighbours as alike as the tree allows."""
    if len(similarity) < 3:
        return np.arange(len(similarity))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = 1 - (similarity + similarity.T) / 2
    np.fill_diagonal(distance, 0.0)
    order: NDArray[np.intp] = leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True))
    return order.astype(np.intp)


def cut_into_bins(labelled: LabelledRows, order: NDArray[np.intp], max_bins: int) -> Bins:
    """Bins of equal size within each cluster, about `max_bins` in all and one a cluster at least.

    `order` sorts the rows; the rows of a cluster are together in it.
    """
    counts, labels = labelled.rows.counts[order], labelled.labels[order]
    ends = np.cumsum(counts)
    starts_of_clusters = np.flatnonzero(np.diff(labels, prepend=-1))
    borders = np.append(ends[starts_of_clusters] - counts[starts_of_clusters], ends[-1])
    edges = _bin_edges(borders, max_bins)
    cuts = np.union1d(edges, ends)
    pieces = np.searchsorted(ends, cuts[:-1], side="right")
    bins = np.searchsorted(edges, cuts[:-1], side="right") - 1
    clusters = labels[np.searchsorted(ends, edges[:-1], side="right")]
    return Bins(edges, clusters, order[pieces], bins.astype(np.int32), np.diff(cuts))


def _bin_edges(borders: NDArray[np.int64], max_bins: int) -> NDArray[np.int64]:
    sizes = np.diff(borders)
    wanted = np.clip(np.floor(max_bins * sizes / borders[-1]), 1, sizes).astype(int)
    parts = [start + np.arange(n) * size // n for start, size, n in zip(borders[:-1], sizes, wanted, strict=True)]
    return np.append(np.concatenate(parts), borders[-1]).astype(np.int64)


def runs(clusters: IntArray, edges: NDArray[np.int64]) -> tuple[IntArray, NDArray[np.int64]]:
    """Clusters in the order of the bins, each once, and where they begin and end among objects."""
    first = np.flatnonzero(np.diff(clusters, prepend=-1))
    return clusters[first], np.append(edges[first], edges[-1])


class Heatmap(NamedTuple):
    """Mean co-association between bins in the order of a picture.

    `clusters`, `edges` and `sizes` belong to the bins in this order; `row` is the labelled row in the middle of each
    bin, and `mean(values)` the mean over the objects of each bin of a value per row.
    """

    matrix: FloatArray
    clusters: IntArray
    edges: NDArray[np.int64]
    row: NDArray[np.intp]
    order: NDArray[np.intp]
    bins: Bins

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.edges)

    def mean(self, values: FloatArray) -> FloatArray:
        return self.bins.mean(values)[self.order]


def heatmap(labelled: LabelledRows, max_bins: int) -> Heatmap:
    """Gather objects in bins, ordered by the tree; where there is none, bins of a cluster by a tree grown over them."""
    ranks = cluster_ranks(labelled)
    rest = () if labelled.has_tree else tuple(labelled.rows.labels.T[::-1])
    bins = cut_into_bins(labelled, np.lexsort((*rest, labelled.place, ranks[labelled.labels])), max_bins)
    pieces = replace(labelled.rows, labels=labelled.rows.labels[bins.row], counts=bins.counts)
    matrix = mean_co_association(pieces, bins.bin, len(bins.clusters))
    order = np.arange(len(matrix)) if labelled.has_tree else ordered_bins(matrix, bins.clusters)
    edges = np.concatenate([[0], np.cumsum(np.diff(bins.edges)[order])])
    return Heatmap(matrix[np.ix_(order, order)], bins.clusters[order], edges, bins.middle()[order], order, bins)


def ordered_bins(matrix: FloatArray, clusters: IntArray) -> NDArray[np.intp]:
    """Bins of a cluster in the order of a tree of their own."""
    first = np.flatnonzero(np.diff(clusters, prepend=-1))
    blocks = np.split(np.arange(len(clusters)), first[1:])
    return np.concatenate([block[leaf_order(matrix[np.ix_(block, block)])] for block in blocks])
