"""From the graph folded onto the base clusters to what each cluster adds to the points of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quorate._types import Consensus, Ensemble, FloatArray
from quorate.ops.bipartite import fold_product
from quorate.solvers.label_rows import canonical_labels, fill_empty, objects_in, rows_of_drawn_objects, shared_masses
from quorate.solvers.local_weights import fold, row_masses
from quorate.solvers.parts import added_up
from quorate.solvers.spectral.embedding import (
    EmbeddedRows,
    centres_of_sample,
    euclidean_kmeans,
    leading_eigenvectors,
    point_consensus,
    sample_size,
    with_signs,
)
from quorate.solvers.weights import without_common_factor

LEAST_VALUE = 1e-12
"""Eigenvalues below this share of the largest are rounding errors; their directions are left out."""


def folded_table(shared: FloatArray, weights: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """What a row adds up over its base clusters to get its point, (d, k), and the eigenvalues.

    `shared` (d, d) is the sum of the masses of the rows that any two clusters share.
    """
    return point_table(*folded_leading(shared, weights, n_components), weights)


def folded_leading(
    shared: FloatArray, weights: FloatArray, n_components: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The degrees of the clusters in the folded graph, and its leading eigenvalues and eigenvectors."""
    folded = shared * np.outer(weights, weights)
    cluster_degree = _above_zero(folded.sum(axis=1))
    normalised = folded / np.sqrt(np.outer(cluster_degree, cluster_degree))
    return (cluster_degree, *leading_eigenvectors(normalised, n_components))


def _above_zero(degree: FloatArray) -> FloatArray:
    """Degrees to divide by: 1 for a base cluster that has no objects among these rows, whose entries are all 0."""
    return np.where(degree > 0, degree, 1.0)


