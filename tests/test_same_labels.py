"""Which labels and ids are the same: one rule for tables in memory, files, blocks and Dask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from quorate import as_ensemble, compress, join, load_labels, merge, stream

LARGE = 2**53
MIXED: dict[str, tuple[list[Any], list[int]]] = {
    "numbers and texts of numbers": ([1, "1", 2.0, "2", "02", 3], [0, 0, 1, 1, 1, 2]),
    "numbers among texts": ([1, "1", "a", 1.0, "01", "a"], [0, 0, 1, 0, 2, 1]),
    "large integers and a fraction": ([LARGE, LARGE + 1, 1.5, float(LARGE), LARGE, 1.5], [0, 1, 2, 0, 0, 2]),
    "texts alone": (["1", "01", "1.0", "1", "01", "1.0"], [0, 1, 2, 0, 1, 2]),
}


def _parts(labels: list[Any]) -> list[np.ndarray[Any, Any]]:
    """Return each label as a table of its own, in the type that NumPy gives it."""
    return [np.array([[label]]) for label in labels]


@pytest.mark.parametrize("kind", MIXED)
def test_equal_labels_are_one_in_memory_in_parts_and_in_blocks(kind: str) -> None:
    labels, wanted = MIXED[kind]
    # numbers with fractions are taken for measurements otherwise
    whole = as_ensemble([labels], check=False)
    assert whole.labels[:, 0].tolist() == wanted
    merged, where = merge([as_ensemble(part) for part in _parts(labels)])
    assert [int(place[0]) for place in where] == wanted
    assert merged.categories[0].tolist() == whole.categories[0].tolist()
    rows = stream.compress(_parts(labels), check=False)
    assert rows.counts.tolist() == compress(whole)[0].counts.tolist()
    assert rows.categories[0].tolist() == whole.categories[0].tolist()


def test_merge_does_not_round_integers_because_another_part_holds_fractions() -> None:
    merged, _ = merge([as_ensemble([LARGE, LARGE + 1]), as_ensemble([1.5, 0.5])])
    assert merged.categories[0].tolist() == [LARGE, LARGE + 1, 1.5, 0.5]


def test_numbers_stored_as_texts_in_a_sheet_are_the_labels_of_the_same_table_as_text(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    table = pd.DataFrame({"a": [1, "1", 2, "2"], "b": [1, 2, "x", None]}, dtype=object)
    table.to_excel(tmp_path / "t.xlsx", index=False)
    table.to_csv(tmp_path / "t.csv", index=False)
    sheet, text = load_labels(tmp_path / "t.xlsx"), load_labels(tmp_path / "t.csv")
    assert sheet.labels.tolist() == text.labels.tolist()
    assert sheet.n_clusters.tolist() == [2, 3]


def test_partitions_of_integers_and_of_texts_are_one_column_on_dask() -> None:
    pytest.importorskip("dask.dataframe")
    import dask

    import quorate.dask as qd

    tables = [pd.DataFrame({"a": [1, 2, 1], "b": [1, 1, 2]}), pd.DataFrame({"a": ["1", "2", "2"], "b": [1, 1, 2]})]
    rows = qd.compress([dask.delayed(table) for table in tables])
    whole = compress(as_ensemble(pd.concat(tables, ignore_index=True)))[0]
    assert rows.labels.tolist() == whole.labels.tolist()
    assert rows.counts.tolist() == whole.counts.tolist()


# ids


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two Parquet files of one table; pandas wrote the ids of the second one as floats."""
    for name, ids in (("p0", [3, 4, 5]), ("p1", [3.0, 6.0, 7.0])):
        pd.DataFrame({"id": ids, "a": [0, 1, 1], "b": [0, 1, 0]}).to_parquet(tmp_path / f"{name}.parquet")
    return [tmp_path / "p0.parquet", tmp_path / "p1.parquet"]


def test_the_ids_3_and_3_0_of_two_files_are_one_object(files: list[Path]) -> None:
    with pytest.raises(ValueError, match="the id '3' is there twice"):
        stream.compress(files, ids="id")
    assert load_labels(files, ids="id").n_objects == 5
    first, second = (pd.read_parquet(file).set_index("id") for file in files)
    assert join(first, second.rename(columns={"a": "c", "b": "d"})).object_ids.tolist() == ["3", "4", "5", "6", "7"]


def test_the_ids_3_and_3_0_of_two_partitions_are_one_object(files: list[Path]) -> None:
    pytest.importorskip("dask.dataframe")
    import dask

    import quorate.dask as qd

    tables = [dask.delayed(pd.read_parquet)(file) for file in files]
    with pytest.raises(ValueError, match=r"the id 3 is there twice, in chunk 0 and in chunk 1"):
        qd.compress(tables, ids="id")


def test_a_missing_number_is_not_the_text_of_this_number() -> None:
    columns = {"a": np.array([-1, "-1", "x"], dtype=object), "b": np.array([0, 0, 1], dtype=object)}
    whole = as_ensemble(columns)
    assert whole.labels.tolist() == [[-1, 0], [0, 0], [1, 1]]
    assert stream.compress([pd.DataFrame(columns)]).labels.tolist() == whole.labels.tolist()


def test_a_default_index_beside_texts_is_order() -> None:
    named = pd.Series([0, 0, 1, 1], index=list("abcd"))
    table = as_ensemble({"x": named, "y": pd.Series([0, 1, 1, 1])})
    assert table.object_ids is not None
    assert table.object_ids.tolist() == list("abcd")
    assert table.labels.tolist() == [[0, 0], [0, 1], [1, 1], [1, 1]]
    with pytest.raises(ValueError, match="ragged"):
        as_ensemble({"x": named, "y": pd.Series([0, 1, 1, 1, 0])})
