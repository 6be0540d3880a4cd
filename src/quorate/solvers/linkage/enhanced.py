"""Enhanced co-association: two clusters of one member count as similar if the other members link them."""

from __future__ import annotations

import numpy as np

from quorate._types import Ensemble, FloatArray
from quorate.solvers.linkage.co_association import Normalization, normalised
from quorate.solvers.overlaps import jaccard
from quorate.solvers.weights import relative_weights

DECAY = 0.9


def cluster_similarities(ensemble: Ensemble) -> list[FloatArray]:
    """For each member the similarity (k, k) of its clusters by connected triples, with 1 on the diagonal.

    Two clusters of a member are linked by the clusters c of other members that overlap with both: the sum over c of
    min(w(C_i, c), w(C_j, c)), w = Jaccard, over the largest such sum in the ensemble, times DECAY.
    """
    overlap = jaccard(ensemble)
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