def point_table(
    cluster_degree: FloatArray, values: FloatArray, vectors: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The table of `folded_table` from eigenvectors (d, k); directions without weight are left out."""
    kept = values > LEAST_VALUE * values[0]
    vectors, values = vectors[:, kept], values[kept]
    return np.ascontiguousarray(vectors * (weights / np.sqrt(cluster_degree))[:, None]), values


def transfer_cut_on_card(
    ensemble: Any,
    folded: tuple[FloatArray, FloatArray],
    n_clusters: int,
    rng: np.random.Generator,
    runs: tuple[int, int],
    info: Mapping[str, Any],
) -> Consensus:
    """Do what `transfer_cut` does, from the result of `folded_table`; `runs` holds n_init and max_iter.

    The graph was folded onto the base clusters on the card, and its eigenvectors were computed in host memory. Now the
    rows get their points on the card, and k-means clusters these: its restarts run on a sample in host memory, and the
    best of them is finished on all points on the card. If there are so few rows that no sample is drawn, k-means runs
    in host memory alone.
    """
    from quorate._device import card_points

    table, values = folded
    points = card_points.unit_points(ensemble, table)
    run = _clustered(ensemble, points, n_clusters, rng, runs)
    labels = canonical_labels(run.labels, n_clusters)
    told = {**info, "eigenvalues": values}
    return Consensus(labels=labels, objective=run.inertia, n_iter=run.n_iter, converged=run.converged, info=told)


def _clustered(ensemble: Any, points: Any, n_clusters: int, rng: np.random.Generator, runs: tuple[int, int]) -> Any:
    from quorate._device import card_points

    card, (n_init, max_iter) = ensemble.card, runs
    size = sample_size(n_clusters)
    if ensemble.n_rows > size:
        drawn, times = rows_of_drawn_objects(ensemble, size, rng)
        if len(drawn) >= n_clusters:
            sample = np.ascontiguousarray(card.to_host(points[:, card.xp.asarray(drawn)]).T)
            centres = centres_of_sample(sample, times, n_clusters, rng, n_init, max_iter)
            return card_points.lloyd_on_card(card, points, ensemble.counts_beside_rows(), centres, max_iter, fill_empty)
    host = np.ascontiguousarray(card.to_host(points).T)
    return euclidean_kmeans(host, ensemble.counts, n_clusters, rng, n_init=n_init, max_iter=max_iter)


DENSE_CLUSTERS = 2000
"""Up to so many base clusters the graph is folded onto them, into a dense matrix; above, Lanczos is used."""
MOST_DIRECTIONS = 1000
"""The largest number of eigenvectors if the graph is not folded: Lanczos iterations hold twice as many."""

MORE_VECTORS = 41
"""Lanczos vectors beyond twice the number of eigenvectors. SciPy takes one; where eigenvalues are close to each other,
as with members of very many clusters, more of them need a third fewer products."""
PRODUCT_ROWS = 1_000_000
"""Rows that are multiplied by a vector at a time, some hundredths of a second of work."""


def transfer_cut(
    ensemble: Ensemble,
    weights: FloatArray,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int,
    info: Mapping[str, Any] | None = None,
) -> Consensus:
    """Cut the graph of rows and base clusters into n_clusters parts.

    weights (d,) are those of the edges from a base cluster to its rows. ``info["eigenvalues"]`` is added to `info`.
    """
    shared = shared_masses(ensemble, weights, DENSE_CLUSTERS)
    if shared is not None:
        folded = folded_table(shared, weights, n_clusters)
        return transfer_cut_on_card(ensemble, folded, n_clusters, rng, (n_init, max_iter), info or {})
    points, values = transfer_embedding(ensemble, weights, n_clusters, rng)
    told = {**(info or {}), "eigenvalues": values}
    return point_consensus(ensemble, points, n_clusters, rng, n_init=n_init, max_iter=max_iter, info=told)


def transfer_embedding(
    ensemble: Ensemble, weights: FloatArray, n_components: int, rng: np.random.Generator
) -> tuple[EmbeddedRows, FloatArray]:
    """One point of length 1 per row, and the eigenvalues of the folded graph, of which the first is the largest, 1.

    With B (rows x clusters) the weights and Dx, Dy the degrees, v is an eigenvector of Dy^-1/2 B' Dx^-1 B Dy^-1/2, and
    u = Dx^-1 B Dy^-1/2 v holds the entries of the rows. Each row of entries is then scaled to length 1.
    """
    table, values = point_table(*_leading(ensemble, weights, n_components, rng), weights)
    return EmbeddedRows(ensemble, table), values


def leading_values(
    ensemble: Ensemble, weights: FloatArray, n_components: int, rng: np.random.Generator, *, dense: bool = True
) -> FloatArray:
    """The largest eigenvalues of the folded graph, in descending order, as in `transfer_embedding`; the first is 1.

    Without `dense` they are computed by Lanczos iterations in any case, which is faster for a few of them.
    """
    return _leading(ensemble, weights, n_components, rng, DENSE_CLUSTERS if dense else n_components)[1]


def _leading(
    ensemble: Ensemble,
    weights: FloatArray,
    n_components: int,
    rng: np.random.Generator,
    most_dense: int = DENSE_CLUSTERS,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The degrees of the clusters in the folded graph, and its leading eigenvalues and eigenvectors."""
    mass = row_masses(ensemble, weights)
    if int(ensemble.offsets[-1]) <= most_dense:
        return folded_leading(fold(ensemble, mass), weights, n_components)
    return _sparse_leading(ensemble, weights, mass, n_components, rng)


def _sparse_leading(
    ensemble: Ensemble,
    weights: FloatArray,
    mass: FloatArray,
    n_components: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The degrees of the clusters, and the leading eigenvalues and vectors by Lanczos iterations.

    The folded graph is multiplied by vectors row by row, which reads the labels and nothing else.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = int(ensemble.offsets[-1])
    degree = _above_zero(weights * objects_in(without_common_factor(ensemble)))
    scale = weights / np.sqrt(degree)

    def product(vector: FloatArray) -> FloatArray:
        result: FloatArray = scale * _product_of_rows(ensemble, mass, scale * vector.ravel())
        return result

    wanted = min(n_components, MOST_DIRECTIONS, size - 1)
    values, vectors = eigsh(
        LinearOperator((size, size), matvec=product, dtype=np.float64),
        k=wanted,
        ncv=min(2 * wanted + MORE_VECTORS, size),
        which="LA",
        v0=rng.random(size),
    )
    order = np.argsort(-values)
    return degree, values[order], with_signs(vectors[:, order])


@added_up
def _product_of_rows(ensemble: Ensemble, mass: FloatArray, vector: FloatArray) -> FloatArray:
    """The product of the folded graph, without its scale, and a vector."""
    result, n_rows = np.zeros(len(vector)), ensemble.n_rows
    # one block after the other: a sum must not depend on the number of threads, and Ctrl-C is noticed in between
    for start in range(0, n_rows, PRODUCT_ROWS):
        stop = min(start + PRODUCT_ROWS, n_rows)
        fold_product(ensemble.labels, ensemble.offsets, mass, vector, start, stop, result)
    return result
