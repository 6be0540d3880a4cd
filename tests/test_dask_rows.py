"""Distinct rows that stay on Dask's workers, because they exceed `max_bytes`: the same results as in memory."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import quorate
from quorate import METHODS

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
import cloudpickle  # noqa: E402
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

import quorate.dask as qd  # noqa: E402
from quorate._distributed import rows_on_workers  # noqa: E402
from quorate.solvers.label_space import lookup  # noqa: E402
from quorate.solvers.spectral import embedding  # noqa: E402

# workers cannot import a module of tests
cloudpickle.register_pickle_by_value(sys.modules[__name__])

pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.xdist_group("dask")]
Array = np.ndarray[Any, np.dtype[Any]]
N, MEMBERS = 1_500, 6
IN_PARTS = sorted(name for name, method in METHODS.items() if method.in_parts)
FEW_BYTES = 2_000
"""Less than the rows of any part of the tables here."""


@pytest.fixture(autouse=True)
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restarts run on a sample, and the best is finished on all rows, as it is with millions of rows."""
    monkeypatch.setattr(lookup, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(embedding, "SAMPLE_POINTS", 100)


@pytest.fixture(scope="module")
def labels() -> Array:
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=N)
    table = np.stack([np.where(rng.random(N) < 0.3, rng.integers(7, size=N), truth) for _ in range(MEMBERS)], axis=1)
    table[rng.random(table.shape) < 0.1] = -1
    # a member that labels nothing in the first chunks, and values whose codes differ from chunk to chunk
    table[:400, 4] = -1
    table[table.max(axis=1) < 0, 0] = 0
    return table


def chunked(labels: Array, sizes: Sequence[int] | int = (1, 0, 299, 7, 500, 3, 90, 200, 100, 50, 150, 99, 1)) -> Any:
    return da.from_array(labels, chunks=(tuple(sizes) if isinstance(sizes, Sequence) else sizes, labels.shape[1]))


def assert_same(found: Any, whole: Any) -> None:
    assert found.solution.info["n_parts"] > 0
    np.testing.assert_array_equal(found.labels.compute(), whole.labels)
    np.testing.assert_array_equal(found.confidence.compute(), whole.confidence)
    np.testing.assert_array_equal(found.runner_up.compute(), whole.runner_up)
    assert found.solution.objective == pytest.approx(whole.objective, rel=1e-12)
    assert found.solution.n_iter == whole.n_iter
    assert found.sizes.tolist() == np.bincount(whole.labels).tolist()


@pytest.mark.parametrize("method", IN_PARTS)
def test_every_method_gives_the_answer_of_the_table_in_memory(method: str, labels: Array) -> None:
    with dask.config.set(scheduler="synchronous"):
        found = qd.consensus(chunked(labels), 5, method=method, random_state=1, max_bytes=FEW_BYTES)
        assert_same(found, quorate.consensus(labels, 5, method=method, random_state=1))
        assert found.solution.info["n_parts"] == 2


@pytest.mark.parametrize("method", ["auto", "sec"])
def test_two_workers_give_the_answer_of_the_table_in_memory(method: str, client: Any, labels: Array) -> None:
    found = qd.consensus(chunked(labels), 5, method=method, random_state=1, max_bytes=FEW_BYTES)
    assert_same(found, quorate.consensus(labels, 5, method=method, random_state=1))


@pytest.mark.parametrize("size", [40, 180, 1_500])
def test_the_number_of_parts_changes_nothing(size: int, labels: Array) -> None:
    whole = quorate.consensus(labels, 4, method="kmeans", random_state=1)
    with dask.config.set(scheduler="threads"):
        found = qd.consensus(chunked(labels, size), 4, method="kmeans", random_state=1, max_bytes=FEW_BYTES)
        assert_same(found, whole)
        assert found.labels.chunks == (chunked(labels, size).chunks[0],)


