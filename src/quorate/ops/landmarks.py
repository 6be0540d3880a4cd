"""Landmarks of feature rows: the nearest ones, the graph, points carried to rows; a Chebyshev recurrence.

These are the kernels of the landmark-spectral base clusterer. Rows and landmarks are prepared by the caller, as for the
built-in k-means: they are float32, shifted and scaled so that their squares neither overflow nor lose digits. n is the
number of rows, p that of landmarks, d that of columns, and K that of the nearest landmarks kept per row.
"""

from __future__ import annotations

import math

import numpy as np

from quorate.ops.compiling import njit

TILE = 256
"""Number of rows processed together: their running distances to one landmark fit into the innermost cache."""

LEAST_WEIGHT = 1e-8
"""The weight of an edge is never below this, so that a row far from all landmarks is still connected to its nearest."""


GRID = 1024.0
"""The coordinates of points are rounded to multiples of 1 / GRID."""


@njit(cache=True, nogil=True, inline="always")
def _place(near, squared, landmark, value):
    """Insert a landmark into the sorted lists near (K,) and squared (K,); equal distances keep their order."""
    place = near.size - 1
    while place > 0 and value < squared[place - 1]:
        near[place], squared[place] = near[place - 1], squared[place - 1]
        place -= 1
    near[place], squared[place] = landmark, value


@njit(cache=True, nogil=True, inline="always", fastmath={"contract"})
def _tile_distances(tile, landmark, distance):
    """Write to distance[row] the squared distance of a tile's rows to one landmark (d,).

    tile (d, TILE) is transposed: it holds columns as rows.
    """
    n_columns = tile.shape[0]
    distance[:] = 0
    column = 0
    while column + 4 <= n_columns:
        x0, x1, x2, x3 = tile[column], tile[column + 1], tile[column + 2], tile[column + 3]
        c0, c1, c2, c3 = landmark[column], landmark[column + 1], landmark[column + 2], landmark[column + 3]
        for row in range(256):
            d0, d1, d2, d3 = x0[row] - c0, x1[row] - c1, x2[row] - c2, x3[row] - c3
            distance[row] = distance[row] + d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3
        column += 4
    while column < n_columns:
        values, value = tile[column], landmark[column]
        for row in range(256):
            difference = values[row] - value
            distance[row] += difference * difference
        column += 1


@njit(cache=True, nogil=True, fastmath={"contract"})
def nearest_landmarks(rows, landmarks, near, squared):
    """Find the nearest landmarks of each row, the nearest first, the lowest number first in a tie.

    Every distance is computed. Shapes: rows (n, d) and landmarks (p, d) float32; near (n, K) int32 and squared (n, K)
    float32 are written, K <= p. A tile of rows is transposed so that the inner loop runs over rows in vector registers.
    All rows go through the same sums in the same order, so the answer for a row does not depend on its position in the
    tile.
    """
    n_rows, n_columns = rows.shape
    last = near.shape[1] - 1
    tile = np.zeros((n_columns, TILE), dtype=np.float32)
    distance = np.empty(TILE, dtype=np.float32)
    worst = np.empty(TILE, dtype=np.float32)
    for start in range(0, n_rows, TILE):
        n_here = min(TILE, n_rows - start)
        for row in range(n_here):
            for column in range(n_columns):
                tile[column, row] = rows[start + row, column]
        squared[start : start + n_here] = np.inf
        worst[:] = np.inf
        for landmark in range(landmarks.shape[0]):
            _tile_distances(tile, landmarks[landmark], distance)
            for row in range(n_here):
                if distance[row] < worst[row]:
                    _place(near[start + row], squared[start + row], landmark, distance[row])
                    worst[row] = squared[start + row, last]


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _squared_distance(row, other):
    """Return the squared distance of two float32 vectors; differences are squared, so no digits cancel."""
    total = np.float32(0)
    for column in range(row.size):
        difference = row[column] - other[column]
        total += difference * difference
    return total


