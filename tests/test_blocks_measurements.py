"""Measurements in blocks: the same members and labels as from an array in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
import zarr
from zarr_files import zarr_array

import quorate
from quorate import EnsembleClustering, stream
from quorate._io.feature_array import feature_array
from quorate._io.opening import Columns, by_columns, open_source
from quorate._io.source import as_budget
from quorate._stream import measurements
from quorate.cli import main
from quorate.generation import KMeans
from quorate.generation.block_members import Gathering

Array = np.ndarray[Any, np.dtype[Any]]
N = 9_000


@pytest.fixture(scope="module", name="X")
def made_features() -> Array:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(mean, 1, size=(N // 3, 3)) for mean in (0, 4, 9)]).astype(np.float32)
    rng.shuffle(values)
    return values


@pytest.fixture(scope="module")
def folder(X: Array, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("x")
    (place / "parts").mkdir()
    for number, (start, stop) in enumerate([(0, 2_000), (2_000, 2_000), (2_000, N)]):
        columns = {f"x{column}": X[start:stop, column] for column in range(3)}
        table = pyarrow.table({"id": np.arange(start, stop), **columns})
        pyarrow.parquet.write_table(table, place / "parts" / f"{number}.parquet", row_group_size=1_500)
    np.save(place / "x.npy", X)
    zarr_array(place / "x.zarr", X, (1_000, 3))
    np.savetxt(place / "x.csv", X.astype(float), delimiter=",", header="x0,x1,x2", comments="", fmt="%.17g")
    return place


KINDS = ["parts", "dataset", "x.npy", "x.zarr", "zarr array", "iterator"]


def source(kind: str, folder: Path, X: Array) -> tuple[Any, dict[str, Any]]:
    if kind == "dataset":
        return pyarrow.dataset.dataset(folder / "parts"), {"ids": "id"}
    if kind == "zarr array":
        return zarr.open(str(folder / "x.zarr")), {}
    if kind == "iterator":
        return (X[start : start + 2_500] for start in range(0, N, 2_500)), {}
    return folder / kind, {"ids": "id"} if kind == "parts" else {}


@pytest.mark.parametrize("kind", KINDS)
def test_members_equal_those_of_an_array(kind: str, folder: Path, X: Array) -> None:
    wanted = quorate.generate(X, 4, k=(4, 9), base="kmeans", random_state=1)
    place, more = source(kind, folder, X)
    found = stream.generate(place, 4, k=(4, 9), base="kmeans", random_state=1, memory="100MB", **more).in_memory()
    np.testing.assert_array_equal(found.labels, wanted.labels)
    assert found.info == wanted.info
    assert [c.tolist() for c in found.categories] == [c.tolist() for c in wanted.categories]
    if more:
        assert found.object_ids is not None
        assert found.object_ids.tolist() == list(range(N))


@pytest.mark.parametrize(
    "options",
    [
        {"base": "spectral"},
        {"base": "auto"},
        {"base": KMeans(sample=3, init="k-means++")},
        {"base": "kmeans", "columns": 2},
        {"base": ["kmeans", "spectral"], "k": "mixture"},
    ],
    ids=str,
)
def test_every_way_to_make_members(options: dict[str, Any], folder: Path, X: Array) -> None:
    options = {"k": (3, 6), **options}
    wanted = quorate.generate(X, 4, random_state=2, **options)
    found = stream.generate(folder / "parts", 4, random_state=2, ids="id", **options).in_memory()
    np.testing.assert_array_equal(found.labels, wanted.labels)
    assert found.info == wanted.info


def test_text_tables_are_copied_to_a_temporary_file(folder: Path, X: Array) -> None:
    wanted = quorate.generate(X.astype(float), 3, k=4, base="kmeans", random_state=1)
    found = stream.generate(folder / "x.csv", 3, k=4, base="kmeans", random_state=1).in_memory()
    np.testing.assert_array_equal(found.labels, wanted.labels)


def test_clusters_equal_those_of_the_shell_in_memory(folder: Path, X: Array, tmp_path: Path) -> None:
    assert main(["cluster", str(folder / "x.npy"), "-k", "3", "-o", str(tmp_path / "whole.npy"), "--no-null"]) == 0
    result = stream.cluster(folder / "parts", 3, random_state=0, ids="id", out=tmp_path / "out")
    whole = np.load(tmp_path / "whole.npy")
    written = pyarrow.parquet.read_table(tmp_path / "out")
    np.testing.assert_array_equal(written["label"].to_numpy(), whole)
    np.testing.assert_array_equal(written["id"].to_numpy(), np.arange(N))
    assert result.sizes.tolist() == np.bincount(whole).tolist()
    command = ["cluster", str(folder / "x.zarr"), "-k", "3", "-o", str(tmp_path / "o.npy"), "--no-null"]
    assert main([*command, "--memory", "100MB", "--quiet"]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), whole)


def test_generated_labels_are_written_in_blocks(folder: Path, X: Array, tmp_path: Path) -> None:
    wanted = quorate.generate(X, 3, k=4, base="kmeans", random_state=0)
    command = ["generate", str(folder / "parts"), "--id", "id", "--members", "3", "--k", "4", "--base", "kmeans"]
    assert main([*command, "-o", str(tmp_path / "labels"), "--quiet"]) == 0
    read = stream.compress(tmp_path / "labels", ids="id")
    rows = quorate.compress(wanted)[0]
    np.testing.assert_array_equal(read.labels, rows.labels)
    np.testing.assert_array_equal(read.counts, rows.counts)


def test_the_estimator_reads_blocks(folder: Path, X: Array) -> None:
    options: dict[str, Any] = {"n_members": 5, "random_state": 0, "base": "kmeans"}
    whole = EnsembleClustering(3, **options).fit(X)
    for place in (folder / "x.zarr", str(folder / "x.npy"), zarr.open(str(folder / "x.zarr"))):
        model = EnsembleClustering(3, **options).fit(place)
        np.testing.assert_array_equal(model.labels_, whole.labels_)
        np.testing.assert_array_equal(model.confidence_, whole.confidence_)
        np.testing.assert_array_equal(model.predict(X[:50]), whole.predict(X[:50]))
        assert model.n_features_in_ == 3


def test_the_number_of_clusters_is_chosen_on_a_sample(
    folder: Path, X: Array, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no more objects than the sample has, the choice is that for the whole table in memory."""
    options: dict[str, Any] = {"n_members": 5, "random_state": 0, "base": "kmeans", "reference": None}
    whole = EnsembleClustering("auto", **options).fit(X)
    model = EnsembleClustering("auto", **options).fit(folder / "x.zarr")
    assert model.consensus_.info["choice"].reason == whole.consensus_.info["choice"].reason
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    monkeypatch.setattr(measurements, "SAMPLE", 1_000)
    seen = measurements.sample_blocks(folder / "x.npy", 0)
    assert seen.shape == (1_000, X.shape[1])
    assert EnsembleClustering("auto", **options).fit(folder / "x.zarr").n_clusters_ == whole.n_clusters_
    command = ["cluster", str(folder / "parts"), "--id", "id", "-o", str(tmp_path / "out"), "--base", "kmeans"]
    assert main([*command, "--members", "5", "--no-null", "--no-reference", "--json", "--quiet"]) == 0
    written = pyarrow.parquet.read_table(tmp_path / "out")
    assert len(np.unique(written["label"].to_numpy())) == whole.n_clusters_


