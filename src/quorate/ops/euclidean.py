"""Nearest centres and cluster sums, of feature rows and of points with few dimensions: the kernels of k-means.

The rows are prepared by the caller: they are float32, shifted and scaled so that their squares neither overflow nor
lose digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate.ops.compiling import njit

TILE = 256
"""Number of rows processed together: their running distances to one centre fit into the innermost cache."""

UNROLL = 8
"""Number of columns processed in one sweep over a tile; centres are padded with zeros to a multiple of it."""


def pad_columns(centres: NDArray[Any]) -> NDArray[np.float32]:
    """Return centres (k, d) as float32 with zero columns up to a multiple of UNROLL.

    This is the form that `nearest_centres` expects.
    """
    n_columns = centres.shape[1]
    padded = np.zeros((len(centres), -(-n_columns // UNROLL) * UNROLL), dtype=np.float32)
    padded[:, :n_columns] = centres
    return padded


@njit(cache=True, nogil=True, inline="always", fastmath={"contract"})
def _nearest_in_tile(tile, centres, first, last, distance, least, nearest):
    """Find the nearest of the centres first..last-1 for each row of a tile; least and nearest (TILE,) are written.

    tile (d, TILE) is transposed: it holds columns as rows, so that the inner loop runs over rows in vector registers.
    All rows go through the same sums in the same order, so the answer for a row does not depend on its position in the
    tile. Differences are squared instead of expanding the square, so no digits cancel, however far away the origin is.
    """
    least[:] = np.inf
    nearest[:] = 0
    for centre in range(first, last):
        distance[:] = 0
        for column in range(0, tile.shape[0], 8):
            x0, x1, x2, x3 = tile[column], tile[column + 1], tile[column + 2], tile[column + 3]
            x4, x5, x6, x7 = tile[column + 4], tile[column + 5], tile[column + 6], tile[column + 7]
            c0, c1, c2, c3 = (
                centres[centre, column],
                centres[centre, column + 1],
                centres[centre, column + 2],
                centres[centre, column + 3],
            )
            c4, c5, c6, c7 = (
                centres[centre, column + 4],
                centres[centre, column + 5],
                centres[centre, column + 6],
                centres[centre, column + 7],
            )
            for row in range(256):
                d0, d1, d2, d3 = x0[row] - c0, x1[row] - c1, x2[row] - c2, x3[row] - c3
                d4, d5, d6, d7 = x4[row] - c4, x5[row] - c5, x6[row] - c6, x7[row] - c7
                total = distance[row] + d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
                distance[row] = total + d4 * d4 + d5 * d5 + d6 * d6 + d7 * d7
        for row in range(256):
            if distance[row] < least[row]:
                least[row] = distance[row]
                nearest[row] = centre - first


@njit(cache=True, nogil=True, fastmath={"contract"})
def nearest_centres(rows, centres, starts, labels):
    """Write to labels[i, q] the nearest of the centres of member q, the lowest in a tie.

    The centres of member q are centres[starts[q]:starts[q + 1]]. Shapes: rows (n, d) float32; centres (K, padded d)
    float32, see `pad_columns`; labels (n, members). A tile of rows is transposed once and compared with the centres of
    all members while it is in the cache.
    """
    n_rows, n_columns = rows.shape
    tile = np.zeros((centres.shape[1], TILE), dtype=np.float32)
    distance = np.empty(TILE, dtype=np.float32)
    least = np.empty(TILE, dtype=np.float32)
    nearest = np.empty(TILE, dtype=np.int32)
    for start in range(0, n_rows, TILE):
        n_here = min(TILE, n_rows - start)
        for row in range(n_here):
            for column in range(n_columns):
                tile[column, row] = rows[start + row, column]
        for member in range(starts.size - 1):
            _nearest_in_tile(tile, centres, starts[member], starts[member + 1], distance, least, nearest)
            for row in range(n_here):
                labels[start + row, member] = nearest[row]


@njit(cache=True, nogil=True)
def nearest_centres_csr(data, indices, indptr, table, bias, starts, labels):
    """Do what `nearest_centres` does for sparse rows.

    For a row x, the nearest centre of a member is the c with the least bias[c] - 2 x . c. data, indices and indptr are
    a CSR matrix of n rows. table (d, K) float32 holds the centres as columns, so that each stored value is multiplied
    with all of them in one contiguous sweep; bias (K,) holds their squared norms.
    """
    score = np.empty(bias.size, dtype=np.float32)
    for row in range(indptr.size - 1):
        score[:] = bias
        for place in range(indptr[row], indptr[row + 1]):
            value = np.float32(-2.0) * data[place]
            column = indices[place]
            for centre in range(bias.size):
                score[centre] += value * table[column, centre]
        for member in range(starts.size - 1):
            best = starts[member]
            for centre in range(starts[member], starts[member + 1]):
                if score[centre] < score[best]:
                    best = centre
            labels[row, member] = best - starts[member]


@njit(cache=True, nogil=True)
def add_to_clusters(rows, labels, sums, counts):
    """Add rows (n, d) float32 to the sums (k, d) float64 and counts (k,) of their clusters.

    Rows labelled -1 are skipped.
    """
    for row in range(rows.shape[0]):
        label = labels[row]
        if label >= 0:
            counts[label] += 1
            for column in range(rows.shape[1]):
                sums[label, column] += rows[row, column]


@njit(cache=True, nogil=True)
def add_to_clusters_csr(data, indices, indptr, labels, sums, counts):
    """Do what `add_to_clusters` does for sparse rows."""
    for row in range(indptr.size - 1):
        label = labels[row]
        if label >= 0:
            counts[label] += 1
            for place in range(indptr[row], indptr[row + 1]):
                sums[label, indices[place]] += data[place]


@njit(cache=True, nogil=True)
def prepare(rows, shift, scale, prepared):
    """Write (rows - shift) * scale to `prepared`, computed in float64 and rounded to float32 at the end.

    rows (n, d) may be of any real type.
    """
    for row in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            prepared[row, column] = (rows[row, column] - shift[column]) * scale


@njit(cache=True, nogil=True)
def prepare_columns(rows, shift, scale, columns, prepared):
    """Do what `prepare` does for the given columns; prepared has the shape (n, len(columns))."""
    for row in range(rows.shape[0]):
        for place in range(columns.size):
            column = columns[place]
            prepared[row, place] = (rows[row, column] - shift[column]) * scale


@njit(cache=True, nogil=True)
def prepare_projection(rows, shift, scale, matrix, prepared):
    """Do what `prepare` does and project the rows by matrix (d, p); prepared has the shape (n, p).

    BLAS is not used, because its sums depend on the number of threads.
    """
    total = np.empty(matrix.shape[1])
    for row in range(rows.shape[0]):
        total[:] = 0.0
        for column in range(rows.shape[1]):
            value = (rows[row, column] - shift[column]) * scale
            for place in range(matrix.shape[1]):
                total[place] += value * matrix[column, place]
        for place in range(matrix.shape[1]):
            prepared[row, place] = total[place]


@njit(cache=True, nogil=True)
def column_facts(rows, sums, lows, highs):
    """Update the sum, the lowest and the highest value of each column with rows (n, d); a NaN shows in the sum."""
    for row in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            value = np.float64(rows[row, column])
            sums[column] += value
            lows[column] = min(lows[column], value)
            highs[column] = max(highs[column], value)


@njit(cache=True, nogil=True)
def waiting_rows(labels, gaps, drift, start, stop):
    """Return the rows start..stop-1 whose nearest centre may have changed since their gap was written.

    gaps[i] (m,) float32 is how much farther the second nearest centre was, less what the centres moved since then, and
    becomes smaller by drift[labels[i]]: the most by which the centres of the last sweep can have reduced it. Invariant:
    as long as gaps[i] is above 0, the nearest centre is the same.
    """
    rows = np.empty(stop - start, dtype=np.intp)
    n_waiting = 0
    for row in range(start, stop):
        gaps[row] -= drift[labels[row]]
        if not gaps[row] > 0:
            rows[n_waiting] = row
            n_waiting += 1
    return rows[:n_waiting]


@njit(cache=True, nogil=True)
def reassign_points(points, rows, counts, unit, centres, labels, gaps, sums, sizes):
    """Give the points of some rows their nearest centres, the lowest in a tie, and change the sums of the clusters.

    Shapes: points (r, d) are those of rows (r,); counts, labels and gaps (m,), see `waiting_rows`; centres (d, k), one
    column per centre; sums (k, d) and sizes (k,) int64 are changed by the points that moved, as whole numbers of
    1 / unit, so that they depend on no order. A row that is labelled -1 is in no cluster yet. Differences are squared
    instead of expanding the square, so no digits cancel, and the answer for a point does not depend on other points.
    """
    squared = np.empty(centres.shape[1])
    for place in range(rows.size):
        squared[:] = 0.0
        for column in range(points.shape[1]):
            value = points[place, column]
            for centre in range(squared.size):
                difference = value - centres[column, centre]
                squared[centre] += difference * difference
        best, second = np.int64(0), np.inf
        for centre in range(1, squared.size):
            if squared[centre] < squared[best]:
                second = squared[best]
                best = centre
            elif squared[centre] < second:
                second = squared[centre]
        row = rows[place]
        gaps[row] = np.sqrt(second) - np.sqrt(squared[best])
        if labels[row] != best:
            move_point(points[place], counts[row], unit, labels[row], best, sums, sizes)
            labels[row] = best


@njit(cache=True, nogil=True, inline="always")
def move_point(point, count, unit, old, new, sums, sizes):
    """Move a point (d,) that stands for `count` objects from one cluster (-1: none) to another; see above."""
    sizes[new] += count
    if old >= 0:
        sizes[old] -= count
    for column in range(point.size):
        value = np.int64(np.rint(point[column] * count * unit))
        sums[new, column] += value
        if old >= 0:
            sums[old, column] -= value
