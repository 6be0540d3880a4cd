"""Dask collections: the same results as in memory, on a cluster of two processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import quorate
from quorate import METHODS, EnsembleClustering

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
import cloudpickle  # noqa: E402
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

import quorate.dask as qd  # noqa: E402

# workers cannot import a module of tests
cloudpickle.register_pickle_by_value(sys.modules[__name__])

# Dask and its libraries warn about their own future; our own warnings are tested elsewhere
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.xdist_group("dask")]
Array = np.ndarray[Any, np.dtype[Any]]
N = 600


@pytest.fixture(scope="module")
def labels() -> Array:
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=N)
    table = np.stack([np.where(rng.random(N) < 0.2, rng.integers(5, size=N), truth + 1) for _ in range(5)], axis=1)
    table[rng.random(table.shape) < 0.1] = -1
    # a member that labels nothing in the first chunks
    table[:250, 4] = -1
    table[table.max(axis=1) < 0, 0] = 0
    return table


def chunked(labels: Array, size: int = 100) -> Any:
    return da.from_array(labels, chunks=(size, 3))


def assert_same(found: Any, whole: Any) -> None:
    np.testing.assert_array_equal(found.labels.compute(), whole.labels)
    assert found.solution.objective == whole.objective
    if whole.confidence is None:
        assert found.confidence is None
    else:
        np.testing.assert_array_equal(found.confidence.compute(), whole.confidence)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_gives_the_answer_of_the_table_in_memory(method: str, client: Any, labels: Array) -> None:
    k = None if method == "best" else 4
    whole = quorate.consensus(labels, k, method=method, random_state=1)
    assert_same(qd.consensus(chunked(labels), k, method=method, random_state=1), whole)


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_schedulers_of_one_machine(scheduler: str, labels: Array) -> None:
    whole = quorate.consensus(labels, 4, random_state=1)
    with dask.config.set(scheduler=scheduler):
        found = qd.consensus(chunked(labels, 17), 4, random_state=1)
        assert_same(found, whole)
        assert found.labels.chunks == (chunked(labels, 17).chunks[0],)
        assert found.sizes.tolist() == whole.sizes.tolist()
        assert qd.evaluate(found, null=2).as_dict() == quorate.evaluate(whole, labels, null=2).as_dict()


def test_data_frames_keep_index_divisions_and_ids(client: Any, labels: Array, tmp_path: Path) -> None:
    frame = pd.DataFrame(labels, columns=[f"m{place}" for place in range(5)], index=np.arange(N) * 10)
    frame["name"] = [f"object {row}" for row in range(N)]
    lazy = dd.from_pandas(frame, npartitions=7)
    found = qd.consensus(lazy, 4, ids="name", random_state=1)
    whole = quorate.consensus(labels, 4, random_state=1)
    assert found.labels.divisions == lazy.divisions
    series = found.labels.compute()
    assert series.index.tolist() == frame.index.tolist()
    assert series.name == "label"
    np.testing.assert_array_equal(series, whole.labels)
    table = found.to_frame().compute()
    assert table["name"].tolist() == frame["name"].tolist()
    np.testing.assert_array_equal(table["confidence"], whole.confidence)
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=100)
    read = dd.read_parquet(tmp_path / "t.parquet", split_row_groups=True)
    np.testing.assert_array_equal(qd.consensus(read, 4, ids="name", random_state=1).labels.compute(), whole.labels)


def test_ids_that_repeat_across_chunks_are_named(client: Any, labels: Array) -> None:
    frame = pd.DataFrame(labels, columns=list("abcde")).assign(name=[f"x{row}" for row in range(N)])
    frame.loc[[7, 500], "name"] = "twin"
    with pytest.raises(ValueError, match=r"the id 'twin' is there twice, in chunk 0 and in chunk 5"):
        qd.consensus(dd.from_pandas(frame, npartitions=6), 4, ids="name")


def test_texts_and_nulls(client: Any) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.choice(["x", "y", "z", None], 90, p=[0.4, 0.3, 0.2, 0.1]) for name in "abc"})
    frame.loc[frame.isna().all(axis=1), "a"] = "x"
    whole, inverse = quorate.compress(quorate.as_ensemble(frame))
    found = qd.compress(dd.from_pandas(frame, npartitions=4))
    np.testing.assert_array_equal(found.labels, whole.labels)
    np.testing.assert_array_equal(found.counts, whole.counts)
    assert [values.tolist() for values in found.categories] == [values.tolist() for values in whole.categories]
    assert len(inverse) == 90


def test_futures_persisted_data_and_unknown_chunks(client: Any, labels: Array) -> None:
    whole = quorate.consensus(labels, 4, random_state=1)
    futures = [client.submit(np.array, labels[start : start + 150], pure=False) for start in range(0, N, 150)]
    assert_same(qd.consensus(futures, 4, random_state=1), whole)
    assert_same(qd.consensus(client.persist(chunked(labels)), 4, random_state=1), whole)
    lazy = chunked(labels).rechunk((100, -1))
    unknown = lazy[lazy.sum(axis=1) > -1_000]
    assert np.isnan(unknown.shape[0])
    found = qd.consensus(unknown, 4, random_state=1)
    assert_same(found, whole)


def test_empty_chunks(client: Any, labels: Array) -> None:
    lazy = da.concatenate([chunked(labels[:300]).rechunk((100, -1))[:0], da.from_array(labels, chunks=(200, 5))])
    assert_same(qd.consensus(lazy, 4, random_state=1), quorate.consensus(labels, 4, random_state=1))


def test_scores_of_labels_beside_a_table(client: Any, labels: Array) -> None:
    lazy = chunked(labels).rechunk((100, -1))
    found = qd.consensus(lazy, 4, random_state=1)
    truth = np.arange(N) % 3
    scores = qd.evaluate(found.labels, lazy, truth=da.from_array(truth, chunks=100), null=2)
    whole = quorate.consensus(labels, 4, random_state=1)
    assert scores.as_dict() == quorate.evaluate(whole.labels, labels, truth=truth, null=2).as_dict()
    with pytest.raises(ValueError, match=r"must have the chunks of data, 6 in all, got 2"):
        qd.evaluate(da.from_array(truth, chunks=300), lazy)
    with pytest.raises(
        TypeError, match=r"evaluate has no option 'colums' \(did you mean 'columns'\?\); its options are "
    ):
        qd.evaluate(found.labels, lazy, colums=["a"])


def _failing(block: Array, block_info: Any = None) -> Array:
    if block_info and block_info[0]["chunk-location"][0] == 3:
        raise ZeroDivisionError("a chunk that cannot be computed")
    return block


@pytest.mark.parametrize("kind", ["cluster", "threads"])
def test_the_error_names_the_chunk_that_failed(kind: str, client: Any, labels: Array) -> None:
    lazy = da.from_array(labels, chunks=(100, 5)).map_blocks(_failing, dtype=labels.dtype, meta=labels[:0])
    where = {"scheduler": "threads"} if kind == "threads" else {}
    wanted = r"chunk 3 of 6 could not be computed: a chunk that cannot"
    with dask.config.set(where), pytest.raises(RuntimeError, match=wanted):
        qd.consensus(lazy, 4)
    bad = da.from_array(labels.astype(float) + np.where(np.arange(N) == 250, np.inf, 0)[:, None], chunks=(100, 5))
    with pytest.raises(ValueError, match=r"chunk 2: .*infinite label"):
        qd.consensus(bad, 4)


def _dying(block: Array, block_info: Any = None) -> Array:
    if block_info and block_info[None]["chunk-location"][0] == 3:
        os._exit(9)
    return block


def test_a_chunk_that_kills_its_workers_is_named_with_advice(client: Any, labels: Array) -> None:
    """So ends a worker that is out of memory: its nanny, or the operating system, kills it."""
    lazy = da.from_array(labels, chunks=(100, 5)).map_blocks(_dying, dtype=labels.dtype, meta=labels[:0])
    scheduler = client.cluster.scheduler
    before = scheduler.allowed_failures, scheduler.WORKER_SATURATION
    # Dask also blames chunks that wait at a worker that dies; with a saturation of 1 they wait at the scheduler
    scheduler.allowed_failures, scheduler.WORKER_SATURATION = 1, 1.0
    try:
        with pytest.raises(RuntimeError, match=r"chunk 3 of 6 could not be computed: .*usually out of memory"):
            qd.consensus(lazy, 4)
    finally:
        scheduler.allowed_failures, scheduler.WORKER_SATURATION = before
        client.wait_for_workers(2, timeout=60)


def _slow(block: Array) -> Array:
    time.sleep(0.4)
    return block


def _own_pid(dask_worker: Any = None) -> int:
    return os.getpid()


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_killed_worker_changes_nothing(client: Any, labels: Array) -> None:
    import threading

    lazy = da.from_array(labels, chunks=(50, 5)).map_blocks(_slow, dtype=labels.dtype, meta=labels[:0])
    pids = list(client.run(_own_pid).values())
    killer = threading.Timer(1.0, os.kill, (pids[0], signal.SIGKILL))
    killer.start()
    found = qd.consensus(lazy, 4, random_state=1)
    killer.join()
    assert_same(found, quorate.consensus(labels, 4, random_state=1))
    client.wait_for_workers(2, timeout=60)
    # the labels can be computed again when a worker that held parts of them is gone
    os.kill(next(iter(client.run(_own_pid).values())), signal.SIGKILL)
    np.testing.assert_array_equal(found.labels.compute(), quorate.consensus(labels, 4, random_state=1).labels)
    client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize("base", ["kmeans", "spectral"])
def test_members_equal_those_of_an_array(base: str, client: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(mean, 1, size=(400, 3)) for mean in (0, 5, 9)])
    rng.shuffle(X)
    whole = quorate.generate(X, 4, k=(3, 6), base=base, random_state=1)
    made = qd.generate(da.from_array(X, chunks=(350, 2)), 4, k=(3, 6), base=base, random_state=1)
    np.testing.assert_array_equal(made.labels.compute(), whole.labels)
    assert made.ensemble.info == whole.info
    assert made.labels.chunks[0] == (350, 350, 350, 150)


def test_the_estimator_on_dask_input(client: Any) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(mean, 1, size=(300, 3)) for mean in (0, 5, 9)]).astype(np.float32)
    options: dict[str, Any] = {"n_members": 4, "random_state": 0}
    whole = EnsembleClustering(3, **options).fit(X)
    lazy = da.from_array(X, chunks=(250, 3))
    model = EnsembleClustering(3, **options).fit(lazy)
    np.testing.assert_array_equal(model.labels_.compute(), whole.labels_)
    np.testing.assert_array_equal(model.confidence_.compute(), whole.confidence_)
    np.testing.assert_array_equal(model.predict(lazy).compute(), whole.predict(X))
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    options |= {"base": "kmeans", "reference": None}
    chosen = EnsembleClustering("auto", **options).fit(lazy)
    whole = EnsembleClustering("auto", **options).fit(X)
    assert chosen.consensus_.info["choice"].reason == whole.consensus_.info["choice"].reason
    np.testing.assert_array_equal(chosen.labels_.compute(), whole.labels_)


def test_too_many_rows_are_thinned_on_the_workers_within_the_bound_that_is_told(client: Any) -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=N)
    labels = np.stack([np.where(rng.random(N) < 0.12, rng.integers(6, size=N), truth) for _ in range(8)], axis=1)
    found = qd.consensus(chunked(labels, 60), 3, random_state=0, max_rows=120)
    told = found.solution.info["thinned"]
    assert found.ensemble.n_rows <= 120
    assert found.n_objects == N
    rows = found.spread.array(np.arange(found.ensemble.n_rows)).compute()
    values = np.stack(
        [np.append(v, -1)[c] for v, c in zip(found.ensemble.categories, found.ensemble.labels[rows].T, strict=True)],
        axis=1,
    )
    assert 0 < told["differing_share"] < 1
    assert (values != labels).mean(axis=1).max() <= told["differing_share"]
    nothing = qd.consensus(chunked(labels, 60), 3, random_state=0, max_rows=10_000).solution.info["thinned"]
    assert nothing["differing_share"] == 0


@pytest.mark.skipif(os.name == "nt", reason="the commands of the documentation are those of a Unix shell")
def test_scheduler_and_workers_started_from_the_shell(labels: Array, tmp_path: Path) -> None:
    """The commands of docs/dask.md."""
    place = tmp_path / "scheduler.json"
    dask_command = [sys.executable, "-m", "dask"]
    commands = [
        [*dask_command, "scheduler", "--scheduler-file", str(place), "--port", "0", "--no-dashboard"],
        *[
            [*dask_command, "worker", "--scheduler-file", str(place), "--nthreads", "1", "--no-dashboard"]
            for _ in range(2)
        ],
    ]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": Path.cwd()}
    processes = [subprocess.Popen(command, **quiet) for command in commands]
    try:
        with distributed.Client(scheduler_file=str(place), timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
            found = qd.consensus(chunked(labels), 4, random_state=1)
            assert_same(found, quorate.consensus(labels, 4, random_state=1))
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(timeout=30)


def test_what_is_no_dask_collection_is_refused(labels: Array) -> None:
    with pytest.raises(TypeError, match=r"data must be a Dask array or data frame"):
        qd.consensus(labels, 3)
    with pytest.raises(ValueError, match=r"the list of chunks is empty"):
        qd.consensus([], 3)
    with pytest.raises(TypeError, match=r"X must be a Dask array"):
        qd.generate(labels)
