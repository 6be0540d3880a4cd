"""Every method obeys every law of design.md, or stands in OPT_OUT with a reason.

A law is a test with the decorator `law`; its name is that of the test without "test_".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import random_tables
from ensembles import noisy, under_noise
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from quorate import METHODS, Ensemble, as_ensemble, compress, consensus, merge, solve
from quorate.ops import threads

# (law, method): why it does not hold.
OPT_OUT: dict[tuple[str, str], str] = {
    ("any_k_is_possible", "best"): "returns a member, so only the members' own numbers of clusters can be had",
    ("planted_partition_is_found", "best"): "returns a member with its noise; it is the baseline for the others",
    ("planted_partition_is_found", "hgpa"): (
        "counts the clusters that are cut, and under noise every cluster is cut; it is the weakest in its paper, too"
    ),
    ("missing_labels_are_survived", "best"): "returns a member, so objects the member does not know are guessed",
    ("missing_labels_are_survived", "hgpa"): (
        "as under label noise: once every cluster is cut, its objective says nothing any more"
    ),
    ("missing_labels_in_unequal_parts_are_survived", "best"): (
        "returns a member, so objects the member does not know are guessed"
    ),
    ("missing_labels_in_unequal_parts_are_survived", "cspa"): (
        "cuts into parts of about equal size, as its paper says; it finds planted parts of equal size"
    ),
    ("missing_labels_in_unequal_parts_are_survived", "hbgf"): (
        "cuts into parts of about equal size, as METIS does; it finds planted parts of equal size"
    ),
    ("missing_labels_in_unequal_parts_are_survived", "hgpa"): (
        "as under label noise: once every cluster is cut, its objective says nothing any more"
    ),
    ("repeated_objects_change_nothing_on_random_tables", "bisecting"): (
        "its density is that of pairs of different objects, and repeated objects are pairs that agree: with more of "
        "them another cluster may be the one whose split gains most"
    ),
    ("repeated_objects_change_nothing_on_random_tables", "mixture"): (
        "its prior counts as a number of labels, which weighs less the more objects there are"
    ),
    ("repeated_objects_change_nothing_on_random_tables", "ecc"): (
        "its smoothing counts as a number of labels, which weighs less the more objects there are"
    ),
}

LAWS: dict[str, list[str]] = {}
"""The methods that each law is about, those that opted out included; filled in by `law`."""


def law(of: Callable[[Any], bool] = lambda method: True) -> Callable[[Callable[..., None]], Any]:
    """Run a test for each method of which `of` is true; methods that opted out are skipped with their reason."""

    def mark(test: Callable[..., None]) -> Any:
        name = test.__name__.removeprefix("test_")
        LAWS[name] = sorted(method for method in METHODS if of(METHODS[method]))
        marks = {m: [pytest.mark.skip(reason=OPT_OUT[name, m])] if opted_out(name, m) else [] for m in LAWS[name]}
        return pytest.mark.parametrize("method", [pytest.param(m, marks=marks[m]) for m in marks])(test)

    return mark


def opted_out(name: str, method: str) -> bool:
    """Whether OPT_OUT excuses a method from a law; the one place that reads the table."""
    if name not in LAWS:
        raise KeyError(f"no law is called {name!r}; the laws so far are {', '.join(LAWS)}")
    return (name, method) in OPT_OUT


def number(method: str, k: int) -> int | None:
    """k where the method takes any number of clusters; None for those that return members."""
    return None if opted_out("any_k_is_possible", method) else k


def run(labels: NDArray[np.int64], k: int, method: str, *, confidence: bool = False) -> NDArray[np.int32]:
    """The labels of a table; the confidence changes none of them, and would run the method eight times more."""
    ensemble = as_ensemble(labels, orientation="objects")
    return consensus(ensemble, number(method, k), method=method, random_state=0, confidence=confidence).labels


@law()
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


@law()
@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_unanimity(method: str, k: int) -> None:
    partition = np.random.default_rng(k).integers(k, size=40)
    partition[:k] = np.arange(k)
    labels = run(np.repeat(partition[:, None], 5, axis=1), k, method)
    assert adjusted_rand_score(partition, labels) == 1.0
    assert len(set(labels.tolist())) == k


@law()
@pytest.mark.parametrize("seed", range(2))
def test_confidence_changes_no_label(method: str, seed: int) -> None:
    """So that the other laws, which are about labels, may leave it out."""
    labels = noisy(seed, missing=0.2)
    assert np.array_equal(run(labels, 4, method), run(labels, 4, method, confidence=True))


@law(of=lambda method: method.finds_k)
def test_unanimity_without_k(method: str) -> None:
    partition = np.repeat(np.arange(5), 8)
    result = consensus(np.repeat(partition[:, None], 5, axis=1), method=method, random_state=0)
    assert adjusted_rand_score(partition, result.labels) == 1.0


@law()
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


@law()
@pytest.mark.parametrize("seed", range(6))
def test_merged_chunks_give_the_answer_of_the_whole_table(method: str, seed: int) -> None:
    ensemble = as_ensemble(noisy(seed, n=80, missing=0.1 * (seed % 2)))
    rows, inverses = merge(_chunks(ensemble))
    assert rows.n_rows < ensemble.n_rows
    whole = consensus(ensemble, number(method, 4), method=method, random_state=0, confidence=False)
    merged = solve(rows, number(method, 4), method=method, random_state=0, confidence=False)
    assert np.array_equal(whole.labels, merged.labels[np.concatenate(inverses)])


@law(of=lambda method: not method.stochastic)
@pytest.mark.parametrize("seed", range(6))
def test_raw_rows_give_the_answer_of_compressed_rows(method: str, seed: int) -> None:
    """Counts are honoured by the method itself, without the compression at the door."""
    ensemble = as_ensemble(noisy(seed, n=80, missing=0.1 * (seed % 2)))
    rows, inverse = compress(ensemble)
    assert rows.n_rows < ensemble.n_rows
    rng = np.random.default_rng(0)
    raw = METHODS[method].solve(ensemble, number(method, 4), rng=rng)
    compressed = METHODS[method].solve(rows, number(method, 4), rng=rng)
    assert np.array_equal(raw.labels, compressed.labels[inverse])


def _chunks(ensemble: Ensemble) -> Iterator[Ensemble]:
    for start in range(0, ensemble.n_rows, 17):
        stop = min(start + 17, ensemble.n_rows)
        yield replace(ensemble, labels=ensemble.labels[start:stop], counts=ensemble.counts[start:stop])


@law()
@pytest.mark.parametrize("times", [2, 3])
def test_repeating_every_row_changes_nothing(method: str, times: int) -> None:
    labels = noisy(7, missing=0.1)
    tiled = run(np.tile(labels, (times, 1)), 3, method)
    assert np.array_equal(tiled, np.tile(run(labels, 3, method), times))


@law()
def test_same_seed_same_answer(method: str) -> None:
    labels = noisy(3)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    assert np.array_equal(run(labels, 3, method, confidence=True), run(labels, 3, method, confidence=True))
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


@law()
def test_one_thread_equals_two(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = noisy(5, n=400, members=8, missing=0.1)
    monkeypatch.setattr(threads, "BLOCK", 10**9)
    alone = consensus(labels, number(method, 3), method=method, random_state=0)
    monkeypatch.setattr(threads, "BLOCK", 16)
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 2)
    together = consensus(labels, number(method, 3), method=method, random_state=0)
    assert np.array_equal(alone.labels, together.labels)
    assert alone.objective == together.objective


@law()
def test_input_is_untouched(method: str) -> None:
    labels = noisy(2, missing=0.1)
    before = labels.copy()
    run(labels, 3, method, confidence=True)
    assert np.array_equal(labels, before)
    assert labels.flags.writeable


@law()
@pytest.mark.parametrize("seed", range(3))
def test_member_order_changes_nothing(method: str, seed: int) -> None:
    labels = noisy(seed, members=7, missing=0.1)
    order = np.random.default_rng(seed).permutation(7)
    assert np.array_equal(run(labels, 3, method), run(labels[:, order], 3, method))


@law()
def test_planted_partition_is_found(method: str) -> None:
    truth = np.repeat(np.arange(5), 60)
    labels = under_noise(truth, 12, 0.15)
    assert adjusted_rand_score(truth, run(labels, 5, method)) > 0.97


def _missing() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Labels of which 30% are missing, and the planted partition, whose parts have 69, 58 and 73 objects."""
    labels = noisy(11, n=200, members=10, noise=0.1, missing=0.3)
    return labels, noisy(11, n=200, members=10, noise=0.0)[:, 0]


