"""Soft members: the door, exactness beside labels, and slow twins of what methods do with memberships."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import oracle_soft
import pandas as pd
import pytest
from ensembles import noisy, one_hot_members, random_members, soft_members

from quorate import (
    METHODS,
    Consensus,
    anmi,
    as_ensemble,
    as_soft_ensemble,
    choose_k,
    compress,
    consensus,
    evaluate,
    harden,
    memberships,
    save_labels,
    solve,
)
from quorate._data.soft_members import drawn_labels
from quorate._evaluation.scores import cluster_density, density, inter_density
from quorate.cli import main
from quorate.ops import threads
from quorate.solvers.graphs.ensemble_graphs import bipartite_graph, co_association_graph, meta_graph
from quorate.solvers.label_rows import row_norms, shared_with
from quorate.solvers.label_space import lookup
from quorate.solvers.label_space.lookup import seed_rows
from quorate.solvers.linkage import average_link
from quorate.solvers.linkage.average_link import soft_average_link_tree, soft_nearest

SOFT = tuple(name for name, method in METHODS.items() if method.soft)
EACH = pytest.mark.parametrize("method", SOFT)


def same(first: Consensus, second: Consensus) -> None:
    assert np.array_equal(first.labels, second.labels)
    assert first.objective == second.objective
    assert first.n_iter == second.n_iter
    assert np.array_equal(first.confidence, second.confidence)
    if first.tree is not None:
        assert np.array_equal(first.tree, second.tree)


def test_five_methods_use_memberships_themselves() -> None:
    assert SOFT == ("cspa", "eac", "hbgf", "kmeans", "mcla")


@EACH
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("weighted", [False, True])
def test_one_hot_memberships_give_exactly_the_result_of_labels(method: str, seed: int, weighted: bool) -> None:
    labels = noisy(seed, n=90, missing=0.15 * (seed % 2), noise=0.4)
    weights = np.random.default_rng(seed).choice([0.3, 1.0, 2.0, 2.7], size=6) if weighted else None
    hard = as_ensemble(labels, weights=weights)
    soft = as_soft_ensemble(one_hot_members(labels, seed), weights=weights)
    assert np.array_equal(harden(soft).labels, hard.labels)
    for k in (2, 4):
        same(consensus(soft, k, method=method, random_state=seed), consensus(hard, k, method=method, random_state=seed))


@EACH
def test_one_hot_memberships_of_many_rows(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the sample of k-means, the dense end of average link, and one block of rows."""
    monkeypatch.setattr(lookup, "SAMPLE_ROWS", 128)
    monkeypatch.setattr(average_link, "DENSE_CLUSTERS", 4)
    monkeypatch.setattr(average_link, "DENSE_CLUSTERS", 8)
    monkeypatch.setattr(average_link, "TILE", 64)
    labels = noisy(3, n=600, k=4, members=7, noise=0.35, missing=0.1)
    hard, soft = as_ensemble(labels), as_soft_ensemble(one_hot_members(labels))
    same(consensus(soft, 4, method=method, random_state=0), consensus(hard, 4, method=method, random_state=0))


def test_eac_finds_the_same_number_of_clusters() -> None:
    labels = noisy(1, noise=0.1)
    same(consensus(as_soft_ensemble(one_hot_members(labels)), method="eac"), consensus(labels, method="eac"))


@pytest.mark.parametrize("rows", [[0, 7, 20], [3, 1, 2]])
def test_kmeans_from_given_rows(rows: list[int]) -> None:
    labels = noisy(5, noise=0.5)
    hard, soft = as_ensemble(labels), as_soft_ensemble(as_ensemble(labels))
    same(*(consensus(e, 3, method="kmeans", init=np.array(rows)) for e in (soft, hard)))


