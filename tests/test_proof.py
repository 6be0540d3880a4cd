"""Nothing that compiled code would follow out of an array gets past a public function."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from quorate import (
    Ensemble,
    EnsembleClustering,
    as_ensemble,
    as_soft_ensemble,
    ca_tree,
    choose_k,
    co_association,
    coarsen,
    compress,
    consensus,
    density,
    evaluate,
    generate,
    harden,
    merge,
    refine,
    save_ensemble,
    solve,
)
from quorate._data.proof import MAX_COLUMNS, MAX_OBJECTS, as_csr, proven
from quorate._io.load import load_features
from quorate.datasets import load

LABELS = np.array([[0, 0], [0, 1], [1, 1], [1, 0], [2, 1]], dtype=np.int8)
GOOD = as_ensemble(LABELS)
SOFT = as_soft_ensemble([[[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]], ["a", "a", "b"]])
LARGE = 2**40

# what is wrong with an ensemble, and a word of the message
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "label too large": ({"labels": np.where(LABELS == 2, 100, LABELS)}, "member 0 has 3 clusters and the code 100"),
    "label below -1": ({"labels": LABELS - 2}, "the code -2"),
    "one member too many": ({"labels": np.zeros((5, 3), dtype=np.int8)}, "labels must have the shape"),
    "one row too few": ({"labels": LABELS[:4]}, "labels must have the shape"),
    "labels of floats": ({"labels": LABELS.astype(float)}, "signed integers"),
    "labels of the other byte order": ({"labels": LABELS.astype(">i4")}, "byte order"),
    "labels without sign": ({"labels": LABELS.astype(np.uint8)}, "signed integers"),
    "one dimension": ({"labels": LABELS[:, 0]}, "labels must have the shape"),
    "count of zero": ({"counts": np.array([1, 1, 0, 1, 1])}, "counts must be at least 1"),
    "negative count": ({"counts": np.array([1, 1, -5, 1, 1])}, "counts must be at least 1"),
    "counts of floats": ({"counts": np.ones(5)}, "counts must be a 1-D array of int64"),
    "too few counts": ({"counts": np.ones(4, dtype=np.int64)}, "labels must have the shape"),
    "counts beyond the cap": ({"counts": np.full(5, 2**52)}, "at most 2\\^53"),
    "counts beyond 64 bits": ({"counts": np.full(5, 2**62)}, "at most 2\\^53"),
    "no clusters": ({"n_clusters": np.array([0, 2])}, "n_clusters must be at least 1"),
    "fewer clusters": ({"n_clusters": np.array([2, 2])}, "as many categories"),
    "many clusters": ({"n_clusters": np.array([LARGE, 2])}, "as many categories"),
    "clusters of floats": ({"n_clusters": np.array([3.0, 2.0])}, "n_clusters must be a 1-D array of int64"),
    "one weight": ({"weights": np.ones(1)}, "weights must be float64, one each"),
    "weight of nan": ({"weights": np.array([1.0, np.nan])}, "weights must be positive"),
    "one name": ({"member_names": ("a",)}, "as many names"),
    "short categories": ({"categories": (np.arange(3), np.arange(1))}, "as many categories"),
    "one id": ({"object_ids": np.array(["a"])}, "object_ids must have one value per row"),
}
DOORS: dict[str, Callable[[Ensemble], Any]] = {
    "as_ensemble": as_ensemble,
    "as_soft_ensemble": as_soft_ensemble,
    "ca_tree": ca_tree,
    "choose_k": lambda e: choose_k(e, (2, 3)),
    "co_association": co_association,
    "coarsen": coarsen,
    "compress": compress,
    "consensus": lambda e: consensus(e, 2),
    "density": lambda e: density([0, 0, 1, 1, 1], e),
    "evaluate": lambda e: evaluate([0, 0, 1, 1, 1], e),
    "harden": harden,
    "merge": lambda e: merge([GOOD, e]),
    "refine": lambda e: refine([0, 0, 1, 1, 1], e),
    "solve": lambda e: solve(e, 2),
    "save_ensemble": lambda e: save_ensemble("-", e),
}


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("door", DOORS)
def test_no_door_lets_a_broken_ensemble_in(door: str, fault: str) -> None:
    changes, wanted = BROKEN[fault]
    with pytest.raises(ValueError, match=wanted) as caught:
        DOORS[door](replace(GOOD, **changes))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("door", DOORS)
def test_an_ensemble_made_by_hand_gives_what_as_ensemble_gives(door: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = Ensemble(
        labels=np.asfortranarray(LABELS),
        counts=np.ones(5, dtype=np.int64),
        n_clusters=np.array([3, 2]),
        weights=np.ones(2),
        member_names=("member 0", "member 1"),
        categories=(np.arange(3), np.arange(2)),
    )
    DOORS[door](made)
    assert made.is_proven


@pytest.mark.parametrize("value", [None, 3, "labels", [[0, 1]], {"a": 1}])
@pytest.mark.parametrize("door", ["ca_tree", "coarsen", "compress", "merge", "solve", "save_ensemble"])
def test_other_things_are_named(door: str, value: Any) -> None:
    with pytest.raises(TypeError, match="an Ensemble was expected, got"):
        DOORS[door](value)


def test_the_proof_is_made_once_and_not_inherited() -> None:
    assert GOOD.is_proven
    changed = replace(GOOD, labels=GOOD.labels)
    assert not changed.is_proven
    assert proven(changed) is changed
    assert changed.is_proven
    assert compress(changed)[0].is_proven
    assert not pickle.loads(pickle.dumps(changed)).is_proven
    assert as_ensemble(changed, weights=[1, 2], counts=[2] * 5, ids=list("abcde")).is_proven


def test_labels_of_any_length_are_looked_at() -> None:
    for n_rows in (1, 63, 64, 65, 129, 1000):
        ensemble = as_ensemble(np.zeros((n_rows, 3), dtype=np.int64), orientation="objects")
        for row in {0, n_rows // 2, n_rows - 1}:
            labels = np.zeros((n_rows, 3), dtype=np.int8)
            labels[row, 1] = 1
            with pytest.raises(ValueError, match="member 1 has 1 cluster and the code 1"):
                compress(replace(ensemble, labels=labels))


BROKEN_SOFT: dict[str, dict[str, Any]] = {
    "column too large": {"columns": SOFT.columns + 4},
    "negative column": {"columns": SOFT.columns - 1},
    "columns that fall": {"columns": SOFT.columns[::-1]},
    "columns of int64": {"columns": SOFT.columns.astype(np.int64)},
    "starts that fall": {"starts": np.array([0, 5, 3, len(SOFT.columns)])},
    "starts beyond the end": {"starts": SOFT.starts + np.array([0, 0, 0, 50])},
    "negative start": {"starts": SOFT.starts - 1},
    "too few starts": {"starts": SOFT.starts[:-1]},
    "starts of int32": {"starts": SOFT.starts.astype(np.int32)},
    "membership of zero": {"memberships": SOFT.memberships * 0},
    "membership above one": {"memberships": SOFT.memberships * 2},
    "one membership less": {"memberships": SOFT.memberships[1:]},
    "too many objects": {"counts": SOFT.counts * 2**31},
    "too few counts": {"counts": SOFT.counts[:2]},
    "fewer clusters": {"n_clusters": np.array([1, 1])},
}


@pytest.mark.parametrize("fault", BROKEN_SOFT)
@pytest.mark.parametrize("door", [compress, harden, as_soft_ensemble, lambda s: consensus(s, 2), lambda s: solve(s, 2)])
def test_no_door_lets_a_broken_soft_ensemble_in(door: Callable[[Any], Any], fault: str) -> None:
    with pytest.raises(ValueError, match=r"must|too many"):
        door(replace(SOFT, **BROKEN_SOFT[fault]))


def test_soft_members_as_sparse_matrices_are_proven() -> None:
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices[0] = 77
    with pytest.raises(ValueError, match="indices from 0 to 2"):
        as_soft_ensemble([matrix])


def broken_matrices() -> dict[str, Any]:
    """Sparse matrices that scipy lets one make, but whose indices lead out of them."""
    rng = np.random.default_rng(0)
    dense = rng.random((30, 8)) * (rng.random((30, 8)) < 0.5)
    found = {}
    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.bsr_array):
        for change in ("large", "negative", "starts"):
            matrix = kind(dense)
            if change == "starts":
                matrix.indptr[3] = LARGE if matrix.indptr.itemsize == 8 else 2**30
            else:
                matrix.indices[5] = 10**6 if change == "large" else -3
            found[f"{kind.__name__} {change}"] = matrix
    coo = sparse.coo_array(dense)
    coo.col[3] = 10**6
    found["coo_array"] = coo
    short = sparse.csr_array(dense)
    short.indptr = short.indptr[:5]
    found["short starts"] = short
    data = sparse.csr_array(dense)
    data.data = data.data[:7]
    found["short data"] = data
    return found


@pytest.mark.parametrize("name", broken_matrices())
def test_sparse_matrices_handed_in(name: str) -> None:
    matrix = broken_matrices()[name]
    with pytest.raises(ValueError, match=r"X must have|X of"):
        generate(matrix, 3, k=2, random_state=0)
    with pytest.raises(ValueError, match=r"X must have|X of"):
        EnsembleClustering(2).fit(matrix)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
def test_every_format_means_the_same(kind: str) -> None:
    dense = np.random.default_rng(0).integers(3, size=(12, 12)).astype(float)
    assert (as_csr(sparse.csr_array(dense).asformat(kind)).toarray() == dense).all()


def test_too_many_columns() -> None:
    with pytest.raises(ValueError, match="columns, and at most"):
        generate(sparse.csr_array((5, MAX_COLUMNS + 1)), 2, k=2)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_a_square_matrix_in_a_file_is_not_transposed(tmp_path: Path, kind: str) -> None:
    dense = np.triu(np.arange(1.0, 26).reshape(5, 5))
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(dense).asformat(kind))
    assert (load_features(tmp_path / "a.npz").values.toarray() == dense).all()
    with np.load(tmp_path / "a.npz") as archive:
        np.savez(tmp_path / "set.npz", y=np.arange(5), **{key: archive[key] for key in archive.files})
    assert (load("set", tmp_path).X.toarray() == dense).all()


FILE = {"format": np.array(b"csr"), "shape": np.array([3, 4]), "data": np.ones(3)}
PLACES = {"indices": np.array([0, 1, 3]), "indptr": np.array([0, 1, 2, 3])}
BROKEN_FILES: dict[str, dict[str, Any]] = {
    "index too large": {**FILE, **PLACES, "indices": np.array([0, 1, 10**9])},
    "negative index": {**FILE, **PLACES, "indices": np.array([0, -1, 3])},
    "starts beyond the end": {**FILE, **PLACES, "indptr": np.array([0, 1, 2, 10**9])},
    "starts that fall": {**FILE, **PLACES, "indptr": np.array([0, 3, 1, 3])},
    "starts of floats": {**FILE, **PLACES, "indptr": np.array([0.0, 1.0, 2.0, 3.0])},
    "too few starts": {**FILE, **PLACES, "indptr": np.array([0, 3])},
    "huge shape": {**FILE, **PLACES, "shape": np.array([10**15, 4])},
    "huge width": {**FILE, **PLACES, "shape": np.array([3, 10**15])},
    "negative shape": {**FILE, **PLACES, "shape": np.array([-3, 4])},
    "shape of texts": {**FILE, **PLACES, "shape": np.array(["3", "4"])},
    "three dimensions": {**FILE, **PLACES, "shape": np.array([3, 4, 5])},
    "data too short": {**FILE, **PLACES, "data": np.ones(2)},
    "data of texts": {**FILE, **PLACES, "data": np.array(["a", "b", "c"])},
    "no starts": {**FILE, "indices": PLACES["indices"]},
    "unknown format": {**FILE, **PLACES, "format": np.array(b"dia")},
    "strange format": {**FILE, **PLACES, "format": np.array(["\x1b[2J" * 999])},
    "coo out of range": {**FILE, "format": np.array("coo"), "row": np.array([0, 1, 3]), "col": np.array([0, 1, 2])},
    "coo huge": {**FILE, "format": np.array("coo"), "row": np.array([0, 1, 2]), "col": np.array([0, 1, 10**9])},
}


@pytest.mark.parametrize("name", BROKEN_FILES)
def test_sparse_files(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "a.npz", **BROKEN_FILES[name])
    with pytest.raises(ValueError, match=r"a\.npz") as caught:
        load_features(tmp_path / "a.npz")
    assert len(str(caught.value)) < 500
    assert "\x1b" not in str(caught.value)


def test_the_cap_itself_is_allowed() -> None:
    counts = np.array([MAX_OBJECTS - 4, 1, 1, 1, 1])
    assert as_ensemble(LABELS, counts=counts).n_objects == MAX_OBJECTS
    with pytest.raises(ValueError, match=r"counts add up to 9,007,199,254,740,993 objects"):
        as_ensemble(LABELS, counts=counts + np.array([1, 0, 0, 0, 0]))
    with pytest.raises(ValueError, match="counts must be integers of at least 1"):
        as_ensemble(LABELS, counts=np.full(5, 2**64 - 1, dtype=np.uint64))
    with pytest.raises(ValueError, match=r"more than 2\^60 labels"):
        as_ensemble(np.zeros((2, 600), dtype=np.int8), counts=[2**52, 2**52], orientation="objects")
    half = as_ensemble(LABELS, counts=np.full(5, 2**50))
    assert merge([half])[0].n_objects == 5 * 2**50
    with pytest.raises(ValueError, match="counts add up to"):
        merge([half, half])
