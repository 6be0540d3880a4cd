"""Greedy moves against naive recomputation, golden MCLA, and what is particular to the partitioning methods."""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np
import oracle_graphs
import pytest
from benchmarks.ensembles import planted
from ensembles import noisy, rows_of, under_noise
from sklearn.metrics import adjusted_rand_score

from quorate import anmi, as_ensemble, compress, consensus, refine, solve
from quorate._evaluation.consensus_index import ambiguity
from quorate.ops.moves import TOLERANCE
from quorate.ops.pairs import ambiguous_pairs
from quorate.ops.tables import label_compete, label_winners_share
from quorate.solvers.cluster_means import cluster_means
from quorate.solvers.contingency import anmi as row_anmi
from quorate.solvers.graphs import ensemble_graphs, row_partition
from quorate.solvers.graphs.partition import OBJECTIVES
from quorate.solvers.graphs.row_partition import place_in_balance
from quorate.solvers.label_rows import one_hot
from quorate.solvers.label_space import climbing
from quorate.solvers.label_space.climbing import climb
from quorate.solvers.members import in_content_order

GOLDEN = {
    "a": [0, 0, 0, 1, 1, 2, 2],
    "b": [1, 1, 1, 2, 2, 0, 0],
    "c": [0, 0, 1, 1, 2, 2, 2],
    "d": [0, 1, None, 0, 1, None, None],
}
METIS = ["cspa", "hbgf", "mcla"]


@pytest.mark.parametrize("seed", range(24))
def test_moves_are_those_of_naive_recomputation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    labels = noisy(seed, n=int(rng.integers(8, 30)), k=k, members=int(rng.integers(1, 6)), missing=0.25 * (seed % 2))
    weights = rng.integers(1, 4, size=labels.shape[1]) if seed % 3 else None
    ensemble = as_ensemble(labels, weights=weights, orientation="objects")
    if seed % 5:
        ensemble, _ = compress(ensemble)
    start = rng.integers(k, size=ensemble.n_rows).astype(np.int32)
    run = climb(ensemble, start, k, 1000)
    expected, moves = oracle_graphs.greedy(start, ensemble, k, TOLERANCE)
    assert run.labels.tolist() == expected
    assert run.n_moves == len(moves)
    assert run.converged


