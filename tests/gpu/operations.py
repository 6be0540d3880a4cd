"""Every operation of the device on a given card: random inputs in, host arrays out.

The same functions run on a real card and on the card of NumPy (device_twin.py), and their results are compared.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from quorate._device import card_features, card_points, card_rows, card_tables
from quorate._device.card import Card
from quorate._device.device_ensemble import DeviceEnsemble, resident
from quorate.solvers.label_rows import fill_empty

N_CLUSTERS = 7


def labels_of(seed: int, n: int = 3000, dtype: Any = np.int8, members: int = 9, missing: float = 0.1) -> Any:
    """Labels of a planted partition under noise, one column per member, with gaps."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(5, size=n)
    labels = (truth[:, None] + (rng.random((n, members)) < 0.2) * rng.integers(1, 6, (n, members))).astype(dtype)
    labels[rng.random(labels.shape) < missing] = -1
    labels[labels.max(axis=1) < 0, 0] = 0
    return labels


def ensemble_on(card: Card, seed: int, **options: Any) -> DeviceEnsemble:
    """An ensemble with counts on the card."""
    labels = labels_of(seed, **options)
    coded = card_rows.code_columns_on_card(card, card.to_card(labels))
    assert coded is not None
    found = card_rows.distinct_rows_on_card(card, coded[0], None)
    sizes = np.array([len(values) for values in coded[1]], dtype=np.int64)
    like = {
        "n_clusters": sizes,
        "weights": np.linspace(1, 2, len(sizes)),
        "member_names": tuple(f"member {q}" for q in range(len(sizes))),
        "categories": tuple(coded[1]),
    }
    return resident(card, coded[0][found.first], found.counts, like, "numpy")


def codes(card: Card, seed: int) -> list[Any]:
    """Codes by first appearance of several types, and the values that they stand for."""
    results: list[Any] = []
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        coded = card_rows.code_columns_on_card(card, card.to_card(labels_of(seed, dtype=dtype)))
        assert coded is not None
        results += [card.to_host(coded[0]), *coded[1]]
    wide = np.random.default_rng(seed).integers(5000, size=(4000, 3))
    coded = card_rows.code_columns_on_card(card, card.to_card(wide))
    assert coded is not None
    return [*results, card.to_host(coded[0])]


def distinct(card: Card, seed: int) -> list[Any]:
    """Distinct rows, with and without counts, for rows of several lengths in bytes."""
    results: list[Any] = []
    for members, dtype in ((3, np.int8), (8, np.int8), (5, np.int16), (1, np.int32)):
        labels = card.to_card(labels_of(seed, n=20_000, members=members, dtype=dtype))
        counts = card.to_card(np.random.default_rng(seed).integers(1, 5, size=20_000))
        for given in (None, counts):
            results += [card.to_host(part) for part in card_rows.distinct_rows_on_card(card, labels, given)]
    return results


def tables(card: Card, seed: int) -> list[Any]:
    """Look-ups in integer and real tables, sums of clusters that rows move between, own and rival clusters."""
    ensemble, rng = ensemble_on(card, seed), np.random.default_rng(seed)
    xp, d, n = card.xp, int(ensemble.offsets[-1]), ensemble.n_rows
    results: list[Any] = []
    for table in (rng.integers(-99, 99, (d, N_CLUSTERS)), rng.normal(size=(d, N_CLUSTERS))):
        nearest, score = xp.empty(n, dtype=xp.int32), xp.empty(n)
        rule = table, rng.random(N_CLUSTERS), rng.random(N_CLUSTERS)
        for factor in (np.ones(1), rng.random(n)):
            card_tables.look_up_on_card(ensemble, rule, factor, nearest, score)
            results += [card.to_host(nearest), card.to_host(score)]
    moving = card_tables.MovingOnCard(ensemble, N_CLUSTERS, rng.integers(1, 9, n))
    for _ in range(3):
        fresh = rng.integers(-1, N_CLUSTERS, n).astype(np.int32)
        results += [moving.move(card.to_card(fresh)), *moving.sums()]
    assignment = rng.integers(N_CLUSTERS, size=n).astype(np.int32)
    results += [*card_tables.tally_and_sizes_on_card(ensemble, assignment, N_CLUSTERS)]
    shared = card_tables.own_and_rival_on_card(ensemble, rng.random((d, N_CLUSTERS)), assignment)
    results += [card.to_host(part) for part in shared]
    results += [
        card.to_host(card_tables.row_sums_on_card(ensemble, w)) for w in (rng.random(d), rng.integers(9, size=d))
    ]
    return results


def graph(card: Card, seed: int) -> list[Any]:
    """What base clusters share, in objects and by mass, and the points of rows."""
    ensemble, rng = ensemble_on(card, seed), np.random.default_rng(seed)
    d = int(ensemble.offsets[-1])
    folded = card_points.fold_on_card(ensemble, rng.random(d) + 0.5)
    points = card_points.unit_points(ensemble, rng.normal(size=(d, 11)))
    return [card_points.shared_objects_on_card(ensemble), folded, card.to_host(points)]


