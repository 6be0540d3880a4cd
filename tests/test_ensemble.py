"""The door for data, and exact compression: every way labels come, and every way they must not."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from quorate import as_ensemble
from quorate._data.coding import missing_rule

CODES = [[0, 0], [1, 0], [0, 1]]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def _codes(labels, **options):
    return as_ensemble(labels, **options).labels.tolist()


def _categories(ensemble):
    return [found.tolist() for found in ensemble.categories]


# arrays of every type


@pytest.mark.parametrize("dtype", [*INTEGERS, "float16", "float32", "float64", "longdouble", ">i4", ">u2", ">f8"])
def test_numbers_of_every_type(dtype):
    ensemble = as_ensemble(np.array([[3, 1], [0, 1], [3, 2]]).astype(dtype))
    assert ensemble.labels.tolist() == CODES
    assert ensemble.labels.dtype == np.int8
    assert ensemble.labels.flags.c_contiguous
    assert _categories(ensemble) == [[3, 0], [1, 2]]


@pytest.mark.parametrize(
    "array",
    [
        np.array([["b", "x"], ["a", "x"], ["b", "y"]]),
        np.array([["b", "x"], ["a", "x"], ["b", "y"]], dtype="S1"),
        np.array([["b", 1], ["a", 1], ["b", 2.5]], dtype=object),
        np.array([["2020-01-01", "1960-01-01"], ["1950-01-01", "1960-01-01"], ["2020-01-01", "2000-01-01"]], "M8[D]"),
        np.array([[5, -7], [-5, -7], [5, 7]], dtype="m8[s]"),
        np.array([[0.5, 1], [0.25, 1], [0.5, 2]]),
        np.array([[True, True], [False, True], [True, False]]),
        np.array([[Decimal("1.5"), 1], [Decimal("2"), 1], [Decimal("1.50"), 2]], dtype=object),
    ],
    ids=["text", "bytes", "objects", "dates", "durations", "fractions", "booleans", "decimals"],
)
def test_other_types(array):
    ensemble = as_ensemble(array)
    assert ensemble.labels.tolist() == CODES
    for column, found in enumerate(_categories(ensemble)):
        assert found == list(dict.fromkeys(array[:, column].tolist()))


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no StringDType")
@pytest.mark.parametrize("null", [None, np.nan])
def test_variable_width_strings(null):
    array = np.array([["b", "x"], ["a", null], ["b", "y"]], dtype=np.dtypes.StringDType(na_object=null))
    assert _codes(array) == [[0, 0], [1, -1], [0, 1]]


@pytest.mark.parametrize("unit", ["M8[ns]", "M8[D]", "m8[s]"])
def test_not_a_time_is_missing_also_beside_times_before_1970(unit):
    stamps = np.array([[-40, 1], [7, 2], [-40, 2]]).astype(unit)
    stamps[1, 0] = "NaT"
    ensemble = as_ensemble(stamps)
    assert ensemble.labels.tolist() == [[0, 0], [-1, 1], [0, 1]]
    assert ensemble.categories[0].dtype == stamps.dtype


def test_a_vector_is_an_ensemble_of_one_member():
    for labels in ([7, 8, 7], np.array([7, 8, 7]), pd.Series([7, 8, 7]), pl.Series([7, 8, 7]), (7, 8, 7), range(3)):
        assert as_ensemble(labels).n_members == 1
    assert _codes(np.array([7, 8, 7])) == [[0], [1], [0]]


def test_masked_arrays_keep_their_mask():
    masked = np.ma.array([[0, 1], [1, 1], [9, 0]], mask=[[0, 0], [0, 0], [1, 0]])
    assert _codes(masked) == [[0, 0], [1, 0], [-1, 1]]
    assert _codes([masked[:, 0], masked[:, 1]]) == [[0, 0], [1, 0], [-1, 1]]
    assert _codes(masked.astype(float)) == [[0, 0], [1, 0], [-1, 1]]
    assert as_ensemble(np.ma.array([[0, 1], [1, 1]])).has_missing is False


def test_lists_and_mappings_hold_one_vector_a_member():
    assert _codes([[3, 0, 3], ["x", "x", "y"]]) == CODES
    assert _codes([np.array([3, 0, 3]), ("x", "x", "y")]) == CODES
    ensemble = as_ensemble({"age": [3, 0, 3], 7: pd.Series(["x", "x", "y"])})
    assert ensemble.labels.tolist() == CODES
    assert ensemble.member_names == ("age", "7")


def test_mixed_python_values_keep_their_types():
    ensemble = as_ensemble([[1, "1", None, 1.0], [True, False, None, 2], [1, 2, 3, 3]])
    assert ensemble.labels.T.tolist() == [[0, 0, -1, 0], [0, 1, -1, 2], [0, 1, 2, 2]]
    assert _categories(as_ensemble([[1, "a", "1", 2]]))[0][:2] == [1, "a"]


# data frames


FRAMES = {
    "pandas": pd.DataFrame({"a": ["p", "q", None], "b": [1, 1, 2]}),
    "pandas categorical": pd.DataFrame(
        {"a": pd.Categorical(["p", "q", None], categories=["q", "z", "p"]), "b": [1, 1, 2]}
    ),
    "pandas Int64": pd.DataFrame({"a": pd.array([5, 6, None], dtype="Int64"), "b": [1, 1, 2]}),
    "pandas boolean": pd.DataFrame({"a": pd.array([True, False, None], dtype="boolean"), "b": [1, 1, 2]}),
    "pandas Float64": pd.DataFrame({"a": pd.array([0.5, 6, None], dtype="Float64"), "b": [1, 1, 2]}),
    "pandas float": pd.DataFrame({"a": [5, 6, np.nan], "b": [1, 1, 2]}),
    "pandas string": pd.DataFrame({"a": pd.array(["p", "q", None], dtype="string"), "b": [1, 1, 2]}),
    "pandas arrow": pd.DataFrame({"a": pd.array([5, 6, None], dtype="int64[pyarrow]"), "b": [1, 1, 2]}),
    "pandas object": pd.DataFrame({"a": pd.Series(["p", 3, pd.NA], dtype=object), "b": [1, 1, 2]}),
    "pandas dates": pd.DataFrame({"a": pd.to_datetime(["1960-01-01", "2020-01-01", None]), "b": [1, 1, 2]}),
    "pandas zoned": pd.DataFrame({"a": pd.to_datetime(["1960-01-01", "2020-01-01", None], utc=True), "b": [1, 1, 2]}),
    "polars": pl.DataFrame({"a": [5, 6, None], "b": ["x", "x", "y"]}),
    "polars NaN": pl.DataFrame({"a": [5.0, 6.0, np.nan], "b": ["x", "x", "y"]}),
    "polars categorical": pl.DataFrame(
        {"a": pl.Series(["p", "q", None], dtype=pl.Categorical), "b": pl.Series(list("xxy"), dtype=pl.Enum(["y", "x"]))}
    ),
    "polars dates": pl.DataFrame({"a": [datetime.date(1960, 1, 1), datetime.date(2020, 1, 1), None], "b": [1, 1, 2]}),
    "polars boolean": pl.DataFrame({"a": [True, False, None], "b": [1, 1, 2]}),
    "pyarrow": pa.table({"a": [5, 6, None], "b": ["x", "x", "y"]}),
    "pyarrow dictionary": pa.table({"a": pa.array(["p", "q", None]).dictionary_encode(), "b": [1, 1, 2]}),
    "pyarrow boolean": pa.table({"a": [True, False, None], "b": [1, 1, 2]}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_data_frames(kind):
    ensemble = as_ensemble(FRAMES[kind])
    assert ensemble.labels.tolist() == [[0, 0], [1, 0], [-1, 1]]
    assert ensemble.member_names == ("a", "b")
    assert ensemble.n_clusters.tolist() == [2, 2]
    assert ensemble.object_ids is None


@pytest.mark.parametrize(
    "vector",
    [
        pd.Series(["p", "q", "p"], dtype="category"),
        pd.Categorical(["p", "q", "p"]),
        pd.Index(["p", "q", "p"]),
        pd.array(["p", "q", "p"]),
        pl.Series(["p", "q", "p"], dtype=pl.Categorical),
        pa.array(["p", "q", "p"]),
        pa.array(["p", "q", "p"]).dictionary_encode(),
        pa.chunked_array([["p"], ["q", "p"]]),
    ],
    ids=lambda vector: f"{type(vector).__module__.split('.')[0]} {type(vector).__name__}",
)
def test_vectors_of_data_frame_libraries(vector):
    assert _codes(vector) == [[0], [1], [0]]
    assert _codes({"a": vector, "b": [1, 1, 2]}) == CODES
    assert _categories(as_ensemble(vector)) == [["p", "q"]]


def test_columns_named_by_numbers():
    """What pd.DataFrame(array) makes."""
    ensemble = as_ensemble(pd.DataFrame(np.array([[3, 1], [0, 1], [3, 2]])))
    assert ensemble.labels.tolist() == CODES
    assert ensemble.member_names == ("0", "1")
    assert _codes(pd.DataFrame([[3, 0, 3], [1, 1, 2]]), orientation="members") == CODES
    assert _codes(pd.DataFrame([[1], [2]], columns=pd.MultiIndex.from_tuples([("a", 1)]))) == [[0], [1]]


def test_large_nullable_integers_are_not_rounded():
    frame = pd.DataFrame({"a": pd.array([2**53 + 1, None, 2**53], dtype="Int64"), "b": [1, 1, 2]})
    assert _categories(as_ensemble(frame))[0] == [2**53 + 1, 2**53]


def test_ids():
    frame = pd.DataFrame({"customer": ["u", "v", "w"], "a": [1, 2, 1]})
    ensemble = as_ensemble(frame, ids="customer")
    assert ensemble.object_ids.tolist() == ["u", "v", "w"]
    assert ensemble.member_names == ("a",)
    assert as_ensemble(frame.set_index("customer")).object_ids.tolist() == ["u", "v", "w"]
    assert as_ensemble(pd.Series([1, 2], index=[10, 20])).object_ids.tolist() == [10, 20]
    assert as_ensemble(pl.DataFrame({"id": [4, 5], "a": [1, 2]}), ids="id").object_ids.tolist() == [4, 5]
    assert as_ensemble([1, 2], ids=["x", "y"]).object_ids.tolist() == ["x", "y"]
    assert as_ensemble(as_ensemble([1, 2]), ids=["x", "y"]).object_ids.tolist() == ["x", "y"]
    with pytest.raises(ValueError, match="ids='id' is not a column; the columns are 'customer', 'a'"):
        as_ensemble(frame, ids="id")
    with pytest.raises(ValueError, match="no named columns; pass the ids themselves"):
        as_ensemble(np.array([1, 2]), ids="id")
    with pytest.raises(ValueError, match="one value per object, 2 in all, got shape"):
        as_ensemble([1, 2], ids=["x"])


# missing labels


@pytest.mark.parametrize("missing", [0, [0], (0,), {0}, np.int64(0), np.array([0]), 0.0, [None, 0], ["?", 0]])
def test_declared_missing(missing):
    for labels in (
        np.array([[0, 1], [1, 0], [2, 1], [1, 3]]),
        np.array([[0, 1], [1, 0], [2, 1], [1, 3]], dtype=float),
        np.array([[0, 1], [1, 0], [2, 1], [1, 3]], dtype=object),
        pd.DataFrame({"a": [0, 1, 2, 1], "b": [1, 0, 1, 3]}),
        [[0, 1, 2, 1], [1, 0, 1, 3]],
    ):
        assert _codes(labels, missing=missing) == [[-1, 0], [0, -1], [1, 0], [0, 1]]


def test_declared_missing_texts_and_fractions():
    assert _codes(np.array([["?", "1"], ["a", "1"]]), missing="?") == [[-1, 0], [0, 0]]
    assert _codes([["?", "a", "b"], [1, 0, 2]], missing=["?", 0]) == [[-1, 0], [0, -1], [1, 1]]
    assert _codes(np.array([[0.5, 1], [2, 1]]), missing=0.5) == [[-1, 0], [0, 0]]
    assert _codes(np.array([[0, 1], [2, 1]]), missing="0") == [[0, 0], [1, 0]]
    assert _codes(np.array([[1, 1], [2, 1]]), missing=[1.5, 10**400, 2**63]) == [[0, 0], [1, 0]]


@pytest.mark.parametrize("missing", [None, np.nan, [None], -1])
def test_nulls_and_minus_one_are_missing_by_default(missing):
    labels = [[-1, 0, 1, 1, 1], [0, None, np.nan, pd.NA, pd.NaT], [0, 0, 0, 0, 1]]
    assert as_ensemble(labels, missing=missing).labels.T.tolist() == [
        [-1, 0, 1, 1, 1],
        [0, -1, -1, -1, -1],
        [0, 0, 0, 0, 1],
    ]


@pytest.mark.parametrize("value", [True, b"x", object(), [[0]]])
def test_missing_of_a_wrong_type_is_refused(value):
    with pytest.raises(TypeError, match="missing must be a number, a text or a list"):
        missing_rule(value)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([[-9, 1], [2, 1]]),
        np.array([[-9, 1], [10**12, 1]]),
        np.array([[-9.0, 1], [3, 1], [np.nan, 1]]),
        np.array([[-9, "a"], [1, "b"]], dtype=object),
        pd.DataFrame({"member 0": [-9, 1], "b": [1, 1]}),
    ],
    ids=["integers", "sparse", "floats", "objects", "frame"],
)
def test_other_negative_integers_are_refused_unless_declared(labels):
    with pytest.raises(
        ValueError, match=r"column .member 0. holds the label -9.*only -1 \(missing\).*missing=\[\] if negative"
    ):
        as_ensemble(labels)
    with pytest.raises(ValueError, match=r"only \[0\] and nulls were declared missing"):
        as_ensemble(labels, missing=0)
    assert as_ensemble(labels, missing=-9).labels[:, 0].tolist()[0] == -1
    assert as_ensemble(labels, missing=[]).labels[:, 0].tolist()[0] == 0


def test_nothing_but_nulls_is_missing_where_missing_is_empty():
    labels = np.array([[-1, 3], [-7, -1], [np.nan, 3]])
    assert _codes(labels, missing=[]) == [[0, 0], [1, 1], [-1, 0]]
    assert _codes(np.array([[-1, 3], [-7, -1]]), missing=[]) == [[0, 0], [1, 1]]


# orientation and shape


def test_orientation():
    wide = np.array([[3, 0, 3], [1, 1, 2]])
    with pytest.raises(ValueError, match=r"2 rows and 3 columns.*orientation='members'"):
        as_ensemble(wide)
    assert _codes(wide, orientation="members") == CODES
    assert as_ensemble(wide, orientation="objects").labels.shape == (2, 3)
    assert _codes([[3, "x"], [0, "x"], [3, "y"]], orientation="objects") == CODES
    assert _codes([[3, 0, 3], ["x", "x", "y"]], orientation="members") == CODES
    assert _codes(pl.DataFrame([[3, 1], [0, 1], [3, 2]]), orientation="members") == CODES
    assert _codes(np.array([3, 0]), orientation="members") == [[0], [1]]
    with pytest.raises(ValueError, match="orientation must be one of 'objects', 'members', got 'rows'"):
        as_ensemble(wide, orientation="rows")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0, 1], [0]], "ragged: label vector 0 has 2 labels, label vector 1 has 1"),
        ({"a": [1], "b": [1, 2]}, "ragged"),
        (np.zeros((2, 2, 2), int), r"\(n_objects, n_members\), got 3 dimensions of shape \(2, 2, 2\)"),
        (np.array(3), "got 0 dimensions"),
        (np.array([[np.array([1, 2]), 1], [np.array([1]), 2]], dtype=object), "holds a ndarray where a single label"),
        (np.array([{}, {}], dtype=object), "holds a dict where a single label"),
        ([np.array(1), np.array(2)], "holds a ndarray where a single label"),
        (pl.DataFrame({"a": [[1], [2]]}), "a holds List.* where a single label"),
        (pl.DataFrame({"a": [{"x": 1}, {"x": 2}]}), "a holds Struct.* where a single label"),
        (np.zeros((0, 3), int), "at least one object and one member"),
        (np.zeros((3, 0)), "at least one object and one member"),
        ([], "at least one object and one member"),
        ([[], []], "at least one object and one member"),
        ({}, "at least one object and one member"),
        (pd.DataFrame(), "at least one object and one member"),
        (pl.DataFrame({"a": []}), "at least one object and one member"),
        ([1, [1, 2]], "label vector 0 is the single value 1"),
        ({"a": "xyz"}, "is the single value 'xyz'"),
        (np.array([1 + 2j]), "Complex data not supported"),
        (np.array([(1, 2)], dtype=[("a", int), ("b", int)]), "structured array"),
        (np.array([1, np.inf]), "infinite label"),
        ([1, float("inf")], "infinite label"),
        ([[0, 1], [None, None]], "'member 1' labels no object at all"),
        (np.array([[0, -1], [1, -1]]), "'member 1' labels no object at all"),
        ([[0, None, 1], [1, -1, 1]], r"1 of 3 objects has no label in any member \(row 1, counted from 0\)"),
        (np.full((8, 1), -1) + np.eye(8, 1, dtype=int), r"\(rows 1, 2, 3, 4, 5, \.\.\., counted from 0\)"),
        (pd.DataFrame([[1, 2], [1, 2]], columns=["a", "a"]), "names must be unique, got 'a' more than once"),
        (pd.DataFrame([[1, 2], [1, 2]], columns=[0, "0"]), "names must be unique, got '0' more than once"),
        (pa.table([[1, 2], [1, 2]], names=["a", "a"]), "names must be unique, got 'a' more than once"),
        ({1: [1, 2], "1": [1, 2]}, "names must be unique, got '1' more than once"),
    ],
)
def test_bad_tables_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        as_ensemble(labels)


@pytest.mark.parametrize(
    "labels",
    ["abc", b"abc", 3, None, {1, 2}, (x for x in [1])],
    ids=lambda v: type(v).__name__,
)
def test_things_that_are_no_table_are_refused(labels):
    with pytest.raises(TypeError, match="labels must be"):
        as_ensemble(labels)


# unusual labels


def test_huge_labels():
    assert _categories(as_ensemble([[10**12, 5, 10**12], [1, 2, 2]])) == [[10**12, 5], [1, 2]]
    assert _categories(as_ensemble([[2**63, 2**63 + 1, 5]])) == [[2**63, 2**63 + 1, 5]]
    assert _categories(as_ensemble(np.array([2**63 - 1, 5], dtype=np.uint64))) == [[2**63 - 1, 5]]
    with pytest.raises(ValueError, match=r"beyond 2\*\*63 - 1; pass such labels as text"):
        as_ensemble(np.array([2**63, 5], dtype=np.uint64))
    ends = np.array([[-(2**63), 1], [2**63 - 1, 1], [0, 1]])
    assert _categories(as_ensemble(ends, missing=[]))[0] == [-(2**63), 2**63 - 1, 0]
    assert as_ensemble(ends, missing=-(2**63)).labels[:, 0].tolist() == [-1, 0, 1]


def test_long_texts_and_texts_that_differ_in_a_trailing_null():
    assert _codes(["x" * 10_000, "x" * 10_000 + "y", "x" * 10_000]) == [[0], [1], [0]]
    assert _categories(as_ensemble(["a", "a\0"])) == [["a", "a\0"]]


@pytest.mark.parametrize(
    ("n_clusters", "dtype"), [(128, np.int8), (129, np.int16), (32768, np.int16), (32769, np.int32)]
)
def test_codes_take_the_narrowest_type(n_clusters, dtype):
    labels = np.arange(n_clusters)[::-1]
    for values in (labels, labels.astype(float), labels[::-1], labels * 10**9, labels.astype(str)):
        ensemble = as_ensemble(values, check=False)
        assert ensemble.labels.dtype == dtype
        assert np.array_equal(ensemble.labels[:, 0], np.arange(n_clusters))
