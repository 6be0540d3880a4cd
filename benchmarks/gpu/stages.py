"""How long each stage takes on the card, and the bytes that it has to move.

python -m benchmarks.gpu.stages [n] [easy] [FILE.jsonl]
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from quorate._device import card_features, card_points, card_rows, card_tables
from quorate._device.card import Card
from quorate._device.choose import find_card
from quorate._device.device_ensemble import DeviceEnsemble, resident
from quorate.generation.kmeans import lloyd, random_rows
from quorate.ops.threads import Stop
from quorate.solvers.label_rows import fill_empty

COPY_RATE = 4.3e12
"""Bytes that a copy on an H200 reads and writes in a second."""


def blobs(card: Card, n: int, d: int, hard: bool, seed: int = 0) -> Any:
    """Ten Gaussian clusters made on the card: far apart, or overlapping if `hard`."""
    xp = card.xp
    xp.random.seed(seed)
    k, spread = (10, 0.5) if hard else (10, 0.05)
    means = xp.random.random((k, d), dtype=xp.float32)
    data = xp.empty((n, d), dtype=xp.float32)
    for start in range(0, n, 1 << 24):
        stop = min(n, start + (1 << 24))
        noise = xp.random.standard_normal((stop - start, d), dtype=xp.float32)
        noise *= xp.float32(spread)
        noise += means[xp.random.randint(0, k, stop - start)]
        data[start:stop] = noise
    return data


class Stages:
    """Times of named stages; a stage that fails is told and does not stop the others."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.rows: list[dict[str, Any]] = []

    def run(self, name: str, work: Callable[[], Any], n_bytes: float = 0.0, repeats: int = 3) -> Any:
        """Run a stage several times and keep the shortest time; n_bytes is what it has to move at least."""
        times, result = [], None
        try:
            for _ in range(repeats):
                result = None
                self.card.synchronise()
                start = time.perf_counter()
                result = work()
                self.card.synchronise()
                times.append(time.perf_counter() - start)
        except Exception:
            print(f"{name}: failed")
            traceback.print_exc(limit=4)
            return None
        floor = n_bytes / COPY_RATE
        text = f" {n_bytes / 1e9:8.2f} GB, at least {1e3 * floor:8.2f} ms" if n_bytes else ""
        print(f"{name:34s} {1e3 * min(times):10.2f} ms (first {1e3 * times[0]:.1f}){text}", flush=True)
        self.rows.append({"stage": name.strip(), "seconds": min(times), "bytes": n_bytes})
        return result


def main(n: int = 100_000_000, d: int = 16, hard: bool = True, out: Path | None = None) -> None:
    card = find_card()
    if isinstance(card, str):
        print(card)
        return
    print(f"{card.name}, {n:,} x {d} float32, {'hard' if hard else 'easy'}", flush=True)
    stages, rng = Stages(card), np.random.default_rng(0)
    xp = card.xp
    data = stages.run("make features", lambda: blobs(card, n, d, hard), 0, 1)
    facts = stages.run("column facts", lambda: card_features.column_facts_on_card(card, data), 4.0 * n * d)
    rows = card_features.CardFeatures(card, data, facts[0] / n, 0.25)
    seen = card_features.Seen(np.arange(d, dtype=np.int32), None)
    numbers = np.sort(rng.choice(n, 10_240, replace=False))
    stages.run(
        "sample of 10,240 rows to the host",
        lambda: card.to_host(card_features.prepared_rows(rows, data, numbers, (0, 0), seen, across=False)),
    )
    members = stages.run("training of 20 members on samples", lambda: _trained(rows, seen), 0)
    print("centres", sum(map(len, members)))
    labels = xp.empty((n, 20), dtype=xp.int8)
    stages.run(
        "nearest centres of 20 members",
        lambda: card_features.assign_on_card(rows, seen, members, list(range(20)), labels),
        (4.0 * d + 20) * n,
    )
    stages.run("codes by first appearance", lambda: card_rows.code_columns_on_card(card, labels, np.int8), 60.0 * n)
    coded, categories = card_rows.code_columns_on_card(card, labels, np.int8)
    found = stages.run(
        "distinct rows", lambda: card_rows.distinct_rows_on_card(card, coded, None), 2 * 20.0 * n + 8.0 * n
    )
    print("distinct", len(found.first))
    ensemble = _ensemble(card, coded, categories, found)
    _consensus_stages(stages, ensemble, found)
    _landmark_stage(stages, rows, seen, labels)
    stages.run("labels to the host, int8 x 20", lambda: card.to_host(labels), 0, 2)
    host = card.to_host(labels)
    stages.run("labels to the card, int8 x 20", lambda: card.to_card(host), 0, 2)
    stages.run("labels to the card, plain copy", lambda: xp.asarray(host), 0, 2)
    if out is not None:
        about = {"n": n, "data": "hard" if hard else "easy", "n_rows": ensemble.n_rows, "card": card.name}
        with out.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({**about, **row}) + "\n" for row in stages.rows)


def _trained(rows: Any, seen: Any) -> list[Any]:
    """Centres of 20 members with 10 to 40 clusters, trained as `generate` trains them, on all threads."""
    card, n = rows.card, len(rows.data)

    def train(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        numbers = np.sort(rng.choice(n, 10_240, replace=False))
        sample = card.to_host(card_features.prepared_rows(rows, rows.data, numbers, (0, 0), seen, across=False))
        return lloyd(sample, random_rows(sample, int(rng.integers(10, 41)), rng), (100, 102), Stop()).centres

    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(train, range(20)))


