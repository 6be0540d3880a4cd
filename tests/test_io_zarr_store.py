"""Zarr stores from strangers: no codec that could run code is ever reached, and no lost chunk is read as labels."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import pytest
import zarr
from numcodecs.abc import Codec
from numcodecs.compat import ndarray_copy

from quorate import as_ensemble, load_labels, save_ensemble
from quorate._io import zarr_store
from quorate._io.load import load_features
from quorate._io.zarr_store import new_group, prove_codecs

TABLE = np.array([[1, 2], [1, 3], [4, 2], [4, 3]])
IS_2 = zarr.__version__.startswith("2.")
FORMATS = [2] if IS_2 else [2, 3]


class Bomb:
    """Unpickled, it writes a file: what a hostile chunk would do with a worse command."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.marker}",)


def write_store(path: Path, zarr_format: int = 2, chunks: tuple[int, ...] = (2, 2)) -> Path:
    """An array in two chunks."""
    if IS_2:
        made = zarr.open_array(str(path), mode="w", shape=TABLE.shape, dtype=TABLE.dtype, chunks=chunks)
    else:
        made = zarr.create_array(
            str(path), shape=TABLE.shape, dtype=TABLE.dtype, chunks=chunks, zarr_format=zarr_format
        )
    made[...] = TABLE
    return path


def edit(document: Path, **changes: Any) -> None:
    found = json.loads(document.read_text())
    document.write_text(json.dumps({**found, **changes}))


def array_document(path: Path, zarr_format: int) -> Path:
    return path / (".zarray" if zarr_format == 2 else "zarr.json")


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_a_plain_store_is_read(tmp_path: Path, zarr_format: int) -> None:
    path = write_store(tmp_path / "a.zarr", zarr_format)
    assert load_features(path).values.tolist() == TABLE.tolist()


@pytest.mark.parametrize("place", ["compressor", "filters", "behind vlen-utf8"])
@pytest.mark.parametrize("read", [load_labels, load_features])
def test_pickles_in_chunks_do_not_run(tmp_path: Path, place: str, read: Any) -> None:
    path, marker = write_store(tmp_path / "a.zarr"), tmp_path / "marker"
    codec = {"id": "pickle", "protocol": 5}
    filters = [{"id": "vlen-utf8"}, codec] if place == "behind vlen-utf8" else [codec]
    edit(
        path / ".zarray",
        compressor=codec if place == "compressor" else None,
        filters=None if place == "compressor" else filters,
        dtype="|O" if "vlen" in place else "<i8",
    )
    for name in ("0.0", "1.0"):
        (path / name).write_bytes(pickle.dumps(Bomb(marker)))
    with pytest.raises(ValueError, match="the Zarr codec 'pickle', which may run code") as caught:
        read(path)
    assert not marker.exists()
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(IS_2, reason="format 3 needs zarr 3")
@pytest.mark.parametrize("name", ["numcodecs.pickle", "pickle", "sharding_indexed", "gzip2", "", None, ["bytes"]])
def test_codecs_of_format_3(tmp_path: Path, name: Any) -> None:
    path = write_store(tmp_path / "a.zarr", 3)
    edit(path / "zarr.json", codecs=[{"name": "bytes"}, {"name": name, "configuration": {}}])
    with pytest.raises(ValueError, match="uses the Zarr codec"):
        load_labels(path)


def test_no_codec_that_is_not_known_is_decoded(tmp_path: Path) -> None:
    decoded = []

    class Noted(Codec):  # type: ignore[misc]
        codec_id = "quorate-noted"

        def encode(self, buf: Any) -> Any:
            return buf

        def decode(self, buf: Any, out: Any = None) -> Any:
            decoded.append(buf)
            return ndarray_copy(buf, out)

    numcodecs.register_codec(Noted)
    path = write_store(tmp_path / "a.zarr")
    edit(path / ".zarray", compressor={"id": "quorate-noted"})
    for place, row in enumerate((TABLE[:2], TABLE[2:])):
        (path / f"{place}.0").write_bytes(row.tobytes())
    assert np.asarray(zarr.open(str(path), mode="r")[...]).tolist() == TABLE.tolist()
    assert decoded
    decoded.clear()
    with pytest.raises(ValueError, match="'quorate-noted'"):
        load_labels(path)
    assert not decoded


