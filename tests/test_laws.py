"""Every method obeys every law of design.md, or stands in OPT_OUT with a reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from quorate import METHODS, as_ensemble, compress, consensus, merge, solve
from quorate.ops import threads

EACH = pytest.mark.parametrize("method", sorted(METHODS))
FINDS_K = pytest.mark.parametrize("method", sorted(name for name in METHODS if METHODS[name].finds_k))

# (law, method): why it does not hold.
OPT_OUT: dict[tuple[str, str], str] = {
    ("exact_k", "best"): "returns a member, so only the members' own numbers of clusters can be had",
    ("raw_rows", "cumulative"): "an empty cluster takes one row, so of equal rows given one by one only one would move",
    ("planted", "best"): "returns a member with its noise; it is the baseline the others are to beat",
    ("planted", "hgpa"): "counts the clusters cut, and under noise every cluster is cut: the weakest of its paper, too",
    ("missing", "hgpa"): "as under label noise: once every cluster is cut, its objective says nothing any more",
    ("unequal", "cspa"): "cuts into parts of about equal size, as its paper says; equal planted parts it finds",
    ("unequal", "hbgf"): "cuts into parts of about equal size, as METIS does; equal planted parts it finds",
}


def holds(law: str, method: str) -> None:
    if (law, method) in OPT_OUT:
        pytest.skip(OPT_OUT[law, method])


def noisy(
    seed: int, n: int = 60, k: int = 3, members: int = 6, noise: float = 0.3, missing: float = 0.0
) -> NDArray[np.int64]:
    """A planted partition under label noise; few labels and members, so ties abound."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    labels = np.repeat(truth[:, None], members, axis=1)
    wrong = rng.random(labels.shape) < noise
    labels[wrong] = rng.integers(k, size=int(wrong.sum()))
    gaps = rng.random(labels.shape) < missing
    gaps[np.arange(n), rng.integers(members, size=n)] = False
    gaps[:k, :] = False
    labels[gaps] = -1
    return labels


def number(method: str, k: int) -> int | None:
    """k where the method takes any number of clusters; None for those that return members."""
    return None if ("exact_k", method) in OPT_OUT else k


def run(labels: NDArray[np.int64], k: int, method: str) -> NDArray[np.int32]:
    return consensus(
        as_ensemble(labels, orientation="objects"), number(method, k), method=method, random_state=0
    ).labels


@EACH
@pytest.mark.parametrize("seed", range(4))
def test_labels_are_valid_and_canonical(method: str, seed: int) -> None:
    result = consensus(noisy(seed, missing=0.2), number(method, 4), method=method, random_state=seed)
    labels = result.labels
    assert labels.dtype == np.int32
    assert labels.shape == (60,)
    firsts = [int(np.flatnonzero(labels == c)[0]) for c in range(result.n_clusters)]
    assert firsts == sorted(firsts)
    assert firsts[0] == 0
    assert set(labels.tolist()) == set(range(result.n_clusters))
    assert number(method, 4) in (None, result.n_clusters)
    assert np.isfinite(result.objective)
    if result.confidence is not None:
        assert result.confidence.shape == (60,)
        assert ((result.confidence >= 0) & (result.confidence <= 1)).all()


@EACH
@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_unanimity(method: str, k: int) -> None:
    partition = np.random.default_rng(k).integers(k, size=40)
    partition[:k] = np.arange(k)
    labels = run(np.repeat(partition[:, None], 5, axis=1), k, method)
    assert adjusted_rand_score(partition, labels) == 1.0
    assert len(set(labels.tolist())) == k


@FINDS_K
def test_unanimity_without_k(method: str) -> None:
    partition = np.repeat(np.arange(5), 8)
    result = consensus(np.repeat(partition[:, None], 5, axis=1), method=method, random_state=0)
    assert adjusted_rand_score(partition, result.labels) == 1.0


@EACH
@pytest.mark.parametrize("seed", range(4))
def test_renaming_changes_nothing(method: str, seed: int) -> None:
    labels = noisy(seed, missing=0.15)
    rng = np.random.default_rng(seed)
    renamed = np.full_like(labels, -1)
    for member in range(labels.shape[1]):
        names = rng.permutation(50)[:3]
        known = labels[:, member] >= 0
        renamed[known, member] = names[labels[known, member]]
    assert np.array_equal(run(labels, 4, method), run(renamed, 4, method))


@EACH
@pytest.mark.parametrize("seed", range(6))
def test_counts_are_honoured(method: str, seed: int) -> None:
    """Raw rows against rows with counts, without the door's own compression where nothing is random."""
    ensemble = as_ensemble(noisy(seed, n=80, missing=0.1 * (seed % 2)))
    rows, inverse = compress(ensemble)
    assert rows.n_rows < ensemble.n_rows
    k = number(method, 4)
    if METHODS[method].stochastic or ("raw_rows", method) in OPT_OUT:
        whole, part = consensus(ensemble, k, method=method, random_state=0), merge(_chunks(ensemble))
        labels = solve(part[0], k, method=method, random_state=0).labels[np.concatenate(part[1])]
        assert np.array_equal(whole.labels, labels)
        return
    rng = np.random.default_rng(0)
    raw = METHODS[method].solve(ensemble, k, rng=rng)
    compressed = METHODS[method].solve(rows, k, rng=rng)
    assert np.array_equal(raw.labels, compressed.labels[inverse])


