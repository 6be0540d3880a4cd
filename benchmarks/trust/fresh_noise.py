"""Fresh sets without clusters: new seeds, and shapes of clouds that the 100 sets without clusters lack."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.trust.fresh_sets import FAMILIES
from benchmarks.trust.noise_sets import CLUSTERS, KINDS, NoiseSet, cloud
from quorate import EnsembleClustering, evaluate

SHAPES = ("ball", "rotated box", "exponential", "log-normal", "elongated", "curved cloud")
"""Clouds that no limit was chosen on; all but the last have convex level sets, or nearly so."""
DIMENSIONS = (2, 10)
SEED = 1508


def names() -> list[str]:
    """All cases: family, kind of cloud, and the number of dimensions."""
    return [f"{family} / {kind} / {d}" for family in FAMILIES for kind in (*KINDS, *SHAPES) for d in DIMENSIONS]


def make(name: str) -> NoiseSet:
    """Draw the cloud of a case, and a number of clusters to ask for; the same case gives the same cloud."""
    family, kind, text = name.split(" / ")
    dimensions, place = int(text), (*KINDS, *SHAPES).index(kind)
    rng = np.random.default_rng((SEED, FAMILIES.index(family), place, dimensions))
    n_objects, n_clusters = int(rng.integers(250, 1_501)), int(rng.choice(CLUSTERS))
    draw = cloud if kind in KINDS else _shape
    return NoiseSet(draw(kind, n_objects, dimensions, rng), None, None, n_clusters, 0.0)


def _shape(kind: str, n_objects: int, dimensions: int, rng: np.random.Generator) -> NDArray[Any]:
    size = (n_objects, dimensions)
    points = rng.normal(size=size)
    if kind == "ball":
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        return np.asarray(points / lengths * rng.random((n_objects, 1)) ** (1 / dimensions))
    if kind == "rotated box":
        return np.asarray(rng.random(size) @ np.linalg.qr(rng.normal(size=(dimensions, dimensions)))[0])
    if kind == "exponential":
        return rng.exponential(size=size)
    if kind == "log-normal":
        return np.exp(0.7 * points)
    if kind == "elongated":
        return points * 0.5 ** np.arange(dimensions).clip(max=6)
    angle = rng.uniform(0, 1.3 * np.pi, size=n_objects)
    points *= 0.25
    points[:, :2] += 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    return points


def measure_fresh_noise(name: str) -> dict[str, Any]:
    """Whether clusters of a given number pass for real, and the number that is found."""
    data = make(name)
    start = time.process_time()
    model = EnsembleClustering(data.n_clusters, random_state=0).fit(data.X)
    scores = evaluate(model.consensus_, model.ensemble_, features=data.X)
    found = EnsembleClustering("auto", random_state=0).fit(data.X)
    z = None if scores.reference_z is None else round(float(scores.reference_z), 3)
    told = {"objects": scores.n_objects, "asked": data.n_clusters, "grade": scores.verdict.grade, "reference_z": z}
    return {**told, "k": found.n_clusters_, "seconds": round(time.process_time() - start, 2)}
