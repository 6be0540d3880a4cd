"""Rows that are divided into parts: the same results as whole rows, whatever the parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ensembles import noisy
from parts import cut_rows

from quorate import METHODS, Ensemble, as_ensemble, compress, solve
from quorate.solvers import label_rows
from quorate.solvers.graphs.ensemble_graphs import components
from quorate.solvers.graphs.row_partition import fill_clusters
from quorate.solvers.label_space import lookup
from quorate.solvers.label_space.moving import refilled
from quorate.solvers.members import in_content_order
from quorate.solvers.parts import PartedArray, beside
from quorate.solvers.spectral import embedding, transfer_cut

IN_PARTS = sorted(name for name, method in METHODS.items() if method.in_parts)


@pytest.fixture(autouse=True)
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restarts run on a sample, and the best is finished on all rows, as it is with millions of rows."""
    monkeypatch.setattr(lookup, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(embedding, "SAMPLE_POINTS", 100)


def rows_of(labels: Any, **options: Any) -> Ensemble:
    return compress(as_ensemble(labels, **options))[0]


def tied(n: int = 400) -> Ensemble:
    """Members of two clusters each: few distances, and very many ties."""
    return rows_of(np.random.default_rng(5).integers(2, size=(n, 9)))


def uneven() -> Ensemble:
    """Some members of many clusters, some of few, and counts of several orders."""
    rng = np.random.default_rng(2)
    rows = rows_of(np.stack([rng.integers(k, size=300) for k in (2, 3, 40, 5, 200)], axis=1))
    return replace(rows, counts=rng.integers(1, 10**6, rows.n_rows) ** 2)


TABLES = {
    "noisy": lambda: rows_of(noisy(1, n=500, missing=0.0)),
    "missing": lambda: rows_of(noisy(2, n=500, missing=0.5)),
    "weighted": lambda: rows_of(noisy(3, n=400, missing=0.2), weights=[1, 2, 0.7, 1, 3, 1]),
    "tied": tied,
    "uneven": uneven,
    "few": lambda: rows_of([[0, 0, 1, 2, 2], [0, 1, 1, 2, 0]]),
}


def cuts_of(n_rows: int) -> list[Sequence[int]]:
    """No cut, one in the middle, and seven parts of very unequal size."""
    seven = {1, 2, n_rows // 7, n_rows // 7 + 1, n_rows // 2, n_rows - 1}
    return [(), (n_rows // 2,), sorted(seven - {0})]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("method", IN_PARTS)
def test_results_are_those_of_whole_rows(method: str, table: str) -> None:
    rows = TABLES[table]()
    k = min(7, rows.n_rows)
    whole = solve(rows, k, method=method, random_state=3)
    for cuts in cuts_of(rows.n_rows):
        found = solve(cut_rows(rows, cuts), k, method=method, random_state=3)
        np.testing.assert_array_equal(found.labels.whole(), whole.labels)
        assert (found.n_iter, found.converged) == (whole.n_iter, whole.converged)
        np.testing.assert_array_equal(found.runner_up.whole(), whole.runner_up)
        np.testing.assert_array_equal(found.confidence.whole(), whole.confidence)
        # sums of floats over rows are added up part by part
        assert found.objective == pytest.approx(whole.objective, rel=1e-12, abs=1e-12)
        assert set(found.info) == set(whole.info)


@pytest.mark.parametrize("method", ["kmeans", "sec", "kmodes"])
def test_objectives_of_whole_numbers_are_the_same_to_the_last_bit(method: str) -> None:
    rows = TABLES["noisy"]()
    whole = solve(rows, 4, method=method, random_state=0, confidence=False)
    found = solve(cut_rows(rows, cuts_of(rows.n_rows)[2]), 4, method=method, random_state=0, confidence=False)
    assert found.objective == pytest.approx(whole.objective, rel=0, abs=0 if method != "sec" else 1e-13)


@pytest.mark.parametrize("method", ["sec", "mixture"])
def test_sums_beyond_64_bits(method: str) -> None:
    """Masses of `sec` are floats then, and counts are added up in two parts in `mixture`."""
    rows = TABLES["noisy"]()
    many = replace(rows, counts=rows.counts * 2**35 + np.arange(rows.n_rows))
    whole = solve(many, 3, method=method, random_state=0, confidence=False)
    found = solve(cut_rows(many, cuts_of(many.n_rows)[2]), 3, method=method, random_state=0, confidence=False)
    np.testing.assert_array_equal(found.labels.whole(), whole.labels)


@pytest.mark.parametrize("method", ["transfer", "lwgp"])
def test_a_graph_of_many_clusters_is_multiplied_part_by_part(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer_cut, "DENSE_CLUSTERS", 10)
    rows = TABLES["noisy"]()
    whole = solve(rows, 3, method=method, random_state=0, confidence=False)
    found = solve(cut_rows(rows, cuts_of(rows.n_rows)[2]), 3, method=method, random_state=0, confidence=False)
    np.testing.assert_array_equal(found.labels.whole(), whole.labels)


@pytest.mark.parametrize("side", ["DENSE_SIDE", "PARTED_SIDE"])
def test_singular_vectors_of_many_clusters(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole rows take Lanczos iterations there; rows in parts a matrix over clusters, if it is not too large."""
    monkeypatch.setattr(embedding, side, 10)
    rows = TABLES["noisy"]()
    parted = cut_rows(rows, cuts_of(rows.n_rows)[2])
    if side == "PARTED_SIDE":
        with pytest.raises(AttributeError, match="needs them in one place"):
            solve(parted, 3, method="spectral", random_state=0, confidence=False)
        return
    whole = solve(rows, 3, method="spectral", random_state=0, confidence=False)
    found = solve(parted, 3, method="spectral", random_state=0, confidence=False)
    np.testing.assert_array_equal(found.labels.whole(), whole.labels)


def test_fewer_rows_than_clusters_come_to_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "SAMPLE_POINTS", 10)
    rows = rows_of(np.random.default_rng(0).integers(30, size=(50, 4)))
    whole = solve(rows, 3, method="spectral", random_state=0)
    found = solve(cut_rows(rows, (7, 30)), 3, method="spectral", random_state=0)
    np.testing.assert_array_equal(found.labels.whole(), whole.labels)


def separate(n_groups: int, missing: float = 0.4) -> Ensemble:
    """Groups that share no cluster of any member, in an order that cuts each of them."""
    rng = np.random.default_rng(n_groups)
    group = rng.permutation(np.arange(60 * n_groups) % n_groups)
    labels = 3 * group[:, None] + rng.integers(3, size=(len(group), 6))
    labels[rng.random(labels.shape) < missing] = -1
    labels[(labels < 0).all(axis=1), 0] = 0
    return rows_of(labels)


@pytest.mark.parametrize("k", [1, 4, None])
def test_groups_that_share_nothing_are_found_across_parts(k: int | None) -> None:
    """One cluster, connected components, and one cluster for each row are the answer without a partition."""
    rows = separate(4)
    k = rows.n_rows if k is None else k
    whole = solve(rows, k, method="mcla", random_state=0)
    assert whole.info["meta_clusters"] is None
    for cuts in cuts_of(rows.n_rows):
        found = solve(cut_rows(rows, cuts), k, method="mcla", random_state=0)
        np.testing.assert_array_equal(found.labels.whole(), whole.labels)
        assert found.info["meta_clusters"] is None
    assert components(cut_rows(rows, cuts), 5) is None


def test_groups_of_clusters_that_win_nothing_take_the_same_rows() -> None:
    rows = rows_of(np.random.default_rng(3).integers(8, size=(200, 3)))
    labels = np.random.default_rng(4).integers(5, size=rows.n_rows).astype(np.int32)
    parted = cut_rows(rows, cuts_of(rows.n_rows)[2])
    found, n_found = fill_clusters(parted, beside(parted, labels), 9)
    wanted, n_wanted = fill_clusters(rows, labels.copy(), 9)
    assert n_found == n_wanted == 4
    np.testing.assert_array_equal(found.whole(), wanted)
    assert len(np.unique(wanted)) == 9


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_draws_for_rows_are_those_of_one_stream(kind: str) -> None:
    rows = uneven()
    parted = cut_rows(rows, cuts_of(rows.n_rows)[2])
    here, there = (np.random.Generator(getattr(np.random, kind)(7)) for _ in range(2))
    # an odd number of draws of 32 bits leaves half of one of 64
    assert here.integers(2**31 - 1) == there.integers(2**31 - 1)
    draws = label_rows.a_draw_for_each_row(parted, there)
    np.testing.assert_array_equal(draws.whole(), label_rows.a_draw_for_each_row(rows, here))
    np.testing.assert_array_equal(here.integers(2**31 - 1, size=9), there.integers(2**31 - 1, size=9))


@pytest.mark.parametrize("seed", range(20))
def test_empty_clusters_take_the_same_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, k = TABLES["noisy"](), int(rng.integers(2, 40))
    # few of the clusters have rows, several of them one alone, and many rows cost the same
    labels = rng.choice(rng.integers(k, size=3), size=rows.n_rows).astype(np.int32)
    labels[rng.integers(rows.n_rows, size=4)] = rng.integers(k, size=4)
    cost = rng.integers(4, size=rows.n_rows).astype(np.float64)
    parted = cut_rows(rows, sorted(rng.choice(np.arange(1, rows.n_rows), 5, replace=False)))
    found, n_empty = refilled(beside(parted, labels), lambda: beside(parted, cost), k)
    wanted = labels.copy()
    assert n_empty == label_rows.fill_empty(wanted, cost, k)
    np.testing.assert_array_equal(found.whole(), wanted)


def test_rows_are_found_and_taken_across_parts() -> None:
    rows = uneven()
    parted = cut_rows(rows, cuts_of(rows.n_rows)[2])
    objects = np.random.default_rng(0).integers(rows.n_objects, size=500)
    wanted = label_rows.rows_of_objects(rows.counts, objects)
    np.testing.assert_array_equal(label_rows.rows_of_objects(parted.counts, objects), wanted)
    places = np.random.default_rng(1).permutation(rows.n_rows)[:50]
    ones = np.ones(50, dtype=np.int64)
    np.testing.assert_array_equal(label_rows.take(parted, places, ones).labels, rows.labels[places])
    np.testing.assert_array_equal(parted.counts.at(places), rows.counts[places])
    assert label_rows.counts_divisor(parted) == label_rows.counts_divisor(rows)
    here = parted.on_host()
    np.testing.assert_array_equal(here.labels, rows.labels)
    np.testing.assert_array_equal(here.counts, rows.counts)


def test_members_are_sorted_as_those_of_whole_rows() -> None:
    labels = noisy(4, n=300, missing=0.1)
    # two members are equal in all rows but the last, and two in all
    labels = np.column_stack([labels, labels[:, 0], labels[:, 1]])
    labels[-1, -2] = 1 - labels[-1, -2]
    rows = rows_of(labels, check=False)
    wanted = in_content_order(rows)
    for cuts in cuts_of(rows.n_rows):
        found = in_content_order(cut_rows(rows, cuts))
        assert found.member_names[:-3] == wanted.member_names[:-3]
        np.testing.assert_array_equal(found.on_host().labels, wanted.labels)


@pytest.mark.parametrize("method", IN_PARTS)
def test_what_comes_back_does_not_grow_with_the_rows(method: str) -> None:
    """Samples and tables come here: with confidence 2,000 objects, otherwise 100; never something of all rows."""
    most = []
    few_sweeps: Any = {} if method == "mcla" else {"max_iter": 5}
    for n in (4_000, 16_000):
        parted = cut_rows(rows_of(np.random.default_rng(0).integers(3, size=(n, 12))), (n // 3,))
        solve(parted, 3, method=method, random_state=0, confidence=n > 4_000, **few_sweeps)
        most.append(parted.holder.most)
    assert most[0] < 32_000  # two tables of 36 x 36 numbers with their places, or the rows of 100 objects
    assert most[1] < 40_000 < 16_000 * 4


def test_canonical_labels_are_numbered_across_parts() -> None:
    rows = TABLES["noisy"]()
    labels = np.random.default_rng(0).permutation(np.arange(rows.n_rows) % 11).astype(np.int32)
    parted = cut_rows(rows, cuts_of(rows.n_rows)[2])
    found = label_rows.canonical_labels(beside(parted, labels), 11)
    assert isinstance(found, PartedArray)
    np.testing.assert_array_equal(found.whole(), label_rows.canonical_labels(labels, 11))


@pytest.mark.parametrize(
    ("k", "options"),
    [(3, {"method": "cspa"}), (3, {"method": "supra"}), (3, {"refine": True}), ((2, 4), {}), (3, {"min_size": 2})],
)
def test_what_needs_the_rows_in_one_place_says_so(k: Any, options: dict[str, Any]) -> None:
    parted = cut_rows(tied(60), (10,))
    with pytest.raises(ValueError, match=r"distinct rows are divided into parts, .* use on_host\(\)"):
        solve(parted, k, random_state=0, **options)
    with pytest.raises(AttributeError, match=r"divided into 2 parts, and this needs them in one place"):
        parted.labels  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'label'"):
        parted.label  # noqa: B018


def test_methods_in_parts_are_those_of_the_documentation() -> None:
    text = (Path(__file__).parents[1] / "docs" / "dask.md").read_text(encoding="utf-8")
    names = next(line for line in text.splitlines() if line.endswith("with a number of clusters | on the workers |"))
    assert re.findall(r"`(\w+)`", names) == ["auto", *IN_PARTS]