@njit(cache=True, nogil=True)
def nearest_landmarks_by_groups(rows, landmarks, groups, starts, around, near, squared):
    """Do what `nearest_landmarks` does, approximately, by looking at few of the landmarks.

    For each row there are three steps: find the nearest group centre, then the nearest landmark of that group, then the
    nearest of the landmarks around that one. groups (g, d) float32; the landmarks of group j are starts[j]..starts[j +
    1] - 1; around (p, c) int32 holds the landmarks nearest to each landmark, K <= c.
    """
    last = near.shape[1] - 1
    for place in range(rows.shape[0]):
        row = rows[place]
        best_group, least = 0, np.float32(np.inf)
        for group in range(groups.shape[0]):
            value = _squared_distance(row, groups[group])
            if value < least:
                best_group, least = group, value
        best, least = starts[best_group], np.float32(np.inf)
        for landmark in range(starts[best_group], starts[best_group + 1]):
            value = _squared_distance(row, landmarks[landmark])
            if value < least:
                best, least = landmark, value
        squared[place] = np.inf
        for candidate in range(around.shape[1]):
            landmark = around[best, candidate]
            value = _squared_distance(row, landmarks[landmark])
            if value < squared[place, last]:
                _place(near[place], squared[place], landmark, value)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _four_products(tile, directions, first, products):
    """Write to products (4, TILE) the products of a tile's rows with the directions first..first + 3.

    tile (d, TILE) is transposed: it holds columns as rows, and d is a multiple of 4.
    """
    products[:] = 0
    p0, p1, p2, p3 = products[0], products[1], products[2], products[3]
    u, v, w, z = directions[first], directions[first + 1], directions[first + 2], directions[first + 3]
    for column in range(0, tile.shape[0], 4):
        x0, x1, x2, x3 = tile[column], tile[column + 1], tile[column + 2], tile[column + 3]
        u0, u1, u2, u3 = u[column], u[column + 1], u[column + 2], u[column + 3]
        v0, v1, v2, v3 = v[column], v[column + 1], v[column + 2], v[column + 3]
        w0, w1, w2, w3 = w[column], w[column + 1], w[column + 2], w[column + 3]
        z0, z1, z2, z3 = z[column], z[column + 1], z[column + 2], z[column + 3]
        for row in range(256):
            p0[row] = p0[row] + x0[row] * u0 + x1[row] * u1 + x2[row] * u2 + x3[row] * u3
            p1[row] = p1[row] + x0[row] * v0 + x1[row] * v1 + x2[row] * v2 + x3[row] * v3
            p2[row] = p2[row] + x0[row] * w0 + x1[row] * w1 + x2[row] * w2 + x3[row] * w3
            p3[row] = p3[row] + x0[row] * z0 + x1[row] * z1 + x2[row] * z2 + x3[row] * z3


@njit(cache=True, nogil=True)
def project(rows, directions, result):
    """Write the products of each row with each direction to result (n, m).

    rows (n, d) is float32. directions (m, padded d) is float32; m is a multiple of 4, and zeros pad d to one. All rows
    go through the same sums in the same order, so a row's result does not depend on its position. BLAS is faster, but
    its sums depend on the number of rows.
    """
    n_rows, n_columns = rows.shape
    tile = np.zeros((directions.shape[1], TILE), dtype=np.float32)
    products = np.empty((4, TILE), dtype=np.float32)
    for start in range(0, n_rows, TILE):
        n_here = min(TILE, n_rows - start)
        for row in range(n_here):
            for column in range(n_columns):
                tile[column, row] = rows[start + row, column]
        for first in range(0, directions.shape[0], 4):
            _four_products(tile, directions, first, products)
            for row in range(n_here):
                for place in range(4):
                    result[start + row, first + place] = products[place, row]


@njit(cache=True, nogil=True)
def most_similar_landmarks(similarity, near, squared):
    """Find the landmarks most similar to each row, the lowest number in a tie.

    similarity (n, p) is that of unit vectors. near (n, K) int32 and squared (n, K) float32, which is the squared
    distance 2 - 2 similarity, are written.
    """
    last = near.shape[1] - 1
    for row in range(similarity.shape[0]):
        squared[row] = np.inf
        for landmark in range(similarity.shape[1]):
            value = np.float32(2.0) - np.float32(2.0) * similarity[row, landmark]
            if value < squared[row, last]:
                _place(near[row], squared[row], landmark, max(value, np.float32(0)))