def _chunks(ensemble):
    for start in range(0, ensemble.n_rows, 17):
        stop = min(start + 17, ensemble.n_rows)
        yield replace(ensemble, labels=ensemble.labels[start:stop], counts=ensemble.counts[start:stop])


@EACH
@pytest.mark.parametrize("times", [2, 3])
def test_repeating_every_row_changes_nothing(method: str, times: int) -> None:
    labels = noisy(7, missing=0.1)
    tiled = run(np.tile(labels, (times, 1)), 3, method)
    assert np.array_equal(tiled, np.tile(run(labels, 3, method), times))


@EACH
def test_same_seed_same_answer(method: str) -> None:
    labels = noisy(3)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    assert np.array_equal(run(labels, 3, method), run(labels, 3, method))
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


@EACH
def test_one_thread_equals_two(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = noisy(5, n=400, members=8, missing=0.1)
    monkeypatch.setattr(threads, "BLOCK", 10**9)
    alone = consensus(labels, number(method, 3), method=method, random_state=0)
    monkeypatch.setattr(threads, "BLOCK", 16)
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 2)
    together = consensus(labels, number(method, 3), method=method, random_state=0)
    assert np.array_equal(alone.labels, together.labels)
    assert alone.objective == together.objective


@EACH
def test_input_is_untouched(method: str) -> None:
    labels = noisy(2, missing=0.1)
    before = labels.copy()
    run(labels, 3, method)
    assert np.array_equal(labels, before)
    assert labels.flags.writeable


@EACH
@pytest.mark.parametrize("seed", range(3))
def test_member_order_changes_nothing(method: str, seed: int) -> None:
    labels = noisy(seed, members=7, missing=0.1)
    order = np.random.default_rng(seed).permutation(7)
    assert np.array_equal(run(labels, 3, method), run(labels[:, order], 3, method))


@EACH
def test_planted_partition_is_found(method: str) -> None:
    holds("planted", method)
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), 60)
    labels = np.repeat(truth[:, None], 12, axis=1)
    wrong = rng.random(labels.shape) < 0.15
    labels[wrong] = rng.integers(5, size=int(wrong.sum()))
    assert adjusted_rand_score(truth, run(labels, 5, method)) > 0.97


@EACH
def test_missing_labels_are_survived(method: str) -> None:
    labels = noisy(11, n=200, members=10, noise=0.1, missing=0.3)
    truth = noisy(11, n=200, members=10, noise=0.0)[:, 0]
    if ("unequal", method) in OPT_OUT:  # sizes 69, 58 and 73 made 58 each
        kept = np.concatenate([np.flatnonzero(truth == part)[: np.bincount(truth).min()] for part in range(3)])
        labels, truth = labels[kept], truth[kept]
    result = consensus(labels, number(method, 3), method=method, random_state=0)
    assert result.labels.min() == 0
    assert len(result.labels) == len(truth)
    holds("missing", method)
    assert adjusted_rand_score(truth, result.labels) > (0.5 if method == "best" else 0.9)


@EACH
def test_unequal_unanimous_parts_are_kept(method: str) -> None:
    """One part ten times the other, in which members know only some of the objects: nothing may be cut."""
    truth = np.repeat([0, 1], [60, 6])
    labels = np.repeat(truth[:, None], 8, axis=1)
    gaps = np.random.default_rng(0).random(labels.shape) < 0.3
    gaps[:, 0] = False
    labels[gaps] = -1
    assert np.array_equal(run(labels, 2, method), truth)


@EACH
def test_smallest_cases(method: str) -> None:
    one_object = as_ensemble(np.array([[0, 0, 0]]), orientation="objects")
    assert consensus(one_object, 1, method=method).labels.tolist() == [0]
    one_member = consensus(np.array([0, 1, 2, 1]), 3, method=method, random_state=0)
    assert one_member.labels.tolist() == [0, 1, 2, 1]


@EACH
@pytest.mark.parametrize("k", [1, "all"])
def test_extreme_k(method: str, k: int | str) -> None:
    holds("exact_k", method)
    labels = noisy(1, n=30)
    rows = compress(as_ensemble(labels))[0].n_rows
    wanted = rows if k == "all" else int(k)
    result = consensus(labels, wanted, method=method, random_state=0)
    assert result.n_clusters == wanted


@EACH
@pytest.mark.parametrize("wrong", [0, -1, 2.0, "3", True, 10**6])
def test_bad_k_is_refused(method: str, wrong: object) -> None:
    with pytest.raises((ValueError, TypeError), match="n_clusters"):
        consensus(noisy(0), wrong, method=method)


@EACH
def test_all_rows_equal(method: str) -> None:
    labels = np.zeros((9, 3), dtype=int)
    assert consensus(labels, 1, method=method).labels.tolist() == [0] * 9
    with pytest.raises(ValueError, match=r"n_clusters = 2 is more than the 1 distinct label rows of 9 objects"):
        consensus(labels, 2, method=method)


@EACH
def test_unknown_options_are_refused(method: str) -> None:
    with pytest.raises(TypeError, match="no option 'colour'"):
        consensus(noisy(0), 3, method=method, colour="red")


@EACH
def test_weights_count(method: str) -> None:
    """A member of overwhelming weight decides."""
    labels = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    result = consensus(as_ensemble(labels, weights=[1, 1, 1000]), 2, method=method, random_state=0)
    assert result.labels.tolist() == [0, 1, 0, 1]


def test_opt_outs_name_methods_that_exist() -> None:
    assert {method for _, method in OPT_OUT} <= set(METHODS)
    assert all(len(reason) > 20 for reason in OPT_OUT.values())