def points(card: Card, seed: int) -> list[Any]:
    """A run of k-means over points, also one in which clusters become empty."""
    rng = np.random.default_rng(seed)
    results: list[Any] = []
    for k, d in ((4, 3), (20, 17)):
        host = rng.normal(size=(d, 5000))
        host /= np.sqrt((host**2).sum(axis=0))
        counts = card.to_card(rng.integers(1, 50, size=5000))
        centres = host[:, :k].T.copy()
        centres[-1] = 9.0
        run = card_points.lloyd_on_card(card, card.to_card(host), counts, centres, 30, fill_empty)
        results += [card.to_host(run.labels), run.inertia, run.n_iter, run.converged]
    return results


def features(card: Card, seed: int) -> list[Any]:
    """Facts of columns, prepared rows, nearest centres of several members for narrow, wide and projected rows."""
    rng = np.random.default_rng(seed)
    results: list[Any] = []
    for width, dtype in ((16, np.float32), (16, np.float64), (5, np.float32), (33, np.float32), (90, np.float64)):
        host = (3 + rng.normal(size=(2003, width))).astype(dtype)
        data = card.to_card(host)
        results += [*card_features.column_facts_on_card(card, data)]
        rows = card_features.CardFeatures(card, data, host.mean(axis=0, dtype=np.float64), 0.25)
        whole = card_features.Seen(np.arange(width, dtype=np.int32), None)
        some = card_features.Seen(np.array([3, 1], dtype=np.int32), None)
        cast = card_features.Seen(whole.columns, rng.normal(size=(width, 4)))
        for seen in (whole, some, cast):
            numbers = np.sort(rng.choice(2003, 100, replace=False))
            results.append(card.to_host(card_features.prepared_rows(rows, data, numbers, (0, 0), seen, across=False)))
            members = [rng.normal(0, 0.3, (k, seen.width)).astype(np.float32) for k in (3, 40, 1, 300)]
            labels = card.xp.zeros((2003, 6), dtype=card.xp.int16)
            card_features.assign_on_card(rows, seen, members, [0, 2, 3, 5], labels)
            results.append(card.to_host(labels))
    return results


def streamed(card: Card, seed: int) -> list[Any]:
    """Nearest centres of rows in host memory that go through the card in blocks."""
    rng = np.random.default_rng(seed)
    host = rng.normal(size=(70_001, 8)).astype(np.float32)
    rows = card_features.CardFeatures(card, host, np.zeros(8), 0.5)
    seen = card_features.Seen(np.arange(8, dtype=np.int32), None)
    labels = card.xp.zeros((len(host), 1), dtype=card.xp.int8)
    before, card_features.BLOCK_BYTES = card_features.BLOCK_BYTES, 1 << 18
    try:
        card_features.assign_on_card(rows, seen, [rng.normal(0, 0.3, (9, 8)).astype(np.float32)], [0], labels)
    finally:
        card_features.BLOCK_BYTES = before
    return [card.to_host(labels)]


def landmarks(card: Card, seed: int) -> list[Any]:
    """Labels of spectral members, with and without groups of landmarks."""
    rng = np.random.default_rng(seed)
    results: list[Any] = []
    for p, g, width in ((30, 0, 16), (300, 12, 16), (300, 12, 3)):
        host = rng.normal(size=(4000, width)).astype(np.float32)
        points = rng.normal(size=(p, width)).astype(np.float32)
        starts = np.sort(np.concatenate([[0, p], rng.choice(np.arange(1, p), max(g - 1, 0), replace=False)]))
        groups = np.array([points[a:b].mean(axis=0) for a, b in pairwise(starts)])
        far = ((points[:, None] - points) ** 2).sum(axis=2)
        around = np.argsort(far, axis=1)[:, :50].astype(np.int32)
        model = card_features.LandmarkModel(
            *(points, groups.astype(np.float32) if g else None, starts.astype(np.int64), around, 5, 0.7),
            *(rng.normal(size=(p, 22)), rng.normal(0, 0.3, (25, 22)).astype(np.float32)),
        )
        rows = card_features.CardFeatures(card, card.to_card(host), np.zeros(width), 0.5)
        labels = card.xp.zeros((4000, 2), dtype=card.xp.int8)
        seen = card_features.Seen(np.arange(width, dtype=np.int32), None)
        card_features.label_by_landmarks(rows, seen, model, 1, labels)
        results.append(card.to_host(labels))
    return results


EXACT = {"codes": codes, "distinct": distinct, "tables": tables, "streamed": streamed}
"""Operations whose results are equal bit for bit."""

CLOSE = {"graph": graph, "points": points, "features": features, "landmarks": landmarks}
"""Operations that may differ in the last digits of floats, and so in few labels."""
