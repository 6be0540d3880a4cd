"""method="auto": what it takes, that it says so, and that it gives that method's answer."""

from __future__ import annotations

import numpy as np
import pytest
from ensembles import noisy
from sklearn.metrics import adjusted_rand_score

from quorate import (
    METHODS,
    ConsensusClustering,
    as_ensemble,
    as_soft_ensemble,
    choose_k,
    compress,
    consensus,
    solve,
)
from quorate._solve import run_method
from quorate.solvers.members import missing_shares


def with_gaps(share: float, k: int = 4) -> np.ndarray:
    labels = noisy(0, n=200, k=k, members=10)
    gone = np.random.default_rng(0).random(labels.shape) < share
    gone[np.arange(200), np.arange(200) % 10] = False
    labels[gone] = -1
    return labels


@pytest.mark.parametrize(
    ("labels", "n_clusters", "max_bytes", "method", "words"),
    [
        (with_gaps(0.0), 4, 10**9, "lwgp", "60 data sets"),
        (with_gaps(0.5), 4, 10**9, "lwgp", "60 data sets"),
        (with_gaps(0.9), 4, 10**9, "lwgp", "60 data sets"),
        (with_gaps(0.9, k=8), 4, 10**9, "supra", "81% of the labels are missing and 4.8 are left per cluster"),
        (with_gaps(0.0), "auto", 10**9, "lwgp", "60 data sets"),
    ],
)
def test_auto_is_the_method_it_names(
    labels: np.ndarray, n_clusters: int | str, max_bytes: int, method: str, words: str
) -> None:
    result = consensus(labels, n_clusters, random_state=0, max_bytes=max_bytes)
    assert result.method == method
    assert words in result.info["auto"]
    named = consensus(labels, n_clusters, method=method, random_state=0, max_bytes=max_bytes)
    assert np.array_equal(result.labels, named.labels)
    assert "auto" not in named.info


def test_tables_of_clusters_decide_and_rows_do_not() -> None:
    """A matrix over 1,815 clusters takes 26 MB, and seven of them are held at a time."""
    fine = compress(as_ensemble(np.random.default_rng(0).integers(190, size=(600, 10))))[0]
    assert run_method.pick(fine, 4, 10**9).method == "lwgp"
    method, reason = run_method.pick(fine, 4, 10**8)
    assert method == "kmeans"
    assert "spectral cut for 600 distinct rows and 1,815 clusters of members would take 166,201,000 bytes" in reason
    plain = compress(as_ensemble(with_gaps(0.0)))[0]
    assert run_method.pick(plain, 4, 10_000).method == "lwgp"


def test_many_rows_need_no_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_method, "TREE_ROWS", 5)
    assert consensus(with_gaps(0.9, k=8), 4, random_state=0).method == "lwgp"


@pytest.mark.parametrize(
    ("many", "graph_bytes", "method", "words"),
    [
        (10**6, 240, "transfer", "the members have 40 clusters in all"),
        (20, 240, "hbgf", "parts of about equal size"),
        (20, 10**6, "kmeans", "their graph would take"),
    ],
)
def test_members_of_many_clusters(
    many: int, graph_bytes: int, method: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_method, "FOLDED_CLUSTERS", 10)
    monkeypatch.setattr(run_method, "MANY_CLUSTERS", many)
    monkeypatch.setattr(run_method, "GRAPH_BYTES", graph_bytes)
    result = consensus(with_gaps(0.0), 4, random_state=0, max_bytes=10**9)
    assert result.method == method
    assert words in result.info["auto"]


def test_a_member_of_a_hundred_thousand_clusters_gets_no_spectral_cut() -> None:
    names = np.arange(100_000)
    ensemble = as_ensemble([names, names // 50, names % 3], check=False)
    assert run_method.pick(ensemble, 3, 4 * 10**9).method == "hbgf"


def test_one_member_of_very_many_clusters_leaves_the_spectral_cut_to_the_others() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(5, size=30_000)
    labels = [np.where(rng.random(30_000) < 0.2, rng.integers(5, size=30_000), truth) for _ in range(9)]
    labels.append(rng.permutation(30_000) % 25_000)
    result = consensus(as_ensemble(labels, check=False), 5, random_state=0)
    assert result.method == "transfer"
    assert "nearly all of them in a few members" in result.info["auto"]
    assert adjusted_rand_score(truth, result.labels) > 0.98


def test_soft_members_get_a_method_that_takes_them() -> None:
    result = consensus(as_soft_ensemble(as_ensemble(with_gaps(0.0))), 4, random_state=0)
    assert METHODS[result.method].soft
    assert "members are soft" in result.info["auto"]


def test_auto_in_choose_k_estimators_and_solve() -> None:
    labels = with_gaps(0.0)
    assert (
        choose_k(labels, (2, 6), random_state=0).table == choose_k(labels, (2, 6), method="lwgp", random_state=0).table
    )
    chosen = consensus(labels, (2, 6), random_state=0)
    assert chosen.method == "lwgp"
    assert chosen.info["choice"].n_clusters == chosen.n_clusters
    assert ConsensusClustering(4, random_state=0).fit(labels).consensus_.info["auto"]
    assert solve(compress(as_ensemble(labels))[0], 4, refine=True, random_state=0).info.keys() >= {"auto", "refine"}


def test_missing_share_counts_objects() -> None:
    rows, _ = compress(as_ensemble([[0, 0, 0, 1], [-1, -1, -1, 1], [0, 0, 0, 0]], orientation="members"))
    assert missing_shares(rows).tolist() == [0.0, 0.75, 0.0]


def test_options_need_a_named_method() -> None:
    with pytest.raises(TypeError, match=r"'auto' has no option 'n_init'.*name the one you mean"):
        consensus(with_gaps(0.0), 4, n_init=3)
