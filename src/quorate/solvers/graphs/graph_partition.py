"""Balanced graph partitioning by METIS: checked input, integer weights, one seed one answer, no empty part."""

from __future__ import annotations

import threading
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate.solvers.graphs.integer_weights import Parts, capped, integer_weights

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
) -> Parts:
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
    n_repaired = _fill_empty(graph, mass, labels, k, seed, imbalance)
    return Parts(labels, _cut(graph, labels), n_repaired)


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


def _fill_empty(graph: Any, mass: NDArray[Any], labels: NDArray[np.int32], k: int, seed: int, imbalance: float) -> int:
    """Fill each empty part by bisecting the heaviest part of several vertices; returns how many were empty."""
    empty = np.flatnonzero(np.bincount(labels, minlength=k) == 0)
    for part in empty:
        divisible = np.bincount(labels, minlength=k) > 1
        weight = np.where(divisible, np.bincount(labels, mass, minlength=k), -1.0)
        vertices = np.flatnonzero(labels == np.argmax(weight))
        inside = graph[vertices][:, vertices]
        half = _metis(inside, mass[vertices], [0.5, 0.5], seed, imbalance)
        _make_room(inside, half, 1, 1)
        labels[vertices[half == 1]] = part
    return len(empty)


def _cut(graph: Any, labels: NDArray[np.int32]) -> float:
    rows = np.repeat(labels, np.diff(graph.indptr))
    return float(graph.data[rows != labels[graph.indices]].sum()) / 2
