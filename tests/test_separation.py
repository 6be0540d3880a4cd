"""How clusters are separated: valleys on straight lines and along the cloud, links and borders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree
from sklearn.cluster import KMeans

from quorate import EnsembleClustering, generate, significant_splits
from quorate._trust.separation import has_few_directions, separation, valley_depth, widths_along


def blobs(n: int = 300, apart: float = 6.0, k: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal((apart * place, 0), 1, size=(n // k, 2)) for place in range(k)])


def halves_of(points: np.ndarray) -> np.ndarray:
    return np.asarray(KMeans(2, n_init=1, random_state=0).fit_predict(points))


def test_valley_depth_by_hand() -> None:
    flat = np.full(31, 100.0)
    assert valley_depth(flat) == 0.0
    valley = flat.copy()
    valley[13:18] = 0.0
    assert valley_depth(valley) == pytest.approx(np.sqrt(2) * (np.sqrt(100.375) - np.sqrt(0.375)))
    hill = np.where(np.abs(np.arange(31) - 15) < 4, 100.0, 50.0)
    assert valley_depth(hill) <= 0


def test_separation_of_clusters_and_of_halves_of_one() -> None:
    points = blobs(300)
    clear = separation(points, np.arange(300) // 100)
    assert clear.valley > 6
    assert clear.cut < 0.01
    one = np.random.default_rng(0).normal(size=(600, 2))
    cut = separation(one, (one[:, 0] > 0).astype(int))
    assert cut.valley < 1.5
    assert cut.cut > 0.01
    same = np.zeros((20, 2))
    assert separation(same, np.arange(20) % 2).valley == 0.0


def slow_border(points: np.ndarray, labels: np.ndarray) -> float:
    """The border of a separation, link by link: densities by the tenth neighbour, links to five neighbours."""
    distance, near = cKDTree(points).query(points, 11)
    radius = np.maximum(distance[:, 10], 0.1 * np.median(distance[:, 10]))
    density = -points.shape[1] * np.log(radius)
    sparser: dict[int, list[float]] = {}
    for row in range(len(points)):
        for other in near[row, 1:6]:
            one, two = int(labels[row]), int(labels[other])
            if one != two:
                within = min(density[labels == one].mean(), density[labels == two].mean())
                value = within - (density[row] + density[other]) / 2
                sparser.setdefault(one, []).append(value)
                sparser.setdefault(two, []).append(value)
    return float(np.mean([np.mean(values) for values in sparser.values()]))


def arc(n: int, seed: int, width: float = 0.25) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 1.3 * np.pi, size=n)
    points = 2 * np.column_stack([np.cos(angle), np.sin(angle)]) + width * rng.normal(size=(n, 2))
    return np.asarray(points - points.mean(axis=0))


def test_a_hollow_in_a_curved_cloud_is_no_valley_along_it() -> None:
    points = arc(600, seed=3)
    halves = halves_of(points)
    assert separation(points, halves).valley > 6
    assert separation(points, halves, along=True).valley < 2.5
    ring = np.random.default_rng(0).uniform(0, 2 * np.pi, size=400)
    circle = np.column_stack([np.cos(ring), np.sin(ring)])
    assert separation(circle, halves_of(circle)).valley > 4
    assert separation(circle, halves_of(circle), along=True).valley < 2.5


def test_valleys_between_clusters_are_found_along_the_cloud() -> None:
    for apart in (3.5, 6.0):
        points = blobs(300, apart=apart)
        labels = np.arange(300) // 100
        straight, along = separation(points, labels), separation(points, labels, along=True)
        assert along.valley > 0.8 * straight.valley > 1
        assert along[1:] == straight[1:]
    # no way leads from one cluster to another: lines are straight again
    far = blobs(300, apart=100.0)
    assert separation(far, labels, along=True)[:2] == separation(far, labels)[:2]


def test_the_widths_of_an_unrolled_cloud() -> None:
    points = arc(800, seed=0, width=0.05)
    long, wide = widths_along(points)
    # evenly along 2.6 pi, and the width of the line
    assert long == pytest.approx(2.6 * np.pi / np.sqrt(12), rel=0.1)
    assert wide < 0.3
    assert points.std(axis=0).min() > 0.8
    flat = np.random.default_rng(0).normal(size=(500, 2)) * (3, 1)
    assert widths_along(flat)[1] / widths_along(flat)[0] == pytest.approx(1 / 3, rel=0.2)
    # two clouds without a way between them, and a cloud of many directions, are taken as they are
    apart = np.concatenate([points, points + 100])
    assert np.array_equal(widths_along(apart), apart.std(axis=0))
    many = np.random.default_rng(0).normal(size=(200, 12))
    assert not has_few_directions(many)
    assert np.array_equal(widths_along(many), many.std(axis=0))


@pytest.mark.parametrize("d", [2, 5])
def test_the_border_is_that_of_a_slow_twin(d: int) -> None:
    points = np.random.default_rng(d).normal(size=(200, d))
    labels = np.digitize(points[:, 0], [-0.5, 0.7])
    assert separation(points, labels).border == pytest.approx(slow_border(points, labels), rel=1e-4)


def test_borders_are_sparse_between_clusters_and_not_within_one() -> None:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, size=900)
    radius = np.where(np.arange(900) % 3 == 0, 1.0, 2.0) + rng.normal(scale=0.2, size=900)
    rings = np.column_stack([np.cos(angle), np.sin(angle)]) * radius[:, None]
    assert separation(rings, (radius > 1.5).astype(int)).border > 0.6
    assert separation(rings, (rings[:, 0] > 0).astype(int)).border < 0.4
    apart = np.concatenate([rings, rings + 100])
    assert np.isnan(separation(apart, np.arange(1_800) // 900).border)
    repeated = np.repeat(np.arange(20.0)[:, None], 20, axis=0)
    assert np.isnan(separation(repeated, np.arange(400) // 200).border)


def s_curve(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    angle = 3 * np.pi * (rng.random(n) - 0.5)
    sheet = np.column_stack([np.sin(angle), 2 * rng.random(n), np.sign(angle) * (np.cos(angle) - 1)])
    return np.asarray(sheet + 0.1 * rng.normal(size=(n, 3)))


def test_a_curved_sheet_is_one_cluster_and_has_no_significant_split() -> None:
    X = s_curve(400, seed=1)
    assert EnsembleClustering(random_state=0).fit(X).n_clusters_ == 1
    assert significant_splits(generate(X, k=(5, 20), base="kmeans", random_state=0), X).n_clusters == 1
    # the same sheet with a gap
    apart = X[np.abs(X[:, 2]) > 0.4]
    assert EnsembleClustering(random_state=0).fit(apart).n_clusters_ > 1
    assert significant_splits(generate(apart, k=(5, 20), base="kmeans", random_state=0), apart).n_clusters > 1
