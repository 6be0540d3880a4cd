"""What the R package calls in Python: columns as R sends them, and results as reticulate passes them on.

`make test-r` runs the R side itself, where R is.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import quorate

R = Path(__file__).parents[1] / "r"


@pytest.fixture(scope="module")
def bridge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("quorate_for_r", R / "inst" / "python" / "quorate_for_r.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["quorate_for_r"] = module
    spec.loader.exec_module(module)
    return module


def factor(name: str, codes: Sequence[int], levels: Sequence[str]) -> dict[str, Any]:
    data = bytearray(np.array(codes, dtype=np.int32).tobytes())
    return {"name": name, "kind": "codes", "data": data, "levels": list(levels)}


def numbers(name: str, values: Sequence[float]) -> dict[str, Any]:
    return {"name": name, "kind": "numbers", "data": bytearray(np.array(values, dtype=np.float64).tobytes())}


SEGMENTS = (
    factor("marketing", [0, 0, 1, 1, -1], ["deals", "gifts"]),
    numbers("web", [1, 1, 2, 2, 2]),
    factor("shop", [0, 0, 1, 1, 1], ["a", "b"]),
)
NAMES = ["Ann", "Bob", "Cem", "Dora", "Eli"]


def whole(data: bytearray) -> list[int]:
    return [int(value) for value in np.frombuffer(data, dtype=np.int32)]


def real(data: bytearray) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.frombuffer(data, dtype=np.float64)


def test_columns_of_r_make_the_ensemble_that_python_makes(bridge: ModuleType) -> None:
    made = bridge.call("ensemble", SEGMENTS, NAMES, {})["value"]
    expected = quorate.as_ensemble(
        {"marketing": ["deals", "deals", "gifts", "gifts", None], "web": [1, 1, 2, 2, 2], "shop": list("aabbb")}
    )
    np.testing.assert_array_equal(made.labels, expected.labels)
    assert made.member_names == expected.member_names
    assert list(made.object_ids) == NAMES
    assert list(made.categories[0]) == ["deals", "gifts"]


def test_a_consensus_passes_as_bytes(bridge: ModuleType) -> None:
    made = bridge.call("ensemble", SEGMENTS, None, {})["value"]
    found = bridge.call("consensus", made, 2.0, {"random_state": 0.0, "method": "kmodes"})["value"]
    expected = quorate.consensus(made, 2, random_state=0, method="kmodes")
    assert whole(found["cluster"]) == expected.labels.tolist() == [0, 0, 1, 1, 1]
    assert expected.confidence is not None
    np.testing.assert_array_equal(real(found["confidence"]), expected.confidence)
    assert all(isinstance(found[name], bytearray) for name in ("cluster", "confidence", "runner_up"))
    assert found["choice"] is None


@pytest.mark.parametrize(
    ("given", "expected"), [(3.0, 3), ("auto", "auto"), ([2, 3, 4, 5, 6], (2, 6)), ([2.0, 6.0], (2, 6)), (None, None)]
)
def test_numbers_of_clusters_of_r(bridge: ModuleType, given: object, expected: object) -> None:
    assert bridge.numbers(given) == expected


def test_whole_numbers_are_integers_and_others_stay(bridge: ModuleType) -> None:
    made = bridge.plain({"min_size": 5.0, "theta": 0.4, "weights": [1.0, 2.5], "nested": {"k": 2.0}, "name": "a"})
    assert made == {"min_size": 5, "theta": 0.4, "weights": [1, 2.5], "nested": {"k": 2}, "name": "a"}
    assert isinstance(made["min_size"], int)


def test_warnings_pass_once_each(bridge: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    def warn() -> int:
        for text in ("look", "look", "there"):
            warnings.warn(text, UserWarning, stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return 1

    monkeypatch.setitem(bridge.FUNCTIONS, "warn", warn)
    assert bridge.call("warn") == {"value": 1, "warnings": ["look", "there"]}


def test_measurements_scores_predictions_and_report(bridge: ModuleType, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    points = rng.normal(size=(60, 2)) + 12 * np.column_stack([truth, truth % 2])
    table = bridge.call("features", [numbers("x", points[:, 0]), numbers("y", points[:, 1])])["value"]
    np.testing.assert_array_equal(table, points)
    model = bridge.call("ensemble_clustering", table, 3.0, {"random_state": 0})["value"]
    assert whole(bridge.call("predict", model["model"], table)["value"]) == whole(model["cluster"]) == truth.tolist()
    classes = factor("truth", truth.tolist(), "abc")
    scores = bridge.call("evaluate", model["python"], model["members"], classes, None, {})["value"]
    assert real(scores["values"])[scores["names"].index("ari")] == 1
    assert scores["verdict"]
    assert scores["stability"]["cluster"] == ["1", "2", "3"]
    assert whole(scores["stability"]["objects"]) == [20, 20, 20]
    page = tmp_path / "page.html"
    written = bridge.call("report", model["python"], model["members"], str(page), classes, table, {"title": "Flowers"})
    assert written["value"] == str(page)
    assert "Flowers" in page.read_text(encoding="utf-8")


def test_over_k_has_a_row_for_each_number(bridge: ModuleType) -> None:
    points = np.random.default_rng(0).normal(size=(40, 3)) + 9 * np.repeat([0, 1], 20)[:, None]
    found = bridge.call("over_k", points, [2, 3], {"n_members": 6.0, "random_state": 1.0})["value"]
    expected = quorate.over_k(points, [2, 3], n_members=6, random_state=1)
    assert found["numbers"] == [2, 3]
    np.testing.assert_array_equal(real(found["table"]["pac"]), [row.pac for row in expected.table])
    assert [whole(each["cluster"]) for each in found["results"]] == expected.labels.T.tolist()
    matrix = real(bridge.call("matrix", found["python"], 2.0)["value"]).reshape(40, 40)
    np.testing.assert_array_equal(matrix, expected.matrix(2))
    items = real(bridge.call("item_consensus", found["python"], 2.0)["value"])
    np.testing.assert_array_equal(items.reshape(40, 2), expected.item_consensus(2).to_numpy())


def test_tables_with_texts_are_data_frames(bridge: ModuleType) -> None:
    table = bridge.features([numbers("x", [1, 2]), factor("kind", [0, -1], ["a"])])
    assert list(table.columns) == ["x", "kind"]
    assert table["kind"].isna().tolist() == [False, True]


def test_the_version_of_the_r_package_is_ours() -> None:
    version = re.search(r"^Version: (\S+)$", (R / "DESCRIPTION").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert version is not None
    assert quorate.__version__.startswith(version[1])


def test_every_export_of_r_has_a_help_page() -> None:
    namespace = (R / "NAMESPACE").read_text(encoding="utf-8")
    pages = "".join(page.read_text(encoding="utf-8") for page in (R / "man").glob("*.Rd"))
    for name in re.findall(r"^export\((\w+)\)$", namespace, flags=re.MULTILINE):
        assert f"\\alias{{{name}}}" in pages
