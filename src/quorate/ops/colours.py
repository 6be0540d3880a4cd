"""Colours of rows, clusters and members: numbers that follow from what is in the table, whatever its order and names.

This is the refinement of colours that tests graphs for isomorphism: all begin alike but for their counts and weights,
and in each round the colour of a row is made from those of its clusters, the colour of a cluster from those of its
rows, and the colour of a member from those of its clusters. Rows that differ in anything soon have different colours.
"""

from __future__ import annotations

import numpy as np

from quorate.ops.compiling import njit

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BITS_30, _BITS_27, _BITS_31 = np.uint64(30), np.uint64(27), np.uint64(31)


@njit(cache=True, nogil=True)
def mixed(value):
    """Return a number of 64 bits all of which depend on all bits of the value (the last step of SplitMix64)."""
    value = value + _STEP
    value = (value ^ (value >> _BITS_30)) * _FIRST
    value = (value ^ (value >> _BITS_27)) * _SECOND
    return value ^ (value >> _BITS_31)


@njit(cache=True, nogil=True)
def refine_colours(labels, offsets, counts, members, rows):
    """Do one round: write new colours of the members and of the rows.

    Shapes: labels (m, H); counts (m,), members (H,) and rows (m,), all of uint64. Sums wrap around at 2^64 and do not
    depend on the order of their terms, so neither the order of rows nor that of members or clusters has a say.
    """
    clusters = np.zeros(offsets[-1], dtype=np.uint64)
    for row in range(labels.shape[0]):
        own = mixed(rows[row]) * counts[row]
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                clusters[offsets[member] + label] += own
    for member in range(labels.shape[1]):
        total = np.uint64(0)
        for place in range(offsets[member], offsets[member + 1]):
            # a cluster without rows, as soft members may have one, is no part of the content
            if clusters[place] != 0:
                total += mixed(clusters[place])
        members[member] = mixed(members[member] ^ mixed(total))
        for place in range(offsets[member], offsets[member + 1]):
            clusters[place] = mixed(clusters[place] ^ members[member])
    for row in range(labels.shape[0]):
        total = counts[row]
        for member in range(labels.shape[1]):
            label = labels[row, member]
            if label >= 0:
                total += clusters[offsets[member] + label]
        rows[row] = mixed(rows[row] ^ mixed(total))