def test_rows_are_divided_as_they_appear_first(client: Any, labels: Array) -> None:
    """Rows of the first chunks come again in the last ones, whose parts have fewer rows of their own, or none."""
    again = np.concatenate([labels, labels[:400], labels[:700]])
    sizes = [100] * (len(again) // 100)
    rows, _ = quorate.compress(quorate.as_ensemble(again))
    found = qd.consensus(chunked(again, sizes), 4, method="kmodes", random_state=1, max_bytes=FEW_BYTES)
    np.testing.assert_array_equal(found.ensemble.on_host().labels, rows.labels)
    np.testing.assert_array_equal(found.ensemble.counts.whole(), rows.counts)
    assert found.solution.info["n_parts"] == 2 < -(-len(sizes) // 8)
    assert_same(found, quorate.consensus(again, 4, method="kmodes", random_state=1))
    assert f"{rows.n_rows:,} distinct rows" in repr(found)


def test_texts_missing_values_and_ids() -> None:
    """Values get their meaning before rows are compared: "x" and "1" and 1.0 of other chunks, and what is missing."""
    with dask.config.set(scheduler="synchronous"):
        rng = np.random.default_rng(1)
        values = {name: rng.choice(["x", "y", "z", "unknown", None], 900) for name in "abcdef"}
        frame = pd.DataFrame(values, index=np.arange(900) * 2)
        frame.loc[(frame.isna() | (frame == "unknown")).all(axis=1), "a"] = "x"
        frame["name"] = [f"object {row}" for row in range(900)]
        options: dict[str, Any] = {"method": "sec", "random_state": 1, "missing": "unknown"}
        whole = quorate.consensus(frame.drop(columns="name"), 3, **options)
        found = qd.consensus(dd.from_pandas(frame, npartitions=20), 3, ids="name", max_bytes=FEW_BYTES, **options)
        assert_same(found, whole)
        table = found.to_frame().compute()
        assert table["name"].tolist() == frame["name"].tolist()
        assert table.index.tolist() == frame.index.tolist()
        np.testing.assert_array_equal(table["label"], whole.labels)
        frame.loc[[4, 1600], "name"] = "twin"
        with pytest.raises(ValueError, match=r"the id 'twin' is there twice"):
            qd.consensus(dd.from_pandas(frame, npartitions=20), 3, ids="name", max_bytes=FEW_BYTES, **options)


def test_tables_that_cannot_be_clusterings_are_refused_as_in_memory(labels: Array) -> None:
    options: dict[str, Any] = {"method": "kmeans", "max_bytes": 1}
    with dask.config.set(scheduler="synchronous"):
        empty = labels.copy()
        empty[[3, 700]] = -1
        with pytest.raises(ValueError, match=r"the Dask collection: 2 of 1,500 objects have no label"):
            qd.consensus(chunked(empty), 4, **options)
        with pytest.raises(ValueError, match=r"member 6"):
            qd.consensus(chunked(np.column_stack([labels, np.arange(N)])), 4, **options)
        with pytest.raises(ValueError, match=r"the Dask collection: column 'member 6' holds numbers such as"):
            qd.consensus(chunked(np.column_stack([labels, np.random.default_rng(0).random(N)])), 4, **options)
        with pytest.raises(ValueError, match=r"n_clusters = 2,000 is more than the"):
            qd.consensus(chunked(labels), 2_000, **options)


def test_rows_come_here_where_a_method_needs_them(labels: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    with dask.config.set(scheduler="synchronous"):
        for method, k in (("cspa", 4), ("kmeans", None), ("kmeans", 4)):
            n_bytes = 4 * 10**9 if k == 4 and method == "kmeans" else 10**8
            options: dict[str, Any] = {"method": method, "random_state": 0, "max_bytes": n_bytes}
            found = qd.consensus(chunked(labels), k, **options)
            assert "n_parts" not in found.solution.info
            np.testing.assert_array_equal(found.labels.compute(), quorate.consensus(labels, k, **options).labels)
        # "auto" sees the rows before it decides
        whole = quorate.consensus(labels, 4, random_state=0)
        monkeypatch.setitem(METHODS, "lwgp", replace(METHODS["lwgp"], in_parts=False))
        found = qd.consensus(chunked(labels), 4, random_state=0, max_bytes=FEW_BYTES)
        assert "n_parts" not in found.solution.info
        np.testing.assert_array_equal(found.labels.compute(), whole.labels)
        np.testing.assert_array_equal(found.confidence.compute(), whole.confidence)


def test_scores_say_what_to_call(labels: Array) -> None:
    with dask.config.set(scheduler="synchronous"):
        lazy = chunked(labels, 100)
        found = qd.consensus(lazy, 4, method="kmeans", random_state=0, max_bytes=FEW_BYTES)
        with pytest.raises(ValueError, match=r"call evaluate\(result.labels, data\)"):
            qd.evaluate(found)
        whole = quorate.consensus(labels, 4, method="kmeans", random_state=0)
        assert qd.evaluate(found.labels, lazy).anmi == quorate.evaluate(whole.labels, labels).anmi


def _own_pid(dask_worker: Any = None) -> int:
    return os.getpid()


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_worker_killed_between_sweeps_changes_nothing(
    client: Any, labels: Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, call = [0], rows_on_workers.DaskHolder.call

    def killing(self: Any, *arguments: Any) -> Any:
        calls[0] += 1
        if calls[0] == 12:
            os.kill(next(iter(client.run(_own_pid).values())), signal.SIGKILL)
        return call(self, *arguments)

    monkeypatch.setattr(rows_on_workers.DaskHolder, "call", killing)
    found = qd.consensus(chunked(labels), 5, method="lwgp", random_state=1, max_bytes=FEW_BYTES)
    assert calls[0] > 12
    client.wait_for_workers(2, timeout=60)
    assert_same(found, quorate.consensus(labels, 5, method="lwgp", random_state=1))


def test_large_values_are_sent_to_the_workers_once(client: Any, labels: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_on_workers, "SMALL", 100)
    found = qd.consensus(chunked(labels), 5, method="kmeans", random_state=1, max_bytes=FEW_BYTES)
    assert_same(found, quorate.consensus(labels, 5, method="kmeans", random_state=1))


def test_tables_that_fit_in_any_case_are_not_measured_first(labels: Array, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: Any) -> bool:
        raise AssertionError("the rows of 1,500 objects of 6 members take 48,000 bytes at most")

    monkeypatch.setattr(qd, "rows_exceed", never)
    options: dict[str, Any] = {"method": "kmeans", "random_state": 0, "confidence": False}
    with dask.config.set(scheduler="synchronous"):
        assert qd.consensus(chunked(labels), 4, max_bytes=N * 32, **options).n_clusters == 4
        with pytest.raises(AssertionError, match="48,000"):
            qd.consensus(chunked(labels), 4, max_bytes=N * 32 - 1, **options)
