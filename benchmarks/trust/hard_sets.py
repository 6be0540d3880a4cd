"""Generated sets that are hard for a number of clusters: `python -m benchmarks.trust.hard_sets` counts right numbers.

Families as in docs/decisions/0125, drawn anew; modularity (docs/decisions/0158) was chosen on them, among others. A set
may have several right numbers. Background noise and bridges are no cluster.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.judge import geometries

EACH = 10
"""The number of sets of each family."""
Points = NDArray[np.float64]
Rng = np.random.Generator
THIN = ("rings", "arcs", "spirals", "waves", "links", "enclosed")


class Hard(NamedTuple):
    """Clusters, points that belong to none, and further right numbers than that of the clusters."""

    parts: list[Points]
    others: Points | None = None
    also: int | None = None


def names() -> list[str]:
    return [f"{family} / {number}" for number in range(EACH) for family in FAMILIES]


def make(name: str) -> tuple[Points, NDArray[Any], set[int]]:
    """Return measurements in random order, clusters (-1 for none), and the right numbers of clusters."""
    family, number = name.split(" / ")
    rng = np.random.default_rng([125, list(FAMILIES).index(family), int(number)])
    drawn = FAMILIES[family](rng)
    points = np.vstack(drawn.parts if drawn.others is None else [*drawn.parts, drawn.others])
    clusters = np.repeat(np.arange(len(drawn.parts)), [len(part) for part in drawn.parts])
    clusters = np.append(clusters, np.full(len(points) - len(clusters), -1))
    order = rng.permutation(len(points))
    right = {len(drawn.parts)} if drawn.also is None else {len(drawn.parts), drawn.also}
    return points[order], clusters[order], right


def _sizes(rng: Rng, k: int, low: int = 40, high: int = 250) -> list[int]:
    return [int(size) for size in np.exp(rng.uniform(np.log(low), np.log(high), k))]


def _apart(rng: Rng, k: int, d: int, least: float) -> Points:
    """Draw k centres with at least this distance between any two."""
    reach, centres = least * k ** (1 / d), list[Points]()
    while len(centres) < k:
        centre = rng.uniform(-reach, reach, d)
        if all(np.linalg.norm(centre - other) >= least for other in centres):
            centres.append(centre)
        else:
            reach *= 1.03
    return np.array(centres)


def _unequal(rng: Rng, d: int | None = None) -> list[Points]:
    """Gaussian clusters of unequal density and shape, 2 to 30 of them in 2 to 80 columns."""
    k, drawn = (
        int(np.exp(rng.uniform(np.log(2), np.log(30)))),
        int(rng.choice([2, 3, 5, 10, 30, 80])) if d is None else d,
    )
    spreads, least = np.exp(rng.uniform(-0.7, 0.7, k)), rng.uniform(4.5, 7)
    parts = []
    for centre, spread, n in zip(_apart(rng, k, drawn, least * 1.2), spreads, _sizes(rng, k), strict=True):
        shape = np.exp(rng.uniform(-0.5, 0.3, drawn))
        points = rng.normal(size=(n, drawn)) * shape
        parts.append(centre + spread * points @ np.linalg.qr(rng.normal(size=(drawn, drawn)))[0])
    return parts


def _thin(rng: Rng) -> list[Points]:
    make_parts, most = geometries.FAMILIES[str(rng.choice(THIN))]
    return make_parts(_sizes(rng, int(rng.integers(2, most + 1)), 120, 400), rng)


def _in_noise(rng: Rng, parts: list[Points]) -> Hard:
    points = np.vstack(parts)
    n = int(rng.uniform(0.05, 0.15) * len(points))
    return Hard(parts, rng.uniform(points.min(0), points.max(0), (n, points.shape[1])))


def _bridges(rng: Rng) -> Hard:
    k = int(rng.integers(2, 9))
    centres = _apart(rng, k, 2, 8)
    parts = [centre + rng.normal(size=(n, 2)) for centre, n in zip(centres, _sizes(rng, k, 80, 300), strict=True)]
    bridges = []
    for first, second in itertools.pairwise(centres):
        along = rng.uniform(0, 1, 15)[:, None]
        bridges.append(first + along * (second - first) + 0.2 * rng.normal(size=(15, 2)))
    return Hard(parts, np.vstack(bridges))


def _nested(rng: Rng) -> Hard:
    groups, each, d = int(rng.integers(2, 5)), int(rng.integers(2, 5)), int(rng.choice([2, 5, 20]))
    parts = [
        group + centre + rng.normal(size=(int(rng.integers(50, 200)), d))
        for group in _apart(rng, groups, d, 40)
        for centre in _apart(rng, each, d, 7)
    ]
    return Hard(parts, also=groups)


def _counts(rng: Rng) -> Hard:
    k, d = int(rng.integers(2, 13)), int(rng.choice([10, 40, 100]))
    base = rng.gamma(0.8, 4, d)
    sizes = _sizes(rng, k, 60, 250)
    return Hard([np.log1p(rng.poisson(base * np.exp(rng.normal(0, 0.9, d)), (n, d))) for n in sizes])


def _binary(rng: Rng) -> Hard:
    k, d = int(rng.integers(2, 11)), int(rng.choice([15, 40, 100]))
    return Hard([(rng.random((n, d)) < rng.beta(0.5, 0.5, d)).astype(float) for n in _sizes(rng, k, 60, 250)])


def _touching(rng: Rng) -> Hard:
    side, gap = int(rng.integers(2, 5)), rng.uniform(0.08, 0.2)
    places = [np.array([a, b]) * (1 + gap) for a in range(side) for b in range(side)]
    return Hard([place + rng.random((int(rng.integers(100, 300)), 2)) for place in places])


def _tails(rng: Rng) -> Hard:
    k, d = int(rng.integers(2, 11)), int(rng.choice([2, 5, 20]))
    centres = _apart(rng, k, d, 10)
    return Hard([c + rng.standard_t(3, (n, d)) for c, n in zip(centres, _sizes(rng, k, 80, 250), strict=True)])


def _lines(rng: Rng) -> Hard:
    sizes = _sizes(rng, int(rng.integers(2, 9)), 150, 400)
    return Hard(
        [
            np.column_stack([rng.uniform(0, 10, n), 1.3 * place + 0.18 * rng.normal(size=n)])
            for place, n in enumerate(sizes)
        ]
    )


def _manifolds(rng: Rng) -> Hard:
    k = int(rng.integers(3, 16))
    return Hard(geometries.digits(_sizes(rng, k, 80, 250), rng))


FAMILIES: dict[str, Callable[[Rng], Hard]] = {
    "unequal": lambda rng: Hard(_unequal(rng)),
    "thin": lambda rng: Hard(_thin(rng)),
    "unequal in noise": lambda rng: _in_noise(rng, _unequal(rng, int(rng.choice([2, 2, 3])))),
    "thin in noise": lambda rng: _in_noise(rng, _thin(rng)),
    "bridges": _bridges,
    "nested": _nested,
    "counts": _counts,
    "binary": _binary,
    "touching": _touching,
    "heavy tails": _tails,
    "lines": _lines,
    "manifolds": _manifolds,
}


def main() -> None:
    """Print for each family how many numbers are right, and how many within 20%."""
    from quorate import EnsembleClustering

    found: dict[str, list[tuple[int, set[int]]]] = {family: [] for family in FAMILIES}
    for name in names():
        points, _, right = make(name)
        found[name.split(" / ")[0]].append((EnsembleClustering(random_state=0).fit(points).n_clusters_, right))
    for family, part in found.items():
        exact = sum(k in right for k, right in part)
        near = sum(any(abs(k - true) <= 0.2 * true for true in right) for k, right in part)
        print(f"{family}: {exact} of {len(part)} right, {near} within 20%")


if __name__ == "__main__":
    main()
