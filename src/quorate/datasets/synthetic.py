"""Synthetic data sets of the papers, with their exact parameters, any number of objects, and a local seeded generator.

Each function returns a `DataSet` (X float64, y int64 numbered by first appearance, name). The objects are sorted by
cluster. The default `n_objects` is that of the paper; other numbers keep the proportions of the clusters. If a paper
shows a picture but prints no numbers, the numbers are ours, and the docstring says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quorate import _check
from quorate._types import FloatArray
from quorate.datasets.files import DataSet


def two_d_two_k(n_objects: int = 1000, *, spread: float = 0.1, random_state: Any = None) -> DataSet:
    """2D2K of Strehl & Ghosh: two round Gaussians in the plane, means (-0.227, 0.077) and (0.095, 0.323).

    Parameters
    ----------
    n_objects : int
        Number of objects; half of them are in each cluster.
    spread : float
        Standard deviation in each dimension.
    random_state : None, int or Generator

    Notes
    -----
    The paper prints a variance of 0.1, but also that k-means reaches an NMI of 0.847 with the classes. The means are
    0.405 apart: with a variance of 0.1 no clusterer can exceed an NMI of about 0.17, and with a standard deviation of
    0.1 the best possible is about 0.85. So 0.1 must be the standard deviation; spread=0.1**0.5 gives the printed
    variance.

    References
    ----------
    Strehl, Ghosh (2002). Cluster ensembles. Journal of Machine Learning Research 3, section 4.1.

    Examples
    --------
    >>> X, y, name = two_d_two_k(random_state=0)
    >>> X.shape, np.bincount(y).tolist(), name
    ((1000, 2), [500, 500], '2D2K')
    """
    rng = _check.generator(random_state)
    return _gaussians("2D2K", [[-0.227, 0.077], [0.095, 0.323]], _sizes(n_objects, [1, 1]), spread, rng)


def eight_d_five_k(n_objects: int = 1000, *, spread: float = 0.1, random_state: Any = None) -> DataSet:
    """8D5K of Strehl & Ghosh: five round Gaussians in 8 dimensions, means uniform in the unit cube.

    Notes
    -----
    The means are drawn from `random_state`, because the paper does not print its own. `spread` is a standard
    deviation, see `two_d_two_k`. With it the clusters are well separated, as both Strehl & Ghosh and Wang (see
    `spherical5`) say they are.

    References
    ----------
    Strehl, Ghosh (2002). Cluster ensembles. Journal of Machine Learning Research 3, section 4.1.
    """
    rng = _check.generator(random_state)
    return _gaussians("8D5K", rng.random((5, 8)), _sizes(n_objects, [1] * 5), spread, rng)


def spherical5(n_objects: int = 250, *, separation: float = 4.0, random_state: Any = None) -> DataSet:
    """Spherical5 of Wang: five touching round Gaussians of unit variance in 16 dimensions, centres in a plane.

    Notes
    -----
    The paper prints the sizes, the dimensions, and that the centres lie in the plane of the first two dimensions. We
    chose that they form a regular pentagon whose sides are `separation` standard deviations long. At 4.0 the best
    possible clusterer is right for 95% of the objects, which is what the paper's ensembles reach.

    References
    ----------
    Wang (2011). CA-tree: a hierarchical structure for efficient and scalable coassociation-based cluster ensembles.
    IEEE Transactions on Systems, Man, and Cybernetics B 41(3). doi:10.1109/TSMCB.2010.2086059
    """
    rng = _check.generator(random_state)
    angles = 2 * np.pi * np.arange(5) / 5
    means = np.zeros((5, 16))
    means[:, :2] = separation / (2 * np.sin(np.pi / 5)) * np.column_stack([np.sin(angles), np.cos(angles)])
    return _gaussians("Spherical5", means, _sizes(n_objects, [1] * 5), 1.0, rng)


def ten_gaussians(n_objects: int = 1000, *, random_state: Any = None) -> DataSet:
    """The ten Gaussians of Lourenço, Fred & Jain: means (0, 12 i) for i = 1..10, unit covariance, equal sizes.

    References
    ----------
    Lourenço, Fred, Jain (2010). On the scalability of evidence accumulation clustering. ICPR.
    doi:10.1109/ICPR.2010.197
    """
    rng = _check.generator(random_state)
    means = [[0.0, 12.0 * i] for i in range(1, 11)]
    return _gaussians("10 Gaussians", means, _sizes(n_objects, [1] * 10), 1.0, rng)


def half_rings(n_objects: int = 800, *, random_state: Any = None) -> DataSet:
    """Half-rings of Fred & Jain in Wang's sizes: a thin dense and a thick sparse half ring that clasp each other.

    Notes
    -----
    The paper prints the sizes, 200 and 600 objects, which is a ratio of 1 to 3. We chose the shapes: the sparse ring is
    the upper half of the annulus between radius 0.75 and 1.25 around the origin, and the dense one is the lower half of
    the annulus between radius 0.85 and 1.15 around (1.1, 0.1); angle and radius are uniform.

    References
    ----------
    Fred, Jain (2005). Combining multiple clusterings using evidence accumulation. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 27(6). doi:10.1109/TPAMI.2005.113
    """
    rng = _check.generator(random_state)
    sparse, dense = _sizes(n_objects, [1, 3])
    upper = _arc(sparse, (0.0, np.pi), (0.75, 1.25), rng)
    lower = _arc(dense, (np.pi, 2 * np.pi), (0.85, 1.15), rng) + np.array([1.1, 0.1])
    return _joined("half-rings", [upper, lower])


def three_rings(n_objects: int = 900, *, random_state: Any = None) -> DataSet:
    """3Rings of Fred & Jain in Wang's sizes: three concentric rings, the inner one sparse.

    Notes
    -----
    Wang prints 100, 400 and 400 objects (Lourenço et al. 450 in all), which is a ratio of 1 to 4 to 4. We chose the
    radii 0.5, 2.5 and 4.5, and each ring is 0.2 wide; angle and radius are uniform. With these numbers, average-link
    evidence accumulation is right for all objects for k in [20, 50] and for 60% of them for k in [11, 21], as Lourenço
    et al. print (see `ten_gaussians`).

    References
    ----------
    Fred, Jain (2005), see `half_rings`.
    """
    rng = _check.generator(random_state)
    sizes = _sizes(n_objects, [1, 4, 4])
    rings = [
        _arc(size, (0.0, 2 * np.pi), (radius - 0.1, radius + 0.1), rng)
        for size, radius in zip(sizes, (0.5, 2.5, 4.5), strict=True)
    ]
    return _joined("3Rings", rings)


def two_spirals(n_objects: int = 200, *, noise: float = 0.05, random_state: Any = None) -> DataSet:
    """2-spirals: two intertwined Archimedean spirals of equal size.

    Notes
    -----
    Lourenço et al. (see `ten_gaussians`) print 200 objects in two clusters. We chose the curves: radius = angle / pi
    for angles from pi / 2 to 3 pi, evenly spaced along the curve. The second spiral is the first one turned by half a
    circle, so that neighbouring arms are 1 apart. Gaussian noise of standard deviation `noise` is added to both
    coordinates.

    References
    ----------
    Fred, Jain (2005), see `half_rings`.
    """
    rng = _check.generator(random_state)
    arms = []
    for turn, size in zip((0.0, np.pi), _sizes(n_objects, [1, 1]), strict=True):
        # the length of the curve grows approximately as the square of the angle
        angle = np.sqrt(np.linspace((0.5 * np.pi) ** 2, (3.0 * np.pi) ** 2, size))
        curve = (angle / np.pi)[:, None] * np.column_stack([np.cos(angle + turn), np.sin(angle + turn)])
        arms.append(curve + rng.normal(scale=noise, size=(size, 2)))
    return _joined("2-spirals", arms)


def cigar(n_objects: int = 250, *, random_state: Any = None) -> DataSet:
    """Cigar of Fred & Jain: two long thin parallel Gaussians and two small round ones beside them.

    Notes
    -----
    Lourenço et al. (see `ten_gaussians`) print 250 objects in 4 clusters. We chose 100, 100, 25 and 25 objects. The
    long clusters are around (0, 0) and (1.5, 0) with standard deviations of 0.2 across and 3 along; the round ones are
    around (0.75, 10) and (0.75, -10) with a standard deviation of 0.3.

    References
    ----------
    Fred, Jain (2005), see `half_rings`.
    """
    rng = _check.generator(random_state)
    shapes = [(0.0, 0.0, 0.2, 3.0), (1.5, 0.0, 0.2, 3.0), (0.75, 10.0, 0.3, 0.3), (0.75, -10.0, 0.3, 0.3)]
    clusters = [
        rng.normal((x, y), (across, along), size=(size, 2))
        for size, (x, y, across, along) in zip(_sizes(n_objects, [4, 4, 1, 1]), shapes, strict=True)
    ]
    return _joined("cigar", clusters)


def three_paths(n_objects: int = 600, *, noise: float = 0.1, random_state: Any = None) -> DataSet:
    """Three winding paths among uniform noise, the kind of data that Li et al. call 3-paths; noise has the label -1.

    Parameters
    ----------
    n_objects : int
        Number of all objects, noise included.
    noise : float
        Share of the objects that are noise, uniform over the picture. The paper leaves noise out when it counts errors.
    random_state : None, int or Generator

    Notes
    -----
    We chose all numbers, because the paper shows only a picture. For x uniform in [0, 10] the paths are sin(x) + 2 c
    with c = 0, 1, 2 and Gaussian noise of standard deviation 0.15 in y; the noise objects are uniform in
    [-0.5, 10.5] x [-2, 6].

    References
    ----------
    Li, Yu, Hao, Li (2007). Clustering ensembles based on normalized edges. PAKDD.
    doi:10.1007/978-3-540-71701-0_71
    """
    rng = _check.generator(random_state)
    strewn = round(_check.fraction(noise, "noise", high=0.9) * n_objects)
    paths = []
    for lift, size in enumerate(_sizes(n_objects - strewn, [1, 1, 1])):
        x = rng.uniform(0.0, 10.0, size)
        paths.append(np.column_stack([x, np.sin(x) + 2.0 * lift + rng.normal(scale=0.15, size=size)]))
    X, y, name = _joined("3-paths", paths)
    background = rng.uniform((-0.5, -2.0), (10.5, 6.0), size=(strewn, 2))
    return DataSet(np.vstack([X, background]), np.concatenate([y, np.full(strewn, -1)]), name)


def _sizes(n_objects: int, shares: Sequence[int]) -> list[int]:
    """Return sizes of clusters in these proportions, at least one object each.

    What remains goes to the largest remainders.
    """
    n_objects = _check.integer(
        n_objects, "n_objects", low=len(shares), advice="each cluster needs at least one object."
    )
    wanted = n_objects * np.array(shares) / sum(shares)
    sizes = np.maximum(np.floor(wanted), 1).astype(int)
    while (missing := n_objects - int(sizes.sum())) != 0:
        rest = wanted - sizes
        sizes[int(np.argmax(rest) if missing > 0 else np.argmin(np.where(sizes > 1, rest, np.inf)))] += np.sign(missing)
    return [int(size) for size in sizes]


def _gaussians(name: str, means: Any, sizes: list[int], spread: float, rng: np.random.Generator) -> DataSet:
    spread = _check.fraction(spread, "spread", high=np.inf)
    return _joined(name, [rng.normal(mean, spread, (size, len(mean))) for mean, size in zip(means, sizes, strict=True)])


def _arc(size: int, angles: tuple[float, float], radii: tuple[float, float], rng: np.random.Generator) -> FloatArray:
    """Draw objects of uniform angle and radius around the origin."""
    angle, radius = rng.uniform(*angles, size), rng.uniform(*radii, size)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _joined(name: str, clusters: list[FloatArray]) -> DataSet:
    labels = np.repeat(np.arange(len(clusters)), [len(cluster) for cluster in clusters])
    return DataSet(np.vstack(clusters), labels, name)
