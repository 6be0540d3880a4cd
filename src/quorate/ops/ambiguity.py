"""Pairs of objects on which members disagree: neither clearly together nor clearly apart."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def _share(labels, weights, one, other):
    """The pairwise co-association of two rows; -1 where no member knows both."""
    shared = known = 0.0
    for member in range(labels.shape[1]):
        if labels[one, member] >= 0 and labels[other, member] >= 0:
            known += weights[member]
            if labels[one, member] == labels[other, member]:
                shared += weights[member]
    return shared / known if known > 0.0 else -1.0


@njit(cache=True, nogil=True)
def _state(labels, weights, one, other, low, high):
    """1 where the pairwise co-association of two rows lies strictly between low and high, 0 where it does not, -1
    where no member knows both."""
    share = _share(labels, weights, one, other)
    if share < 0.0:
        return -1
    return 1 if low < share < high else 0


@njit(cache=True, nogil=True)
def pair_shares(labels, weights, first, second, shares):
    """shares[i] = pairwise co-association of rows first[i] and second[i]; -1 where no member knows both.

    labels (m, H); weights (H,); first, second (p,) int64; shares (p,) is written.
    """
    for place in range(first.size):
        shares[place] = _share(labels, weights, first[place], second[place])


@njit(cache=True, nogil=True)
def ambiguous_pairs(labels, counts, weights, low, high, start, stop):
    """Pairs of objects in rows start..stop-1 with objects of later rows: (ambiguous, known to some member).

    labels (m, H); counts (m,), floats where the square of their sum would not fit into 64 bits; weights (H,).
    Pairs within one row are not counted.
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
    """The same for drawn pairs of rows: how many of (first[i], second[i]) are (ambiguous, known to some member)."""
    ambiguous = known = 0
    for place in range(first.size):
        state = _state(labels, weights, first[place], second[place], low, high)
        if state >= 0:
            known += 1
            ambiguous += state
    return ambiguous, known
