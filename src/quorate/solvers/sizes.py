"""What methods need beside the rows: bytes of the tables between clusters, from the size of an ensemble alone.

A method states it in its line of the register. The figures are upper bounds that tests/test_memory.py compares with
measured peaks. Everything that is proportional to the labels, the rows or the clusters of all members is `linear_bytes`
and the same for all methods.
"""

from __future__ import annotations

from quorate._types import AnyEnsemble, Size

NUMBER = 8
"""Bytes of a number in a table."""
A_LABEL, A_ROW, A_CLUSTER = 240, 1_200, 400
"""Bytes that a method takes at most for each label, each row and each cluster of a member: copies, lists, graphs."""
AT_LEAST = 32_000_000
"""Bytes that a run takes whatever the ensemble is: code that is loaded, and tables too small to be counted."""


def size_of(ensemble: AnyEnsemble, n_clusters: int | None) -> Size:
    """The size of an ensemble; if no number of clusters is asked for, that of the largest member stands for it."""
    largest = int(ensemble.n_clusters.max())
    return Size(
        rows=ensemble.n_rows,
        members=ensemble.n_members,
        clusters=int(ensemble.offsets[-1]),
        largest=largest,
        wanted=largest if n_clusters is None else n_clusters,
    )


def linear_bytes(size: Size) -> int:
    """The bytes that are in proportion to the ensemble itself."""
    return AT_LEAST + size.rows * (A_LABEL * size.members + A_ROW) + A_CLUSTER * size.clusters


def few_tables(size: Size) -> int:
    """Tables of all base clusters and all clusters of the result, as the confidence of a result needs them."""
    return 3 * NUMBER * min(size.clusters * size.wanted, 2**23)


def label_space(size: Size) -> int:
    """The tables of the look-up loop: sums, rules, means, and what is computed on the way."""
    return 10 * NUMBER * size.clusters * (size.wanted + 32)


def member_tables(size: Size) -> int:
    """Tables of the clusters of one member with those of all, kept densely if they have at most 2^22 entries."""
    return few_tables(size) + 6 * NUMBER * min(size.largest * size.clusters, 2**22)


def search_tables(size: Size) -> int:
    """The tables of a search that may found twice as many clusters as the largest member has, and pairs of these."""
    found = min(size.rows, max(256, 2 * size.largest, size.wanted + 8))
    return few_tables(size) + NUMBER * (5 * size.clusters * found + 4 * found**2)


def voting_by_shares(size: Size) -> int:
    """Shares of base clusters in the clusters of a reference, and the votes of up to 32,768 rows for these."""
    reference = size.largest if size.largest >= size.wanted else min(size.rows, size.largest * size.wanted)
    return few_tables(size) + NUMBER * reference * (8 * size.clusters + 5 * min(size.rows, 64 * size.wanted + 32_768))


def cut_of_clusters(size: Size) -> int:
    """A spectral cut: matrices over base clusters if these are few, Lanczos vectors if not, and the points of a sample.

    The points of all rows are made block by block, whenever they are needed.
    """
    matrices = 7 * size.clusters**2 if size.clusters <= 2_000 else 4 * size.clusters * min(size.wanted + 20, 1_000)
    return few_tables(size) + NUMBER * (matrices + 3 * _sample(size) * min(size.wanted, size.clusters))


def weighted_cut_of_clusters(size: Size) -> int:
    """A spectral cut with certainties of the clusters, which are counted one member after the other."""
    return cut_of_clusters(size) + member_tables(size)


def embedding(size: Size) -> int:
    """Singular vectors of the rows: from matrices over the smaller side if it is small, and the points of a sample."""
    side = min(size.rows, size.clusters)
    if side > max(1_500, 2 * size.wanted):
        return few_tables(size) + NUMBER * (8 * size.rows + 4 * size.clusters) * size.wanted
    return few_tables(size) + NUMBER * (7 * side**2 + 3 * _sample(size) * min(size.wanted, side))


def _sample(size: Size) -> int:
    """The rows on which restarts of k-means run, whose points are held."""
    return min(size.rows, max(16_384, 64 * size.wanted))


def meta_clusters(size: Size) -> int:
    """The graph of all base clusters that share objects: at most one edge for each pair of labels of a row."""
    pairs = min(size.clusters**2, size.rows * size.members**2)
    return few_tables(size) + 14 * NUMBER * pairs + 6 * NUMBER * min(size.largest * size.clusters, 2**22)
