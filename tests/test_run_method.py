"""What solve does for every method: sorted members, confidence, shared options; and what k-means loops share."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from ensembles import noisy
from hypothesis import given
from hypothesis import strategies as st

from quorate import METHODS, Consensus, Ensemble, Method, as_ensemble, compress, consensus, solve
from quorate.solvers.label_rows import drawn_by_weight, fill_empty, rows_of_objects
from quorate.solvers.members import by_member_name, in_content_order

SHARED = [
    (name, option)
    for name in METHODS
    for option in ("n_init", "max_iter")
    if option in inspect.signature(METHODS[name].solve).parameters
]


def spying(seen: list[Ensemble], **facts: Any) -> Method:
    """A method that puts all rows into one cluster and keeps what it was handed."""

    def one_cluster(ensemble: Ensemble, n_clusters: int, *, rng: np.random.Generator) -> Consensus:
        seen.append(ensemble)
        sizes = by_member_name(ensemble, np.repeat(ensemble.n_clusters, ensemble.n_clusters))
        return Consensus(labels=np.zeros(ensemble.n_rows, np.int32), objective=0.0, info={"sizes": sizes, "none": None})

    return Method(one_cluster, "for this test", "doi:none", **facts)


def uneven() -> Ensemble:
    """Members in an order that differs from that of their contents, with different numbers of clusters."""
    return as_ensemble({"c": [0, 1, 2, 0], "a": [0, 0, 1, 1], "b": [0, 1, 1, 1]}, weights=[1.0, 0.3, 0.7])


def test_members_come_sorted_and_facts_about_them_go_back_in_their_own_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Ensemble] = []
    monkeypatch.setitem(METHODS, "spy", spying(seen, by_member=("sizes", "none", "absent")))
    result = solve(compress(uneven())[0], 1, method="spy")
    assert sorted(seen[0].member_names) == ["a", "b", "c"]
    columns = [seen[0].labels[:, place].tolist() for place in range(3)]
    assert columns == sorted(columns)
    assert {name: sizes.tolist() for name, sizes in result.info["sizes"].items()} == {
        "c": [3] * 3,
        "a": [2] * 2,
        "b": [2] * 2,
    }
    assert list(result.info["sizes"]) == ["c", "a", "b"]
    assert result.info["none"] is None
    assert "absent" not in result.info


def test_a_method_with_a_reason_sees_the_members_in_their_own_order(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Ensemble] = []
    monkeypatch.setitem(METHODS, "spy", spying(seen, own_order="for this test"))
    solve(compress(uneven())[0], 1, method="spy")
    assert seen[0].member_names == ("c", "a", "b")


def test_sorted_rows_are_known_to_be_distinct() -> None:
    rows, _ = compress(as_ensemble(noisy(0)))
    assert compress(in_content_order(rows))[0].is_distinct
    assert not in_content_order(as_ensemble(noisy(0))).is_distinct


@pytest.mark.parametrize("method", sorted(name for name in METHODS if not METHODS[name].own_order and name != "supra"))
@pytest.mark.parametrize("seed", range(3))
def test_no_bit_depends_on_the_order_of_sorted_members(method: str, seed: int) -> None:
    labels, rng = noisy(seed, members=7, missing=0.1), np.random.default_rng(seed)
    order, weights = rng.permutation(7), rng.random(7) + 0.1
    results = [
        consensus(as_ensemble(labels[:, chosen], weights=weights[chosen]), 3, method=method, random_state=0)
        for chosen in (np.arange(7), order)
    ]
    assert np.array_equal(results[0].labels, results[1].labels)
    assert results[0].objective == results[1].objective
    assert np.array_equal(results[0].confidence, results[1].confidence)


def test_an_own_order_has_a_reason() -> None:
    assert all(not entry.own_order or len(entry.own_order) > 40 for entry in METHODS.values())


@pytest.mark.parametrize(("method", "option"), SHARED)
def test_shared_options_are_checked_for_every_method(method: str, option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} must be (at least 1|between 1 and 1,000,000), got 0"):
        consensus(noisy(0), 3, method=method, **{option: 0})
    with pytest.raises(TypeError, match=f"{option} must be an integer, got 2.5"):
        consensus(noisy(0), 3, method=method, **{option: 2.5})


def slow_fill(labels: list[int], cost: list[float], k: int, least: float | None) -> list[int]:
    """For each empty cluster, the costliest row not yet looked at whose cluster has another row."""
    left = sorted(range(len(labels)), key=lambda row: -cost[row])
    labels = list(labels)
    for cluster in [c for c in range(k) if c not in labels]:
        while left:
            row = left.pop(0)
            if labels.count(labels[row]) > 1 and (least is None or cost[row] > least):
                labels[row] = cluster
                break
    return labels


@given(st.data())
def test_empty_clusters_take_the_costliest_rows(data: st.DataObject) -> None:
    k = data.draw(st.integers(1, 5))
    labels = data.draw(st.lists(st.integers(0, k - 1), min_size=k, max_size=12))
    cost = [float(value) for value in data.draw(st.lists(st.integers(0, 3), min_size=12, max_size=12))][: len(labels)]
    least = data.draw(st.sampled_from([None, 0.0]))
    filled = np.array(labels, dtype=np.int32)
    n_empty = fill_empty(filled, np.array(cost), k, least=least)
    assert n_empty == k - len(set(labels))
    assert filled.tolist() == slow_fill(labels, cost, k, least)
    assert least is not None or set(filled.tolist()) == set(range(k))


def test_draws_follow_the_weights_and_never_take_what_weighs_nothing() -> None:
    weights = np.array([0.0, 1.0, 3.0, 0.0])
    assert drawn_by_weight(weights, np.array([0.0, 0.24, 0.26, 1.0])).tolist() == [1, 1, 2, 2]
    drawn = drawn_by_weight(weights, np.random.default_rng(0).random(20_000))
    assert abs(np.mean(drawn == 2) - 0.75) < 0.02
    assert set(drawn.tolist()) == {1, 2}


def test_objects_are_numbered_row_after_row() -> None:
    counts = np.array([2, 1, 3])
    assert rows_of_objects(counts, np.arange(6)).tolist() == np.repeat(np.arange(3), counts).tolist()


def test_runs_without_end_are_refused() -> None:
    with pytest.raises(ValueError, match="n_init must be between 1 and 1,000,000"):
        consensus([[0, 0, 1, 1], [0, 0, 1, 1]], 2, method="kmeans", n_init=10**21)
