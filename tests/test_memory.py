"""What methods say they need, compared with what they take; refusals before anything is allocated."""

from __future__ import annotations

import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.reliability.memory_peaks import WITH_CONFIDENCE
from benchmarks.scale import inputs

from quorate import METHODS, as_ensemble, coarsen, compress, consensus, save_ensemble, solve
from quorate._io.paths import refuse_large_tables, table_bytes
from quorate._types import no_tables
from quorate.cli import main

LIMIT = 200_000_000
"""The limit under which methods are run here; those that say they need more must refuse."""


def test_every_method_states_its_tables() -> None:
    assert [name for name, method in METHODS.items() if method.tables is no_tables] == []


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory can be set back on Linux alone")
def test_statements_bound_the_measured_peaks() -> None:
    """Under a limit of 200 MB no method takes more than it states, also with a member of 20,000 clusters."""
    from benchmarks.reliability.load import peaks_of

    measured = peaks_of(LIMIT, WITH_CONFIDENCE)
    assert {entry["method"] for entry in measured} == {name for name, method in METHODS.items() if not method.combines}
    assert {entry["shape"] for entry in measured if entry["whole"] is not None} == set(WITH_CONFIDENCE.split(","))
    assert [entry for entry in measured if entry["exceeds"]] == []


@pytest.mark.parametrize("method", ["correlation", "cumulative", "kmeans", "mixture"])
def test_tables_over_many_clusters_are_refused_at_once(method: str) -> None:
    labels = np.column_stack([np.arange(30_000) % 7, np.arange(30_000)])
    rows, _ = compress(as_ensemble(labels, orientation="objects", check=False))
    with pytest.raises(
        MemoryError, match=r"30,000 distinct rows and 30,007 clusters of members would need .* max_bytes"
    ):
        solve(rows, 20_000, method=method, max_bytes=LIMIT)


def test_best_returns_a_member_of_very_many_clusters() -> None:
    """The confidence of 20,000 clusters would need a table of 3.2 GB."""
    fine = np.arange(20_000)
    labels = np.column_stack([fine % 9, fine, fine])
    result = consensus(as_ensemble(labels, orientation="objects", check=False), method="best", max_bytes=LIMIT)
    assert result.n_clusters == 20_000
    assert result.confidence is not None
    assert (result.confidence > 0.5).all()


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv", "tsv", "zarr", "csv.gz", "xlsx"])
def test_tables_beyond_the_limit_are_refused_before_they_are_read(
    tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"labels.{suffix}"
    labels = np.random.default_rng(0).integers(9, size=(5_000, 8))
    if suffix == "xlsx":
        pd.DataFrame(labels).to_excel(path, index=False)
    elif suffix in ("csv", "tsv", "csv.gz"):
        np.savetxt(path, labels, fmt="%d", delimiter="\t" if suffix == "tsv" else ",", header="a b c", comments="")
    else:
        save_ensemble(path, as_ensemble(labels, orientation="objects"))
    assert table_bytes(path) >= 5_000
    monkeypatch.setattr("quorate.cli.work.load_labels", pytest.fail)
    assert main(["consensus", str(path), "-k", "3", "--max-bytes", "4kB"]) == 2
    assert f"the table {path} alone would need" in capsys.readouterr().err


def test_the_size_of_a_table_is_that_of_its_header(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((1_000, 3), dtype=np.int16))
    assert table_bytes(tmp_path / "a.npy") == 6_000
    (tmp_path / "b.npy").write_bytes(b"\x93NUMPY\x01")
    (tmp_path / "b.npz").write_bytes(b"PK\x03\x04")
    assert table_bytes(tmp_path / "b.npy") == table_bytes(tmp_path / "b.npz") == table_bytes("-") == 0
    with open(tmp_path / "huge.npy", "wb") as file:
        header = {"descr": "<i8", "fortran_order": False, "shape": (10**9, 10**3)}
        np.lib.format.write_array_header_1_0(file, header)
    with pytest.raises(MemoryError, match=r"huge\.npy alone would need"):
        refuse_large_tables([tmp_path / "huge.npy"], 10**9)


def test_coarsening_rows_that_are_nearly_all_distinct() -> None:
    """The aim is 80 bytes for each row beside its labels; a copy of all labels, or wider tables, take more than 90."""
    rows, _ = compress(as_ensemble(inputs.labels(300_000, noise=0.25)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        coarsen(rows)  # compiling takes memory, too
        tracemalloc.start()
        coarsen(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 85 * rows.n_rows
