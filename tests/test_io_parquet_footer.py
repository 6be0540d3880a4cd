"""The numbers that our own reader takes from the end of Parquet files are those of pyarrow, and damage is one error."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate._io.parquet_footer import DamagedError, TextChunk, page_bytes, text_columns

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def table(n_rows: int = 500) -> object:
    rng = np.random.default_rng(0)
    texts = rng.choice(["a", "bb", "è" * 40], n_rows)
    return pyarrow.table(
        {
            "id": [f"c{number}" for number in range(n_rows)],
            "members": pyarrow.array(texts).dictionary_encode(),
            "numbers": rng.normal(size=n_rows),
            "nested": [{"x": text, "y": [1, 2]} for text in texts],
            "gaps": [None if text == "a" else text for text in texts],
            "empty": pyarrow.nulls(n_rows),
        }
    )


@pytest.mark.parametrize("codec", ["snappy", "none"])
@pytest.mark.parametrize("dictionary", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_the_numbers_are_those_of_pyarrow(tmp_path: Path, codec: str, dictionary: bool, version: str) -> None:
    path = tmp_path / "labels.parquet"
    options = {"compression": codec, "use_dictionary": dictionary, "version": version, "row_group_size": 130}
    parquet.write_table(table(), path, **options)
    names = {"id", "members", "nested.x", "gaps", "empty"}
    found = text_columns(path, names)
    with parquet.ParquetFile(path) as file:
        places = {file.schema.column(place).path: place for place in range(len(file.schema))}
        assert names <= set(places)
        assert len(found) == file.metadata.num_row_groups == 4
        for number, group in enumerate(found):
            assert set(group) == names
            for name, column in group.items():
                wanted = file.metadata.row_group(number).column(places[name])
                starts = [wanted.data_page_offset]
                starts += [wanted.dictionary_page_offset] if wanted.has_dictionary_page else []
                assert column == TextChunk(wanted.total_uncompressed_size, tuple(starts))
                assert 0 < max(page_bytes(path, start) for start in column.starts) <= column.n_bytes


def test_files_without_rows_and_of_many_columns(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({f"m{number}": ["a"] for number in range(700)}), tmp_path / "wide.parquet")
    assert len(text_columns(tmp_path / "wide.parquet", {f"m{number}" for number in range(700)})[0]) == 700
    parquet.write_table(pyarrow.table({"m": pyarrow.array([], pyarrow.string())}), tmp_path / "none.parquet")
    with parquet.ParquetFile(tmp_path / "none.parquet") as file:
        assert len(text_columns(tmp_path / "none.parquet", {"m"})) == file.metadata.num_row_groups


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("footer") / "good.parquet"
    parquet.write_table(table(60), path)
    return path.read_bytes()


@settings(max_examples=300, deadline=None)
@given(
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4),
    cut=st.none() | st.floats(0, 1),
)
def test_damage_is_one_error(
    good: bytes, tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[float, int]], cut: float | None
) -> None:
    content = bytearray(good)
    length = int.from_bytes(good[-8:-4], "little") + 8
    for share, byte in changes:
        content[len(good) - length + int(share * length)] = byte
    path = tmp_path_factory.getbasetemp() / "changed.parquet"
    path.write_bytes(bytes(content if cut is None else content[: int(cut * len(content))]))
    with contextlib.suppress(DamagedError):
        for group in text_columns(path, {"id", "gaps"}):
            for column in group.values():
                assert all(isinstance(page_bytes(path, start), int) for start in column.starts)


@pytest.mark.parametrize(
    ("footer", "words"),
    [
        (b"\x1c" * 5000, "nested too deeply"),
        (b"\x19" * 5000, "nested too deeply|breaks off"),
        (b"\x19\xf8" + b"\xff" * 9 + b"\x01", "list that is longer"),
        (b"\x15" + b"\xff" * 11, "more than 64 bits"),
        (b"\x1d\x00", "type 13"),
        (b"\x00", "does not describe row groups"),
        (b"\x18\xff\xff\xff\xff\x07", "breaks off"),
        (b"", "breaks off"),
    ],
)
def test_forged_ends_are_refused_at_once(tmp_path: Path, footer: bytes, words: str) -> None:
    path = tmp_path / "forged.parquet"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(DamagedError, match=words):
        text_columns(path, {"id"})
