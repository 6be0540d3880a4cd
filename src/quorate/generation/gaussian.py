"""The Gaussian base clusterer: a mixture of Gaussians in the principal directions, fitted by EM to a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import narrowest
from quorate._types import FloatArray
from quorate.generation.features import Features, Numbers, View
from quorate.generation.kmeans import Nearest, lloyd
from quorate.generation.kmeans import plus_plus as far_apart
from quorate.generation.landmarks import principal_directions, unit_rows
from quorate.ops.threads import Stop, one_blas_thread

Labels = NDArray[Any]

STARTING_SWEEPS = 10
"""Sweeps of the k-means that finds the first Gaussians."""
LEAST_GAIN = 1e-5
"""EM ends when a step makes objects likelier by less than this, in natural logarithms per object and direction."""
LEAST_VARIANCE = 1e-4
"""The share of all objects' variance in a direction that is added to the variance of each Gaussian."""
LEAST_SPREAD = 1e-9
"""Directions whose variance is below this share of the largest are left out."""
FEW_COLUMNS = 256
"""Up to so many columns, directions are found from the covariances of all columns."""


@dataclass(frozen=True)
class Gaussian:
    """Settings of the Gaussian clusterer, ``base="gaussian"``; it finds ellipses of unequal size, shape and direction.

    A member is made in three steps. First the objects of a sample are turned into their principal directions. Then a
    mixture of Gaussians is fitted to them by expectation-maximisation (EM), from clusters of k-means. Last, each object
    gets the label of the Gaussian that it most probably comes from.

    Parameters
    ----------
    directions : int
        The largest number of principal directions.
    sample : int
        The number of objects per cluster that the mixture is fitted to, but at least 2,000 in all; all objects if there
        are not more.
    prior : float
        How firmly each covariance is drawn towards the mean of all of them: as if the mean had been seen in so many
        objects per direction.
    max_iter : int
        The largest number of steps of EM.

    Notes
    -----
    The covariance of a Gaussian with m objects is (m S + p d W) / (m + p d), where S is their scatter per object, W the
    mean of all scatters, d the number of directions and p the prior [1]_. A member costs O(n k d^2) for the labels of n
    objects, and O(s k d^2) for each step with a sample of s objects. Sparse rows are scaled to length 1 first.

    References
    ----------
    .. [1] C. Fraley and A. Raftery, "Bayesian regularization for normal mixture estimation and model-based clustering",
       Journal of Classification 24 (2007), 155-181, doi:10.1007/s00357-007-0004-5.
    """

    directions: int = 20
    sample: int = 64
    prior: float = 2.0
    max_iter: int = 50

    def __post_init__(self) -> None:
        for name in ("directions", "sample", "max_iter"):
            _check.integer(getattr(self, name), name, low=1)
        _check.fraction(self.prior, "prior", high=1_000.0)

    def sample_size(self, n_rows: int, n_clusters: int) -> int:
        """Return the number of objects that the mixture is fitted to."""
        return min(n_rows, max(2_000, self.sample * n_clusters))


class Densities(NamedTuple):
    """Logarithms of weight times density of k Gaussians in d directions, as quadratic functions of the coordinates.

    `quadratic` (d (d + 1) / 2, k) belongs to the products of two coordinates, `linear` (d, k) to the coordinates.
    """

    quadratic: FloatArray
    linear: FloatArray
    constant: FloatArray


class GaussianTables(NamedTuple):
    """What finds the Gaussian that a row most probably comes from; the arrays may live on a card.

    Rows have the coordinates ``rows @ directions - centre``, each with variance 1 in the sample. The products of two
    coordinates are those with the numbers `first` and `second`.
    """

    directions: Any
    centre: Any
    first: Any
    second: Any
    quadratic: Any
    linear: Any
    constant: Any

    def likeliest(self, rows: Any) -> Any:
        """Return the number of the Gaussian for each row, given in double precision."""
        points = rows @ self.directions - self.centre
        products = points[:, self.first] * points[:, self.second]
        return (products @ self.quadratic + points @ self.linear + self.constant).argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Gaussians:
    """A Gaussian member, which can label new objects."""

    directions: FloatArray
    centre: FloatArray
    densities: Densities
    view: View
    facts: dict[str, Any]

    @property
    def n_clusters(self) -> int:
        return len(self.densities.constant)

    @property
    def tables(self) -> GaussianTables:
        return GaussianTables(self.directions, self.centre, *np.triu_indices(len(self.centre)), *self.densities)

    def labels(self, features: Features, rows: Numbers = None, stop: Stop | None = None) -> Labels:
        """Return the labels of objects, which may be new, computed in blocks; of those in `rows` if they are given."""
        n_rows = features.n_objects if rows is None else len(rows)
        labels, tables = np.empty(n_rows, dtype=narrowest(self.n_clusters)), self.tables
        for start, end, block in features.blocks(rows, self.view):
            (stop or Stop()).check()
            with one_blas_thread():
                labels[start:end] = tables.likeliest(_rows(block))
        return labels


