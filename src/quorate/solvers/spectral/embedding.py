"""Embeddings by leading eigenvectors: of one-hot rows, and of base clusters by random walks; k-means of the points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from quorate._types import Consensus, Ensemble, FloatArray, read_only
from quorate.ops.bipartite import unit_sums
from quorate.ops.euclidean import move_point, reassign_points, waiting_rows
from quorate.ops.landmarks import recurrence
from quorate.ops.threads import blas_waits, map_fixed_blocks, map_tasks, one_blas_thread
from quorate.solvers.label_rows import (
    canonical_labels,
    counts_divisor,
    divided,
    drawn_by_weight,
    fill_empty,
    in_host_memory,
    objects_in,
    one_hot,
    rows_drawn_by_count,
    take,
)
from quorate.solvers.label_space.moving import refilled
from quorate.solvers.local_weights import cluster_overlap, fold, row_masses
from quorate.solvers.parts import added_up, beside, from_each, row_by_row
from quorate.solvers.weights import WEIGHT_UNIT, cluster_weights, without_common_factor

DENSE_SIDE = 1500
"""Up to this many rows or base clusters the small Gram matrix is decomposed whole, above by Lanczos iterations."""

PARTED_SIDE = 8192
"""Up to this many base clusters a matrix over them is made if the rows are in parts, whatever it costs."""


def root_weighted_rows(ensemble: Ensemble) -> Any:
    """The sparse one-hot rows (m, d) with square roots of member weights as entries.

    The product of this matrix with its own transpose is the weight of the members that join two rows.
    """
    rows = one_hot(ensemble)
    rows.data = np.sqrt(cluster_weights(ensemble))[rows.indices]
    return rows


def spectral_embedding(ensemble: Ensemble, n_components: int, rng: np.random.Generator) -> tuple[Points, FloatArray]:
    """One point of length 1 per row, and the singular values; directions without weight are left out.

    A row of c objects stands for c equal rows of the matrix over objects, whose eigenvectors these are. Rows in parts
    are folded into a matrix over clusters also where Lanczos iterations over rows in one place would be faster.
    """
    n_clusters, is_parted = int(ensemble.offsets[-1]), ensemble.pieces is not None
    most = PARTED_SIDE if is_parted else max(DENSE_SIDE, 2 * n_components)
    if n_clusters < ensemble.n_rows and n_clusters <= most:
        return _folded_embedding(ensemble, n_components)
    if is_parted and n_clusters >= ensemble.n_rows:
        # no more rows than there are clusters, whose tables are here, too
        ensemble = cast(Any, ensemble).on_host()
    from scipy.sparse import diags_array

    rows = root_weighted_rows(ensemble)
    # without a common factor, for as many objects of each row again are the same matrix
    counts = without_common_factor(ensemble).counts
    degree = rows @ (rows.T @ counts.astype(np.float64))
    matrix = diags_array(np.sqrt(counts / degree)) @ rows
    vectors, values = _left_singular(matrix.tocsr(), n_components, rng)
    vectors = with_signs(vectors)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    points: FloatArray = vectors / np.where(length > 0, length, 1)
    return points, values


def _folded_embedding(ensemble: Ensemble, n_components: int) -> tuple[EmbeddedRows, FloatArray]:
    """The embedding by the right singular vectors, of which the left ones are sums: one for each cluster of a row.

    The factor of a row, the root of its objects divided by its degree, does not change its point of length 1.
    """
    weights = cluster_weights(ensemble)
    # the degree of a row is what it shares with all objects: the sum of the weighted sizes of its clusters
    root, sizes = np.sqrt(weights), objects_in(without_common_factor(ensemble))
    shared = fold(ensemble, row_masses(ensemble, weights * sizes))
    squares, vectors = leading_eigenvectors(shared * np.outer(root, root), n_components)
    kept = squares > LEAST_SQUARE * squares[0]
    values = np.sqrt(squares[kept])
    return EmbeddedRows(ensemble, np.ascontiguousarray(vectors[:, kept] * root[:, None] / values)), values


LEAST_SQUARE = 1e-12
"""Squaring leaves nothing of singular values whose square is below this share of the largest: they are rounding."""


def _left_singular(matrix: Any, n_components: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    side = min(matrix.shape)
    if side > max(DENSE_SIDE, 2 * n_components):
        from scipy.sparse.linalg import svds

        vectors, values, _ = svds(matrix, k=n_components, v0=rng.random(side))
        order = np.argsort(-values)
        return vectors[:, order], values[order]
    squares, vectors = np.linalg.eigh((matrix @ matrix.T).toarray())
    squares, vectors = squares[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    kept = squares > LEAST_SQUARE * squares[0]
    return vectors[:, kept], np.sqrt(squares[kept])


class EmbeddedRows:
    """The points (m, k) of rows, which are made from their labels each time they are read, and not held.

    table (d, k) is what each base cluster adds to the points of its rows.
    """

    def __init__(self, ensemble: Ensemble, table: FloatArray) -> None:
        self.ensemble, self.table = ensemble, table

    def __len__(self) -> int:
        return self.ensemble.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        return self.ensemble.n_rows, self.table.shape[1]

    def __getitem__(self, rows: NDArray[np.intp]) -> FloatArray:
        points, labels = np.empty((len(rows), self.table.shape[1])), self.ensemble
        if labels.pieces is not None:
            labels, rows = take(labels, rows, np.ones(len(rows), dtype=np.int64)), np.arange(len(rows))
        unit_sums(labels.labels, labels.offsets, self.table, rows, points)
        return points


def propagated_similarity(ensemble: Ensemble, steps: int) -> FloatArray:
    """Cosines (d, d) between the walks of all base clusters.

    A walk is described by the probabilities of its places after 1, 2, ..., `steps` steps. A step goes to a cluster with
    probability proportional to its Jaccard index times its member's weight; the index of a cluster with itself is 1.
    """
    overlap = cluster_overlap(ensemble)
    np.fill_diagonal(overlap, 1.0)
    overlap *= cluster_weights(ensemble)
    step = overlap / overlap.sum(axis=1, keepdims=True)
    reached, products = step, np.zeros_like(step)
    for place in range(steps):
        reached = reached @ step if place else step
        products += reached @ reached.T
    length = np.sqrt(np.diag(products))
    cosine = products / np.outer(length, length)
    similarity: FloatArray = np.rint((cosine + cosine.T) / 2 * WEIGHT_UNIT) / WEIGHT_UNIT
    np.fill_diagonal(similarity, 1.0)
    return similarity


def leading_directions(similarity: FloatArray, n_components: int) -> FloatArray:
    """One point of length 1 per vertex, from the leading eigenvectors of the normalised similarity matrix."""
    degree = similarity.sum(axis=1)
    _, vectors = leading_eigenvectors(similarity / np.sqrt(np.outer(degree, degree)), n_components)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    points: FloatArray = np.ascontiguousarray(vectors / np.where(length > 0, length, 1))
    return points


MANY_ROWS = 1_500
"""Matrices with fewer rows are solved by one thread. More threads gain little there, and they wait for one another by
spinning: beside other processes, on two cores, 300 rows took 1.4 s with two threads and 0.01 s with one."""
TOLERANCE = 1e-8
"""Largest error allowed in an eigenvalue equation or in an angle between two eigenvectors, relative to the matrix."""


def leading_eigenvectors(matrix: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """The largest eigenvalues of a symmetric matrix, in descending order, and their vectors as columns.

    The sign of an eigenvector is free; its largest entry is made positive.

    LAPACK's routine for a part of the eigenvectors is the fastest one, but on some matrices with repeated eigenvalues
    it returns nothing at all (https://github.com/scipy/scipy/issues/13913) or stops with "Internal Error.". Its answer
    is therefore checked, and all eigenvectors are computed by another routine where it is missing or wrong.
    """
    with one_blas_thread() if len(matrix) < MANY_ROWS or blas_waits() else nullcontext():
        wanted = min(n_components, len(matrix))
        found = _part(matrix, wanted)
        if found is None:
            values, vectors = np.linalg.eigh(matrix)
            found = values[-wanted:], vectors[:, -wanted:]
    values, vectors = found
    return values[::-1], with_signs(vectors[:, ::-1])


def with_signs(vectors: FloatArray) -> FloatArray:
    """The same vectors (columns), each with its largest entry made positive."""
    signed: FloatArray = vectors * np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(vectors.shape[1])])
    return signed


def _part(matrix: FloatArray, wanted: int) -> tuple[FloatArray, FloatArray] | None:
    """The largest eigenvalues, ascending, and their vectors; None where LAPACK has no right answer."""
    from scipy.linalg import LinAlgError, eigh

    size = len(matrix)
    try:
        values, vectors = eigh(matrix, subset_by_index=(size - wanted, size - 1))
    except LinAlgError:
        return None
    if vectors.shape != (size, wanted) or not np.isfinite(vectors).all():
        return None
    limit = TOLERANCE * max(1.0, float(np.abs(matrix).sum(axis=1).max()))
    apart = np.abs(vectors.T @ vectors - np.eye(wanted)).max()
    error = np.abs(matrix @ vectors - vectors * values).max()
    return (values, vectors) if apart <= TOLERANCE and error <= limit else None


Floats = NDArray[np.float32]

DEGREE = 10
"""The degree of the polynomial that damps the unwanted eigenvectors in one round."""
FILTER_TOLERANCE = 0.05
"""Rounds end if no wanted vector misses its eigenvalue equation by more than this share of the distance between the
lowest wanted eigenvalue and the lowest of the block, which bounds the sine of its angle with the right space."""
LEAST_TOLERANCE = 2e-6
"""Errors below this do no harm."""
TIED = 1e-7
"""Eigenvalues closer than this count as equal: rounding errors decide which of their eigenvectors are found."""
MOST_ROUNDS = 8
FIRST_CUT = 0.6
"""The value below which eigenvectors are damped in the first round, when none of the eigenvalues is known."""


class SparseMatrix(NamedTuple):
    """A symmetric matrix in CSR form, float64, whose eigenvalues lie between 0 and 1."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: FloatArray

    def __len__(self) -> int:
        return len(self.indptr) - 1


def block_size(n_vectors: int) -> int:
    """Return the number of vectors that are iterated: more than wanted, because the last ones converge slowly."""
    return -(-(n_vectors + n_vectors // 4 + 8) // 8) * 8


def filtered_eigenvectors(matrix: SparseMatrix, n_vectors: int, rng: np.random.Generator) -> tuple[Any, Any] | None:
    """Return the n_vectors largest eigenvalues, in descending order, and their vectors as columns.

    None is returned if they do not converge within MOST_ROUNDS rounds, because too many eigenvalues are nearly equal,
    or if all eigenvalues of the block are.

    Each round has three steps. First a polynomial of the matrix multiplies all vectors of a block. The polynomial is
    small on [0, cut] and grows fast above, so that the wanted vectors become large in comparison with the others. Then
    the block is made orthonormal. Last, the eigenvectors of the matrix within the block are computed, and the lowest of
    their eigenvalues is the cut of the next round. The first block is drawn at random.

    See Also
    --------
    leading_eigenvectors : For dense matrices; exact, and faster up to a few hundred rows.

    Notes
    -----
    A round costs DEGREE products of the matrix and the block, and O(p b^2) for p rows and a block of b vectors. Real
    data need two or three rounds. The method is that of Y. Zhou et al., "Self-consistent-field calculations using
    Chebyshev-filtered subspace iteration", Journal of Computational Physics 219 (2006), doi:10.1016/j.jcp.2006.03.017.
    """
    block = rng.standard_normal((len(matrix), block_size(n_vectors)), dtype=np.float32).astype(np.float64)
    cut = FIRST_CUT
    for _ in range(MOST_ROUNDS):
        basis = np.linalg.qr(_filtered(matrix, block, cut))[0]
        product = _product(matrix, basis)
        values, turn = np.linalg.eigh(basis.T @ product)
        block = np.ascontiguousarray(basis @ turn)
        cut = min(max(float(values[0]), 0.01), 0.999)
        missed = (product @ turn - block * values)[:, -n_vectors:]
        allowed = max(LEAST_TOLERANCE, FILTER_TOLERANCE * float(values[-n_vectors] - values[0]))
        apart = values[-n_vectors] - values[0] > TIED
        if apart and np.einsum("ij,ij->j", missed, missed).max() <= allowed**2:
            return untied(values[::-1], block[:, ::-1], n_vectors)
    return None


def untied(values: FloatArray, vectors: FloatArray, wanted: int) -> tuple[FloatArray, FloatArray]:
    """Return the first of the eigenvalues and their vectors, a choice among equal ones that no rounding error makes.

    The values come in descending order, and with the first that are wanted come all that are equal to the last of them.
    """
    last = values[wanted - 1]
    first, end = int((values > last + TIED).sum()), int((values >= last - TIED).sum())
    if end == wanted:
        return values[:wanted], vectors[:, :wanted]
    chosen = turned(vectors[:, first:end])[:, : wanted - first]
    return values[:wanted], np.concatenate([vectors[:, :first], chosen], axis=1)


def turned(vectors: FloatArray) -> FloatArray:
    """Return the basis of the space of orthonormal columns that depends on nothing but this space.

    Eigenvectors of nearly equal eigenvalues are turned by rounding errors, which differ from processor to processor.
    """
    drawn = np.random.default_rng(0).standard_normal(vectors.shape)
    turn, triangle = np.linalg.qr(vectors.T @ drawn)
    basis: FloatArray = vectors @ (turn * np.where(np.diag(triangle) < 0, -1.0, 1.0))
    return basis


def _filtered(matrix: SparseMatrix, block: FloatArray, cut: float) -> FloatArray:
    """Return the Chebyshev polynomial of degree DEGREE on [0, cut] of the matrix, times the block."""
    inverse = 2.0 / cut
    previous, current = block, np.empty_like(block)
    recurrence(*matrix, block, block, np.array([inverse, 1.0, 0.0]), current)
    factors = np.array([2.0 * inverse, 2.0, 1.0])
    for _ in range(DEGREE - 1):
        recurrence(*matrix, current, previous, factors, previous)
        previous, current = current, previous
    # the polynomial is huge at 1; its size is divided out, so that squares do not overflow
    largest = np.abs(current).max()
    return current / largest if largest > 0 else current


def _product(matrix: SparseMatrix, block: FloatArray) -> FloatArray:
    result = np.empty_like(block)
    recurrence(*matrix, block, block, np.array([1.0, 0.0, 0.0]), result)
    return result


SAMPLE_POINTS = 16_384
"""Above this many points restarts run on a sample of so many objects (or 64 k), and the best is finished on all."""


class Points(Protocol):
    """Points (m, d) that k-means reads some rows of at a time: an array, or points that are made when they are read."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: NDArray[np.intp], /) -> FloatArray: ...


class EuclideanRun(NamedTuple):
    """Where a run ended; `inertia` is the weighted sum of squared distances to the means."""

    labels: NDArray[np.int32]
    inertia: float
    n_iter: int
    converged: bool
    centres: FloatArray


def point_consensus(
    ensemble: Ensemble,
    points: Points,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int,
    info: Mapping[str, Any],
) -> Consensus:
    """Cluster the points that an embedding gave to the rows, each counting as many objects as its row.

    `objective` is the inertia in the embedding, to be minimised.
    """
    # as many objects of each row again are the same problem; without the common factor sums round alike
    divisor = counts_divisor(ensemble)
    counts = ensemble.counts if divisor == 1 else divided(ensemble, divisor).counts
    if isinstance(points, np.ndarray):
        counts = in_host_memory(ensemble, counts)
    run = euclidean_kmeans(points, counts, n_clusters, rng, n_init=n_init, max_iter=max_iter)
    return Consensus(
        labels=canonical_labels(beside(ensemble, run.labels), n_clusters),
        objective=run.inertia * divisor,
        n_iter=run.n_iter,
        converged=run.converged,
        info=info,
    )


def euclidean_kmeans(
    points: Points,
    counts: NDArray[np.int64],
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int,
) -> EuclideanRun:
    """The run of the least inertia out of `n_init` runs from k-means++ seeds; no cluster is left empty.

    There must be at least n_clusters points. If there are many, the runs see a sample of the objects, and the best of
    them is finished on all points, of which no table is held.
    """
    size = sample_size(n_clusters)
    if len(points) > size:
        drawn, times = rows_drawn_by_count(counts, size, rng)
        if len(drawn) >= n_clusters:
            centres = centres_of_sample(points[drawn], times, n_clusters, rng, n_init, max_iter)
            return _lloyd(points, counts, centres, max_iter)
    few = counts if isinstance(counts, np.ndarray) else counts.whole()
    return _best_run(points[np.arange(len(points))], few, n_clusters, rng, n_init, max_iter)


def sample_size(n_clusters: int) -> int:
    """The number of objects that restarts see if there are more points."""
    return max(SAMPLE_POINTS, 64 * n_clusters)


def centres_of_sample(
    points: FloatArray, times: NDArray[Any], n_clusters: int, rng: np.random.Generator, n_init: int, max_iter: int
) -> FloatArray:
    """The means (k, d) of the best run on a sample; `times` is how often each of its points was drawn."""
    return _best_run(points, times, n_clusters, rng, n_init, max_iter).centres


def _best_run(
    points: FloatArray, counts: NDArray[Any], n_clusters: int, rng: np.random.Generator, n_init: int, max_iter: int
) -> EuclideanRun:
    starts = [points[_seeds(points, counts, n_clusters, rng)] for _ in range(n_init)]
    runs = map_tasks(lambda centres: _lloyd(points, counts, centres, max_iter), starts, len(points))
    return min(runs, key=lambda run: run.inertia)


def _seeds(points: FloatArray, counts: NDArray[Any], n_clusters: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """k-means++: each next seed is drawn by mass times squared distance to the nearest seed before."""
    mass = counts.astype(np.float64)
    seeds = drawn_by_weight(mass, rng.random(1)).tolist()
    closest = _squared(points, points[seeds[:1]])[:, 0]
    while len(seeds) < n_clusters:
        pull = mass * closest
        if not pull.any():
            # all points coincide with seeds: take any point that is not a seed itself
            pull = np.ones(len(points))
        pull[seeds] = 0
        seeds += drawn_by_weight(pull, rng.random(1)).tolist()
        closest = np.minimum(closest, _squared(points, points[seeds[-1:]])[:, 0])
    return np.array(seeds, dtype=np.intp)


def _squared(points: FloatArray, centres: FloatArray) -> FloatArray:
    products: FloatArray = points @ centres.T
    norms = np.einsum("id,id->i", points, points)[:, None] + np.einsum("kd,kd->k", centres, centres)
    squared: FloatArray = np.maximum(norms - 2 * products, 0.0)
    return squared


def _lloyd(points: Points, counts: NDArray[np.int64], centres: FloatArray, max_iter: int) -> EuclideanRun:
    """Lloyd's algorithm from these centres (k, d)."""
    is_parted = isinstance(points, EmbeddedRows) and points.ensemble.pieces is not None
    run = (_SweepsInParts if is_parted else _Sweeps)(points, counts, centres)
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        converged = run.sweep()
        n_iter += 1
    return EuclideanRun(run.labels, run.inertia(), n_iter, converged, run.centres)


WHOLE_BITS = 61
"""Sums of coordinates are kept as whole numbers below 2 to this power, as on a card (`quorate._device.card_points`)."""
BLOCK_NUMBERS = 1 << 17
"""Coordinates of the points that a thread makes at a time: 1 MB, which stays in its cache."""
ROUNDING = 1e-6
"""Share of the largest distance by which gaps shrink in each sweep, well above what is lost by rounding them."""


class _Sweeps:
    """The labels of all points under Lloyd's algorithm, and what is needed to change them a block at a time.

    A row whose nearest centre cannot have changed, because the centres moved by less than its gap, is not read again;
    most rows are read in few sweeps. Labels are those of Lloyd's algorithm all the same. Beside the labels before and
    after a sweep, four bytes are held for each row.
    """

    def __init__(self, points: Any, counts: Any, centres: FloatArray) -> None:
        self._points, self.centres = points, centres
        self._drift = np.zeros(len(centres), dtype=np.float32)
        reach, n_columns = largest_coordinate(points), points.shape[1]
        self._rounding = ROUNDING * reach * n_columns**0.5
        self._unit = 2.0 ** (WHOLE_BITS - math.ceil(math.log2(reach * float(counts.sum()) + 1.0)))
        self._sums = np.zeros(centres.shape, dtype=np.int64)
        self._sizes = np.zeros(len(centres), dtype=np.int64)
        self._begin(counts)

    def _begin(self, counts: Any) -> None:
        self._counts, (self.labels, self._gaps) = read_only(counts), _unread(len(counts))

    def sweep(self) -> bool:
        """Give each point its nearest centre, fill empty clusters, and move the centres; whether no label changed."""
        before = self.labels
        sums, sizes = self._reassign(np.ascontiguousarray(self.centres.T))
        self._sums += sums
        self._sizes += sizes
        if not self._sizes.all():
            self._fill()
        self._move_centres()
        return not _n_different(before, self.labels)

    def _reassign(self, table: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        self.labels = self.labels.copy()
        fixed = self._counts, self._drift, self._unit, table
        return reassigned(self._points, self.labels, self._gaps, *fixed)

    def _fill(self) -> None:
        """Give empty clusters the points that cost most, which are read again in the next sweep."""
        nearest = self.labels.copy()
        fill_empty(self.labels, self.spread(), len(self.centres))
        rows = np.flatnonzero(self.labels != nearest)
        self._take_over(rows, self._counts[rows], nearest[rows], self.labels[rows])
        self._gaps[rows] = -np.inf

    def _take_over(self, rows: Any, counts: Any, old: Any, new: Any) -> None:
        """Change the sums of the clusters by rows that empty clusters took."""
        for place, point in enumerate(self._points[rows]):
            move_point(point, counts[place], self._unit, old[place], new[place], self._sums, self._sizes)

    def _move_centres(self) -> None:
        centres = self._sums / self._unit / self._sizes[:, None]
        difference = centres - self.centres
        moved = np.sqrt(np.einsum("kd,kd->k", difference, difference))
        self._drift[:] = moved + moved.max() + self._rounding
        self.centres = centres

    def spread(self) -> Any:
        """What each row adds to the inertia: its objects times the squared distance to the centre of its cluster."""
        return spread_of(self._points, self._counts, self.centres, self.labels)

    def inertia(self) -> float:
        return float(self.spread().sum())


class _SweepsInParts(_Sweeps):
    """The same for rows in parts: centres travel to the parts, and what the sums change by travels back."""

    def _begin(self, counts: Any) -> None:
        self._counts, self._rows = counts, (self._points.ensemble, self._points.table)
        self.labels, self._gaps = _begun_part(counts)

    def _reassign(self, table: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        state = self.labels, self._gaps, self._counts, self._drift, self._unit, table
        self.labels, self._gaps, sums, sizes = _reassigned_part(*self._rows, *state)
        return sums, sizes

    def _fill(self) -> None:
        nearest: Any = self.labels
        counts: Any = self._counts
        self.labels, _ = refilled(nearest, self.spread, len(self.centres))
        found = from_each(_changes, counts, nearest, self.labels)
        starts = zip(found, counts.starts, strict=False)
        rows = np.concatenate([own[0] + start for own, start in starts])
        self._take_over(rows, *(np.concatenate([own[place] for own in found]) for place in (1, 2, 3)))
        self._gaps = _reopened(self._gaps, nearest, self.labels)

    def spread(self) -> Any:
        return _spread_of_part(*self._rows, self._counts, self.centres, self.labels)


def _unread(n_rows: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The labels and gaps of rows that were never read."""
    return np.full(n_rows, -1, dtype=np.int32), np.full(n_rows, -np.inf, dtype=np.float32)


def _block_of(points: Points) -> int:
    return max(1, BLOCK_NUMBERS // points.shape[1])


def reassigned(
    points: Points,
    labels: NDArray[np.int32],
    gaps: NDArray[np.float32],
    counts: NDArray[np.int64],
    drift: NDArray[np.float32],
    unit: float,
    table: FloatArray,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give points the nearest of the centres, the columns of table, where it may have changed.

    `labels` and `gaps` are written. Returns by what the sums (k, d), in 1 / unit, and sizes (k,) of clusters change.
    """
    shape = table.shape[1], table.shape[0]

    def block(start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        rows = waiting_rows(labels, gaps, drift, start, stop)
        sums, sizes = np.zeros(shape, dtype=np.int64), np.zeros(shape[0], dtype=np.int64)
        if len(rows):
            reassign_points(points[rows], rows, counts, unit, table, labels, gaps, sums, sizes)
        return sums, sizes

    found = map_fixed_blocks(block, len(labels), _block_of(points))
    all_sums, all_sizes = np.zeros(shape, dtype=np.int64), np.zeros(shape[0], dtype=np.int64)
    for sums, sizes in found:
        all_sums += sums
        all_sizes += sizes
    return all_sums, all_sizes


def spread_of(points: Points, counts: NDArray[np.int64], centres: FloatArray, labels: NDArray[np.int32]) -> FloatArray:
    """What each row adds to the inertia: its objects times the squared distance to the centre of its cluster."""
    spread = np.empty(len(labels))

    def block(start: int, stop: int) -> None:
        difference = points[np.arange(start, stop)] - centres[labels[start:stop]]
        spread[start:stop] = counts[start:stop] * np.einsum("id,id->i", difference, difference)

    map_fixed_blocks(block, len(spread), _block_of(points))
    return spread


@row_by_row(2)
def _begun_part(counts: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    return _unread(len(counts))


@row_by_row(2, and_sums=True)
def _reassigned_part(
    ensemble: Ensemble, point_table: FloatArray, labels: Any, gaps: Any, counts: Any, *fixed: Any
) -> tuple[Any, ...]:
    labels, gaps = labels.copy(), gaps.copy()
    return labels, gaps, *reassigned(EmbeddedRows(ensemble, point_table), labels, gaps, read_only(counts), *fixed)


@row_by_row()
def _spread_of_part(ensemble: Ensemble, point_table: FloatArray, counts: Any, centres: Any, labels: Any) -> FloatArray:
    return spread_of(EmbeddedRows(ensemble, point_table), counts, centres, labels)


def _changes(counts: Any, before: Any, after: Any) -> tuple[NDArray[Any], ...]:
    """The rows whose label changed, their counts, and their labels before and after."""
    rows = np.flatnonzero(before != after)
    return rows, counts[rows], before[rows], after[rows]


@row_by_row()
def _reopened(gaps: NDArray[np.float32], before: Any, after: Any) -> NDArray[np.float32]:
    """Gaps, with none left where the label changed."""
    return np.where(before != after, np.float32(-np.inf), gaps)


@added_up
def _n_different(before: NDArray[np.int32], after: NDArray[np.int32]) -> int:
    return int(np.count_nonzero(before != after))


def largest_coordinate(points: Points) -> float:
    """At least the largest absolute coordinate; 1 for points of an embedding, whose length is at most 1."""
    return float(np.abs(points).max()) if isinstance(points, np.ndarray) else 1.0