def test_moves_beyond_the_table_of_logarithms(monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble, _ = compress(as_ensemble(noisy(1, n=300)))
    start = (np.arange(ensemble.n_rows) % 3).astype(np.int32)
    whole = climb(ensemble, start, 3, 100)
    monkeypatch.setattr(climbing, "LOGARITHMS", 2)
    assert np.array_equal(whole.labels, climb(ensemble, start, 3, 100).labels)


def test_oracle_anmi_is_the_library_anmi() -> None:
    ensemble, _ = compress(as_ensemble(noisy(4, missing=0.2), weights=[1, 2, 3, 1, 1, 5]))
    labels = (np.arange(ensemble.n_rows) % 4).astype(np.int32)
    assert row_anmi(ensemble, labels, 4) == pytest.approx(oracle_graphs.anmi(labels, ensemble), abs=1e-12)


def test_greedy_reaches_the_best_partition_of_the_golden_example() -> None:
    result = consensus(GOLDEN, 3, method="greedy", random_state=0)
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert result.objective == pytest.approx(0.717818, abs=1e-6)
    assert result.objective * 25 == pytest.approx(17.945449, abs=1e-6)


def test_greedy_starts() -> None:
    labels = noisy(3, n=200, k=4, members=8)
    member = consensus(labels, 4, method="greedy", init="member", random_state=0)
    kmeans = consensus(labels, 4, method="greedy", init="kmeans", random_state=0)
    best = consensus(labels, 4, method="greedy", random_state=0)
    assert member.info["start"].startswith("member ")
    assert kmeans.info["start"] == "kmeans"
    assert best.info["start_anmi"] == max(member.info["start_anmi"], kmeans.info["start_anmi"])
    assert best.objective >= best.info["start_anmi"]
    assert consensus(labels, 5, method="greedy", init="member", random_state=0).info["start"] == "kmeans"
    with pytest.raises(ValueError, match="init must be one of"):
        consensus(labels, 4, method="greedy", init="truth")
    assert not consensus(labels, 4, method="greedy", init="member", max_iter=1).converged


def test_refine_from_any_labels() -> None:
    labels = noisy(6, n=120, k=3, members=6)
    start = np.array(["x", "y", "z"])[np.arange(120) % 3].astype(object)
    start[::10] = None
    result = refine(start, labels)
    assert result.n_clusters == 3
    assert len(result.labels) == 120
    assert result.objective > result.info["start_anmi"]
    assert result.objective == pytest.approx(anmi(result, labels), abs=1e-12)
    again = refine(result, labels)
    assert np.array_equal(again.labels, result.labels)
    assert again.info["n_moves"] == 0


def test_refine_keeps_together_what_starts_together() -> None:
    """Equal rows move as one block where they start in one cluster, and may start in several."""
    labels = np.repeat(noisy(2, n=20), 3, axis=0)
    start = np.arange(60) % 2
    result = refine(start, labels)
    for row in range(0, 60, 3):
        for other in range(row + 1, row + 3):
            if start[row] == start[other]:
                assert result.labels[row] == result.labels[other]
    split = refine([0, 1, 0, 1], [[0, 0, 0, 1]])
    assert split.n_clusters == 2


@pytest.mark.parametrize("wrong", [[0, 1], [None] * 4, [[0, 1], [0, 1]]])
def test_refine_refuses(wrong: list[object]) -> None:
    with pytest.raises(ValueError, match="label"):
        refine(wrong, [[0, 0, 1, 1]])


@pytest.mark.parametrize("method", ["kmeans", "hbgf", "best"])
def test_refine_after_a_method(method: str) -> None:
    labels = noisy(8, n=200, k=4, members=8, missing=0.1)
    plain = consensus(labels, 4, method=method, random_state=0)
    better = consensus(labels, 4, method=method, random_state=0, refine=True)
    assert better.objective == pytest.approx(anmi(better, labels), abs=1e-12)
    assert better.objective >= anmi(plain, labels) - 1e-12
    assert better.info["refine"]["objective_before"] == plain.objective
    assert better.n_clusters == plain.n_clusters
    with pytest.raises(ValueError, match="refine must be one of True, False"):
        consensus(labels, 4, refine="yes")


def test_golden_mcla() -> None:
    result = consensus(GOLDEN, 3, method="mcla", random_state=0)
    assert result.labels.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert result.info["method_confidence"][result.rows].tolist() == [3 / 4, 1, 2 / 3, 1, 1 / 2, 1, 1]
    groups = result.info["meta_clusters"]
    assert [groups[name].tolist() for name in "abc"] == [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    for seed in range(20):
        assert consensus(GOLDEN, 3, method="mcla", random_state=seed).labels.tolist() == result.labels.tolist()


def test_mcla_wants_enough_clusters() -> None:
    labels = np.random.default_rng(0).integers(2, size=(60, 4))
    with pytest.raises(ValueError, match="more than the 8 clusters of all members"):
        consensus(labels, 9, method="mcla")


def test_competition() -> None:
    ensemble = as_ensemble(noisy(0, missing=0.2))
    groups = np.random.default_rng(0).integers(3, size=int(ensemble.offsets[-1])).astype(np.int32)
    mass = np.bincount(groups, minlength=3).astype(float)
    draws = np.random.default_rng(1).random(ensemble.n_rows)
    winner, share = np.empty(ensemble.n_rows, dtype=np.int32), np.empty(ensemble.n_rows)
    label_compete(ensemble.labels, ensemble.offsets, groups, ensemble.weights, mass, draws, 0, ensemble.n_rows, winner)
    label_winners_share(ensemble.labels, ensemble.offsets, groups, ensemble.weights, winner, 0, ensemble.n_rows, share)
    for row in range(ensemble.n_rows):
        mine = [groups[ensemble.offsets[q] + c] for q, c in enumerate(ensemble.labels[row]) if c >= 0]
        means = [mine.count(group) / mass[group] for group in range(3)]
        tied = [group for group in range(3) if means[group] == max(means)]
        assert winner[row] == tied[int(draws[row] * len(tied))]
        assert share[row] == mine.count(winner[row]) / len(mine)


def test_co_association_graph_is_the_matrix() -> None:
    labels = noisy(5, n=50, missing=0.2)
    ensemble, _ = compress(as_ensemble(labels, weights=[1, 2, 1, 3, 1, 1]))
    graph = ensemble_graphs.co_association_graph(ensemble).toarray()
    for one in range(ensemble.n_rows):
        for other in range(ensemble.n_rows):
            same = (ensemble.labels[one] == ensemble.labels[other]) & (ensemble.labels[one] >= 0)
            pairs = ensemble.counts[one] * ensemble.counts[other]
            assert graph[one, other] == pairs * ensemble.weights[same].sum()


def test_neighbours_keep_the_strongest(monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble, _ = compress(as_ensemble(noisy(5, n=80, members=8)))
    ones = as_ensemble(ensemble, counts=np.ones(ensemble.n_rows, dtype=int))
    whole = ensemble_graphs.co_association_graph(ones).toarray()
    np.fill_diagonal(whole, 0)
    monkeypatch.setattr(ensemble_graphs, "BLOCK_ENTRIES", 500)
    kept = ensemble_graphs.co_association_graph(ones, 3).toarray()
    chosen = np.zeros_like(whole, dtype=bool)
    for row, values in enumerate(whole):
        chosen[row, np.argsort(-values, kind="stable")[:3]] = True
    chosen &= whole > 0
    assert np.array_equal(kept, np.where(chosen | chosen.T, whole, 0))


def test_bipartite_graph() -> None:
    ensemble, _ = compress(as_ensemble(noisy(5, n=50, missing=0.2), weights=[1, 2, 1, 3, 1, 1]))
    graph = ensemble_graphs.bipartite_graph(ensemble).toarray()
    rows = ensemble.n_rows
    weights = np.repeat(ensemble.weights, ensemble.n_clusters)
    expected = ensemble.counts[:, None] * ensemble_graphs.one_hot(ensemble).toarray() * weights
    assert np.array_equal(graph[:rows, rows:], expected)
    assert np.array_equal(graph[rows:, :rows], expected.T)
    assert not graph[:rows, :rows].any()
    assert not graph[rows:, rows:].any()


@pytest.mark.parametrize("dense", [0, 10**6])
def test_meta_graph_is_jaccard(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ensemble_graphs, "DENSE_ENTRIES", dense)
    ensemble, _ = compress(as_ensemble(noisy(5, n=50, missing=0.2)))
    graph = ensemble_graphs.meta_graph(ensemble).toarray()
    objects = np.repeat(np.arange(ensemble.n_rows), ensemble.counts)
    one_hot = ensemble_graphs.one_hot(ensemble).toarray()[objects].astype(bool)
    for a, b in np.ndindex(graph.shape):
        union = (one_hot[:, a] | one_hot[:, b]).sum()
        assert graph[a, b] == pytest.approx(0 if a == b else (one_hot[:, a] & one_hot[:, b]).sum() / union)


@pytest.mark.parametrize("seed", range(5))
def test_components(seed: int) -> None:
    from scipy.sparse.csgraph import connected_components

    rng = np.random.default_rng(seed)
    labels = np.where(rng.random((25, 3)) < 0.5, -1, rng.integers(9, size=(25, 3)))
    labels[np.arange(25), rng.integers(3, size=25)] = rng.integers(9, size=25)
    ensemble = as_ensemble(labels)
    one_hot = ensemble_graphs.one_hot(ensemble)
    number, expected = connected_components(one_hot @ one_hot.T, directed=False)
    found = ensemble_graphs.components(ensemble, number)
    assert found is not None
    assert adjusted_rand_score(expected, found) == 1.0
    assert [int(np.flatnonzero(found == c)[0]) for c in range(number)] == sorted(
        int(np.flatnonzero(found == c)[0]) for c in range(number)
    )
    assert ensemble_graphs.components(ensemble, number + 1) is None


def test_content_order_undoes_any_order() -> None:
    labels = noisy(1, members=7)
    order = np.random.default_rng(0).permutation(7)
    one = in_content_order(as_ensemble(labels, weights=np.arange(1.0, 8.0)))
    other = in_content_order(as_ensemble(labels[:, order], weights=np.arange(1.0, 8.0)[order]))
    assert np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.weights, other.weights)


@pytest.mark.parametrize("method", [*METIS, "hgpa"])
@pytest.mark.parametrize("k", [2, 5, 11, 30])
def test_exactly_k_even_with_heavy_rows(method: str, k: int) -> None:
    labels = noisy(0, n=60, k=4, members=8, noise=0.5)
    counts = np.ones(60, dtype=int)
    counts[:3] = [10**8, 10**6, 10**6]
    result = solve(as_ensemble(labels, counts=counts), k, method=method, random_state=0)
    assert set(result.labels.tolist()) == set(range(k))


@pytest.mark.parametrize("method", METIS)
def test_imbalance_is_an_option(method: str) -> None:
    labels = noisy(0, n=300, k=4, members=10, noise=0.2)
    assert consensus(labels, 4, method=method, random_state=0, imbalance=0.3).n_clusters == 4
    with pytest.raises(ValueError, match="imbalance must lie in"):
        consensus(labels, 4, method=method, imbalance=-1.0)


def test_hgpa_counts_cut_clusters_or_parts_reached() -> None:
    labels = noisy(0, n=90, k=3, members=8, noise=0.3)
    found = {goal: consensus(labels, 3, method="hgpa", random_state=0, objective=goal) for goal in OBJECTIVES}
    for goal, result in found.items():
        reached = [len(set(result.labels[column == c].tolist())) for column in labels.T for c in range(3)]
        assert result.objective == sum(r > 1 if goal == "cut" else r - 1 for r in reached)
    with pytest.raises(ValueError, match="objective must be one of"):
        consensus(labels, 3, method="hgpa", objective="area")


def test_balance_is_kept() -> None:
    labels = noisy(0, n=600, k=3, members=6, noise=0.6)
    for method in ("cspa", "hbgf", "hgpa"):
        sizes = np.bincount(consensus(labels, 3, method=method, random_state=0).labels)
        assert sizes.max() <= 1.15 * 200


def test_cspa_sparsifies_only_when_asked() -> None:
    truth = np.arange(400) % 4
    labels = under_noise(truth, 12, 0.2)
    with pytest.raises(MemoryError, match="pass neighbours=50"):
        consensus(labels, 4, method="cspa", max_bytes=10**6)
    result = consensus(labels, 4, method="cspa", max_bytes=10**6, neighbours=15, random_state=0)
    assert result.info["neighbours"] == 15
    assert result.info["n_edges"] <= 15 * 400
    whole = consensus(labels, 4, method="cspa", random_state=0)
    assert whole.info["neighbours"] is None
    assert adjusted_rand_score(truth, whole.labels) > 0.99
    assert adjusted_rand_score(truth, result.labels) > 0.99


def test_without_mtkahypar_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from quorate.solvers.graphs import partition

    partition._hypergraph_library.cache_clear()
    monkeypatch.setitem(sys.modules, "mtkahypar", None)
    with pytest.raises(ImportError, match=r"pip install 'quorate\[hypergraph\]'"):
        consensus(noisy(0), 3, method="hgpa")
    result = consensus(noisy(0), 3, method="supra", methods=["hgpa", "kmeans"], random_state=0)
    assert result.info["winner"] == "kmeans"
    assert "ImportError" in result.info["failed"]["hgpa"]


def test_without_pymetis_there_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    for method in METIS:
        with pytest.raises(ImportError, match="pip install pymetis"):
            consensus(noisy(0), 3, method=method)


def test_a_failing_partitioner_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import pymetis

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("METIS_ERROR_MEMORY")

    monkeypatch.setattr(pymetis, "part_graph", fail)
    with pytest.raises(ValueError, match=r"METIS could not cut a graph of .* METIS_ERROR_MEMORY"):
        consensus(noisy(0), 3, method="hbgf")


def test_supra_keeps_the_highest_score() -> None:
    labels = noisy(2, n=200, k=4, members=8, noise=0.4)
    result = consensus(labels, 4, method="supra", random_state=0)
    scores = result.info["scores"]
    assert set(scores) == {"kmeans", "mcla", "hbgf", "greedy", "cspa", "eac"}
    assert result.objective == max(scores.values()) == scores[result.info["winner"]]
    assert result.objective == pytest.approx(anmi(result, labels), abs=1e-12)
    alone = consensus(labels, 4, method="supra", methods=[result.info["winner"]], random_state=0)
    assert np.array_equal(alone.labels, result.labels)
    text = consensus(labels, 4, method="supra", methods="kmeans, mcla", random_state=0)
    assert set(text.info["scores"]) == {"kmeans", "mcla"}


def test_supra_records_failures() -> None:
    labels = noisy(2, n=200, k=4, members=8, noise=0.4)
    result = consensus(labels, 5, method="supra", methods=["best", "cspa", "kmeans"], max_bytes=1000, random_state=0)
    assert result.info["winner"] == "kmeans"
    assert "no member has n_clusters = 5" in result.info["failed"]["best"]
    assert "MemoryError" in result.info["failed"]["cspa"]
    with pytest.raises(ValueError, match=r"no method answered\. best: ValueError"):
        consensus(labels, 5, method="supra", methods=["best"])
    for wrong in (["magic"], ["supra"]):
        with pytest.raises(ValueError, match="methods must be one of"):
            consensus(labels, 5, method="supra", methods=wrong)
    with pytest.raises(TypeError, match="methods must be a list"):
        consensus(labels, 5, method="supra", methods=[])
    with pytest.raises(TypeError, match="no option 'runs'"):
        consensus(labels, 5, method="supra", runs={})


def test_ambiguity_counts_pairs_of_objects() -> None:
    labels = noisy(3, n=40, members=5, missing=0.3)
    ensemble = as_ensemble(labels)
    rows, _ = compress(ensemble)
    ambiguous = known = 0
    for one in range(40):
        for other in range(one + 1, 40):
            both = (labels[one] >= 0) & (labels[other] >= 0)
            if both.any():
                share = (labels[one] == labels[other])[both].mean()
                known += 1
                ambiguous += 0.1 < share < 0.9
    members = np.arange(5)
    found = ambiguity(rows, members, np.random.default_rng(0))
    assert found == (ambiguous / known, 0)
    whole = ambiguous_pairs(ensemble.labels, ensemble.counts, ensemble.weights, 0.1, 0.9, 0, 40)
    assert whole == (ambiguous, known)


def test_ambiguity_of_many_rows_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, _ = compress(as_ensemble(noisy(3, n=500, members=8)))
    members = np.arange(8)
    exact = ambiguity(rows, members, np.random.default_rng(0))
    monkeypatch.setattr("quorate._evaluation.consensus_index.EXACT_AMBIGUITY_ROWS", 10)
    drawn = ambiguity(rows, members, np.random.default_rng(0))
    assert drawn.n_drawn == 1_000_000
    assert drawn.proportion == pytest.approx(exact.proportion, abs=0.003)


@pytest.mark.parametrize("method", ["cspa", "mcla", "hbgf"])
def test_components_are_cut_as_the_papers_do_if_asked_for(method: str) -> None:
    """One component holds 30 of 40 objects: a balanced cut divides it, and the components do not."""
    truth = np.repeat([0, 1], [30, 10])
    labels = np.column_stack([truth * 3, truth * 3 + (np.arange(40) % 3) * (truth == 0)])
    whole = consensus(labels, 2, method=method, random_state=0, check=False, confidence=False)
    assert whole.sizes.tolist() == [30, 10]
    balanced = consensus(labels, 2, method=method, random_state=0, components=False, check=False, confidence=False)
    assert balanced.sizes.max() < 30 or method == "mcla"
    with pytest.raises(ValueError, match="components must be"):
        consensus(labels, 2, method=method, components="no", check=False)


def test_supra_takes_the_methods_of_its_paper() -> None:
    result = consensus(noisy(1, n=80, k=3, members=5), 3, method="supra", methods="paper", random_state=0)
    assert set(result.info["scores"]) == {"cspa", "hgpa", "mcla"}


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
    module = import_module(f"quorate.methods.{method}")
    real = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *a, **k: seen.append(real(*a, **k)) or seen[-1])
    found = consensus(labels, 5, method=method, random_state=0, confidence=False)
    assert [len(parts.labels) < 600 for parts in seen] == [True]
    assert rows.n_rows > 1_000
    assert adjusted_rand_score(truth, found.labels) > adjusted_rand_score(truth, whole.labels) - 0.02
    assert np.bincount(found.labels).max() <= 1.1 * 600
