"""Pairs: mutual information of two members, and pairs of objects that members put neither together nor apart."""

from __future__ import annotations

import math

import numpy as np

from quorate.ops.compiling import njit


@njit(cache=True, nogil=True, inline="always")
def _add(total, rest, value):
    """Add a number to a sum kept as two numbers, of which the second is what rounding lost of the first."""
    fresh = total + value
    back = fresh - total
    return fresh, rest + ((total - (fresh - back)) + (value - back))


@njit(cache=True, nogil=True)
def _entropy(sizes, n_objects):
    """Return the entropy, in nats, of a partition into parts of these sizes, and how many are not empty."""
    total, rest, n_parts = 0.0, 0.0, 0
    for part in range(sizes.size):
        if sizes[part] > 0:
            size = float(sizes[part])
            total, rest = _add(total, rest, size / n_objects * math.log(n_objects / size))
            n_parts += 1
    return total + rest, n_parts


@njit(cache=True, nogil=True, inline="always")
def _nmi(table, first, second, n_objects, geometric):
    """Return the NMI of a table (k, l) with the sums first (k,) of its rows and second (l,) of its columns."""
    total, rest, n_cells = 0.0, 0.0, 0
    for one in range(first.size):
        for other in range(second.size):
            if table[one, other] > 0:
                cell = float(table[one, other])
                lift = cell * n_objects / (float(first[one]) * float(second[other]))
                total, rest = _add(total, rest, cell / n_objects * math.log(lift))
                n_cells += 1
    entropy, n_first = _entropy(first, n_objects)
    other_entropy, n_second = _entropy(second, n_objects)
    if n_cells == n_first and n_cells == n_second:
        return 1.0
    if n_first == 1 or n_second == 1:
        return 0.0
    mean = math.sqrt(entropy * other_entropy) if geometric else (entropy + other_entropy) / 2
    # rounding can carry the quotient past the ends of [0, 1]
    return min(max((total + rest) / mean, 0.0), 1.0)


@njit(cache=True, nogil=True)
def nmi_with_later(columns, n_clusters, counts, member, geometric, values, shared):
    """Write the NMI of one member with itself and every later one, and the number of objects both label.

    Shapes: columns (H, m), the labels of one member in a row; n_clusters (H,); counts (m,); values and shared (H,), of
    which the places from `member` on are written; a pair without a common object keeps its value. Sums are kept with
    what rounding lost, so that they do not depend on how clusters are numbered.
    """
    m = columns.shape[1]
    for other in range(member, columns.shape[0]):
        table = np.zeros((n_clusters[member], n_clusters[other]), dtype=np.int64)
        first, second = np.zeros(n_clusters[member], dtype=np.int64), np.zeros(n_clusters[other], dtype=np.int64)
        total = 0
        for row in range(m):
            label, other_label = columns[member, row], columns[other, row]
            if label >= 0 and other_label >= 0:
                table[label, other_label] += counts[row]
                first[label] += counts[row]
                second[other_label] += counts[row]
                total += counts[row]
        n_objects = float(total)
        shared[other] = n_objects
        if n_objects > 0:
            values[other] = _nmi(table, first, second, n_objects, geometric)


@njit(cache=True, nogil=True)
def _share(labels, weights, one, other):
    """Return the co-association of two rows over the members that label both of them, or -1 if no member does."""
    shared = known = 0.0
    for member in range(labels.shape[1]):
        if labels[one, member] >= 0 and labels[other, member] >= 0:
            known += weights[member]
            if labels[one, member] == labels[other, member]:
                shared += weights[member]
    return shared / known if known > 0.0 else -1.0


@njit(cache=True, nogil=True)
def _state(labels, weights, one, other, low, high):
    """Classify a pair of rows by its co-association.

    Returns 1 if the co-association lies strictly between low and high, 0 if it does not, and -1 if no member labels
    both rows.
    """
    share = _share(labels, weights, one, other)
    if share < 0.0:
        return -1
    return 1 if low < share < high else 0


@njit(cache=True, nogil=True)
def pair_shares(labels, weights, first, second, shares):
    """Write to shares[i] the co-association of rows first[i] and second[i], or -1 if no member labels both rows.

    Shapes: labels (m, H); weights (H,); first and second (p,) int64; shares (p,), which is overwritten.
    """
    for place in range(first.size):
        shares[place] = _share(labels, weights, first[place], second[place])


@njit(cache=True, nogil=True)
def ambiguous_pairs(labels, counts, weights, low, high, start, stop):
    """Count the pairs of one object in rows start..stop-1 and one object in a later row.

    Returns two numbers: the ambiguous pairs, and all pairs that at least one member labels. Shapes: labels (m, H);
    counts (m,), floats if the square of their sum would not fit into 64 bits; weights (H,). Pairs of objects within one
    row are not counted.
    """
    ambiguous = known = 0
    for one in range(start, stop):
        for other in range(one + 1, labels.shape[0]):
            state = _state(labels, weights, one, other, low, high)
            if state >= 0:
                pairs = counts[one] * counts[other]
                known += pairs
                ambiguous += state * pairs
    return ambiguous, known


@njit(cache=True, nogil=True)
def ambiguous_drawn(labels, weights, low, high, first, second):
    """Count the pairs of rows (first[i], second[i]) that are ambiguous, and those that any member labels."""
    ambiguous = known = 0
    for place in range(first.size):
        state = _state(labels, weights, first[place], second[place], low, high)
        if state >= 0:
            known += 1
            ambiguous += state
    return ambiguous, known
