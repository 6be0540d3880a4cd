"""HGPA: the hypergraph whose edges are the members' clusters, cut into balanced parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import AnyEnsemble, Consensus, Ensemble, Method
from quorate.solvers.graphs.partition import OBJECTIVES, Objective, partition_hypergraph
from quorate.solvers.graphs.row_partition import (
    cuts,
    draw_seed,
    partition_by_sample,
    partition_rows,
    partitioned_objects,
)
from quorate.solvers.label_rows import one_hot
from quorate.solvers.sizes import few_tables
from quorate.solvers.weights import cluster_weights_whole, without_common_factor


def hgpa(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    imbalance: float = 0.05,
    objective: str = "cut",
) -> Consensus:
    """Partition rows with Mt-KaHyPar so that as few of the members' clusters as possible are cut.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int
    rng : numpy.random.Generator
        Draws the seed of Mt-KaHyPar.
    imbalance : float
        A cluster may hold 1 + imbalance times the mean number of objects, where single rows allow it.
    objective : {"cut", "connectivity"}
        Count a cut cluster once, as the paper does, or once for each part it reaches beyond the first, which still
        says something where noise cuts every cluster.

    Returns
    -------
    Consensus
        `objective` is what was counted, each cluster by its member's weight, to be minimised.
        ``info["n_repaired"]`` counts parts that came back empty and were filled; ``info["sample"]`` is the number of
        objects that were partitioned if these are a sample.

    Notes
    -----
    Needs the package mtkahypar (``pip install 'quorate[hypergraph]'``); its deterministic preset is used, so one seed
    is one answer for any number of threads. Rows are vertices that weigh their objects. O(m H) memory for m
    rows and H members. Above 131,072 rows the partition is that of a sample of 32,768 objects, and every row goes to
    the part that it shares most with and that has room (docs/decisions/0133). A cluster cut slightly costs as much as
    one cut in the middle, which makes this the weakest method of its paper [1]_; with ``weights="auto"`` and members
    that agree little with the others, moves follow, as with ``refine=True`` (docs/decisions/0115). Exactly n_clusters
    connected components are returned as they are, balanced or not.

    References
    ----------
    .. [1] A. Strehl, J. Ghosh, "Cluster Ensembles", JMLR 3, 2002, doi:10.1162/153244303321897735, section 3.3.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]]
    >>> result = consensus(members, 2, method="hgpa", random_state=0)
    >>> result.labels.tolist(), result.objective
    ([0, 0, 0, 1, 1, 1], 1.0)
    """
    imbalance = _check.fraction(imbalance, "imbalance", low=0.0, high=10.0)
    goal: Objective = _check.choice(objective, "objective", OBJECTIVES)

    def partition(part: AnyEnsemble) -> tuple[NDArray[np.int32], int]:
        light = without_common_factor(part)
        edges, weights = one_hot(light).T.tocsr(), cluster_weights_whole(light)
        parts = partition_hypergraph(
            edges.indptr, edges.indices, weights, light.counts, n_clusters, draw_seed(rng), imbalance, objective=goal
        )
        return parts.labels, parts.n_repaired

    labels, n_repaired = partition_rows(
        ensemble, n_clusters, lambda: partition_by_sample(ensemble, n_clusters, rng, imbalance, partition)
    )
    cut = cuts(ensemble, labels, n_clusters)
    value = cut.clusters if goal == "cut" else cut.parts
    return Consensus(
        labels=labels,
        objective=value,
        info={"n_repaired": n_repaired, "sample": partitioned_objects(ensemble, n_clusters)},
    )


METHOD = Method(
    solve=hgpa,
    title="balanced cut of the hypergraph of clusters (Mt-KaHyPar)",
    reference="doi:10.1162/153244303321897735",
    tables=few_tables,
    stochastic=True,
    needs_moves=True,
    weighs=1,
)
