"""Long work: estimates, time left, and Ctrl-C; and the page on tables."""

from __future__ import annotations

import doctest
import json
import logging
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import quorate
from quorate import Ensemble, _progress, as_ensemble, load_labels
from quorate._io.paths import share_read
from quorate._progress import _listening, _Shown, steps
from quorate._solve import run_method as trials
from quorate.cli import main

N = 90
TRUTH = np.arange(N) % 3
Output = pytest.CaptureFixture[str]


# ---- long work


def many_rows(n_rows: int = 12_000) -> Ensemble:
    labels = np.random.default_rng(0).integers(0, 12, size=(n_rows, 6))
    return quorate.compress(as_ensemble(labels))[0]


def test_a_slow_method_tells_how_long_it_takes(caplog: pytest.LogCaptureFixture) -> None:
    rows = many_rows()
    assert rows.n_rows > trials.TRIED_FROM
    with caplog.at_level(logging.INFO, logger="quorate"):
        quorate.solve(rows, 3, method="eac")
        quorate.solve(rows, 4, method="eac")
        quorate.solve(rows, 3, method="kmeans", random_state=0, n_init=1)
    told = [record for record in caplog.records if hasattr(record, "seconds")]
    assert len(told) == 1
    assert told[0].getMessage().startswith(f"eac on {rows.n_rows:,} distinct rows will take about ")


def test_estimates_follow_a_power_law() -> None:
    assert trials.extrapolate(1, 4, 8) == pytest.approx(4 * 64)
    assert trials.extrapolate(1, 100, 2) == pytest.approx(100 * 2**trials.MOST_POWER)
    assert trials.extrapolate(4, 1, 2) == pytest.approx(2**trials.LEAST_POWER)


def test_the_time_left_is_shown() -> None:
    shown = _Shown("reading", lambda: 0.25)
    shown.start = time.perf_counter() - 10
    assert shown.text() == "quorate: reading ... 10 s, about 30 s left"
    slow = _Shown("finding", None)
    assert slow.text() == "quorate: finding ... 0 s"
    logger = logging.getLogger("quorate")
    with _listening(slow, True, logging.INFO):
        logger.info("eac", extra={"seconds": 600.0})
        assert slow.text() == "quorate: finding ... 0 s, about 10 min left"
        logger.info("permuting labels", extra={"share": 0.5})
        slow.start = slow.part_start = time.perf_counter() - 4
        assert slow.text() == "quorate: finding ... 4 s, permuting labels, about 4 s left"
        logger.info("writing rows: %d of 4", 1, extra={"share": 0.25})
        slow.part_start = time.perf_counter() - 1
        assert slow.text() == "quorate: finding ... 4 s, writing rows: 1 of 4, about 3 s left"
        logger.info("writing rows: %d of 4", 0, extra={"share": 0.0})
        assert slow.text() == "quorate: finding ... 4 s, writing rows: 0 of 4, about 10 min left"


def test_listening_leaves_the_log_of_the_user_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    logger, shown = logging.getLogger("quorate"), _Shown("finding", None)
    with caplog.at_level(logging.WARNING, logger="quorate"), _listening(shown, True, logging.INFO):
        logger.info("half", extra={"share": 0.5})
        logger.warning("slow")
        assert shown.reported_share == 0.5
    assert [record.getMessage() for record in caplog.records] == ["slow"]
    assert not logger.filters
    assert logger.level == logging.NOTSET


def test_a_step_within_a_step_is_told_in_its_line(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "FIRST_WAIT", 0.1)
    with quorate.progress("all of it"), steps(is_shown=True)("a part"):
        time.sleep(0.2)
    assert capsys.readouterr().err == "quorate: all of it ... 0 s, a part\n"
    with pytest.raises(ValueError, match="progress must be"):
        steps(is_shown=7)  # type: ignore[arg-type]


def test_estimators_and_functions_show_their_progress(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "FIRST_WAIT", 0.0)
    X = np.random.default_rng(0).normal(size=(2_000, 3))
    labels = X.argsort(axis=0) % 4
    calls = {
        "clustering": lambda shown: quorate.EnsembleClustering(3, random_state=0, progress=shown).fit(X),
        "finding the consensus": lambda shown: quorate.ConsensusClustering(progress=shown, random_state=0).fit(labels),
        "finding": lambda shown: quorate.consensus(labels, progress=shown, random_state=0),
        "clustering for several": lambda shown: quorate.over_k(X, 3, n_members=5, progress=shown, random_state=0),
    }
    for name, call in calls.items():
        call(True)
        assert capsys.readouterr().err.startswith(f"quorate: {name}")
        call(False)
        assert capsys.readouterr().err == ""