@pytest.mark.parametrize("option", [["--scale", "z"], ["--row-share", "0.5"], ["--jobs", "2"]])
def test_options_that_need_all_rows_are_refused(
    option: list[str], folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["cluster", str(folder / "parts"), "--id", "id", "-k", "3", "-o", str(tmp_path / "out"), *option]
    assert main(command) == 2
    assert f"{option[0]} does not go together with measurements in blocks" in capsys.readouterr().err


def test_bases_that_need_all_rows_are_refused(folder: Path) -> None:
    from sklearn.cluster import AgglomerativeClustering

    with pytest.raises(ValueError, match=r"AgglomerativeClustering must see all objects at once"):
        stream.generate(folder / "x.npy", 2, base=AgglomerativeClustering(3))


def test_nulls_and_texts_are_refused(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"a": [1.0, None], "b": [1.0, 2.0]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"column 'a' holds a null"):
        stream.generate(tmp_path / "a.parquet", 2, k=2)
    pyarrow.parquet.write_table(pyarrow.table({"a": ["x", "y"], "b": [1.0, 2.0]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"column 'a' does not"):
        stream.generate(tmp_path / "a.parquet", 2, k=2)
    pyarrow.parquet.write_table(pyarrow.table({"a": [np.nan, 1.0], "b": [1.0, 2.0]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"X holds NaN in column 'a' in row 0"):
        stream.generate(tmp_path / "a.parquet", 2, k=2)


def test_one_pass_serves_all_waiting_tasks(X: Array) -> None:
    blocks = open_source([X[:4_000], X[4_000:]], by_columns(Columns()))
    array = feature_array(blocks, as_budget("100MB"))
    passes = []
    real = array.rows
    array.rows = lambda numbers: passes.append(len(numbers)) or real(numbers)  # type: ignore[method-assign]

    def task(seed: int) -> Array:
        rng = np.random.default_rng(seed)
        first = np.sort(rng.choice(N, 50, replace=False))
        second = np.sort(rng.choice(N, 20, replace=False))
        return np.concatenate([array[first] - X[first], array[second] - X[second]])

    results = Gathering(array).run([lambda seed=seed: task(seed) for seed in range(5)])
    assert all(not result.any() for result in results)
    assert len(passes) == 2


def test_an_error_of_one_task_ends_all(X: Array) -> None:
    array = feature_array(open_source([X], by_columns(Columns())), as_budget("100MB"))

    def fails() -> Array:
        raise RuntimeError("no luck")

    with pytest.raises(RuntimeError, match="no luck"):
        Gathering(array).run([fails, lambda: array[np.array([1, 2])]])
    assert array.gather is None