@law()
def test_missing_labels_are_survived(method: str) -> None:
    labels, truth = _missing()
    kept = np.concatenate([np.flatnonzero(truth == part)[:58] for part in range(3)])
    assert np.bincount(truth[kept]).tolist() == [58, 58, 58]
    assert adjusted_rand_score(truth[kept], run(labels[kept], 3, method)) > 0.9


@law()
def test_missing_labels_in_unequal_parts_are_survived(method: str) -> None:
    labels, truth = _missing()
    assert adjusted_rand_score(truth, run(labels, 3, method)) > 0.9


@law()
def test_unequal_unanimous_parts_are_kept(method: str) -> None:
    """One part ten times the other, in which members know only some of the objects: nothing may be cut."""
    truth = np.repeat([0, 1], [60, 6])
    labels = np.repeat(truth[:, None], 8, axis=1)
    gaps = np.random.default_rng(0).random(labels.shape) < 0.3
    gaps[:, 0] = False
    labels[gaps] = -1
    assert np.array_equal(run(labels, 2, method), truth)


@law()
def test_smallest_cases(method: str) -> None:
    one_object = as_ensemble(np.array([[0, 0, 0]]), orientation="objects")
    assert consensus(one_object, 1, method=method).labels.tolist() == [0]
    one_member = consensus(np.array([0, 1, 2, 1]), 3, method=method, random_state=0)
    assert one_member.labels.tolist() == [0, 1, 2, 1]