def test_a_run_that_continues_says_so(capsys: Output, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(60, 3)))
    words = ["generate", str(tmp_path / "x.npy"), "--base", "kmeans", "--members", "3", "--force"]
    words += ["-o", str(tmp_path / "labels.csv"), "--checkpoint", str(tmp_path / "kept"), "--k", "3"]
    said = []
    for more in ([], [], ["--quiet"]):
        assert main(words + more) == 0
        said.append(capsys.readouterr().err)
    (tmp_path / "kept" / "member-000001.npy").unlink()
    assert main(words) == 0
    said.append(capsys.readouterr().err)
    text = "quorate: continuing after an interruption: {} of 3 members were stored before\n"
    assert said == ["", text.format(3), "", text.format(2)]


def test_a_linear_method_tells_how_long_it_takes(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "LINEAR_TRIED_FROM", 10_000)
    monkeypatch.setattr(trials, "LINEAR_PARTS", (1_000, 2_000))
    seconds = {trials.WARM_UP: 9.0, 1_000: 3.0, 2_000: 4.0}
    monkeypatch.setattr(trials, "_seconds", lambda ensemble, n_rows, run: seconds[n_rows])
    rows = many_rows()
    with caplog.at_level(logging.INFO, logger="quorate"):
        quorate.solve(rows, 3, method="kmeans", random_state=0, n_init=1)
    (told,) = [record for record in caplog.records if hasattr(record, "seconds")]
    assert told.seconds == pytest.approx(4 + (rows.n_rows - 2_000) / 1_000)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_writing_and_reading_tell_their_share(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr("quorate._io.save.BLOCK", 1_000)
    monkeypatch.setattr("quorate._io.parquet.GROUP", 1_000)
    labels = np.arange(10_000) % 7
    with caplog.at_level(logging.INFO, logger="quorate"):
        quorate.save_labels(tmp_path / f"labels.{suffix}", labels)
        again = load_labels(tmp_path / f"labels.{suffix}")
    assert np.array_equal(again.labels[:, 0], labels)
    shares: dict[str, list[float]] = {}
    for record in caplog.records:
        shares.setdefault(record.getMessage(), []).append(record.share)
    written = shares["writing rows" if suffix == "csv" else "writing groups of rows"]
    assert len(written) == 10
    assert all(given == sorted(given) and given[0] >= 0 and given[-1] <= 1 for given in shares.values())
    assert suffix == "csv" or len(shares["reading groups of rows"]) == 10


def test_the_share_of_a_file_is_known_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pd.DataFrame({"a": np.arange(200_000) % 3, "b": np.arange(200_000) % 5}).to_csv(tmp_path / "t.csv", index=False)
    shares = []

    import quorate._io.text as text

    number = text._number
    monkeypatch.setattr(text, "_number", lambda column, seen: (shares.append(share_read()), number(column, seen))[1])
    load_labels(tmp_path / "t.csv")
    assert shares[0] is not None
    assert 0 < shares[0] < 0.1
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert share_read() is None


def test_methods_tell_their_time(capsys: Output) -> None:
    assert main(["methods", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [name for name, facts in listed.items() if facts["time"] == "quadratic"] == [
        "cspa",
        "eac",
        "hne",
        "lwea",
        "supra",
    ]
    assert main(["methods"]) == 0
    assert capsys.readouterr().out.split()[:4] == ["name", "title", "time", "memory"]


INTERRUPTED = """
import sys
import numpy as np
from quorate.generation import runner
add = runner._Collected.add
def stop_after_the_first(self, members):
    add(self, members)
    raise KeyboardInterrupt
runner._Collected.add = stop_after_the_first
from quorate.cli import main
sys.exit(main(["generate", sys.argv[1], "--members", "30", "-o", sys.argv[2]]))
"""


def test_no_warning_after_ctrl_c(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(20_000, 4)))
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "x.npy"), str(tmp_path / "out.npz")],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 130
    assert done.stderr == "quorate: error: interrupted\n"


def test_the_page_on_tables_runs() -> None:
    page = Path(__file__).parents[1] / "docs" / "tables.md"
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testfile(str(page), module_relative=False, optionflags=flags).failed == 0
