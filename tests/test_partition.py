"""The partitioners: k parts always, seeds honoured, weights exact where they can be, no crash on odd input."""

from __future__ import annotations

import builtins
import subprocess
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from benchmarks.ensembles import planted
from ensembles import rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array
from sklearn.metrics import adjusted_rand_score

from quorate import as_ensemble, compress, consensus
from quorate.solvers.cluster_means import cluster_means
from quorate.solvers.graphs import partition as module
from quorate.solvers.graphs import row_partition
from quorate.solvers.graphs.partition import capped, integer_weights, partition_graph, partition_hypergraph
from quorate.solvers.graphs.row_partition import place_in_balance
from quorate.solvers.label_rows import one_hot

pytest.importorskip("mtkahypar", reason="hypergraph partitioning needs the extra 'hypergraph'")


def planted_graph(seed: int, n: int, k: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % k
    ends = rng.integers(n, size=(2, 60 * n))
    keep = (truth[ends[0]] == truth[ends[1]]) | (rng.random(60 * n) < 0.02)
    one_way = csr_array((rng.random(keep.sum()), ends[:, keep]), shape=(n, n))
    return (one_way + one_way.T).tocsr(), truth


def planted_hypergraph(seed: int, n: int, k: int) -> tuple[Any, Any]:
    """Hyperedges of 2 to 7 vertices as rows, nine in ten of them within a part."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % k
    sizes = rng.integers(2, 8, size=4 * n)
    indptr = np.r_[0, np.cumsum(sizes)]
    parts = np.repeat(rng.integers(k, size=4 * n), sizes)
    inside = np.repeat(rng.random(4 * n) < 0.9, sizes)
    indices = np.where(inside, parts + k * rng.integers(n // k, size=indptr[-1]), rng.integers(n, size=indptr[-1]))
    return csr_array((np.ones(indptr[-1]), indices, indptr), shape=(4 * n, n)), truth


def cut_by_hand(graph: Any, labels: Any) -> float:
    dense = graph.toarray()
    return sum(dense[i, j] for i in range(len(labels)) for j in range(i + 1, len(labels)) if labels[i] != labels[j])


@pytest.mark.parametrize("k", [2, 5, 12])
def test_planted_graph_is_found(k: int) -> None:
    graph, truth = planted_graph(k, 600, k)
    parts = partition_graph(graph.indptr, graph.indices, graph.data, None, k, 0)
    assert adjusted_rand_score(truth, parts.labels) > 0.95
    assert parts.n_repaired == 0
    assert np.bincount(parts.labels).max() <= 1.06 * 600 / k + 1


def test_cut_is_in_the_given_weights() -> None:
    graph, _ = planted_graph(1, 40, 3)
    graph = graph * 1e-7
    parts = partition_graph(graph.indptr, graph.indices, graph.data, None, 3, 0)
    assert parts.cut == pytest.approx(cut_by_hand(graph, parts.labels), rel=1e-9)


def test_scale_of_edge_weights_does_not_matter() -> None:
    graph, _ = planted_graph(2, 200, 4)
    answers = [
        partition_graph(graph.indptr, graph.indices, graph.data * scale, None, 4, 7).labels
        for scale in (1.0, 2.0**-40, 2.0**50)
    ]
    assert np.array_equal(answers[0], answers[1])
    assert np.array_equal(answers[0], answers[2])


def test_graph_seeds() -> None:
    graph, _ = planted_graph(3, 300, 4)
    runs = [partition_graph(graph.indptr, graph.indices, None, None, 9, seed).labels for seed in (1, 1, 0)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_graph_input_is_untouched_and_loops_do_not_count() -> None:
    graph, _ = planted_graph(4, 100, 2)
    with_loops = graph.copy()
    with_loops.setdiag(5.0)
    copies = [part.copy() for part in (with_loops.indptr, with_loops.indices, with_loops.data)]
    a = partition_graph(graph.indptr, graph.indices, graph.data, None, 2, 0)
    b = partition_graph(with_loops.indptr, with_loops.indices, with_loops.data, None, 2, 0)
    assert np.array_equal(a.labels, b.labels)
    for part, copy in zip((with_loops.indptr, with_loops.indices, with_loops.data), copies, strict=True):
        assert np.array_equal(part, copy)


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_every_part_of_any_graph_has_a_vertex(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    k = int(rng.integers(1, n + 1))
    one_way = random_array((n, n), density=rng.random() ** 2, rng=rng, format="csr")
    graph = (one_way + one_way.T).tocsr()
    mass = [None, np.ceil(rng.pareto(0.7, size=n)), rng.integers(2, size=n), np.zeros(n)][int(rng.integers(4))]
    parts = partition_graph(graph.indptr, graph.indices, graph.data, mass, k, seed)
    assert np.array_equal(np.unique(parts.labels), np.arange(k))
    assert parts.labels.dtype == np.int32


def test_vertices_of_no_weight_do_not_count_for_balance() -> None:
    """A star of 12 leaves: leaves of weight 0 may all lie on one side."""
    hubs = [(0, 1, 0.01)] + [(0, leaf, 1.0) for leaf in range(2, 14)]
    rows, columns, weights = (np.array(part) for part in zip(*hubs, strict=True))
    graph = csr_array((np.r_[weights, weights], (np.r_[rows, columns], np.r_[columns, rows])), shape=(14, 14))
    mass = np.array([1, 1] + [0] * 12)
    parts = partition_graph(graph.indptr, graph.indices, graph.data, mass, 2, 0)
    assert parts.cut == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 5}, "k must be between 1 and 4"),
        ({"indices": np.array([1, 0, 3, 9])}, "between 0 and 3"),
        ({"indices": np.array([1, 0, 3, 1])}, "both directions"),
        ({"edge_weights": np.array([1.0, 2.0, 1.0, 1.0])}, "both directions"),
        ({"edge_weights": np.array([-1.0, -1.0, 1.0, 1.0])}, "not negative"),
        ({"edge_weights": np.array([np.nan, np.nan, 1.0, 1.0])}, "both directions|finite"),
        ({"edge_weights": np.ones(3)}, "entries"),
        ({"vertex_weights": np.ones(3)}, "shape"),
        ({"seed": -1}, "seed"),
        ({"imbalance": -0.1}, "imbalance"),
    ],
)
def test_odd_graphs_are_refused(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "indptr": np.arange(5),
        "indices": np.array([1, 0, 3, 2]),
        "edge_weights": None,
        "vertex_weights": None,
        "k": 2,
        "seed": 0,
    }
    with pytest.raises(ValueError, match=message):
        partition_graph(**(arguments | change))


def test_integer_weights_lose_nothing_they_need_not() -> None:
    assert integer_weights(np.array([6, 9, 0, 300])).tolist() == [2, 3, 0, 100]
    assert integer_weights(np.array([0.25, 0.5])).tolist() == [2**23, 2**24]
    assert integer_weights(np.array([1e-30, 1.0])).tolist() == [1, 2**24]
    assert integer_weights(np.array([2**60, 2**59])).tolist() == [2**24, 2**23]
    assert integer_weights(np.zeros(2)).tolist() == [0, 0]
    assert integer_weights(np.array([])).tolist() == []
    assert integer_weights(np.full(1000, 0.1), total=10**6).sum() == 10**6
    values = np.random.default_rng(0).random(200)
    assert np.array_equal(np.argsort(integer_weights(values), kind="stable"), np.argsort(values, kind="stable"))


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=12), st.integers(1, 12))
def test_capped_weights_are_those_of_a_fair_share(weights: list[int], k: int) -> None:
    mass = np.array(weights)
    k = min(k, len(mass))
    cut = capped(mass, k)
    assert (cut <= mass).all()
    if np.count_nonzero(mass) >= k:
        mean = cut.sum() / k
        assert (cut <= mean * (1 + 1e-9)).all()
        assert (cut[mass > cut] >= mean * (1 - 1e-9)).all()


@pytest.mark.parametrize("objective", ["cut", "connectivity"])
def test_planted_hypergraph_is_found(objective: Any) -> None:
    pins, truth = planted_hypergraph(0, 400, 4)
    ones = np.ones(400)
    parts = partition_hypergraph(pins.indptr, pins.indices, None, ones, 4, 0, objective=objective)
    assert adjusted_rand_score(truth, parts.labels) > 0.95
    assert np.bincount(parts.labels).max() <= 1.05 * 100 + 1
    reached = [len(set(parts.labels[pins.indices[a:b]])) for a, b in zip(pins.indptr, pins.indptr[1:], strict=False)]
    by_hand = sum(n - 1 for n in reached) if objective == "connectivity" else sum(n > 1 for n in reached)
    assert parts.cut == by_hand


def test_hypergraph_seeds_and_threads() -> None:
    """One seed, one answer; also in a fresh interpreter with another number of threads."""
    pins, _ = planted_hypergraph(1, 300, 3)
    ones = np.ones(300)
    once = partition_hypergraph(pins.indptr, pins.indices, None, ones, 7, 5).labels
    assert np.array_equal(once, partition_hypergraph(pins.indptr, pins.indices, None, ones, 7, 5).labels)
    code = (
        "import numpy as np, test_partition as t\n"
        "t.module.THREADS = 1\n"
        "pins, _ = t.planted_hypergraph(1, 300, 3)\n"
        "print(t.partition_hypergraph(pins.indptr, pins.indices, None, np.ones(300), 7, 5).labels.tolist())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_environment())
    assert run.stdout.strip() == str(once.tolist())


def _environment() -> dict[str, str]:
    import os
    from pathlib import Path

    import quorate

    paths = [str(Path(quorate.__file__).parents[1]), str(Path(__file__).parent)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_every_part_of_any_hypergraph_has_a_vertex(seed: int) -> None:
    """Empty and single hyperedges, repeated vertices, weights of zero, no hyperedge at all, k up to n."""
    rng = np.random.default_rng(seed)
    n, n_edges = int(rng.integers(1, 30)), int(rng.integers(0, 12))
    k = int(rng.integers(1, n + 1))
    sizes = rng.integers(0, 6, size=n_edges)
    indptr = np.r_[0, np.cumsum(sizes)]
    indices = rng.integers(n, size=indptr[-1])
    mass = [np.ones(n), np.ceil(rng.pareto(0.7, size=n)), rng.integers(2, size=n), np.zeros(n)][int(rng.integers(4))]
    weights = rng.random(n_edges) * rng.integers(2, size=n_edges)
    parts = partition_hypergraph(indptr, indices, weights, mass, k, seed)
    assert np.array_equal(np.unique(parts.labels), np.arange(k))


def test_hypergraph_weights_beyond_32_bits() -> None:
    pins, _ = planted_hypergraph(2, 60, 2)
    heavy = np.full(60, 2.0**40)
    edges = np.full(pins.shape[0], 2.0**45)
    parts = partition_hypergraph(pins.indptr, pins.indices, edges, heavy, 2, 0)
    light = partition_hypergraph(pins.indptr, pins.indices, None, np.ones(60), 2, 0)
    assert np.array_equal(parts.labels, light.labels)
    assert parts.cut == light.cut * 2.0**45


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 7}, "k must be between 1 and 4"),
        ({"indices": np.array([1, 0, 3, 9])}, "between 0 and 3"),
        ({"edge_weights": np.array([1.0, -1.0])}, "not negative"),
        ({"edge_weights": np.ones(3)}, "as many weights"),
        ({"vertex_weights": np.ones(0)}, "number of vertices"),
        ({"objective": "beauty"}, "objective"),
    ],
)
def test_odd_hypergraphs_are_refused(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "indptr": np.array([0, 2, 4]),
        "indices": np.array([1, 0, 3, 2]),
        "edge_weights": None,
        "vertex_weights": np.ones(4),
        "k": 2,
        "seed": 0,
    }
    with pytest.raises(ValueError, match=message):
        partition_hypergraph(**(arguments | change))


def test_without_the_package_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **named: Any) -> Any:
        if name == "mtkahypar":
            raise ImportError("No module named 'mtkahypar'")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    module._hypergraph_library.cache_clear()
    with pytest.raises(ImportError, match=r"pip install 'quorate\[hypergraph\]'"):
        partition_hypergraph(np.array([0, 2]), np.array([0, 1]), None, np.ones(3), 2, 0)
    monkeypatch.undo()
    assert len(partition_hypergraph(np.array([0, 2]), np.array([0, 1]), None, np.ones(3), 2, 0).labels) == 3


@pytest.mark.parametrize("imbalance", [0.02, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_placed_where_they_share_most_as_long_as_there_is_room(seed: int, imbalance: float) -> None:
    rows = rows_of(seed, 400, k=4, noise=0.3)
    rng = np.random.default_rng(seed)
    means = cluster_means(rows, rng.choice(4, rows.n_rows, p=[0.7, 0.1, 0.1, 0.1]).astype(np.int32), 4)[0]
    shared = one_hot(rows) @ means
    labels = place_in_balance(rows, means, imbalance)
    most = (1 + imbalance) * rows.n_objects / 4
    sizes = np.bincount(labels, rows.counts, 4)
    assert sizes.max() <= most
    # a row is elsewhere only if its best part is full: with the row it would be too large
    best = shared.argmax(axis=1)
    away = np.flatnonzero(shared[np.arange(rows.n_rows), labels] < shared.max(axis=1))
    assert len(away) > 0 or imbalance > 0.1
    assert (sizes[best[away]] + rows.counts[away] > most - rows.counts.max()).all()
    assert np.array_equal(place_in_balance(rows, means, 10.0), best)


@pytest.mark.parametrize("method", ["hbgf", "hgpa"])
def test_very_many_rows_are_partitioned_by_a_sample(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = planted(0, 3_000, 5, 12, 0.2)
    truth, rows = planted(0, 3_000, 5, 12, 0.0)[:, 0], compress(as_ensemble(labels))[0]
    whole = consensus(labels, 5, method=method, random_state=0, confidence=False)
    monkeypatch.setattr(row_partition, "MANY_ROWS", 1_000)
    monkeypatch.setattr(row_partition, "SAMPLE_OBJECTS", 400)
    seen = []
    name = "least_cut" if method == "hbgf" else "partition_hypergraph"
    home = import_module(f"quorate.methods.{method}")
    real = getattr(home, name)
    monkeypatch.setattr(home, name, lambda *a, **k: seen.append(real(*a, **k)) or seen[-1])
    found = consensus(labels, 5, method=method, random_state=0, confidence=False)
    assert [len(parts.labels) < 600 for parts in seen] == [True]
    assert whole.info["sample"] is None
    assert found.info["sample"] == 400
    assert rows.n_rows > 1_000
    assert adjusted_rand_score(truth, found.labels) > adjusted_rand_score(truth, whole.labels) - 0.02
    assert np.bincount(found.labels).max() <= 1.1 * 600
