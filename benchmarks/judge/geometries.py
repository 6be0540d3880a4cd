"""Generated measurements with clusters of many geometries: what a judge of labellings is fitted on.

A family is one way in which clusters come about; whole families are left out of the fit to see what the judge does
on geometries that it never saw.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Rng = np.random.Generator


class Generated(NamedTuple):
    """Measurements (n, d), the cluster of each object, and the family they come from."""

    X: Points
    y: NDArray[np.int64]
    family: str


def _sizes(n: int, k: int, rng: Rng) -> list[int]:
    """Sizes of k clusters, from equal to very unequal, of at least 12 objects each."""
    shares = rng.dirichlet(np.full(k, rng.choice([1.5, 5.0, 100.0])))
    return [max(12, round(share * n)) for share in shares]


def _apart(k: int, d: int, least: float, rng: Rng) -> Points:
    """k centres in d dimensions with at least this distance between any two."""
    reach = least * k ** (1 / d)
    centres: list[Points] = []
    while len(centres) < k:
        centre = rng.uniform(-reach, reach, d)
        if all(np.linalg.norm(centre - other) >= least for other in centres):
            centres.append(centre)
        else:
            reach *= 1.03
    return np.array(centres)


def _rotation(d: int, rng: Rng) -> Points:
    return np.asarray(np.linalg.qr(rng.normal(size=(d, d)))[0])


def balls(sizes: list[int], rng: Rng) -> list[Points]:
    """Round Gaussian clusters, from overlapping to far apart."""
    d, least = int(rng.choice([2, 3, 5, 10, 20])), rng.uniform(2.5, 6.0)
    return [rng.normal(c, 1.0, (n, d)) for c, n in zip(_apart(len(sizes), d, least, rng), sizes, strict=True)]


def scales(sizes: list[int], rng: Rng) -> list[Points]:
    """Round Gaussian clusters whose spreads differ by up to a factor of eight."""
    d = int(rng.choice([2, 3, 5, 10]))
    spreads = np.exp(rng.uniform(-1, 1, len(sizes)))
    centres = _apart(len(sizes), d, rng.uniform(3.0, 6.0) * spreads.mean(), rng)
    return [rng.normal(c, s, (n, d)) for c, s, n in zip(centres, spreads, sizes, strict=True)]


def cigars(sizes: list[int], rng: Rng) -> list[Points]:
    """Long Gaussian clusters, each with a direction of its own or all with the same one."""
    d, least = int(rng.choice([2, 2, 3, 5, 10])), rng.uniform(3.0, 7.0)
    shared, stretch = (_rotation(d, rng) if rng.random() < 0.4 else None), rng.uniform(3.0, 8.0)
    parts = []
    for centre, n in zip(_apart(len(sizes), d, least, rng), sizes, strict=True):
        spread = np.exp(rng.uniform(-0.3, 0.3, d))
        spread[0] *= stretch
        parts.append(centre + (rng.normal(size=(n, d)) * spread) @ (_rotation(d, rng) if shared is None else shared))
    return parts


def rings(sizes: list[int], rng: Rng) -> list[Points]:
    """Rings around one centre, perhaps with a ball in the middle, in two or three dimensions."""
    d, noise = int(rng.choice([2, 2, 3])), rng.uniform(0.03, 0.2)
    parts = []
    for place, n in enumerate(sizes):
        points = rng.normal(size=(n, d))
        radius = place + (0.0 if rng.random() < 0.5 and place == 0 else 0.7)
        points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
        parts.append(points + rng.normal(0, noise if radius else 0.25, (n, d)))
    return parts


def arcs(sizes: list[int], rng: Rng) -> list[Points]:
    """Half circles in pairs that reach into one another, as moons do."""
    noise, parts = rng.uniform(0.03, 0.22), []
    for place, n in enumerate(sizes):
        angle = rng.uniform(0, np.pi, n) + np.pi * (place % 2)
        shift = np.array([3.2 * (place // 2) + (place % 2), 0.35 * (place % 2)])
        parts.append(np.stack([np.cos(angle), np.sin(angle)], axis=1) + shift + rng.normal(0, noise, (n, 2)))
    return parts


def spirals(sizes: list[int], rng: Rng) -> list[Points]:
    """Arms of one spiral."""
    turns, noise = rng.uniform(0.6, 1.5), rng.uniform(0.02, 0.09)
    parts = []
    for place, n in enumerate(sizes):
        t = np.sqrt(rng.uniform(0.03, 1, n))
        angle = 2 * np.pi * (turns * t + place / len(sizes))
        parts.append((t * np.stack([np.cos(angle), np.sin(angle)])).T + rng.normal(0, noise / len(sizes), (n, 2)))
    return parts


def boxes(sizes: list[int], rng: Rng) -> list[Points]:
    """Evenly filled boxes and bars, side by side with a gap between them."""
    d, gap = int(rng.choice([2, 2, 3])), rng.uniform(0.05, 0.5)
    parts, left = [], 0.0
    for n in sizes:
        sides = np.exp(rng.uniform(-0.8, 0.8, d))
        shift = np.concatenate([[left], rng.uniform(-0.4, 0.4, d - 1)])
        parts.append(rng.uniform(0, 1, (n, d)) * sides + shift)
        left += sides[0] + gap
    return parts


def threads(sizes: list[int], rng: Rng) -> list[Points]:
    """Random smooth curves with noise around them, in two to six dimensions."""
    d, noise = int(rng.choice([2, 3, 6])), rng.uniform(0.03, 0.25)
    parts = []
    for centre, n in zip(_apart(len(sizes), d, rng.uniform(1.0, 3.0), rng), sizes, strict=True):
        t = rng.uniform(-1, 1, n)
        basis = np.stack([t, t**2, np.sin(2 * t), np.cos(3 * t)], axis=1)
        parts.append(centre + basis @ rng.normal(0, 0.8, (4, d)) + rng.normal(0, noise, (n, d)))
    return parts


def tails(sizes: list[int], rng: Rng) -> list[Points]:
    """Clusters with heavy tails or skewed columns."""
    d = int(rng.choice([2, 4, 8, 16]))
    centres = _apart(len(sizes), d, rng.uniform(4.0, 8.0), rng)
    if rng.random() < 0.5:
        return [c + rng.standard_t(2.5, (n, d)) for c, n in zip(centres, sizes, strict=True)]
    sides = rng.choice([-1.0, 1.0], size=(len(sizes), d))
    return [c + s * rng.lognormal(0, 0.7, (n, d)) for c, s, n in zip(centres, sides, sizes, strict=True)]


def votes(sizes: list[int], rng: Rng) -> list[Points]:
    """Yes and no, or few levels, in each column: clusters differ in how likely each level is."""
    d, levels = int(rng.choice([8, 16, 30])), int(rng.choice([2, 2, 3, 5]))
    parts = []
    for n in sizes:
        likely = rng.beta(0.6, 0.6, d)
        parts.append(rng.binomial(levels - 1, likely, (n, d)).astype(float))
    return parts


def digits(sizes: list[int], rng: Rng) -> list[Points]:
    """Curved sheets of few dimensions in a space of many, as classes of images are."""
    d, inner, noise = int(rng.choice([20, 40, 64])), int(rng.integers(2, 6)), rng.uniform(0.1, 0.5)
    mixing = rng.normal(size=(3 * inner, d)) / np.sqrt(inner)
    parts = []
    for n in sizes:
        code = rng.normal(0, 1, (n, inner)) * rng.uniform(0.4, 1.0) + rng.normal(0, rng.uniform(0.8, 2.0), inner)
        lifted = np.concatenate([code, np.sin(code), code * np.roll(code, 1, axis=1) / 2], axis=1)
        parts.append(lifted @ mixing + rng.normal(0, noise, (n, d)))
    return parts


def topics(sizes: list[int], rng: Rng) -> list[Points]:
    """Counts of words by topic, as shares with square roots taken."""
    d, length = int(rng.choice([60, 150])), int(rng.integers(15, 80))
    common = rng.dirichlet(np.full(d, 0.3))
    parts = []
    for n in sizes:
        topic = rng.uniform(0.4, 0.8) * rng.dirichlet(np.full(d, 0.1))
        share = topic + (1 - topic.sum()) * common
        counts = rng.multinomial(length, share / share.sum(), size=n)
        parts.append(np.sqrt(counts / length))
    return parts


def nested(sizes: list[int], rng: Rng) -> list[Points]:
    """Dense clusters inside a wide one, or on its border."""
    d = int(rng.choice([2, 3]))
    parts = [rng.normal(0, 3, (sizes[0], d))]
    return parts + [rng.normal(rng.normal(0, 2.5, d), rng.uniform(0.1, 0.4), (n, d)) for n in sizes[1:]]


def weak(sizes: list[int], rng: Rng) -> list[Points]:
    """Gaussian clusters that differ in a few columns of many, of unequal covariance, with columns of noise."""
    d, useful = int(rng.choice([8, 13, 20, 30])), int(rng.integers(2, 6))
    parts = []
    for n in sizes:
        points = rng.normal(size=(n, d)) @ (np.eye(d) + rng.normal(0, rng.uniform(0.05, 0.4), (d, d)))
        points[:, :useful] += rng.normal(0, rng.uniform(1.5, 3.5), useful)
        parts.append(points)
    return parts


def waves(sizes: list[int], rng: Rng) -> list[Points]:
    """Parallel waves or zigzag lines, one above another."""
    height, noise, sharp = rng.uniform(0.3, 1.0), rng.uniform(0.02, 0.12), rng.random() < 0.4
    parts = []
    for place, n in enumerate(sizes):
        t = rng.uniform(0, 2 * np.pi, n)
        wave = 2 / np.pi * np.arcsin(np.sin(2 * t)) if sharp else np.sin(2 * t)
        parts.append(np.stack([t, height * wave + 1.4 * place], axis=1) + rng.normal(0, noise, (n, 2)))
    return parts


def links(sizes: list[int], rng: Rng) -> list[Points]:
    """A chain of rings in three dimensions, each through the next."""
    noise, parts = rng.uniform(0.03, 0.15), []
    for place, n in enumerate(sizes):
        angle = rng.uniform(0, 2 * np.pi, n)
        points = np.zeros((n, 3))
        points[:, 0] = np.cos(angle) + 1.2 * place
        points[:, 1 + place % 2] = np.sin(angle)
        parts.append(points + rng.normal(0, noise, (n, 3)))
    return parts


def enclosed(sizes: list[int], rng: Rng) -> list[Points]:
    """Gaussian clusters inside an arc that is open on one side, or inside a closed one."""
    noise, opening = rng.uniform(0.02, 0.12), rng.uniform(0, 1.2)
    angle = rng.uniform(opening, 2 * np.pi - opening, sizes[0])
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(0, noise, (sizes[0], 2))
    around = rng.uniform(0, 2 * np.pi)
    parts = [ring]
    for place, n in enumerate(sizes[1:]):
        turn = around + 2 * np.pi * place / max(len(sizes) - 1, 1)
        centre = 0.45 * np.array([np.cos(turn), np.sin(turn)]) * (len(sizes) > 2)
        parts.append(centre + rng.normal(0, rng.uniform(0.08, 0.18), (n, 2)))
    return parts


FAMILIES: dict[str, tuple[Callable[[list[int], Rng], list[Points]], int]] = {
    "balls": (balls, 15),
    "scales": (scales, 10),
    "cigars": (cigars, 8),
    "rings": (rings, 4),
    "arcs": (arcs, 6),
    "spirals": (spirals, 4),
    "boxes": (boxes, 8),
    "threads": (threads, 6),
    "tails": (tails, 10),
    "votes": (votes, 6),
    "digits": (digits, 12),
    "topics": (topics, 12),
    "nested": (nested, 4),
    "weak": (weak, 6),
    "waves": (waves, 6),
    "links": (links, 4),
    "enclosed": (enclosed, 4),
}
"""Each family with the largest number of clusters that it makes."""


def generated(family: str, seed: int) -> Generated:
    """One set of a family: the size, the number of clusters and all else follow from the seed."""
    make, most = FAMILIES[family]
    rng = np.random.default_rng([list(FAMILIES).index(family), seed])
    n, k = int(np.exp(rng.uniform(np.log(150), np.log(1200)))), int(rng.integers(2, most + 1))
    parts = make(_sizes(n, k, rng), rng)
    X, y = np.concatenate(parts), np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    if rng.random() < 0.25:  # a few objects that belong nowhere keep the cluster they were drawn near
        strays = rng.random(len(X)) < rng.uniform(0, 0.05)
        X[strays] += rng.normal(0, 1.5 * X.std(axis=0), (int(strays.sum()), X.shape[1]))
    order: Any = rng.permutation(len(X))
    return Generated(X[order], y[order].astype(np.int64), family)
