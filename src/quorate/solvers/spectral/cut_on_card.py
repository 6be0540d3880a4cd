"""The transfer cut of rows on a card: the small eigenproblem is solved in host memory, rows stay on the card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quorate._device import card_graph, card_points
from quorate._types import Consensus, FloatArray
from quorate.solvers.draws import fill_empty
from quorate.solvers.label_rows import canonical_labels, drawn_objects
from quorate.solvers.spectral.euclidean_kmeans import centres_of_sample, euclidean_kmeans, sample_size
from quorate.solvers.spectral.folded_graph import folded_table


def transfer_cut_on_card(
    ensemble: Any,
    weights: FloatArray,
    n_clusters: int,
    rng: np.random.Generator,
    runs: tuple[int, int],
    info: Mapping[str, Any],
) -> Consensus:
    """Do what `transfer_cut` does; `runs` holds n_init and max_iter.

    First the graph is folded onto the base clusters on the card. Then its eigenvectors are computed in host memory.
    Last, the rows get their points on the card, and k-means clusters these: its restarts run on a sample in host
    memory, and the best of them is finished on all points on the card. If there are so few rows that no sample is
    drawn, k-means runs in host memory alone.
    """
    table, values = folded_table(card_graph.fold(ensemble, weights), weights, n_clusters)
    points = card_graph.unit_points(ensemble, table)
    run = _clustered(ensemble, points, n_clusters, rng, runs)
    labels = canonical_labels(run.labels, n_clusters)
    told = {**info, "eigenvalues": values}
    return Consensus(labels=labels, objective=run.inertia, n_iter=run.n_iter, converged=run.converged, info=told)


def _clustered(ensemble: Any, points: Any, n_clusters: int, rng: np.random.Generator, runs: tuple[int, int]) -> Any:
    card, (n_init, max_iter) = ensemble.card, runs
    size = sample_size(n_clusters)
    if ensemble.n_rows > size:
        drawn, times = drawn_objects(ensemble, size, rng)
        if len(drawn) >= n_clusters:
            sample = np.ascontiguousarray(card.to_host(points[:, card.xp.asarray(drawn)]).T)
            centres = centres_of_sample(sample, times, n_clusters, rng, n_init, max_iter)
            return card_points.lloyd(card, points, ensemble.counts_beside_rows(), centres, max_iter, fill_empty)
    host = np.ascontiguousarray(card.to_host(points).T)
    return euclidean_kmeans(host, ensemble.counts, n_clusters, rng, n_init=n_init, max_iter=max_iter)
