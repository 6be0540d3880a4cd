"""The judge of labellings: what it measures beside slow twins, and what must not change its marks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist
from sklearn.metrics import calinski_harabasz_score

from quorate.generation.features import as_features
from quorate.generation.judge import (
    LEAST,
    NEIGHBOURS,
    WEIGHTS,
    Scene,
    inner_cuts,
    mark,
    marks,
    scene_of,
    terms,
)

NAMES = list(WEIGHTS)


def three_groups(seed: int = 0, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [40, 60, 30])
    return rng.normal(size=(130, d)) + 5 * rng.normal(size=(3, d))[y], y


def scene(X: np.ndarray) -> Scene:
    return scene_of(as_features(X), ours=True)


def value(name: str, labels: np.ndarray, X: np.ndarray) -> float:
    return float(terms(labels, scene(X))[NAMES.index(name)])


def slow_cut(labels: np.ndarray, near: np.ndarray) -> tuple[float, float, float]:
    """Mean and largest share of a cluster's links that leave it, and the share of all links, one link at a time."""
    k = labels.max() + 1
    leaving, all_links, cut = np.zeros(k), np.zeros(k), 0
    for one, others in enumerate(near):
        for other in others:
            for end in (labels[one], labels[other]):
                all_links[end] += 1
                leaving[end] += labels[one] != labels[other]
            cut += labels[one] != labels[other]
    return (leaving / all_links).mean(), (leaving / all_links).max(), cut / near.size


def test_neighbours_and_cuts_equal_slow_twins() -> None:
    X, _ = three_groups()
    apart = cdist(X, X)
    np.fill_diagonal(apart, np.inf)
    near = np.argsort(apart, axis=1)[:, :NEIGHBOURS]
    assert np.array_equal(scene(X).near, near)
    labels = np.random.default_rng(1).integers(0, 3, 130)
    found = terms(labels, scene(X))
    for count, first in ((4, 0), (10, 3)):
        assert np.exp(found[first : first + 3]) - LEAST == pytest.approx(slow_cut(labels, near[:, :count]))
    assert found[6:8] == pytest.approx(slow_cut(labels, near)[:2])


def test_compactness_equals_slow_twins() -> None:
    X, y = three_groups()
    labels = np.where(np.random.default_rng(2).random(130) < 0.1, 0, y)
    squared = cdist(X, X) ** 2
    shown = []
    for one in range(130):
        mine = (labels == labels[one]) & (np.arange(130) != one)
        own = squared[one, mine].mean()
        other = min(squared[one, labels == cluster].mean() for cluster in range(3) if cluster != labels[one])
        shown.append((other - own) / max(other, own))
    assert value("silhouette", labels, X) == pytest.approx(np.mean(shown), abs=1e-4)
    assert value("calinski-harabasz (log)", labels, X) == pytest.approx(
        np.log(calinski_harabasz_score(X, labels)), abs=1e-4
    )
    means = np.array([X[labels == cluster].mean(axis=0) for cluster in range(3)])
    spread = [np.sqrt(((X[labels == c] - means[c]) ** 2).sum(axis=1).mean()) for c in range(3)]
    worst = [
        max((spread[a] + spread[b]) / np.linalg.norm(means[a] - means[b]) for b in range(3) if b != a) for a in range(3)
    ]
    share = np.bincount(labels) / 130
    known = slow_information(labels, scene(X).near[:, :4]) / -(share * np.log(share)).sum()
    assert value("davies-bouldin (log)", labels, X) == pytest.approx(np.log(np.mean(worst)) * known, abs=1e-4)


def slow_information(labels: np.ndarray, near: np.ndarray) -> float:
    """Mutual information of the labels at both ends of a link, one link at a time; each link counts both ways."""
    k = labels.max() + 1
    joint = np.zeros((k, k))
    for one, others in enumerate(near):
        for other in others:
            joint[labels[one], labels[other]] += 0.5 / near.size
            joint[labels[other], labels[one]] += 0.5 / near.size
    own = joint.sum(axis=1)
    pairs = [(a, b) for a in range(k) for b in range(k) if joint[a, b] > 0]
    return float(sum(joint[a, b] * np.log(joint[a, b] / (own[a] * own[b])) for a, b in pairs))


def test_labels_of_neighbours_count_where_objects_spread_in_many_directions() -> None:
    name = "neighbours' labels, many directions"
    flat, y = three_groups(d=2)
    assert scene(flat).many < 0.3
    wide, y = three_groups(d=8)
    assert scene(wide).many == 1
    labels = np.where(np.random.default_rng(2).random(130) < 0.2, 0, y)
    known = slow_information(labels, scene(wide).near[:, :4]) / np.log(3)
    assert value(name, labels, wide) == pytest.approx(known)
    assert value(name, y, wide) > known
    # texts are left to the other terms
    assert scene_of(as_features(csr_matrix(np.where(wide > 3, wide, 0))), ours=True).many == 0
    # and so are the labellings of users
    assert scene_of(as_features(wide)).many == 0


