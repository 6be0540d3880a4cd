"""The scale benchmark: its inputs, its records, its fitted exponents, and that the page tells what they hold."""

from __future__ import annotations

import json

import numpy as np
import pytest
from benchmarks.scale import inputs, page
from benchmarks.scale.results import Results, exponent
from benchmarks.scale.stages import from_labels
from benchmarks.scale.watching import Watch

from quorate import as_ensemble, compress


@pytest.fixture
def coarse_plane(monkeypatch):
    """Members are cells of a plane, which is drawn in fewer places here than for measurements."""
    monkeypatch.setattr(inputs, "_CELLS", 112)


def test_the_page_tells_what_was_measured():
    assert page.PAGE.read_text(encoding="utf-8") == page.text(Results())
    assert page.EVIDENCE.read_text(encoding="utf-8") == page.measured(Results())


def test_the_page_has_a_column_for_every_way(tmp_path):
    results = Results(tmp_path / "results.jsonl")
    for way, seconds in (("dask", 3.0), ("memory", 1.0), ("stream", 2.0)):
        for n in (10**5, 10**6):
            results.add({"way": way, "stage": "compress", "n": n, "seconds": seconds * n, "peak_bytes": 10**9})
    told = page.measured(results)
    assert told.index("## In memory") < told.index("## Out of core") < told.index("## On Dask")
    assert "| compress | 1e+05 s, 1.00 | 1e+06 s, 1.00 | 1.00 |" in told
    page.write_page(results, tmp_path / "scale.md", tmp_path / "measured" / "scale.md")
    assert all((tmp_path / "images" / name).stat().st_size > 1000 for name in (page.PICTURE, page.STAGES_PICTURE))
    assert (tmp_path / "scale.md").read_text(encoding="utf-8") == page.text(results)
    assert (tmp_path / "measured" / "scale.md").read_text(encoding="utf-8") == told


def test_the_first_page_has_the_whole_jobs(tmp_path):
    results = Results(tmp_path / "results.jsonl")
    for stage, seconds in (("compress", 9.0), ("labels to labels", 2.0)):
        results.add({"way": "memory", "stage": stage, "n": 10**6, "seconds": seconds, "peak_bytes": 3 * 10**9})
    first = page.text(results)
    assert "| labels in memory to a consensus | 2 / 3.00 |" in first
    assert "has 1,000,000 objects and 20 members, and took 2 seconds and 3 GB" in first
    assert "compress" not in first


def test_a_busy_machine_is_told_by_seconds_of_the_processor(tmp_path):
    results = Results(tmp_path / "results.jsonl")
    line = {
        "way": "memory",
        "stage": "labels to labels",
        "n": 10**6,
        "processor_seconds": 3.0,
        "peak_bytes": 10**9,
        "cores": 2,
    }
    results.add({**line, "seconds": 9.0, "load": 4.0})
    assert "| labels in memory to a consensus | 9 / 1.00 |" in page.text(results)
    assert "Seconds of the processor" not in page.text(results)
    results.add({**line, "seconds": 9.0, "load": 4.1})
    assert "| labels in memory to a consensus | 3\\* / 1.00 |" in page.text(results)
    assert page.measured(results).count("\\* Seconds of the processor, all threads together") == 1


def test_the_last_line_counts(tmp_path):
    path = tmp_path / "results.jsonl"
    line = {"way": "memory", "stage": "solve", "n": 10, "seconds": 1.0, "peak_bytes": 5}
    Results(path).add(line)
    Results(path).add({**line, "seconds": 2.0})
    assert Results(path).found["memory", "solve", 10]["seconds"] == 2.0
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2


@pytest.mark.parametrize("power", [0.5, 1.0, 1.9])
def test_exponents(power):
    records = {n: {"seconds": 3e-7 * n**power} for n in (10**4, 10**5, 10**6)}
    assert exponent(records) == pytest.approx(power)
    assert exponent(records, least=10**5) == pytest.approx(power)
    assert exponent(records, least=10**6) is None


def test_stages_and_their_records(coarse_plane):
    records = from_labels(2000)
    names = ["as_ensemble", "compress", "solve", "expand", "evaluate", "labels to labels"]
    assert [record["stage"] for record in records] == names
    assert all(record["n"] == 2000 and record["way"] == "memory" for record in records)
    assert all(record["seconds"] > 0 and record["peak_bytes"] > 10**7 for record in records)
    json.dumps(records)


def test_peak_memory_is_seen():
    watch = Watch("memory", 1)
    total = watch.stage("fill", lambda: np.ones(20_000_000).sum())
    assert total == 20_000_000
    assert watch.records[0]["extra_bytes"] > 1e8


def test_inputs_of_any_size(coarse_plane):
    """The same seed gives the same labels; noise makes rows distinct."""
    table = inputs.labels(3000)
    assert table.shape == (3000, inputs.N_MEMBERS)
    assert np.array_equal(table, inputs.labels(3000))
    clean, noisy = (compress(as_ensemble(inputs.labels(3000, noise=share)))[0].n_rows for share in (0.0, 0.25))
    assert clean < 0.7 * noisy
    assert noisy > 2900
    features = inputs.features(2500)
    assert features.shape == (2500, inputs.N_FEATURES)
    assert features.dtype == np.float32
