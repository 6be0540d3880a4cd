"""What the report packs into the page: it comes back, it is small, and what does not fit is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ensembles import noisy_with_truth
from test_report import Page, unpack

from quorate import as_ensemble, consensus, report
from quorate.reporting import slider as objects
from quorate.reporting.page import as_json, characters_of, packed, packed_ids, packed_shares


@pytest.mark.parametrize(
    ("values", "steps"),
    [
        ([5, 3, 900_000, -7], True),
        (["1", "20", "3"], True),
        (["01", "2"], False),
        (["a", "b\nc"], False),
        ([2**40, 1], False),
        ([1.5, 2.0], False),
        (["٣", "4"], False),
    ],
)
def test_ids_come_back(values: list[Any], steps: bool) -> None:
    entry = packed_ids(np.array(values))
    assert ("steps" in entry) == steps
    assert [str(value) for value in unpack(entry)] == [str(value) for value in values]


def test_packing() -> None:
    assert unpack(packed(np.array([0, 255]))).dtype == np.uint8
    assert unpack(packed(np.array([0, 70_000]))).tolist() == [0, 70_000]
    assert unpack(packed_shares(np.array([0.0, np.nan, 1.0]))).tolist() == [0, 255, 250]
    assert json.loads(as_json({"x": [float("nan"), np.int8(3), "<\ud800>"]})) == {"x": [None, 3, "<?>"]}
    whole = packed_ids(np.arange(100_000) + 5)
    assert characters_of(whole) < 1_000


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_size_with_many_objects(tmp_path: Path, kind: str) -> None:
    """Under 3 MB at n = 1e5."""
    _, labels = noisy_with_truth(0, 100_000, 8, 4)
    rng = np.random.default_rng(1)
    names = rng.permutation(100_000)
    ids = names if kind == "numbers" else np.array([f"customer {name:08d}" for name in names])
    ensemble = as_ensemble(labels, ids=ids)
    path = report(consensus(ensemble, 8, random_state=0), ensemble, tmp_path / "r.html", numbers=None)
    assert path.stat().st_size < 3_000_000
    assert Page(path).data["download"]["left_out"] == []


def test_what_does_not_fit_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, labels = noisy_with_truth(0, 300, 3, 4)
    ensemble = as_ensemble(labels, ids=[f"name {row}" for row in range(300)])
    monkeypatch.setattr(objects, "DOWNLOAD_BYTES", 600)
    download = Page(report(truth, ensemble, tmp_path / "r.html")).data["download"]
    assert "labels" in download
    assert "ids" in download["left_out"]
    assert "ids" not in download
