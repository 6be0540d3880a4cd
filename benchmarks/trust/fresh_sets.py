"""Labelled sets drawn by seed, of geometries of public clustering benchmarks that the 69 sets of numbers lack.

Family A may be looked at while methods are chosen; family B is drawn with other seeds and only reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FAMILIES = ("A", "B")
SEED = 1507
EACH = 3
"""The number of sets of each geometry in each family."""
NOISE = -1
"""The class of background noise, which is left out of the truth: no cluster, and not counted by the ARI."""

Points = NDArray[np.float64]
Parts = list[Points]
"""One array of points per cluster."""
Rng = np.random.Generator


class Fresh(NamedTuple):
    """Measurements, classes (-1 for background noise, which belongs to no class), and the number of classes."""

    X: Points
    y: NDArray[Any]
    n_classes: int


def names() -> list[str]:
    """All cases: family, geometry, and a number."""
    return [f"{family} / {kind} / {number}" for family in FAMILIES for kind in GEOMETRIES for number in range(EACH)]


def make(name: str) -> Fresh:
    """Draw the set of a case; the same case gives the same set. Objects come in random order."""
    family, kind, number = name.split(" / ")
    rng = np.random.default_rng((SEED, FAMILIES.index(family), list(GEOMETRIES).index(kind), int(number)))
    parts = GEOMETRIES[kind](rng)
    y = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    if kind in WITH_NOISE:
        y = np.where(y == len(parts) - 1, NOISE, y)
    order = rng.permutation(len(y))
    return Fresh(np.vstack(parts)[order], y[order], int(y.max()) + 1)


def _sizes(rng: Rng, k: int, low: int, high: int) -> list[int]:
    return [int(size) for size in rng.integers(low, high + 1, size=k)]


def _apart(rng: Rng, k: int, d: int, gap: float) -> Points:
    """Draw k means that are at least so far apart from one another, in a box that grows until they fit."""
    width, means = gap * k ** (1 / d), []
    while len(means) < k:
        mean = rng.uniform(0, width, size=d)
        if all(np.linalg.norm(mean - other) >= gap for other in means):
            means.append(mean)
        width *= 1.001
    return np.array(means)


def _blob(rng: Rng, mean: Any, size: int, width: Any = 1.0) -> Points:
    return np.asarray(mean + width * rng.normal(size=(size, len(mean))))


def _arc(rng: Rng, size: int, centre: Any, radius: float, angles: tuple[float, float], width: float) -> Points:
    """Draw points along an arc of a circle."""
    angle = rng.uniform(*angles, size=size)
    line = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(np.asarray(centre) + line + width * rng.normal(size=(size, 2)))


def _turned(rng: Rng, d: int) -> Points:
    """Draw a rotation."""
    return np.asarray(np.linalg.qr(rng.normal(size=(d, d)))[0])


def moons(rng: Rng) -> Parts:
    """Two half moons that reach into each other, of equal or unequal size."""
    sizes, width = _sizes(rng, 2, 150, 700), rng.uniform(0.05, 0.11)
    upper = _arc(rng, sizes[0], (0, 0), 1.0, (0, np.pi), width)
    return [upper, _arc(rng, sizes[1], (1.0, 0.5), 1.0, (np.pi, 2 * np.pi), width)]


def nested_circles(rng: Rng) -> Parts:
    """Two to four circles with one centre."""
    k, width = int(rng.integers(2, 5)), rng.uniform(0.04, 0.1)
    return [
        _arc(rng, int(size * (1 + place)), (0, 0), 0.5 + 0.6 * place, (0, 2 * np.pi), width)
        for place, size in enumerate(_sizes(rng, k, 150, 400))
    ]


def nested_spheres(rng: Rng) -> Parts:
    """A ball inside one or two spherical shells, in three dimensions."""
    k, parts = int(rng.integers(2, 4)), []
    for place, size in enumerate(_sizes(rng, k, 300, 600)):
        direction = rng.normal(size=(size * (1 + place), 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        parts.append(direction * (1.5 * place + 0.12 * rng.normal(size=(len(direction), 1)) + 0.3 * (place == 0)))
    return parts


def anisotropic(rng: Rng) -> Parts:
    """Gaussian clusters that one linear map has stretched."""
    k = int(rng.integers(3, 7))
    means = _apart(rng, k, 2, rng.uniform(5.5, 8.0))
    stretch = _turned(rng, 2) @ np.diag([1.0, rng.uniform(0.15, 0.35)]) @ _turned(rng, 2)
    return [_blob(rng, mean, size) @ stretch for mean, size in zip(means, _sizes(rng, k, 80, 400), strict=True)]


def unequal_variance(rng: Rng) -> Parts:
    """Gaussian clusters whose standard deviations differ by a factor of up to 5."""
    k, d = int(rng.integers(3, 9)), int(rng.choice([2, 3, 5]))
    means, widths = _apart(rng, k, d, 10.0), rng.uniform(0.4, 2.0, size=k)
    return [_blob(rng, *drawn) for drawn in zip(means, _sizes(rng, k, 100, 400), widths, strict=True)]


def unequal_sizes(rng: Rng) -> Parts:
    """Gaussian clusters of 20 to 2,000 objects."""
    k = int(rng.integers(3, 8))
    sizes = np.exp(rng.uniform(np.log(20), np.log(2_000), size=k)).astype(int)
    return [_blob(rng, mean, size) for mean, size in zip(_apart(rng, k, 2, 7.0), sizes, strict=True)]


def dense_beside_sparse(rng: Rng) -> Parts:
    """One or two dense clusters beside a wide sparse one."""
    width = rng.uniform(4, 8)
    parts = [_blob(rng, (0.0, 0.0), int(rng.integers(200, 500)), width)]
    for place in range(int(rng.integers(1, 3))):
        angle = rng.uniform(0, np.pi) + place * np.pi
        mean = 3.2 * width * np.array([np.cos(angle), np.sin(angle)])
        parts.append(_blob(rng, mean, int(rng.integers(300, 800)), 0.7))
    return parts


def square(rng: Rng) -> Parts:
    """Four Gaussian clusters at the corners of a square."""
    gap, size = rng.uniform(4.0, 6.5), int(rng.integers(100, 400))
    return [_blob(rng, mean, size) for mean in gap * np.array([(0, 0), (0, 1), (1, 0), (1, 1)])]


def sizes_square(rng: Rng) -> Parts:
    """The same with one cluster that is five to ten times as large as the others."""
    gap, size = rng.uniform(5.5, 8.0), int(rng.integers(40, 120))
    sizes = [size * int(rng.integers(5, 11)), size, size, size]
    corners = gap * np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
    return [_blob(rng, mean, n) for mean, n in zip(corners, sizes, strict=True)]


def grid(rng: Rng) -> Parts:
    """Nine to 36 squares, evenly filled, in a grid with narrow gaps."""
    side, gap = int(rng.integers(3, 7)), rng.uniform(0.3, 0.6)
    size = int(rng.integers(50, 120))
    return [(1 + gap) * np.array([a, b]) + rng.random((size, 2)) for a in range(side) for b in range(side)]


def twenty_or_forty(rng: Rng) -> Parts:
    """20 to 40 small Gaussian clusters in the plane."""
    k = int(rng.choice([20, 30, 40]))
    return [_blob(rng, mean, size) for mean, size in zip(_apart(rng, k, 2, 7), _sizes(rng, k, 25, 80), strict=True)]


def _ellipses(rng: Rng, k: int, d: int, gap: float) -> Parts:
    parts = []
    for mean, size in zip(_apart(rng, k, d, gap), _sizes(rng, k, 60, 250), strict=True):
        parts.append(mean + rng.normal(size=(size, d)) * np.exp(rng.uniform(-1.2, 0.4, size=d)) @ _turned(rng, d))
    return parts


def ellipses_2d(rng: Rng) -> Parts:
    """Ten ellipses of any direction in the plane."""
    return _ellipses(rng, 10, 2, 6.5)


def ellipses_10d(rng: Rng) -> Parts:
    """4 to 20 ellipsoids of any direction in 10 dimensions."""
    return _ellipses(rng, int(rng.choice([4, 10, 20])), 10, 7.0)


def curves_with_blobs(rng: Rng) -> Parts:
    """A ring around two blobs, and a blob or an arc outside of it."""
    parts = [_arc(rng, int(rng.integers(250, 500)), (0, 0), 5.0, (0, 2 * np.pi), 0.2)]
    parts += [_blob(rng, (side, 0.0), int(rng.integers(60, 200)), 0.4) for side in (-1.8, 1.8)]
    if rng.random() < 0.5:
        return [*parts, _blob(rng, (8.5, 0.0), int(rng.integers(60, 200)), 0.5)]
    return [*parts, _arc(rng, int(rng.integers(150, 300)), (0, 0), 7.5, (0, np.pi), 0.2)]


def triangles(rng: Rng) -> Parts:
    """Four to six triangles, evenly filled."""
    k = int(rng.integers(4, 7))
    parts = []
    for mean, size in zip(_apart(rng, k, 2, 2.4), _sizes(rng, k, 100, 300), strict=True):
        corners = np.array([np.cos(turn := 2 * np.pi * np.arange(3) / 3), np.sin(turn)]).T @ _turned(rng, 2)
        parts.append(mean + rng.dirichlet(np.ones(3), size=size) @ corners)
    return parts


def waves(rng: Rng) -> Parts:
    """Two to four sinus waves above one another."""
    k, width = int(rng.integers(2, 5)), rng.uniform(0.06, 0.12)
    parts = []
    for place, size in enumerate(_sizes(rng, k, 200, 500)):
        along = rng.uniform(0, 2 * np.pi, size=size)
        parts.append(np.column_stack([along, np.sin(along) + 1.1 * place + width * rng.normal(size=size)]))
    return parts


def lines(rng: Rng) -> Parts:
    """Two to five long lines that are parallel, evenly filled."""
    k = int(rng.integers(2, 6))
    return [
        np.column_stack([rng.uniform(0, 10, size), 1.2 * place + 0.15 * rng.normal(size=size)])
        for place, size in enumerate(_sizes(rng, k, 120, 400))
    ]


def crosses(rng: Rng) -> Parts:
    """Clusters that are crosses of two long Gaussians."""
    k, parts = int(rng.integers(2, 6)), []
    for mean, size in zip(_apart(rng, k, 2, 7.5), _sizes(rng, k, 120, 350), strict=True):
        widths = np.where(rng.random((size, 1)) < 0.5, [[1.4, 0.12]], [[0.12, 1.4]])
        parts.append(mean + rng.normal(size=(size, 2)) * widths)
    return parts


def _with_noise(rng: Rng, parts: Parts) -> Parts:
    """Add 5 to 10% of background noise, evenly over the box of all points, as the last part."""
    points = np.vstack(parts)
    size = int(rng.uniform(0.05, 0.1) * len(points))
    return [*parts, rng.uniform(points.min(axis=0), points.max(axis=0), size=(size, points.shape[1]))]


def blobs_in_noise(rng: Rng) -> Parts:
    """Gaussian clusters in background noise."""
    k = int(rng.integers(3, 13))
    means, sizes = _apart(rng, k, 2, 8.0), _sizes(rng, k, 60, 300)
    return _with_noise(rng, [_blob(rng, mean, size) for mean, size in zip(means, sizes, strict=True)])


def shapes_in_noise(rng: Rng) -> Parts:
    """Moons, or a ring around a blob, in background noise."""
    if rng.random() < 0.5:
        return _with_noise(rng, moons(rng))
    ring = _arc(rng, int(rng.integers(300, 700)), (0, 0), 4.0, (0, 2 * np.pi), 0.2)
    return _with_noise(rng, [ring, _blob(rng, (0.0, 0.0), int(rng.integers(100, 300)), 0.6)])


def noise_columns(rng: Rng) -> Parts:
    """Gaussian clusters in 5 to 50 dimensions, a third of which are noise."""
    k, d = int(rng.integers(2, 13)), int(rng.choice([5, 15, 50]))
    means = np.zeros((k, d))
    means[:, : d - d // 3] = _apart(rng, k, d - d // 3, rng.uniform(5.5, 8.0))
    return [_blob(rng, mean, size) for mean, size in zip(means, _sizes(rng, k, 60, 300), strict=True)]


def heavy_tails(rng: Rng) -> Parts:
    """Clusters that are t-distributed with 3 degrees of freedom."""
    k, d = int(rng.integers(2, 8)), int(rng.choice([2, 5, 10]))
    means, sizes = _apart(rng, k, d, 12.0), _sizes(rng, k, 100, 350)
    return [mean + rng.standard_t(3, size=(size, d)) for mean, size in zip(means, sizes, strict=True)]


def integer_grid(rng: Rng) -> Parts:
    """Answers from 1 to 7 to 8 to 15 questions, as of a questionnaire; each cluster has its own usual answers."""
    k, d = int(rng.integers(2, 7)), int(rng.integers(8, 16))
    usual = rng.integers(1, 8, size=(k, d))
    sizes = _sizes(rng, k, 80, 300)
    return [np.clip(np.rint(_blob(rng, mean, size, 0.9)), 1, 7) for mean, size in zip(usual, sizes, strict=True)]


def many_clusters(rng: Rng) -> Parts:
    """15 to 40 Gaussian clusters in 3 to 20 dimensions, with up to 5,000 objects."""
    k, d = int(rng.integers(15, 41)), int(rng.choice([3, 8, 20]))
    means = _apart(rng, k, d, rng.uniform(5.5, 8.0))
    return [_blob(rng, mean, size) for mean, size in zip(means, _sizes(rng, k, 40, 125), strict=True)]


GEOMETRIES: dict[str, Callable[[Rng], Parts]] = {
    shape.__name__.replace("_", " "): shape
    for shape in (
        moons, nested_circles, nested_spheres, anisotropic, unequal_variance, unequal_sizes, dense_beside_sparse,
        square, sizes_square, grid, twenty_or_forty, ellipses_2d, ellipses_10d, curves_with_blobs, triangles, waves,
        lines, crosses, blobs_in_noise, shapes_in_noise, noise_columns, heavy_tails, integer_grid, many_clusters,
    )
}  # fmt: skip
WITH_NOISE = ("blobs in noise", "shapes in noise")
"""Geometries whose last part is background noise."""