def train_gaussians(
    features: Features,
    seen: tuple[Numbers, View],
    n_clusters: int,
    rng: np.random.Generator,
    settings: Gaussian,
    stop: Stop,
) -> Gaussians:
    """Fit a mixture to the member's objects and columns, or to a sample of these objects."""
    rows, view = seen
    n_rows = features.n_objects if rows is None else len(rows)
    size, chosen = settings.sample_size(n_rows, n_clusters), slice(None) if rows is None else rows
    if size < n_rows:
        # sorted, so that a memory map is read from front to back
        drawn = np.sort(rng.choice(n_rows, size, replace=False, shuffle=False))
        chosen = drawn if rows is None else rows[drawn]
    sample = features.prepared(chosen, view)
    with one_blas_thread():
        directions = _directions(sample, settings.directions, rng)
        points = np.asarray(_rows(sample) @ directions)
        centre, spread = points.mean(axis=0), points.std(axis=0)
        kept = spread > LEAST_SPREAD**0.5 * spread.max(initial=0.0)
        directions, centre, spread = directions[:, kept], centre[kept], spread[kept]
        share = _starting_shares(points[:, kept] - centre, min(n_clusters, size), rng, stop)
        densities, n_iter, converged = _fitted((points[:, kept] - centre) / spread, share, settings, stop)
    facts = {"n_clusters": len(densities.constant), "n_trained": size, "n_iter": n_iter, "converged": converged}
    return Gaussians(directions / spread, centre / spread, densities, view, facts)


def _rows(block: Any) -> Any:
    """Return the rows of a block in double precision; sparse ones scaled to length 1."""
    return (block if isinstance(block, np.ndarray) else unit_rows(block)).astype(np.float64)


def _directions(sample: Any, most: int, rng: np.random.Generator) -> FloatArray:
    """Return principal directions (width, at most `most`), the widest first."""
    from scipy.sparse.linalg import svds

    width = sample.shape[1]
    if isinstance(sample, np.ndarray):
        basis = np.eye(width) if width <= FEW_COLUMNS else principal_directions(sample, rng)[:, :width].T
        points = (_rows(sample) - sample.mean(axis=0, dtype=np.float64)) @ basis.astype(np.float64)
        return np.asarray(basis @ np.linalg.eigh(points.T @ points)[1][:, ::-1][:, :most])
    if min(sample.shape) <= most + 1:
        return np.asarray(np.linalg.svd(_rows(sample).toarray(), full_matrices=False)[2][:most].T)
    start = np.asarray(abs(sample).sum(axis=1 if sample.shape[0] <= width else 0), dtype=np.float64).ravel()
    return np.asarray(svds(_rows(sample), k=most, v0=start)[2][::-1].T)


def _starting_shares(points: FloatArray, n_clusters: int, rng: np.random.Generator, stop: Stop) -> FloatArray:
    """Return the clusters of k-means, from objects that are far apart, as shares (n, k) of 0 and 1."""
    sample = np.ascontiguousarray(points, dtype=np.float32)
    centres = lloyd(sample, far_apart(sample, n_clusters, rng), (STARTING_SWEEPS, 0), stop).centres
    labels = np.empty((len(sample), 1), dtype=np.int32)
    Nearest([centres], sparse=False).write(sample, labels)
    return np.asarray(labels == np.arange(len(centres)), dtype=np.float64)


def _fitted(points: FloatArray, share: FloatArray, settings: Gaussian, stop: Stop) -> tuple[Densities, int, bool]:
    """Run EM from the shares of objects in Gaussians; return the densities, the steps, and whether it converged."""
    products, likely = _products(points), -np.inf
    for step in range(1, settings.max_iter + 1):
        stop.check()
        densities = _densities((products, points), share, settings.prior)
        logarithm = products @ densities.quadratic + points @ densities.linear + densities.constant
        top = logarithm.max(axis=1)
        share = np.exp(logarithm - top[:, None])
        total = share.sum(axis=1)
        share /= total[:, None]
        before, likely = likely, float((top + np.log(total)).mean())
        if likely - before < LEAST_GAIN * points.shape[1]:
            return densities, step, True
    return densities, settings.max_iter, False


def _densities(moments: tuple[FloatArray, FloatArray], share: FloatArray, prior: float) -> Densities:
    """Return the Gaussians that make the objects likeliest, given their shares (n, k) in each."""
    products, points = moments
    n, d = points.shape
    mass = share.sum(axis=0)
    kept = mass > 1e-6
    share, mass = share[:, kept], mass[kept]
    mean = (share.T @ points) / mass[:, None]
    scatter = _matrices(share.T @ products, d) - mass[:, None, None] * mean[:, :, None] * mean[:, None, :]
    pooled = scatter.sum(axis=0) / n
    covariance = (scatter + prior * d * pooled) / (mass + prior * d)[:, None, None] + LEAST_VARIANCE * np.eye(d)
    precision = np.linalg.inv(covariance)
    linear = np.einsum("kij,kj->ki", precision, mean)
    constant = np.log(mass / n) - 0.5 * (np.linalg.slogdet(covariance)[1] + (linear * mean).sum(axis=1))
    row, column = np.triu_indices(d)
    quadratic = np.where(row == column, -0.5, -1.0) * precision[:, row, column]
    return Densities(np.ascontiguousarray(quadratic.T), np.ascontiguousarray(linear.T), constant)


def _products(points: FloatArray) -> FloatArray:
    """Return the products of two coordinates of each point, of shape (n, d (d + 1) / 2)."""
    row, column = np.triu_indices(points.shape[1])
    return np.asarray(points[:, row] * points[:, column])


def _matrices(products: FloatArray, d: int) -> FloatArray:
    """Return the symmetric matrices (k, d, d) whose upper triangles are given, (k, d (d + 1) / 2)."""
    row, column = np.triu_indices(d)
    result = np.empty((len(products), d, d))
    result[:, row, column] = result[:, column, row] = products
    return result