@njit(cache=True, nogil=True)
def weigh(squared, width, weight):
    """Write exp(-squared / (2 width^2)) to weight, but at least LEAST_WEIGHT.

    squared and weight are (n, K) float32; width is above 0.
    """
    factor = -0.5 / (width * width)
    for row in range(squared.shape[0]):
        for place in range(squared.shape[1]):
            weight[row, place] = max(math.exp(factor * squared[row, place]), LEAST_WEIGHT)


@njit(cache=True, nogil=True)
def add_landmark_pairs(near, weight, folded):
    """Add w_f w_g / (sum of the row's weights) to folded[f, g] for every two landmarks f and g of a row.

    near and weight are (n, K); folded is (p, p) float64. The result is the graph that the graph of rows and landmarks
    induces on the landmarks.
    """
    n_near = near.shape[1]
    for row in range(near.shape[0]):
        total = 0.0
        for place in range(n_near):
            total += weight[row, place]
        for first in range(n_near):
            share = weight[row, first] / total
            target = folded[near[row, first]]
            for second in range(n_near):
                target[near[row, second]] += share * weight[row, second]


@njit(cache=True, nogil=True)
def points_of_rows(near, weight, table, points):
    """Write to points[i] the sum of weight * table[landmark] over the landmarks of row i, scaled to length 1.

    Coordinates are rounded to multiples of 1 / GRID: objects of one part of the graph often have the same point, and
    without rounding, k-means would divide such a part by the errors of the eigenvectors. A sum of zeros remains zero.
    near and weight are (n, K); table is (p, m) float64; points (n, m) float32 is written.
    """
    n_columns = table.shape[1]
    total = np.empty(n_columns)
    for row in range(near.shape[0]):
        total[:] = 0.0
        for place in range(near.shape[1]):
            value = weight[row, place]
            source = table[near[row, place]]
            for column in range(n_columns):
                total[column] += value * source[column]
        length = 0.0
        for column in range(n_columns):
            length += total[column] * total[column]
        scale = 1.0 / math.sqrt(length) if length > 0 else 0.0
        for column in range(n_columns):
            points[row, column] = math.floor(total[column] * scale * GRID + 0.5) / GRID


@njit(cache=True, nogil=True, fastmath={"contract"})
def recurrence(indptr, indices, values, current, previous, factors, result):
    """Write factors[0] * (M current) - factors[1] * current - factors[2] * previous to result.

    M is a square CSR matrix of p rows given by indptr (p + 1,), indices and values, float64. current, previous and
    result are (p, b) float64, and factors is (3,) float64. previous and result may be the same array; current may be
    neither. All b columns go through the same sums in the same order, and the inner loop runs over them in vector
    registers.
    """
    product, own, before = factors[0], factors[1], factors[2]
    n_columns = current.shape[1]
    for row in range(indptr.size - 1):
        target, here, earlier = result[row], current[row], previous[row]
        for column in range(n_columns):
            target[column] = -own * here[column] - before * earlier[column]
        for place in range(indptr[row], indptr[row + 1]):
            value, source = product * values[place], current[indices[place]]
            for column in range(n_columns):
                target[column] += value * source[column]


@njit(cache=True, nogil=True)
def count_nonzeros(matrix, indptr):
    """Write to indptr (p + 1,) where the rows of the CSR form of matrix (p, p) start and end."""
    indptr[0] = 0
    for row in range(matrix.shape[0]):
        count = 0
        for column in range(matrix.shape[1]):
            count += matrix[row, column] != 0
        indptr[row + 1] = indptr[row] + count


@njit(cache=True, nogil=True)
def scaled_nonzeros(matrix, scale, indptr, indices, values):
    """Write the entries of matrix (p, p) that are not 0, times scale[row] * scale[column], in CSR form.

    indptr comes from `count_nonzeros`; indices int32 and values float64 have indptr[-1] entries and are written.
    """
    for row in range(matrix.shape[0]):
        place = indptr[row]
        for column in range(matrix.shape[1]):
            if matrix[row, column] != 0:
                indices[place] = column
                values[place] = matrix[row, column] * scale[row] * scale[column]
                place += 1
