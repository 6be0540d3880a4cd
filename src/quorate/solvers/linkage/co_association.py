"""Co-association between rows, as pairs that share something or as a dense matrix; in whole numbers if possible."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble, FloatArray
from quorate.ops.neighbours import inverted_lists, mirror, place_block, shared_block, shared_matrix
from quorate.ops.threads import map_blocks, map_fixed_blocks
from quorate.solvers.linkage.average_link import WORK, near_order
from quorate.solvers.local_weights import cluster_overlap
from quorate.solvers.weights import relative_weights

Normalization = Literal["ensemble", "pairwise"]
NORMALIZATIONS: tuple[Normalization, ...] = ("ensemble", "pairwise")

BLOCK_ROWS = 4096
"""Rows per block of the sparse matrix; beyond its result a block needs a few numbers per row of the ensemble."""
SAMPLE_ROWS = 256
"""How many rows are looked at to estimate the number of pairs."""
BYTES_A_PAIR = 120
"""Memory per pair: in the upper triangle, in both triangles, and in the lists of merging with room to grow."""
EXACT_SCALE = 2**31
"""The largest common multiple of the divisors by which ratios are still made whole numbers."""


class Pairs(NamedTuple):
    """The upper triangle of a sparse symmetric matrix: row i has the columns columns[start[i]:start[i + 1]], all > i.

    Co-association is values / scale. Values are whole numbers if the member weights are multiples of the least one.
    """

    start: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: FloatArray
    scale: float


def shared_pairs(ensemble: Ensemble, normalization: Normalization, threshold: float | None) -> Pairs:
    """All pairs of rows with co-association above `threshold` (above 0 if None), found through shared base clusters."""
    total, block = _block(ensemble, normalization, threshold)
    # rows that agree in the first members meet the same lists, so they are looked at one after the other
    order = near_order(ensemble)
    parts = map_fixed_blocks(lambda start, stop: block(order[start:stop]), ensemble.n_rows, BLOCK_ROWS)
    lengths = np.empty(ensemble.n_rows, dtype=np.int64)
    lengths[order] = np.concatenate([part[0] for part in parts])
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns, values, divisor = np.empty(start[-1], np.int32), np.empty(start[-1]), np.empty(0 if total else start[-1])
    for place, part in enumerate(parts):
        rows = order[place * BLOCK_ROWS : (place + 1) * BLOCK_ROWS]
        place_block(rows, part[0], part[1], start, columns)
        place_block(rows, part[0], part[2], start, values)
        if not total:
            place_block(rows, part[0], part[3], start, divisor)
        # a block is let go as soon as it is copied
        parts[place] = None
    scale = total or common_scale(divisor)
    return Pairs(start, columns, values if total else values * scale / divisor, scale)


def estimated_pairs(ensemble: Ensemble, normalization: Normalization, threshold: float | None) -> int:
    """About how many pairs `shared_pairs` would keep, judged by evenly spaced rows, or by all rows if these are few."""
    _, block = _block(ensemble, normalization, threshold)
    m = ensemble.n_rows
    sample = np.unique(np.linspace(0, m - 1, num=min(m, SAMPLE_ROWS)).astype(np.int64))
    return round(float(block(sample)[0].mean()) * m)


def _block(
    ensemble: Ensemble, normalization: Normalization, threshold: float | None
) -> tuple[float, Callable[[NDArray[np.intp]], Any]]:
    """The weight that all pairs are divided by, 0 if each has its own divisor; and the kernel for some rows."""
    weights = relative_weights(ensemble)
    total = 0.0 if pairwise(ensemble, normalization) else float(weights.sum())
    lists = inverted_lists(ensemble.labels, ensemble.offsets)

    def block(rows: NDArray[np.intp]) -> Any:
        return shared_block(ensemble.labels, ensemble.offsets, lists, weights, total, threshold or 0.0, rows)

    return total, block


def sparse_bytes(ensemble: Ensemble, normalization: Normalization, threshold: float | None) -> int:
    """About how many bytes merging on the sparse matrix takes, its lists included."""
    return BYTES_A_PAIR * estimated_pairs(ensemble, normalization, threshold)


def dense_co_association(ensemble: Ensemble, normalization: Normalization) -> tuple[FloatArray, float]:
    """The co-association between all rows times a scale, and the scale; whole numbers as in `Pairs`."""
    weights = relative_weights(ensemble)
    matrix = np.zeros((ensemble.n_rows, ensemble.n_rows))
    lists = inverted_lists(ensemble.labels, ensemble.offsets)
    map_blocks(
        lambda start, stop: shared_matrix(ensemble.labels, ensemble.offsets, lists, weights, start, stop, matrix),
        ensemble.n_rows,
        work=WORK,
    )
    return normalised(ensemble, normalization, matrix)


def normalised(ensemble: Ensemble, normalization: Normalization, matrix: FloatArray) -> tuple[FloatArray, float]:
    """Turn a matrix of shared weights into co-association times a scale, in place; returns it and the scale."""
    weights = relative_weights(ensemble)
    if not pairwise(ensemble, normalization):
        mirror(matrix)
        return matrix, float(weights.sum())
    known = (ensemble.labels >= 0).astype(np.float64)
    patterns, inverse = np.unique(known, axis=0, return_inverse=True)
    divisor = (patterns * weights) @ patterns.T
    divisor[divisor == 0] = 1.0
    scale = common_scale(divisor)
    place = inverse.reshape(-1)
    for row in range(ensemble.n_rows):
        matrix[row] *= scale / divisor[place[row]][place]
    mirror(matrix)
    return matrix, scale


def pairwise(ensemble: Ensemble, normalization: Normalization) -> bool:
    """Whether each pair has its own divisor; without missing labels both conventions give the same matrix."""
    return normalization == "pairwise" and ensemble.has_missing


def common_scale(divisors: FloatArray) -> float:
    """The least common multiple of whole divisors if it is small enough to keep sums exact, else 1."""
    values = np.unique(divisors)
    if np.any(values != np.floor(values)) or len(values) > 64:
        return 1.0
    multiple = math.lcm(*(int(value) for value in values))
    return float(multiple) if multiple <= EXACT_SCALE else 1.0


DECAY = 0.9


def cluster_similarities(ensemble: Ensemble) -> list[FloatArray]:
    """For each member the similarity (k, k) of its clusters by connected triples, with 1 on the diagonal.

    Two clusters of a member are linked by the clusters c of other members that overlap with both: the sum over c of
    min(w(C_i, c), w(C_j, c)), w = Jaccard, over the largest such sum in the ensemble, times DECAY.
    """
    overlap = cluster_overlap(ensemble)
    edges = ensemble.offsets
    links = []
    for member in range(ensemble.n_members):
        own = overlap[edges[member] : edges[member + 1]]
        links.append(np.stack([np.minimum(own, row).sum(axis=1) for row in own]))
        np.fill_diagonal(links[-1], 0)
    largest = max(float(link.max()) for link in links)
    for link in links:
        if largest > 0:
            link *= DECAY / largest
        np.fill_diagonal(link, 1)
    return links


def enhanced_co_association(
    ensemble: Ensemble, normalization: Normalization, links: list[FloatArray] | None = None
) -> tuple[FloatArray, float]:
    """The dense co-association times a scale, and the scale; two clusters of a member count by their similarity.

    `links` holds that similarity (k, k) for each member; by default it is computed from connected triples.
    """
    weights = relative_weights(ensemble)
    matrix = np.zeros((ensemble.n_rows, ensemble.n_rows))
    for member, link in enumerate(links or cluster_similarities(ensemble)):
        # a last row and column of zeros serve missing labels, whose code is -1
        padded = np.pad(link * weights[member], (0, 1))
        codes = ensemble.labels[:, member]
        for row, code in enumerate(codes):
            matrix[row] += padded[code][codes]
    return normalised(ensemble, normalization, matrix)