@law()
@pytest.mark.parametrize("k", [1, "all"])
def test_any_k_is_possible(method: str, k: int | str) -> None:
    labels = noisy(1, n=30)
    rows = compress(as_ensemble(labels))[0].n_rows
    wanted = rows if k == "all" else int(k)
    result = consensus(labels, wanted, method=method, random_state=0)
    assert result.n_clusters == wanted


@law()
@pytest.mark.parametrize("wrong", [0, -1, 2.0, "3", True, 10**6])
def test_bad_k_is_refused(method: str, wrong: object) -> None:
    with pytest.raises((ValueError, TypeError), match="n_clusters"):
        consensus(noisy(0), wrong, method=method)


@law()
def test_all_rows_equal(method: str) -> None:
    labels = np.zeros((9, 3), dtype=int)
    assert consensus(labels, 1, method=method).labels.tolist() == [0] * 9
    with pytest.raises(ValueError, match=r"n_clusters = 2 is more than the 1 distinct label rows of 9 objects"):
        consensus(labels, 2, method=method)


@law()
@pytest.mark.parametrize("n_members", [1, 2, 3])
def test_rows_that_nobody_compressed(method: str, n_members: int) -> None:
    """`solve` is also handed rows that are not distinct: equal rows stay together, and are never counted as several."""
    ensemble = as_ensemble([[0, 0, 0, 1, 1, 1]] * n_members)
    assert solve(ensemble, 2, method=method, random_state=0, confidence=False).labels.tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match=r"n_clusters = 3 is more than the 2 distinct label rows of 6 objects"):
        solve(ensemble, 3, method=method)


@law()
def test_unknown_options_are_refused(method: str) -> None:
    with pytest.raises(TypeError, match="no option 'colour'"):
        consensus(noisy(0), 3, method=method, colour="red")


@law()
def test_weights_count(method: str) -> None:
    """A member of overwhelming weight decides."""
    labels = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    result = consensus(as_ensemble(labels, weights=[1, 1, 1000]), 2, method=method, random_state=0)
    assert result.labels.tolist() == [0, 1, 0, 1]


# ---- laws on many small random tables, which are full of ties

TABLES = 60
"""Random tables on which each of the laws below is tested; `python tests/random_tables.py` takes any number."""


def broken(method: str, holds: Callable[[str, int], bool]) -> list[int]:
    return [seed for seed in range(TABLES) if not holds(method, seed)]


@law()
def test_repeated_objects_change_nothing_on_random_tables(method: str) -> None:
    assert broken(method, random_tables.objects_repeated) == []


@law()
def test_weights_in_the_same_proportions_change_nothing_on_random_tables(method: str) -> None:
    assert broken(method, random_tables.weights_scaled) == []


@law()
def test_weights_times_any_constant_change_nothing_on_random_tables(method: str) -> None:
    assert broken(method, random_tables.weights_times_any_constant) == []


@law()
@pytest.mark.parametrize("heavy", [1e9, 1e18, 1e300])
def test_weights_of_any_spread_are_finite_work(method: str, heavy: float) -> None:
    """A member of so large a weight decides, as one of weight 1,000 does, and no sum overflows."""
    labels = noisy(3)
    results = [
        consensus(
            as_ensemble(labels, weights=[weight] + [1.0] * (labels.shape[1] - 1)), number(method, 4), method=method,
            random_state=0, confidence=False,
        )
        for weight in (1e7, heavy)
    ]  # fmt: skip
    assert np.isfinite(results[1].objective)
    assert np.array_equal(results[0].labels, results[1].labels)


@pytest.mark.parametrize("factor", [0.7, 1e-300, 1e8, 1e300])
def test_objectives_are_those_of_the_given_weights(factor: float) -> None:
    labels = noisy(1)
    for method, entry in METHODS.items():
        one, other = (
            consensus(as_ensemble(labels, weights=weights), number(method, 4), method=method, random_state=0)
            for weights in (np.ones(labels.shape[1]), np.full(labels.shape[1], factor))
        )
        given = as_ensemble(labels, weights=np.full(labels.shape[1], factor)).weights[0]
        assert other.objective == pytest.approx(one.objective * given**entry.weighs)
        assert np.allclose(one.confidence, other.confidence)


@law()
def test_member_order_changes_nothing_on_random_tables(method: str) -> None:
    assert broken(method, random_tables.members_permuted) == []


@law(of=lambda method: not method.stochastic)
def test_object_order_changes_nothing_on_random_tables(method: str) -> None:
    """A method that draws at random draws other objects if they come in another order."""
    assert broken(method, random_tables.objects_permuted) == []


def test_opt_outs_name_laws_and_methods_that_exist() -> None:
    """A misspelt law or method would excuse nobody, and nobody would notice."""
    assert [key for key in OPT_OUT if key[1] not in LAWS.get(key[0], ())] == []
    assert all(len(reason) > 20 for reason in OPT_OUT.values())
    with pytest.raises(KeyError, match="no law is called 'plantd'"):
        opted_out("plantd", "best")


def test_every_test_of_a_method_in_this_file_is_a_law() -> None:
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    asked = {name for name, test in tests.items() if "method" in inspect.signature(test).parameters}
    assert asked == {f"test_{name}" for name in LAWS}
