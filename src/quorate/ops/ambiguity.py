"""Ambiguous pairs of objects: pairs that the members put neither clearly together nor clearly apart."""

from __future__ import annotations

from quorate.ops.compiling import njit


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
