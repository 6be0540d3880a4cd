"""Balanced partitions of graphs (METIS) and hypergraphs (Mt-KaHyPar): deterministic, and without empty parts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check

LARGEST = 2**24
"""Real weights are scaled so that the largest becomes this: METIS compares gains as 32-bit floats, whose integers
are exact up to here, so finer steps would be lost anyway."""


class PartitionerResult(NamedTuple):
    """What a partitioner returns.

    `labels` (n_vertices,) int32 use every part 0..k-1; `cut` is the weight of what was cut, in the caller's own
    weights; `n_repaired` counts the parts the partitioner left empty and we filled.
    """

    labels: NDArray[np.int32]
    cut: float
    n_repaired: int


def integer_weights(weights: NDArray[Any], *, largest: int = LARGEST, total: int = 2**62) -> NDArray[np.int64]:
    """Positive weights as positive integers of at most `largest` each and about `total` in all; zeros stay zero.

    Integers that fit are only divided by their greatest common divisor, so nothing is lost. Everything else is
    scaled and rounded; what is above zero stays above zero, and equal weights stay equal.
    """
    if not len(weights):
        return np.zeros(0, dtype=np.int64)
    if not (np.isfinite(weights).all() and weights.min() >= 0):
        raise ValueError(f"weights must be finite and not negative, got {weights.min()} to {weights.max()}.")
    top, sum_ = float(weights.max()), float(weights.sum(dtype=np.float64))
    if top == 0:
        return np.zeros(len(weights), dtype=np.int64)
    if top < 2**53 and np.array_equal(weights, np.floor(weights)):
        whole = weights.astype(np.int64)
        divisor = int(np.gcd.reduce(whole))
        if top / divisor <= largest and sum_ / divisor <= total:
            return whole // divisor
    scale = min(largest / top, total / sum_)
    scaled: NDArray[np.int64] = np.rint(weights * scale).astype(np.int64)
    return np.where(weights > 0, np.maximum(scaled, 1), 0)


def capped(mass: NDArray[Any], k: int) -> NDArray[Any]:
    """Vertex weights limited to the mean weight of a part, where the mean is that of the limited weights.

    Without the limit, a vertex as heavy as several parts leaves so much room in the others that some stay empty.
    """
    descending = np.sort(mass)[::-1].astype(np.float64)
    light = descending.sum() - np.concatenate([[0.0], np.cumsum(descending[: k - 1])])
    # with the h heaviest alone in their parts, the others' mean; right for the first h whose next vertex fits
    means = light / np.arange(k, 0, -1)
    fits = np.flatnonzero(descending[:k] <= means * (1 + 1e-12))
    # fewer vertices of positive weight than parts: nothing fits, nothing is too heavy
    return np.minimum(mass, means[fits[0]]) if len(fits) and means[fits[0]] > 0 else mass


Scheme = Literal["auto", "k-way", "bisection"]

FEW_VERTICES = 8
"""With fewer vertices per part than this METIS may put all into one part; halving is safe, and cheap on so few."""

# METIS seeds the C library's generator, which all threads share: two runs at once would spoil each other's numbers.
_ONE_AT_A_TIME = threading.Lock()


def partition_graph(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    edge_weights: NDArray[Any] | None,
    vertex_weights: NDArray[Any] | None,
    k: int,
    seed: int,
    imbalance: float = 0.05,
    *,
    scheme: Scheme = "auto",
) -> PartitionerResult:
    """Split a weighted graph into k parts of about equal vertex weight, cutting as little edge weight as possible.

    Parameters
    ----------
    indptr, indices : integer arrays
        Neighbours of vertex v are indices[indptr[v]:indptr[v + 1]]; each edge stands in both directions.
        Loops are dropped and repeated edges added up.
    edge_weights : array of the length of indices, or None for ones
        Not negative, equal in both directions; edges of weight 0 are dropped. Any scale: `integer_weights` says
        what becomes of real numbers.
    vertex_weights : array of shape (n_vertices,), or None for ones
        Not negative; vertices of weight 0 do not count for the balance.
    k : int
        Number of parts, at most the number of vertices.
    seed : int
        From 0 to 2**31 - 2.
    imbalance : float
        A part may weigh 1 + imbalance times the mean, where vertices are light enough for that.
    scheme : "auto", "k-way" or "bisection"
        METIS' two ways to k parts; "auto" bisects up to 8 parts or 100 vertices per part.

    Returns
    -------
    Parts
        The labels, the cut in the given weights, and the number of parts that METIS left empty and we filled.

    Notes
    -----
    Time and memory grow with the edges. A graph with fewer than 8 vertices per part is bisected
    whatever the scheme. A vertex
    heavier than a mean part fills a part by itself: its weight counts as that much, and the other parts share what is
    left. METIS may still leave parts empty; the heaviest part of more than one vertex is then bisected, by METIS
    again, until there are k.

    References
    ----------
    Karypis, Kumar (1998). A fast and high quality multilevel scheme for partitioning irregular graphs. SIAM
    Journal on Scientific Computing 20(1). doi:10.1137/S1064827595287997

    Examples
    --------
    Two triangles joined by one edge:

    >>> import numpy as np
    >>> starts = np.array([0, 2, 4, 7, 10, 12, 14])
    >>> neighbours = np.array([1, 2, 0, 2, 0, 1, 3, 2, 4, 5, 3, 5, 3, 4])
    >>> labels, cut, n_repaired = partition_graph(starts, neighbours, None, None, k=2, seed=0)
    >>> labels[:3].tolist() == [labels[0]] * 3, labels[3:].tolist() == [labels[5]] * 3, cut, n_repaired
    (True, True, 1.0, 0)
    """
    n_vertices = len(indptr) - 1
    _check.integer(n_vertices, "the number of vertices", low=1)
    k = _check.integer(k, "k", low=1, high=n_vertices, advice="a part needs a vertex of its own.")
    seed = _check.integer(seed, "seed", low=0, high=2**31 - 2)
    imbalance = _check.fraction(imbalance, "imbalance", low=0.001, high=10.0)
    graph = _graph(indptr, indices, edge_weights, n_vertices)
    mass = np.ones(n_vertices) if vertex_weights is None else np.asarray(vertex_weights)
    if mass.shape != (n_vertices,):
        raise ValueError(f"vertex_weights must have shape ({n_vertices},), got {mass.shape}.")
    mass = capped(mass, k)
    _check.choice(scheme, "scheme", ("auto", "k-way", "bisection"))
    labels = _split(graph, mass, k, seed, imbalance, scheme)

    def half_of(vertices: NDArray[np.intp]) -> NDArray[np.intp]:
        inside = graph[vertices][:, vertices]
        half = _metis(inside, mass[vertices], [0.5, 0.5], seed, imbalance)
        _make_room(inside, half, 1, 1)
        moving: NDArray[np.intp] = vertices[half == 1]
        return moving

    n_repaired = _fill_empty(mass, labels, k, half_of)
    return PartitionerResult(labels, _cut(graph, labels), n_repaired)


def _graph(indptr: NDArray[Any], indices: NDArray[Any], weights: NDArray[Any] | None, n_vertices: int) -> Any:
    """The graph as a CSR array in canonical form: METIS trusts its input and may crash on anything else."""
    from scipy.sparse import csr_array

    values = np.ones(len(indices)) if weights is None else np.asarray(weights)
    if len(values) != len(indices) or indptr[0] != 0 or indptr[-1] != len(indices):
        raise ValueError(
            f"edge_weights and indices must have indptr[-1] = {indptr[-1]} entries, "
            f"got {len(values)} and {len(indices)}."
        )
    if len(indices) and not (np.min(indices) >= 0 and np.max(indices) < n_vertices):
        raise ValueError(
            f"indices must lie between 0 and {n_vertices - 1}, got {np.min(indices)} to {np.max(indices)}."
        )
    graph = csr_array((values, indices, indptr), shape=(n_vertices, n_vertices), copy=True)
    graph.sum_duplicates()
    rows = np.repeat(np.arange(n_vertices), np.diff(graph.indptr))
    graph.data[rows == graph.indices] = 0
    graph.eliminate_zeros()
    mirror = graph.tocsc()
    if not all(np.array_equal(getattr(graph, part), getattr(mirror, part)) for part in ("indptr", "indices", "data")):
        raise ValueError("the graph must hold each edge in both directions with one weight; add its transpose first.")
    return graph


def _split(graph: Any, mass: NDArray[Any], k: int, seed: int, imbalance: float, scheme: Scheme) -> NDArray[np.int32]:
    """Labels 0..k-1 by METIS in one go, or by halves if there are so few vertices that METIS gives up."""
    n_vertices = graph.shape[0]
    if k == 1:
        return np.zeros(n_vertices, dtype=np.int32)
    if k == n_vertices:
        return np.arange(k, dtype=np.int32)
    if n_vertices >= FEW_VERTICES * k:
        return _metis(graph, mass, [1 / k] * k, seed, imbalance, scheme)
    first = k // 2
    half = _metis(graph, mass, [first / k, 1 - first / k], seed, imbalance)
    _make_room(graph, half, first, k - first)
    labels = np.empty(n_vertices, dtype=np.int32)
    for side, n_parts, start in ((0, first, 0), (1, k - first, first)):
        vertices = np.flatnonzero(half == side)
        inside = graph[vertices][:, vertices]
        labels[vertices] = start + _split(inside, mass[vertices], n_parts, seed, imbalance, scheme)
    return labels


def _library() -> Any:
    try:
        import pymetis
    except ImportError as error:
        raise ImportError("graph partitioning needs the package pymetis: pip install pymetis.") from error
    return pymetis


def _metis(
    graph: Any, mass: NDArray[Any], shares: list[float], seed: int, imbalance: float, scheme: Scheme = "auto"
) -> NDArray[np.int32]:
    pymetis = _library()
    dtype = pymetis.zero_copy_dtype()
    total = np.iinfo(dtype).max // 4
    # the C library takes seeds 0 and 1 for one; ufactor is the allowed imbalance in thousandths
    options = pymetis.Options(seed=seed + 1, ufactor=max(1, round(1000 * imbalance)))
    # k-way refinement of a graph too small to be coarsened forgets the seed, and cuts more
    few = len(shares) <= 8 or graph.shape[0] <= 100 * len(shares)
    bisect = scheme == "bisection" or (scheme == "auto" and few)
    weights = {
        "vweights": integer_weights(mass if mass.any() else mass + 1, largest=2**40, total=total).astype(dtype),
        "eweights": integer_weights(graph.data, total=total).astype(dtype),
        "tpwgts": shares if len(set(shares)) > 1 else None,
    }
    adjacency = pymetis.CSRAdjacency(graph.indptr.astype(dtype), graph.indices.astype(dtype))
    try:
        with _ONE_AT_A_TIME:
            _, parts = pymetis.part_graph(len(shares), adjacency, **weights, recursive=bisect, options=options)
    except RuntimeError as error:
        raise ValueError(
            f"METIS could not cut a graph of {graph.shape[0]:,} vertices into {len(shares)} parts: {error}"
        ) from error
    return np.array(parts, dtype=np.int32)


def _make_room(graph: Any, half: NDArray[np.int32], first: int, second: int) -> None:
    """Move vertices until side 0 has at least `first` and side 1 `second`, the one least tied to its side first."""
    for side, needed in ((0, first), (1, second)):
        while np.count_nonzero(half == side) < needed:
            others = np.flatnonzero(half != side)
            ties = graph[others][:, others].sum(axis=1) - graph[others][:, np.flatnonzero(half == side)].sum(axis=1)
            half[others[np.argmin(ties)]] = side


def _fill_empty(
    mass: NDArray[Any], labels: NDArray[np.int32], k: int, leaving: Callable[[NDArray[np.intp]], NDArray[np.intp]]
) -> int:
    """Fill each empty part from the heaviest part of several vertices; returns how many were empty.

    `leaving` maps the vertices of that part to those that move into the empty one.
    """
    empty = np.flatnonzero(np.bincount(labels, minlength=k) == 0)
    for part in empty:
        divisible = np.bincount(labels, minlength=k) > 1
        weight = np.where(divisible, np.bincount(labels, mass, minlength=k), -1.0)
        labels[leaving(np.flatnonzero(labels == np.argmax(weight)))] = part
    return len(empty)


def _cut(graph: Any, labels: NDArray[np.int32]) -> float:
    rows = np.repeat(labels, np.diff(graph.indptr))
    return float(graph.data[rows != labels[graph.indices]].sum()) / 2


Objective = Literal["cut", "connectivity"]
OBJECTIVES: tuple[Objective, ...] = ("cut", "connectivity")

THREADS = 2
"""Threads of the partitioner. The preset is deterministic, so the answer does not depend on it."""

# The partitioner's seed and thread pool belong to the process.


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
) -> PartitionerResult:
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
    n_repaired = _fill_empty(mass, labels, k, lambda vertices: vertices[[np.argmin(mass[vertices])]])
    return PartitionerResult(labels, _hyperedges_cut(pins, labels, k, objective), n_repaired)


@cache
def _hypergraph_library() -> tuple[Any, Any]:
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
    mtkahypar, pool = _hypergraph_library()
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


def _hyperedges_cut(pins: Any, labels: NDArray[np.int32], k: int, objective: Objective) -> float:
    """The objective in the caller's weights, from the number of parts that each hyperedge reaches beyond the first."""
    n_edges = pins.shape[0]
    edges = np.repeat(np.arange(n_edges), np.diff(pins.indptr))
    reached = np.unique(edges * np.int64(k) + labels[pins.indices]) // k
    beyond = np.bincount(reached, minlength=n_edges) - 1
    weights = pins.data[pins.indptr[:-1]]
    return float(weights @ (beyond if objective == "connectivity" else beyond > 0))