@EACH
@pytest.mark.parametrize("seed", range(3))
def test_laws_of_soft_members(method: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Valid canonical labels; renaming, member order, repetition, counts and threads change nothing."""
    members = soft_members(seed, n=80, missing=0.1 * (seed % 2))
    result = consensus(members, 4, method=method, random_state=0)
    assert sorted(set(result.labels.tolist())) == [0, 1, 2, 3]
    assert np.isfinite(result.objective)
    assert result.confidence is not None
    assert ((result.confidence >= 0) & (result.confidence <= 1)).all()
    rng = np.random.default_rng(seed)
    renamed = [matrix[:, rng.permutation(matrix.shape[1])] for matrix in members]
    order = rng.permutation(len(members))
    changed = [
        renamed,
        [members[q] for q in order],
        as_soft_ensemble(members, counts=np.full(80, 3)),
    ]
    for other in changed:
        assert np.array_equal(consensus(other, 4, method=method, random_state=0).labels, result.labels)
    twice = consensus([np.tile(matrix, (2, 1)) for matrix in members], 4, method=method, random_state=0)
    assert np.array_equal(twice.labels, np.tile(result.labels, 2))
    monkeypatch.setattr(threads, "BLOCK", 8)
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 2)
    same(consensus(members, 4, method=method, random_state=0), result)


@EACH
def test_rows_one_by_one_give_what_rows_with_counts_give(method: str) -> None:
    raw = as_soft_ensemble(soft_members(4, n=200, members=3))
    rows, inverse = compress(raw)
    assert rows.n_rows < raw.n_rows
    assert rows.n_objects == raw.n_objects
    assert np.array_equal(oracle_soft.dense(rows)[inverse], oracle_soft.dense(raw))
    whole = consensus(raw, 3, method=method, random_state=0)
    assert np.array_equal(solve(rows, 3, method=method, random_state=0).labels[inverse], whole.labels)


@EACH
def test_planted_soft_partition_is_found(method: str) -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 50)
    members = [rng.dirichlet(0.25 + 1.5 * np.eye(4)[c]) for _ in range(10) for c in truth]
    matrices = list(np.array(members).reshape(10, 200, 4))
    result = consensus(matrices, 4, method=method, random_state=0)
    assert evaluate(result, harden(matrices), truth=truth).ari > 0.97


@EACH
def test_softness_matters(method: str) -> None:
    """Likeliest clusters say nothing here: the middle object leans to the right by a hair, and is on the left."""
    sure, torn = [[1.0, 0.0]] * 3, [[0.49, 0.51]]
    lean = [[0.95, 0.05]]
    members = [np.array([*sure, *torn, *[[0.0, 1.0]] * 3])] * 3 + [np.array([*sure, *lean, *[[0.0, 1.0]] * 3])] * 2
    hardened = harden(members)
    assert hardened.labels[3].tolist() == [1, 1, 1, 0, 0]
    assert consensus(hardened, 2, method=method, random_state=0).labels.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert consensus(members, 2, method=method, random_state=0).labels.tolist() == [0, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_average_link_is_that_of_the_matrix(seed: int, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(average_link, "DENSE_CLUSTERS", 1 + 19 * (seed % 2))
    members = random_members(seed, 40) if seed < 2 else soft_members(seed, 40, missing=0.2)
    soft = as_soft_ensemble(members, weights=np.arange(1.0, 1 + len(members)) / 3 if weighted else None)
    soft = compress(as_soft_ensemble(soft, counts=1 + np.arange(40) % 3))[0]
    heights = soft_average_link_tree(soft)[:, 2]
    assert heights == pytest.approx(oracle_soft.average_link_heights(soft), abs=1e-10)


@pytest.mark.parametrize("tile", [7, 64])
@pytest.mark.parametrize("sparse", [False, True])
def test_nearest_rows(tile: int, sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(average_link, "TILE", tile)
    members = soft_members(0, 50) if not sparse else one_hot_members(noisy(0, 50, k=25, noise=0.9))
    soft = compress(as_soft_ensemble(members))[0]
    near, value = soft_nearest(soft, oracle_soft.weights(soft), 5)
    shared = oracle_soft.co_association(soft) * soft.n_members
    np.fill_diagonal(shared, 0)
    for row in range(soft.n_rows):
        wanted = [other for other in np.argsort(-shared[row], kind="stable")[:5] if shared[row, other] > 0]
        assert near[row][near[row] >= 0].tolist() == wanted
        assert value[row, : len(wanted)].tolist() == shared[row, wanted].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_kmeans_ends_where_no_row_is_nearer_to_another_mean(seed: int) -> None:
    soft = compress(as_soft_ensemble(random_members(seed, 120), weights=[1.0, 2.5, 0.5]))[0]
    result = solve(soft, 4, random_state=seed)
    assert result.converged
    assert result.objective == pytest.approx(oracle_soft.inertia(soft, result.labels))
    rows, weights = oracle_soft.dense(soft), oracle_soft.weights(soft)
    means = np.stack([rows[result.labels == c].mean(axis=0) for c in range(4)])
    distances = ((rows[:, None] - means) ** 2) @ weights
    own = distances[np.arange(len(rows)), result.labels]
    assert (own <= distances.min(axis=1) + 1e-9).all()
    assert len(set(seed_rows(soft, 8, np.random.default_rng(seed)).tolist())) == 8


def test_rows_share_their_products() -> None:
    soft = as_soft_ensemble(random_members(1, 30), weights=[1.0, 2.0, 0.3])
    shared = oracle_soft.co_association(soft) * soft.weights.sum()
    assert row_norms(soft) == pytest.approx(np.diag(shared))
    assert np.stack([shared_with(soft, row) for row in range(30)]) == pytest.approx(shared)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.3]])
def test_graphs(weights: list[float] | None) -> None:
    soft = as_soft_ensemble(random_members(2, 25), weights=weights, counts=1 + np.arange(25) % 4)
    counts, column_weights = soft.counts, oracle_soft.weights(soft)
    shared = oracle_soft.co_association(soft) * soft.weights.sum()
    graph = co_association_graph(soft)
    assert graph.toarray() == pytest.approx(shared * np.outer(counts, counts))
    assert np.array_equal(graph.toarray(), graph.toarray().T)
    edges = bipartite_graph(soft).toarray()[:25, 25:]
    assert edges == pytest.approx(oracle_soft.dense(soft) * counts[:, None] * column_weights)
    clusters = meta_graph(soft).toarray()
    assert clusters == pytest.approx(oracle_soft.extended_jaccard(soft))
    assert np.array_equal(clusters, clusters.T)


def test_mcla_associates_rows_by_their_mean_membership() -> None:
    soft = as_soft_ensemble(random_members(3, 40, (3, 3, 3, 3)), weights=[1.0, 2.0, 1.0, 3.0])
    result = consensus(soft, 3, method="mcla", random_state=0)
    assert result.info["n_repaired"] == 0
    groups = np.concatenate(list(result.info["meta_clusters"].values()))
    rows, weights = oracle_soft.dense(soft), oracle_soft.weights(soft)
    parts = [groups == group for group in range(3)]
    means = np.stack([rows[:, part] @ weights[part] / weights[part].sum() for part in parts], axis=1)
    assert np.array_equal(result.labels, means.argmax(axis=1))
    inside = np.stack([rows[:, part] @ weights[part] for part in parts], axis=1)
    assert result.info["method_confidence"] == pytest.approx(inside[np.arange(40), result.labels] / (rows @ weights))


def test_cuts_are_told_in_memberships() -> None:
    soft = as_soft_ensemble(random_members(4, 30))
    result = consensus(soft, 3, method="cspa", random_state=0)
    apart = result.labels[:, None] != result.labels
    assert result.objective == pytest.approx((oracle_soft.co_association(soft) * 3)[apart].sum() / 2)
    result = consensus(soft, 3, method="hbgf", random_state=0)
    table = np.stack([oracle_soft.dense(soft)[result.labels == c].sum(axis=0) for c in range(3)])
    assert result.objective == pytest.approx((table.sum(axis=0) - table.max(axis=0)).sum())


def test_cspa_with_weights_that_are_no_integers_and_counts() -> None:
    """(g * 3) * 7 and (g * 7) * 3 differ in the last bit, and the graph must be symmetric to it."""
    labels = noisy(0, n=300, members=5, noise=0.4)
    result = consensus(as_ensemble(labels, weights=[0.1, 0.7, 0.3, 1.1, 0.9]), 3, method="cspa", random_state=0)
    assert result.n_clusters == 3


# methods that take labels alone, scores and the number of clusters

LABELS_ALONE = sorted(name for name, method in METHODS.items() if not method.soft and method.memory == "linear")


@pytest.mark.parametrize("method", LABELS_ALONE)
def test_every_method_takes_soft_members(method: str) -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 30)
    matrices = [rng.dirichlet(0.25 + 3.0 * np.eye(3)[c], size=1)[0] for _ in range(6) for c in truth]
    members = [*np.array(matrices).reshape(6, 90, 3), truth % 3]
    k = 3
    result = consensus(members, k, method=method, random_state=0)
    assert sorted(set(result.labels.tolist())) == [0, 1, 2]
    assert result.info["drawn_labels"] == 61
    assert result.confidence is not None
    if method not in ("hne", "hgpa"):
        assert evaluate(result.labels, truth[:, None], truth=truth).ari > 0.8
    again = consensus([members[q] for q in (3, 1, 6, 0, 2, 5, 4)], k, method=method, random_state=0)
    if method not in ("best", "supra"):
        assert np.array_equal(again.labels, result.labels)


def test_labels_are_drawn_as_often_as_memberships_say() -> None:
    soft = as_soft_ensemble([*soft_members(3, n=60, missing=0.2), np.arange(60) % 4])
    drawn = drawn_labels(soft)
    assert drawn.weights.sum() == pytest.approx(soft.weights.sum())
    dense = oracle_soft.dense(soft)
    for member, (first, last) in enumerate(itertools.pairwise(soft.offsets)):
        of_member = [q for q, name in enumerate(drawn.member_names) if name.split(" (")[0] == soft.member_names[member]]
        counts = np.zeros((60, last - first))
        for q in of_member:
            known = np.flatnonzero(drawn.labels[:, q] >= 0)
            counts[known, drawn.categories[q][drawn.labels[known, q]].astype(int)] += 1 / len(of_member)
        assert np.abs(counts - dense[:, first:last]).max() <= 0.1 + 1e-9
    hard = as_soft_ensemble(one_hot_members(noisy(1, n=90)))
    assert np.array_equal(drawn_labels(hard).labels, harden(hard).labels)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_one_hot_memberships_are_those_of_labels(weighted: bool) -> None:
    labels = noisy(2, n=90, missing=0.2, noise=0.4)
    weights = [1.0, 2.0, 0.5, 1.0, 3.0, 1.0] if weighted else None
    hard, soft = as_ensemble(labels, weights=weights), as_soft_ensemble(one_hot_members(labels), weights=weights)
    found = np.arange(90) % 4
    for score in (anmi, density, inter_density):
        assert score(found, soft) == pytest.approx(score(found, hard), abs=1e-12)
    assert cluster_density(found, soft) == pytest.approx(cluster_density(found, hard), abs=1e-12)
    one, other = (evaluate(consensus(e, 4, random_state=0, method="kmeans"), e) for e in (soft, hard))
    assert one.as_dict() == pytest.approx(other.as_dict(), abs=1e-12)


def test_scores_of_memberships_are_their_definitions() -> None:
    soft = as_soft_ensemble(soft_members(5, n=40, missing=0.1), weights=[1.0, 2.0, 0.5, 1.0, 1.5, 3.0])
    found = np.arange(40) % 3
    parts = np.split(oracle_soft.dense(soft), soft.offsets[1:-1], axis=1)
    together = sum(w * part @ part.T for w, part in zip(soft.weights, parts, strict=True)) / soft.weights.sum()
    np.fill_diagonal(together, 0.0)
    same_cluster = found[:, None] == found[None]
    pairs = [together[np.ix_(found == c, found == c)].sum() / (n * (n - 1)) for c, n in enumerate(np.bincount(found))]
    assert cluster_density(found, soft) == pytest.approx(pairs, abs=1e-6)
    between = together[~same_cluster].sum() / (~same_cluster).sum()
    assert evaluate(found, soft).inter_density == pytest.approx(between, abs=1e-6)
    dense, values, importance = oracle_soft.dense(soft), [], []
    for member, (first, last) in enumerate(itertools.pairwise(soft.offsets)):
        table = dense[:, first:last].T @ np.eye(3)[found]
        p = table / table.sum()
        outer = p.sum(1, keepdims=True) * p.sum(0)
        information = (p[p > 0] * np.log(p[p > 0] / outer[p > 0])).sum()
        entropies = [-(q * np.log(q)).sum() for q in (p.sum(0), p.sum(1)[p.sum(1) > 0])]
        values.append(information / np.sqrt(entropies[0] * entropies[1]))
        importance.append(table.sum() * soft.weights[member])
    assert anmi(found, soft) == pytest.approx(np.average(values, weights=importance), abs=1e-6)


def test_the_number_is_chosen_for_soft_members() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 40)
    drawn = np.array([rng.dirichlet(0.2 + 4 * np.eye(4)[c]) for _ in range(8) for c in truth])
    members = list(drawn.reshape(8, 160, 4))
    assert choose_k(members, random_state=0).n_clusters == 4
    result = consensus(members, random_state=0)
    assert result.n_clusters == result.info["choice"].n_clusters == 4
    assert consensus(members, (2, 5), random_state=0, method="lwgp", refine=True).n_clusters == 4


# memberships out


def test_memberships_are_confidence_and_what_is_left() -> None:
    labels = noisy(0, n=200, missing=0.2, noise=0.5)
    result = consensus(labels, 3, random_state=0)
    shares = result.memberships(labels)
    assert shares.shape == (200, 3)
    assert shares.sum(axis=1) == pytest.approx(np.ones(200))
    assert shares.min() >= 0
    assert shares[np.arange(200), result.labels] == pytest.approx(result.confidence, abs=1e-12)
    others = shares.copy()
    others[np.arange(200), result.labels] = -1
    has = result.runner_up >= 0
    best = others[np.flatnonzero(has), result.runner_up[has]]
    assert best == pytest.approx(others[has].max(axis=1))
    frame = result.to_frame(shares)
    assert list(frame.columns)[-3:] == ["p 0", "p 1", "p 2"]
    soft = soft_members(1, n=50)
    of_soft = consensus(soft, 3, random_state=0)
    assert of_soft.memberships(soft).sum(axis=1) == pytest.approx(np.ones(50))


def test_memberships_that_cannot_be_had_are_refused() -> None:
    labels = noisy(0, n=60)
    with pytest.raises(ValueError, match="result has no confidence"):
        consensus(labels, 3, confidence=False).memberships(labels)
    with pytest.raises(ValueError, match="one row per object of the result, 60 objects, got 50 rows"):
        consensus(labels, 3).memberships(labels[:50])
    with pytest.raises(TypeError, match="result must be a Consensus"):
        memberships(labels[:, 0], labels)


def test_memberships_in_files_and_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = pd.DataFrame(noisy(0, n=60, noise=0.4), columns=list("abcdef"))
    labels.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "o.csv"
    command = ["consensus", str(tmp_path / "t.csv"), "-k", "3"]
    assert main([*command, "--memberships", "-o", str(out)]) == 0
    written = pd.read_csv(out)
    assert list(written.columns) == ["label", "confidence", "p 0", "p 1", "p 2"]
    assert written.iloc[:, 2:].sum(axis=1).to_numpy() == pytest.approx(np.ones(60), abs=1e-5)
    assert main([*command, "--memberships"]) == 2
    assert "add -o FILE" in capsys.readouterr().err
    assert main([*command, "--memberships", "--memory", "1GB", "-o", str(tmp_path / "folder")]) == 2
    assert "--memberships needs a table in memory" in capsys.readouterr().err
    with pytest.raises(ValueError, match="memberships must have one row per object, 2"):
        save_labels(out, [0, 1], memberships=np.ones((3, 2)), overwrite=True)