def _ensemble(card: Card, coded: Any, categories: Any, found: Any) -> DeviceEnsemble:
    like = {
        "n_clusters": np.array([len(values) for values in categories], dtype=np.int64),
        "weights": np.ones(len(categories)),
        "member_names": tuple(map(str, range(len(categories)))),
        "categories": tuple(categories),
    }
    return resident(card, coded[found.first], found.counts, like, "numpy")


def _consensus_stages(stages: Stages, ensemble: DeviceEnsemble, found: Any) -> None:
    card, rng = ensemble.card, np.random.default_rng(0)
    xp, m, d, k = card.xp, ensemble.n_rows, int(ensemble.offsets[-1]), 10
    stages.run("pairs of clusters, in objects", lambda: card_points.shared_objects_on_card(ensemble), 28.0 * m)
    stages.run("folded graph", lambda: card_points.fold_on_card(ensemble, np.ones(d)), 28.0 * m)
    table = rng.normal(size=(d, k))
    points = stages.run("points of rows", lambda: card_points.unit_points(ensemble, table), (20.0 + 8 * k) * m)
    centres = card.to_host(points[:, :k]).T.copy()
    run = stages.run(
        "k-means of points, 20 sweeps",
        lambda: card_points.lloyd_on_card(card, points, ensemble.counts_beside_rows(), centres, 20, fill_empty),
        20 * (8.0 * k + 12) * m,
    )
    print("sweeps", run.n_iter)
    _sweep_stages(stages, points, ensemble.counts_beside_rows(), centres)
    nearest, score = xp.empty(m, dtype=xp.int32), xp.empty(m)
    whole = rng.integers(0, 1000, size=(d, k))
    rule = whole, np.ones(k), np.zeros(k)
    stages.run(
        "one look-up", lambda: card_tables.look_up_on_card(ensemble, rule, np.ones(1), nearest, score), (20.0 + 12) * m
    )
    stages.run("sums of all rows", lambda: card_tables.tally_on_card(ensemble, nearest, k), 32.0 * m)
    stages.run(
        "own and rival clusters",
        lambda: card_tables.own_and_rival_on_card(ensemble, table**2, nearest),
        (20.0 + 24) * m,
    )
    stages.run("labels of all objects", lambda: nearest[found.inverse], 12.0 * len(found.inverse))


def _sweep_stages(stages: Stages, points: Any, counts: Any, centres: Any) -> None:
    """The parts of a sweep of k-means over points."""
    card, (k, (d, m)) = stages.card, (len(centres), points.shape)
    xp = card.xp
    nearest, distance, table = xp.empty(m, dtype=xp.int32), xp.empty(m), xp.asarray(centres)
    shape, none = (points, m, d), xp.full(m, -1, dtype=xp.int32)

    def launch(kernel: str, *arguments: Any) -> None:
        card.launch(kernel, (*shape, *arguments), source="points", types={}, n=m)

    stages.run("  nearest centres of points", lambda: launch("nearest_points", table, k, nearest, distance), 92.0 * m)
    sums, sizes, moved = (xp.zeros(size, dtype=xp.uint64) for size in ((k, d), k, 1))
    fixed = counts, 2.0**20
    stages.run(
        "  sums of points by single moves",
        lambda: launch("move_points", *fixed, none, nearest, sums, sizes, moved),
        96.0 * m,
        1,
    )
    stages.run("  no point moves", lambda: launch("move_points", *fixed, nearest, nearest, sums, sizes, moved), 8.0 * m)
    fresh = card_points.lloyd_on_card
    stages.run("  one sweep", lambda: fresh(card, points, counts, centres, 1, fill_empty), 200.0 * m)


def _landmark_stage(stages: Stages, rows: Any, seen: Any, labels: Any) -> None:
    rng, card = np.random.default_rng(1), rows.card
    n = len(rows.data)

    def draw(size: int) -> Any:
        numbers = np.sort(rng.choice(n, size, replace=False))
        return card.to_host(card_features.prepared_rows(rows, rows.data, numbers, (0, 0), seen, across=False))

    groups, points = draw(32), draw(1000)
    near = ((points[:, None] - groups) ** 2).sum(axis=2).argmin(axis=1)
    order = np.argsort(near, kind="stable")
    points = np.ascontiguousarray(points[order])
    starts = np.concatenate([[0], np.cumsum(np.bincount(near, minlength=32))]).astype(np.int64)
    around = np.argsort(((points[:, None] - points) ** 2).sum(axis=2), axis=1)[:, :50].astype(np.int32)
    for vectors in (24, 40, 60):
        model = card_features.LandmarkModel(
            *(points, groups, starts, around, 5, 0.1, rng.normal(size=(1000, vectors))),
            rng.normal(0, 0.2, (vectors, vectors)).astype(np.float32),
        )
        stages.run(
            f"labels of a spectral member, k {vectors}",
            lambda model=model: card_features.label_by_landmarks(rows, seen, model, 3, labels),  # type: ignore[misc]
            65.0 * n,
            2,
        )


if __name__ == "__main__":
    file = next((Path(text) for text in sys.argv[2:] if text.endswith(".jsonl")), None)
    main(*(int(value) for value in sys.argv[1:2]), hard="easy" not in sys.argv, out=file)