@pytest.mark.parametrize("where", ["child", "nested", "consolidated", "linked"])
def test_codecs_are_found_wherever_they_are_named(tmp_path: Path, where: str) -> None:
    path = tmp_path / "a.zarr"
    save_ensemble(path, as_ensemble(TABLE))
    prove_codecs(path)
    bad = {"zarr_format": 2, "compressor": {"id": "pickle"}, "filters": None}
    if where == "consolidated":
        (path / ".zmetadata").write_text(json.dumps({"metadata": {"labels/.zarray": bad}}))
    elif where == "linked":
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / ".zarray").write_text(json.dumps(bad))
        (path / "labels2").symlink_to(tmp_path / "other")
        (tmp_path / "other" / "round").symlink_to(path)
    else:
        folder = path / "labels" if where == "child" else path / "inner" / "labels"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".zarray").write_text(json.dumps(bad))
    with pytest.raises(ValueError, match="'pickle'"):
        load_labels(path)


@pytest.mark.skipif(IS_2, reason="format 3 needs zarr 3")
def test_consolidated_metadata_of_format_3(tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    zarr.save_group(str(path), labels=TABLE)
    inner = {"labels": {"node_type": "array", "codecs": [{"name": "numcodecs.pickle"}]}}
    edit(path / "zarr.json", consolidated_metadata={"kind": "inline", "metadata": inner})
    with pytest.raises(ValueError, match=r"'numcodecs\.pickle'"):
        load_labels(path)


@pytest.mark.parametrize("document", ["[]", "null", '{"filters": "pickle"}', "[" * 100_000, '"\\u001b[2J"', ""])
def test_metadata_that_is_none(tmp_path: Path, document: str) -> None:
    path = write_store(tmp_path / "a.zarr")
    (path / ".zarray").write_text(document)
    with pytest.raises(ValueError, match=r"a\.zarr") as caught:
        load_labels(path)
    assert len(str(caught.value)) < 500
    assert "\x1b" not in str(caught.value)


def test_attributes_may_say_anything_in_json(tmp_path: Path) -> None:
    path = write_store(tmp_path / "a.zarr")
    (path / ".zattrs").write_text(json.dumps({"codecs": [{"name": "pickle"}], "filters": "pickle"}))
    assert load_features(path).values.tolist() == TABLE.tolist()
    (path / ".zattrs").write_text("")
    with pytest.raises(ValueError, match=r"\.zattrs is no JSON"):
        load_features(path)


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_a_missing_chunk_is_not_read_as_zeros(tmp_path: Path, zarr_format: int) -> None:
    path = write_store(tmp_path / "a.zarr", zarr_format)
    (path / ("1.0" if zarr_format == 2 else "c/1/0")).unlink()
    with pytest.raises(ValueError, match="lacks some of its 2 chunks"):
        load_labels(path)


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_a_huge_shape_is_refused_at_once(tmp_path: Path, zarr_format: int) -> None:
    path = write_store(tmp_path / "a.zarr", zarr_format)
    edit(array_document(path, zarr_format), shape=[10**15, 2])
    with pytest.raises(ValueError, match="lacks some of its 500,000,000,000,000 chunks"):
        load_labels(path)


@pytest.mark.parametrize("codec", [numcodecs.Blosc(), numcodecs.Zlib(), None])
def test_a_chunk_cut_short_is_refused(tmp_path: Path, codec: Any) -> None:
    path = write_store(tmp_path / "a.zarr")
    edit(path / ".zarray", compressor=None if codec is None else codec.get_config())
    for place, row in enumerate((TABLE[:2], TABLE[2:])):
        content = row.tobytes() if codec is None else codec.encode(row.tobytes())
        (path / f"{place}.0").write_bytes(content)
    assert load_features(path).values.tolist() == TABLE.tolist()
    for size in range(len(content)):
        (path / "1.0").write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"a\.zarr"):
            load_features(path)


def test_chunks_of_zeros_are_written(tmp_path: Path) -> None:
    ensemble = as_ensemble(np.zeros((5, 2), dtype=np.int64))
    save_ensemble(tmp_path / "a.zarr", ensemble)
    assert load_labels(tmp_path / "a.zarr", columns=["member 0", "member 1"]).n_objects == 5


def test_arrays_that_nobody_needs_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create = new_group(tmp_path / "t.zarr")
    for name in ("labels", "pictures", "names"):
        values = np.array(["a", "b"]) if name == "names" else np.arange(12).reshape(6, 2) % 3
        create(name, data=values)
    read = []

    def noted(self: zarr_store.StoredArray, place: object) -> np.ndarray:
        read.append(self._name)
        return np.asarray(self._item[place])

    monkeypatch.setattr(zarr_store.StoredArray, "__getitem__", noted)
    assert load_labels(tmp_path / "t.zarr").member_names == ("a", "b")
    assert sorted(read) == ["labels", "names"]
