"""Objects in the order of a picture, divided into as many bins as it has room for.

The work grows with the rows, never with the pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.ensemble import as_ensemble
from quorate._data.ids import aligned_result
from quorate._data.labelling import Pairing, code_beside, pair_rows
from quorate._data.rows import compress
from quorate._types import Consensus, Ensemble, FloatArray, IntArray
from quorate.ops.tables import cluster_counts
from quorate.solvers.contingency import matched
from quorate.solvers.linkage.dendrogram import row_counts
from quorate.solvers.weights import cluster_weight_shares


class LabelledRows(NamedTuple):
    """Distinct rows with counts, each in one cluster; a row whose objects are in two clusters occurs twice.

    `place` is the position of a row among the leaves of the tree, or all zeros if there is no tree.
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
    """Objects in order, divided into bins within clusters; a piece is the part of a row that falls into one bin.

    Bin b contains objects ``edges[b]`` to ``edges[b + 1] - 1`` of the order, and all of them are in ``clusters[b]``.
    `row`, `bin` and `counts` have one entry per piece: its row, its bin and its number of objects.
    """

    edges: NDArray[np.int64]
    clusters: NDArray[np.int32]
    row: NDArray[np.intp]
    bin: NDArray[np.int32]
    counts: NDArray[np.int64]

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the mean over the objects of each bin, given one value per row."""
        sums: FloatArray = np.bincount(self.bin, weights=values[self.row] * self.counts) / np.diff(self.edges)
        return sums

    def middle(self) -> NDArray[np.intp]:
        """Return the row of the object in the middle of each bin."""
        ends = np.cumsum(self.counts)
        return self.row[np.searchsorted(ends, (self.edges[1:] + self.edges[:-1]) // 2, side="right")]


def labelled_rows(result: Any, ensemble: Any) -> LabelledRows:
    """Return the distinct rows of an ensemble with their clusters in a labelling.

    Objects without a label are left out.
    """
    members = as_ensemble(ensemble)
    result = aligned_result(result, members.object_ids, "result")
    labelling = code_beside(result, "result", members)
    return with_places(pair_rows(members, labelling.codes, labelling.n_clusters), result, members)


def with_places(pairs: Pairing, result: Any, ensemble: Ensemble) -> LabelledRows:
    """Return pairs of row and cluster, with the position of each row among the leaves of the result's tree."""
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
    """Return the position of each distinct row among the leaves of the result's tree, or None if there is no tree."""
    if not isinstance(result, Consensus) or result.tree is None or len(result.tree) < 2:
        return None
    from scipy.cluster.hierarchy import leaves_list

    leaves = leaves_list(row_counts(result.tree))
    position = np.empty(len(leaves), dtype=np.int64)
    position[leaves] = np.arange(len(leaves))
    place = np.empty(n_rows, dtype=np.int64)
    place[inverse] = position if result.rows is None else position[result.rows]
    return place


def is_sampled(ensemble: Ensemble) -> bool:
    """Whether labels are missing because members got samples of the objects: `generate` made them, or `over_k` says so.

    Pictures then divide by the members that label both objects; otherwise a perfect cluster of objects of which each
    member gets 80% would have a co-association of about .64.
    """
    return ensemble.has_missing and (ensemble.info.get("k") is not None or bool(ensemble.info.get("samples")))


def mean_co_association(
    rows: Ensemble, groups: NDArray[np.int32], n_groups: int, *, pairwise: bool = False
) -> FloatArray:
    """Return the (n_groups, n_groups) mean co-association of two different objects, one from each group.

    It is computed from count tables. The diagonal is 1 for a group of a single object. Missing labels share nothing;
    with `pairwise` each pair of objects counts by the members that label both, and groups that no member knows share 0.
    """
    table = cluster_counts(rows.labels, rows.offsets, rows.counts, groups, n_groups).astype(np.float64)
    shares = cluster_weight_shares(rows)
    sizes = np.bincount(groups, weights=rows.counts, minlength=n_groups)
    together, pairs = table.T @ (shares[:, None] * table), np.outer(sizes, sizes)
    own = sizes
    if pairwise:
        known = np.add.reduceat(table, rows.offsets[:-1], axis=0)
        of_members = rows.weights / rows.weights.sum()
        pairs, own = known.T @ (of_members[:, None] * known), of_members @ known
    # an object is not a pair with itself
    np.fill_diagonal(together, together.diagonal() - shares @ table)
    np.fill_diagonal(pairs, pairs.diagonal() - own)
    unknown = (
        np.where(np.eye(n_groups, dtype=bool) & (sizes < 2)[:, None], 1.0, 0.0) if pairwise else np.ones_like(pairs)
    )
    result: FloatArray = np.divide(together, pairs, out=unknown, where=pairs > 1e-9)
    return np.clip(result, 0.0, 1.0)


