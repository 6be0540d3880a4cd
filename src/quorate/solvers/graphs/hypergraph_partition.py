"""Balanced hypergraph partitioning by Mt-KaHyPar: guarded input, deterministic, no empty part."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate.solvers.graphs.integer_weights import Parts, capped, integer_weights

Objective = Literal["cut", "connectivity"]
OBJECTIVES: tuple[Objective, ...] = ("cut", "connectivity")

THREADS = 2
"""Threads of the partitioner. The preset is deterministic, so the answer does not depend on it."""

# The partitioner's seed and thread pool belong to the process.
_ONE_AT_A_TIME = threading.Lock()


def partition_hypergraph(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    edge_weights: NDArray[Any] | None,
    vertex_weights: NDArray[Any],
    k: int,
    seed: int,
    imbalance: float = 0.05,
    *,
    objective: Objective = "cut",
) -> Parts:
    """Split a weighted hypergraph into k parts of about equal vertex weight, cutting as few hyperedges as possible.

    Parameters
    ----------
    indptr, indices : integer arrays
        Vertices of hyperedge e are indices[indptr[e]:indptr[e + 1]]. Empty hyperedges, those of one vertex and
        those of weight 0 cannot be cut and are left out; a vertex named twice counts once.
    edge_weights : array of shape (n_hyperedges,), or None for ones
        Not negative, any scale.
    vertex_weights : array of shape (n_vertices,)
        Not negative. Its length is the number of vertices.
    k : int
        Number of parts, at most the number of vertices.
    seed : int
        From 0 to 2**31 - 2.
    imbalance : float
        A part may weigh 1 + imbalance times the mean, where vertices are light enough for that.
    objective : "cut" or "connectivity"
        Count a cut hyperedge once, or once for each part it reaches beyond the first.

    Returns
    -------
    Parts
        The labels, the objective in the given weights, and the number of parts that came back empty and were filled.

    Notes
    -----
    Needs the package mtkahypar (extra `hypergraph`). Its weights are 32-bit integers; larger or real ones are
    scaled, see `integer_weights`. A vertex heavier than a mean part counts as one part's weight. A part that comes
    back empty takes the lightest vertex of the heaviest part.

    References
    ----------
    Gottesbüren, Heuer, Maas, Sanders, Schlag (2024). Scalable high-quality hypergraph partitioning. ACM
    Transactions on Algorithms 20(1). doi:10.1145/3626527
    """
    mass = np.asarray(vertex_weights)
    n_vertices = _check.integer(len(mass), "the number of vertices", low=1)
    k = _check.integer(k, "k", low=1, high=n_vertices, advice="a part needs a vertex of its own.")
    seed = _check.integer(seed, "seed", low=0, high=2**31 - 2)
    imbalance = _check.fraction(imbalance, "imbalance", low=0.0, high=10.0)
    _check.choice(objective, "objective", OBJECTIVES)
    pins = _pins(indptr, indices, edge_weights, n_vertices)
    mass = capped(mass, k)
    labels = _mtkahypar(pins, mass, k, seed, imbalance, objective)
    n_repaired = _fill_empty(mass, labels, k)
    return Parts(labels, _cut(pins, labels, k, objective), n_repaired)


@cache
def _library() -> tuple[Any, Any]:
    """The package and its thread pool, of which a process can have only one."""
    try:
        import mtkahypar
    except ImportError as error:
        raise ImportError(
            "hypergraph partitioning needs the package mtkahypar: pip install 'quorate[hypergraph]' "
            "(or pip install mtkahypar)."
        ) from error
    return mtkahypar, mtkahypar.initialize(THREADS, False)


def _pins(indptr: NDArray[Any], indices: NDArray[Any], weights: NDArray[Any] | None, n_vertices: int) -> Any:
    """The hyperedges that can be cut, as rows of a CSR array filled with their weight."""
    from scipy.sparse import csr_array

    n_edges = len(indptr) - 1
    values = np.ones(n_edges) if weights is None else np.asarray(weights, dtype=np.float64)
    if values.shape != (n_edges,) or indptr[0] != 0 or indptr[-1] != len(indices):
        raise ValueError(
            f"{n_edges} hyperedges with indptr[-1] = {indptr[-1]} need as many weights and vertices, got "
            f"{len(values)} and {len(indices)}."
        )
    if n_edges and not (np.isfinite(values).all() and values.min() >= 0):
        raise ValueError(f"edge_weights must be finite and not negative, got {values.min()} to {values.max()}.")
    if len(indices) and not (np.min(indices) >= 0 and np.max(indices) < n_vertices):
        raise ValueError(
            f"indices must lie between 0 and {n_vertices - 1}, got {np.min(indices)} to {np.max(indices)}."
        )
    pins = csr_array((np.ones(len(indices)), indices, indptr), shape=(n_edges, n_vertices), copy=True)
    pins.sum_duplicates()
    pins.data = np.repeat(values, np.diff(pins.indptr))
    return pins[(np.diff(pins.indptr) > 1) & (values > 0)]


def _mtkahypar(
    pins: Any, mass: NDArray[Any], k: int, seed: int, imbalance: float, objective: Objective
) -> NDArray[np.int32]:
    mtkahypar, pool = _library()
    if k == 1:
        return np.zeros(len(mass), dtype=np.int32)
    if k == len(mass):
        return np.arange(k, dtype=np.int32)
    largest = 2**31 - 1
    # the objective, at most (k - 1) times the weight of all hyperedges, must fit into 32 bits as well
    edge_weights = integer_weights(pins.data[pins.indptr[:-1]], total=largest // (2 * k))
    vertex_weights = integer_weights(mass, largest=largest // 4, total=largest // 4)
    edges = [part.tolist() for part in np.split(pins.indices, pins.indptr[1:-1])] if len(edge_weights) else []
    try:
        return _run(mtkahypar, pool, edges, vertex_weights, edge_weights, k, seed, imbalance, objective)
    except Exception as error:  # the package's own kinds have no common base but this
        raise ValueError(
            f"Mt-KaHyPar could not cut a hypergraph of {len(mass):,} vertices into {k} parts: {error}"
        ) from error


def _run(
    mtkahypar: Any,
    pool: Any,
    edges: list[list[int]],
    vertex_weights: NDArray[np.int64],
    edge_weights: NDArray[np.int64],
    k: int,
    seed: int,
    imbalance: float,
    objective: Objective,
) -> NDArray[np.int32]:
    with _ONE_AT_A_TIME:
        mtkahypar.set_seed(seed)
        context = pool.context_from_preset(mtkahypar.PresetType.DETERMINISTIC)
        goal = mtkahypar.Objective.CUT if objective == "cut" else mtkahypar.Objective.KM1
        context.set_partitioning_parameters(k, imbalance, goal)
        context.logging = False
        hypergraph = pool.create_hypergraph(
            context, len(vertex_weights), len(edges), edges, vertex_weights.tolist(), edge_weights.tolist()
        )
        return np.array(hypergraph.partition(context).get_partition(), dtype=np.int32)


def _fill_empty(mass: NDArray[Any], labels: NDArray[np.int32], k: int) -> int:
    """Move the lightest vertex of the heaviest divisible part into each empty part; returns how many were empty."""
    empty = np.flatnonzero(np.bincount(labels, minlength=k) == 0)
    for part in empty:
        divisible = np.bincount(labels, minlength=k) > 1
        weight = np.where(divisible, np.bincount(labels, mass, minlength=k), -1.0)
        vertices = np.flatnonzero(labels == np.argmax(weight))
        labels[vertices[np.argmin(mass[vertices])]] = part
    return len(empty)


def _cut(pins: Any, labels: NDArray[np.int32], k: int, objective: Objective) -> float:
    """The objective in the caller's weights, from the number of parts that each hyperedge reaches beyond the first."""
    n_edges = pins.shape[0]
    edges = np.repeat(np.arange(n_edges), np.diff(pins.indptr))
    reached = np.unique(edges * np.int64(k) + labels[pins.indices]) // k
    beyond = np.bincount(reached, minlength=n_edges) - 1
    weights = pins.data[pins.indptr[:-1]]
    return float(weights @ (beyond if objective == "connectivity" else beyond > 0))