def test_a_tight_group_inside_a_cluster_is_no_better_than_the_two_halves() -> None:
    """Fewer links leave the tight group than the halves, but its labels tell less."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 8)) + 3.5 * y[:, None] / np.sqrt(8) * 2
    X[:30] = X[0] + 0.05 * rng.normal(size=(30, 8)) - 6 * np.eye(8)[0]
    y[:30] = y[0]
    tight = (np.arange(400) < 30).astype(int)
    halves, group = terms(y, scene(X)), terms(tight, scene(X))
    assert group[NAMES.index("cut, 10 neighbours")] < halves[NAMES.index("cut, 10 neighbours")]
    assert mark(halves) > mark(group)


def test_clusters_that_are_mixed_gain_nothing_by_having_one_mean() -> None:
    """Rings around one centre have equal means, and so have labels drawn at random, which deserve the lowest mark."""
    rng = np.random.default_rng(0)
    ring, angle = np.arange(300) % 2, rng.uniform(0, 2 * np.pi, 300)
    X = (1 + 2 * ring + rng.normal(0, 0.1, 300))[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    found = marks([ring, (angle > np.pi).astype(int), rng.integers(2, size=300)], scene(X))
    assert found[0] > found[1] + 5 > found[2] + 10


def test_the_weakest_place_inside_a_cluster_is_found() -> None:
    """Two groups in one cluster are split by none of their links; one group has many links wherever it is cut."""
    X, y = three_groups()
    joined = np.where(y == 2, 1, 0)
    inner = inner_cuts(joined, scene(X))
    assert inner[0] < 0.02 < 0.1 < inner[1]


def test_the_inner_cut_is_a_normalised_cut_and_not_below_the_best_of_all() -> None:
    """On eight objects every split can be tried."""
    X = np.array([[0.0], [1.0], [2.1], [3.3], [9.0], [10.2], [11.5], [12.9]])
    places = scene(X)._replace(near=scene(X).near[:, :2])
    matrix = np.zeros((8, 8))
    np.add.at(matrix, (np.repeat(np.arange(8), 2), places.near.ravel()), 1.0)
    matrix += matrix.T
    degree = matrix.sum(axis=1)
    best = 1.0
    for code in range(1, 128):
        side = np.array([code >> bit & 1 for bit in range(8)], dtype=bool)
        cut = matrix[side][:, ~side].sum()
        best = min(best, 0.5 * (cut / degree[side].sum() + cut / degree[~side].sum()))
    assert inner_cuts(np.zeros(8, dtype=int), places)[0] == pytest.approx(best)


def test_pieces_are_objects_outside_the_largest_connected_part() -> None:
    X, y = three_groups()
    assert value("pieces of clusters", y, X) == 0
    assert value("pieces of clusters", np.where(y == 2, 1, 0), X) == pytest.approx((40 / 100 + 0) / 2)


def test_gaussians_of_the_right_shape_fit_better() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = rng.normal(size=(300, 2)) * np.where(y[:, None] == 0, [6.0, 0.3], [0.3, 6.0])
    halves = (X[:, 0] > 0).astype(int)
    assert value("gaussians", y, X) > value("gaussians", halves, X) + 0.3


@pytest.mark.parametrize("kind", ["dense", "ties", "sparse"])
def test_marks_do_not_depend_on_the_order_of_objects_or_the_unit(kind: str) -> None:
    X, y = three_groups(3, d=6)
    if kind == "ties":
        X = np.round(X / 2)
        X = X + 0.0
        _, first = np.unique(X, axis=0, return_index=True)
        X, y = X[np.sort(first)], y[np.sort(first)]
        y = np.unique(y, return_inverse=True)[1]
    if kind == "sparse":
        X = np.where(np.random.default_rng(0).random((len(X), 80)) < 0.06, 1.0 + np.arange(80) % 3, 0.0)
        X[:, 0] = 1.0
    table = csr_matrix(X) if kind == "sparse" else X
    other = np.random.default_rng(1).integers(0, 3, len(y))
    expected = marks([y, other], scene_of(as_features(table)))
    order = np.random.default_rng(2).permutation(len(y))
    shuffled = marks([y[order], other[order]], scene_of(as_features(table[order])))
    scaled = marks([y, other], scene_of(as_features(table * 1024.0)))
    assert shuffled == pytest.approx(expected, abs=1e-3)
    assert scaled == pytest.approx(expected, abs=1e-6)


def test_numbers_of_the_clusters_do_not_matter() -> None:
    X, y = three_groups()
    assert marks([(y + 1) % 3], scene(X)) == pytest.approx(marks([y], scene(X)))


def test_the_truth_has_a_higher_mark_than_wrong_labels() -> None:
    X, y = three_groups()
    wrong = np.where(np.random.default_rng(0).random(130) < 0.2, (y + 1) % 3, y)
    merged = np.where(y == 2, 1, y)
    merged[:20] = 2
    assert np.argmax(marks([wrong, merged, y], scene(X))) == 2


@pytest.mark.parametrize("shape", [(12, 1), (12, 400), (30, 300), (40, 2)])
def test_few_objects_and_many_columns_are_judged(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).normal(size=shape)
    labels = np.arange(len(X)) % 3
    for table in (X, np.ones(shape), np.repeat(X[:3], len(X) // 3, axis=0)):
        found = terms(labels[: len(table)], scene(table))
        assert np.isfinite(found).all()
        assert mark(found) == pytest.approx(found @ list(WEIGHTS.values()))
    alone = np.zeros(len(X), dtype=int)
    alone[0] = 1
    assert np.isfinite(terms(alone, scene(X))).all()