def cluster_ranks(labelled: LabelledRows) -> NDArray[np.int64]:
    """Return the rank of each cluster in pictures.

    It is the order of the tree; without a tree, clusters that share much are next to each other.
    """
    if labelled.has_tree:
        first = np.full(labelled.n_clusters, np.iinfo(np.int64).max)
        np.minimum.at(first, labelled.labels, labelled.place)
        return np.argsort(np.argsort(first, kind="stable"))
    pairwise = is_sampled(labelled.rows)
    between = mean_co_association(labelled.rows, labelled.labels, labelled.n_clusters, pairwise=pairwise)
    return np.argsort(leaf_order(between))


def leaf_order(similarity: FloatArray) -> NDArray[np.intp]:
    """Return the order of the leaves of an average-link tree in which neighbours are as similar as the tree allows."""
    if len(similarity) < 3:
        return np.arange(len(similarity))
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = 1 - (similarity + similarity.T) / 2
    np.fill_diagonal(distance, 0.0)
    order: NDArray[np.intp] = leaves_list(linkage(squareform(distance, checks=False), "average", optimal_ordering=True))
    return order.astype(np.intp)


def cut_into_bins(labelled: LabelledRows, order: NDArray[np.intp], max_bins: int) -> Bins:
    """Divide each cluster into bins of equal size, about `max_bins` in all and at least one per cluster.

    `order` sorts the rows; the rows of a cluster must be next to each other in it.
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
    """Return the clusters in the order of the bins, each once, and where their objects begin and end."""
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
    """Gather objects in bins and return their mean co-association, ordered by the tree.

    Without a tree, the bins of each cluster are ordered by an average-link tree over them.
    """
    ranks = cluster_ranks(labelled)
    rest = () if labelled.has_tree else tuple(labelled.rows.labels.T[::-1])
    bins = cut_into_bins(labelled, np.lexsort((*rest, labelled.place, ranks[labelled.labels])), max_bins)
    pieces = replace(labelled.rows, labels=labelled.rows.labels[bins.row], counts=bins.counts)
    matrix = mean_co_association(pieces, bins.bin, len(bins.clusters), pairwise=is_sampled(pieces))
    order = np.arange(len(matrix)) if labelled.has_tree else ordered_bins(matrix, bins.clusters)
    edges = np.concatenate([[0], np.cumsum(np.diff(bins.edges)[order])])
    return Heatmap(matrix[np.ix_(order, order)], bins.clusters[order], edges, bins.middle()[order], order, bins)


def ordered_bins(matrix: FloatArray, clusters: IntArray) -> NDArray[np.intp]:
    """Order the bins of each cluster by a tree of their own."""
    first = np.flatnonzero(np.diff(clusters, prepend=-1))
    blocks = np.split(np.arange(len(clusters)), first[1:])
    return np.concatenate([block[leaf_order(matrix[np.ix_(block, block)])] for block in blocks])


def translated(labelled: LabelledRows) -> IntArray:
    """Replace the members' labels by the cluster of the labelling with which each base cluster shares most objects.

    Missing labels remain -1.
    """
    rows = labelled.rows
    table = cluster_counts(rows.labels, rows.offsets, rows.counts, labelled.labels, labelled.n_clusters)
    closest = table.argmax(axis=1)
    return np.where(rows.labels >= 0, closest[rows.offsets[:-1] + np.maximum(rows.labels, 0)], -1)


def matched_rows(results: Sequence[Consensus]) -> tuple[IntArray, NDArray[np.int64]]:
    """Return the distinct rows of labels over several results, and their counts, with clusters matched across results.

    A cluster keeps the number of the cluster in the result before with which it is matched (by the Hungarian method),
    and gets a new number if there is none.
    """
    first, *others = results
    aligned = [first, *(aligned_result(other, first.object_ids, "a result") for other in others)]
    rows, _ = compress(as_ensemble([result.labels for result in aligned], orientation="members", check=False))
    columns = [rows.labels[:, 0].astype(np.int64)]
    for member in range(1, rows.n_members):
        columns.append(matched(columns[-1], rows.labels[:, member].astype(np.int64), rows.counts))
    return np.column_stack(columns), rows.counts
