"""min_size and max_clusters: never violated, whatever the table, the method and the way in; said when they bind."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import ConsensusClustering, EnsembleClustering, consensus, recut, stream
from quorate._consensus.limits import without_small_clusters
from quorate._data.ensemble import as_ensemble
from quorate._types import Consensus, Solving
from quorate.cli import main
from quorate.methods import METHODS


def ragged(seed: int, n: int, n_members: int, k: int, gaps: float) -> np.ndarray[Any, Any]:
    """A table of members of 1 to k clusters of very unequal sizes; each object keeps a label."""
    rng = np.random.default_rng(seed)
    labels = np.column_stack(
        [rng.geometric(rng.uniform(0.2, 0.9), n) % (1 + rng.integers(k)) for _ in range(n_members)]
    )
    missing = rng.random(labels.shape) < gaps
    missing[np.arange(n), rng.integers(n_members, size=n)] = False
    return np.where(missing, -1, labels)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 40),
    n_members=st.integers(2, 7),
    gaps=st.sampled_from([0.0, 0.3, 0.8]),
    n_clusters=st.sampled_from([None, "auto", 2, 4]),
    min_size=st.integers(1, 12),
    max_clusters=st.sampled_from([None, 1, 2, 5]),
    method=st.sampled_from(["auto", "kmeans", "eac", "best", "bisecting", "correlation"]),
)
def test_limits_are_never_violated(
    seed: int, n: int, n_members: int, gaps: float, n_clusters: Any, min_size: int, max_clusters: Any, method: str
) -> None:
    table = ragged(seed, n, n_members, 6, gaps)
    table = table[:, (table >= 0).any(axis=0)]
    limits = {"min_size": min_size, "max_clusters": max_clusters, "orientation": "objects", "check": False}
    options = {"method": method, "random_state": 0, "confidence": False, **limits}
    wanted = n_clusters if isinstance(n_clusters, int) else 1
    impossible = min_size > n or wanted > min(max_clusters or n, len(np.unique(table, axis=0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if impossible:
            with pytest.raises(ValueError, match=r"max_clusters|min_size|distinct"):
                consensus(table, n_clusters, **options)
            return
        if method == "best" and wanted > 1:
            n_clusters = None
        result = consensus(table, n_clusters, **options)
    sizes = np.bincount(result.labels)
    assert sizes.min() >= min_size
    assert sizes.sum() == n
    assert result.n_clusters <= (max_clusters or n)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_keeps_to_the_limits(method: str) -> None:
    table = ragged(3, 60, 6, 6, 0.1)
    result = consensus(table, 6 if method != "best" else None, method=method, random_state=0, min_size=9)
    assert np.bincount(result.labels).min() >= 9
    if method not in ("best",):
        with pytest.raises(ValueError, match=r"at most max_clusters=3, got 6"):
            consensus(table, 6, method=method, max_clusters=3)
    if METHODS[method].finds_k:
        assert consensus(table, None, method=method, random_state=0, max_clusters=1).n_clusters == 1


def slow_join(table: Any, labels: Any, min_size: int, most: int) -> list[int]:
    """The obvious twin: mean co-association of objects, recomputed after each join."""
    labels = np.array(labels)
    n_members = table.shape[1]
    while True:
        names, sizes = np.unique(labels, return_counts=True)
        if len(names) == 1 or (sizes.min() >= min_size and len(names) <= most):
            break
        small = names[sizes.argmin()]
        together = [
            (
                -np.mean(
                    [
                        ((a == b) & (a >= 0)).sum() / n_members
                        for a in table[labels == small]
                        for b in table[labels == o]
                    ]
                ),
                -(labels == o).sum(),
                o,
            )
            for o in names
            if o != small
        ]
        rounded = [(round(share, 12), size, other) for share, size, other in together]
        labels[labels == small] = min(rounded)[2]
    return np.unique(labels, return_inverse=True)[1].tolist()


@pytest.mark.parametrize("seed", range(12))
def test_small_clusters_join_the_most_similar(seed: int) -> None:
    table = ragged(seed, 30, 5, 6, 0.2)
    labels = np.random.default_rng(seed).geometric(0.4, 30) % 8
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    ensemble = as_ensemble(table, orientation="objects", check=False)
    most = 3 if seed % 2 else 30
    found = without_small_clusters(ensemble, Consensus(labels, 0.0), Solving(min_size=5, max_clusters=most))
    wanted = slow_join(table, labels, 5, most)
    pairs = set(zip(found.labels.tolist(), wanted, strict=True))
    assert len(pairs) == found.n_clusters == len(set(wanted))


TABLE = np.array([[0, 0, 0]] * 20 + [[1, 1, 1]] * 20 + [[2, 1, 2]] * 2)


def test_what_bound_is_told() -> None:
    result = consensus(TABLE, 3, min_size=3, random_state=0)
    assert np.bincount(result.labels).tolist() == [20, 22]
    assert result.info["min_size"] == {"min_size": 3, "n_clusters_before": 3, "n_too_small": 1}
    assert "min_size" not in consensus(TABLE, 3, min_size=2, random_state=0).info
    found = consensus(TABLE, None, method="eac", max_clusters=2)
    assert found.n_clusters == 2
    assert "max_clusters" not in consensus(TABLE, None, random_state=0, max_clusters=9).info
    bound = consensus(TABLE, None, random_state=0, max_clusters=2)
    assert bound.n_clusters == 2
    assert bound.info["max_clusters"]["highest_compared_before"] == 3


def test_what_no_answer_can_keep_to_is_refused() -> None:
    with pytest.raises(ValueError, match="min_size must be at most the number of objects, 42, got 43"):
        consensus(TABLE, 2, min_size=43)
    with pytest.raises(ValueError, match="n_clusters must be at most max_clusters=2, got 3"):
        consensus(TABLE, (3, 3), max_clusters=2)
    with pytest.raises(TypeError, match="min_size must be an integer"):
        consensus(TABLE, 2, min_size=2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="max_clusters must be at least 1"):
        ConsensusClustering(2, max_clusters=0).fit(TABLE)


def test_a_joined_result_is_no_cut_of_its_tree() -> None:
    result = consensus(TABLE, 3, method="eac", min_size=3)
    assert result.n_clusters == 2
    assert recut(result, 2).info["cut_from"] == 2
    assert np.bincount(recut(result, 3).labels).tolist() == [20, 20, 2]
    grown = consensus(TABLE, 3, method="bisecting", min_size=3)
    plain = consensus(TABLE, 3, method="bisecting")
    assert recut(grown, 2).objective == pytest.approx(recut(plain, 2).objective)


def test_soft_members_and_merged_rows_keep_to_the_limits() -> None:
    soft = [np.eye(3)[TABLE[:, column]] for column in range(3)]
    assert np.bincount(consensus(soft, 3, min_size=3, random_state=0).labels).tolist() == [20, 22]
    merged = consensus(TABLE, 3, min_size=3, random_state=0, coarsen=0.0)
    assert np.bincount(merged.labels).tolist() == [20, 22]
    noisy = ragged(1, 300, 12, 8, 0.2)
    for method in ("kmeans", "correlation"):
        few = consensus(
            noisy, None, method=method, random_state=0, coarsen={"max_rows": 40}, min_size=30, max_clusters=4
        )
        assert np.bincount(few.labels).min() >= 30
        assert few.n_clusters <= 4


def test_estimators_blocks_and_dask_keep_to_the_limits() -> None:
    model = ConsensusClustering(3, min_size=3, random_state=0).fit(TABLE)
    assert model.n_clusters_ == 2
    assert model.predict(TABLE).tolist() == model.labels_.tolist()
    blocks = stream.consensus([TABLE[:25], TABLE[25:]], 3, random_state=0, min_size=3)
    assert blocks.sizes.tolist() == [20, 22]
    dask_array = pytest.importorskip("dask.array")
    from quorate.dask import consensus as of_dask

    lazy = of_dask(dask_array.from_array(TABLE, chunks=(20, 3)), 3, random_state=0, min_size=3)
    assert np.bincount(lazy.labels.compute()).tolist() == [20, 22]


def test_measurements_keep_to_the_limits() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 0.5, size=(s, 2)) for m, s in ((0, 60), (6, 60), (12, 60), (30, 4))])
    model = EnsembleClustering(4, min_size=20, random_state=0).fit(X)
    assert np.bincount(model.labels_).min() >= 20
    assert model.predict(X).tolist() == model.labels_.tolist()
    chosen = EnsembleClustering(max_clusters=2, random_state=0, n_members=8).fit(X)
    assert chosen.n_clusters_ <= 2
    assert chosen.consensus_.info["max_clusters"]["max_clusters"] == 2
    assert EnsembleClustering(max_clusters=1, random_state=0, n_members=8).fit(X).n_clusters_ == 1
    with pytest.raises(ValueError, match="at most max_clusters=2, got 3"):
        EnsembleClustering(3, max_clusters=2).fit(X)


def test_the_shell_tells_what_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "labels.csv"
    np.savetxt(path, TABLE, fmt="%d", delimiter=",", header="a,b,c", comments="")
    assert main(["consensus", str(path), "-k", "3", "--min-size", "3"]) == 0
    assert "1 of 3 clusters had fewer than 3 objects, and 3 became 2" in " ".join(capsys.readouterr().out.split())
    assert main(["consensus", str(path), "--max-clusters", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["max_clusters"]["max_clusters"] == 2
    assert main(["consensus", str(path), "-k", "3", "--max-clusters", "2"]) != 0
    assert "n_clusters must be at most max_clusters=2" in capsys.readouterr().err
