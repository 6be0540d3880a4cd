"""One step of a Chebyshev recurrence with a sparse matrix, and the sparse form of a dense matrix of landmarks."""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit


@njit(cache=True, nogil=True, fastmath={"contract"})
def recurrence(indptr, indices, values, current, previous, factors, result):
    """Write factors[0] * (M current) - factors[1] * current - factors[2] * previous to result.

    M is a square CSR matrix of p rows given by indptr (p + 1,), indices and values, float32. current, previous and
    result are (p, b) float32, and factors is (3,) float32. previous and result may be the same array; current may be
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

    indptr comes from `count_nonzeros`; indices int32 and values float32 have indptr[-1] entries and are written.
    """
    for row in range(matrix.shape[0]):
        place = indptr[row]
        for column in range(matrix.shape[1]):
            if matrix[row, column] != 0:
                indices[place] = column
                values[place] = np.float32(matrix[row, column] * scale[row] * scale[column])
                place += 1
