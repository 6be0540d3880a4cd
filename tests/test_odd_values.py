"""Odd values for every argument: a ValueError or a TypeError in a few words, never an error from within."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import quorate
from quorate import as_ensemble, as_soft_ensemble, ca_tree, consensus
from quorate.cli import main
from quorate.cli.entry import LONGEST, _one_line

LABELS = [0, 0, 1, 1, 1]
ENSEMBLE = as_ensemble([[0, 0, 1, 1, 2], [0, 1, 1, 1, 0], [0, 0, 0, 1, 1]])
SOFT = as_soft_ensemble([[[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]], ["a", "a", "b"]])
X = np.random.default_rng(0).normal(size=(30, 3))
tree = cache(lambda: ca_tree(ENSEMBLE))  # made when a test asks: every worker collects every file
ODD: list[Any] = [
    None, True, -1, 0, 10**30, 1.5, math.nan, math.inf, -math.inf, "", "x" * 5000, "\x1b[2J", b"x", [], [[]], {},
    {"a": 1}, (), (2, 1), (None, None), ("a", "b"), range(0), range(5, 2), set(), object(), int, len, 1 + 2j,
    slice(3), Ellipsis,
    decimal.Decimal("NaN"), datetime.date(2020, 1, 1),
    np.array(3), np.zeros((0, 3)), np.zeros((2, 2, 2)), np.array([None]),
    np.datetime64("NaT", "D"), np.array([2**63], dtype=np.uint64), [2**70, 1], [1, [2]], [[1, 2], [3]],
    np.bool_(True), np.float32(0.5), pd.DataFrame(), pd.DataFrame({"a": [1, 2]}), pd.Series([1]), iter([1, 2]),
    sparse.csr_array(np.eye(3)), ENSEMBLE, SOFT, [ENSEMBLE, None], {"a": ENSEMBLE}, X, memoryview(b"ab"), "\ud800",
]  # fmt: skip
CALLS: dict[str, Callable[[Any], Any]] = {
    "as_ensemble": as_ensemble,
    "as_ensemble weights": lambda v: as_ensemble(ENSEMBLE, weights=v),
    "as_ensemble ids": lambda v: as_ensemble(ENSEMBLE, ids=v),
    "as_ensemble counts": lambda v: as_ensemble(ENSEMBLE, counts=v),
    "as_ensemble missing": lambda v: as_ensemble([[0, 0, 1], [1, 1, 0]], missing=v),
    "as_ensemble orientation": lambda v: as_ensemble([[0, 0, 1], [1, 1, 0]], orientation=v),
    "as_soft_ensemble": as_soft_ensemble,
    "as_soft_ensemble member": lambda v: as_soft_ensemble([v]),
    "harden": quorate.harden,
    "compress": quorate.compress,
    "merge": quorate.merge,
    "merge part": lambda v: quorate.merge([v]),
    "coarsen": quorate.coarsen,
    "coarsen theta": lambda v: quorate.coarsen(ENSEMBLE, v),
    "coarsen keep": lambda v: quorate.coarsen(ENSEMBLE, keep=v),
    "coarsen n_des": lambda v: quorate.coarsen(ENSEMBLE, n_des=v),
    "ca_tree": ca_tree,
    "cut": lambda v: tree().cut(v),
    "largest": lambda v: tree().largest(v),
    "curve": lambda v: tree().curve(v),
    "choose": lambda v: tree().choose(v),
    "grow": lambda v: tree().grow(v),
    "grow weight": lambda v: tree().grow(LABELS, weight=v),
    "consensus": lambda v: consensus(v, 2),
    "consensus n_clusters": lambda v: consensus(ENSEMBLE, v),
    "consensus method": lambda v: consensus(ENSEMBLE, 2, method=v),
    "consensus coarsen": lambda v: consensus(ENSEMBLE, 2, coarsen=v),
    "consensus random_state": lambda v: consensus(ENSEMBLE, 2, random_state=v),
    "consensus max_bytes": lambda v: consensus(ENSEMBLE, 2, coarsen="auto", max_bytes=v),
    "consensus refine": lambda v: consensus(ENSEMBLE, 2, refine=v),
    "solve": lambda v: quorate.solve(v, 2),
    "choose_k": lambda v: quorate.choose_k(v, (2, 3)),
    "choose_k n_clusters": lambda v: quorate.choose_k(ENSEMBLE, v),
    "choose_k max_bytes": lambda v: quorate.choose_k(ENSEMBLE, (2, 3), max_bytes=v),
    "refine": lambda v: quorate.refine(v, ENSEMBLE),
    "evaluate": lambda v: quorate.evaluate(v, ENSEMBLE),
    "evaluate ensemble": lambda v: quorate.evaluate(LABELS, v),
    "evaluate truth": lambda v: quorate.evaluate(LABELS, ENSEMBLE, truth=v),
    "nmi": lambda v: quorate.nmi(v, LABELS),
    "co_association": quorate.co_association,
    "co_association max_bytes": lambda v: quorate.co_association(ENSEMBLE, max_bytes=v),
    "generate": lambda v: quorate.generate(v, 3, k=2),
    "generate n_members": lambda v: quorate.generate(X, v, k=2),
    "generate k": lambda v: quorate.generate(X, 2, k=v),
    "generate rows": lambda v: quorate.generate(X, 2, k=2, rows=v),
    "generate columns": lambda v: quorate.generate(X, 2, k=2, columns=v),
    "generate n_jobs": lambda v: quorate.generate(X, 2, k=2, n_jobs=v),
    "generate random_state": lambda v: quorate.generate(X, 2, k=2, random_state=v),
    "load_labels": quorate.load_labels,
    "ConsensusClustering": lambda v: quorate.ConsensusClustering(2).fit(v),
}


def told(call: Callable[[Any], Any], value: Any) -> str | None:
    """What a refusal says; None where the value is taken."""
    try:
        call(value)
    except (ValueError, TypeError, OSError, MemoryError) as error:
        return str(error)
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_odd_values(name: str) -> None:
    for value in ODD:
        assert told(CALLS[name], value) != "", value


def test_messages_of_the_shell_are_short_and_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "\x1b[2J" + "y" * 5000
    (tmp_path / "a.csv").write_text(f"a,{name}\n1,2\n1,inf\n2,2\n")
    assert main(["consensus", str(tmp_path / "a.csv"), "-k", "2", "--columns", "b" * 5000]) == 2
    assert main(["consensus", str(tmp_path / "a.csv"), "-k", "2"]) == 2
    assert main(["generate", str(tmp_path / "a.csv"), "--k", "\x1b[2J" * 999, "-o", "b.csv"]) == 2
    for line in capsys.readouterr().err.splitlines():
        assert "\x1b" not in line
        assert len(line) < LONGEST + 50
    assert _one_line("a\n b\x07\ud800") == "a b\\x07\\ud800"


def shell(arguments: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    (tmp_path / "a.csv").write_text("a,b\n1,1\n1,1\n2,2\n")
    command = f'"{sys.executable}" -m quorate {arguments}'
    return subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, env={**os.environ}, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("consensus - -k 2 <&-", "standard input is closed"),
        ("generate - -o e.csv <&-", "standard input is closed"),
        ("consensus a.csv -k 2 >&-", "standard output is closed"),
        ("--help >&-", "standard output is closed"),
        ("consensus a.csv -k 2 --max-bytes inf", "--max-bytes must be a number"),
        ("consensus a.csv -k 2 --max-bytes nan", "--max-bytes must be a number"),
        ("consensus a.csv -k 2 --max-bytes 0", "max_bytes must be a number of bytes above 0"),
        ("consensus a.csv -k 2 --columns 'a\nb'", "column names must be separated by commas"),
    ],
)
def test_closed_streams_and_odd_options(tmp_path: Path, arguments: str, words: str) -> None:
    done = shell(arguments, tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_closed_standard_error(tmp_path: Path) -> None:
    assert shell("consensus nothing.csv -k 2 2>&-", tmp_path).returncode == 2


MANIFESTS: list[Any] = [
    [], "text", 7, None, {"seed": "1"}, {"seed": None, "options": {}}, {"seed": "-1", "options": {}},
    {"seed": "1", "options": []}, {"seed": "9" * 5000, "options": {}}, {"seed": 1.5, "options": {}},
    {"seed": "1", "options": {"k": ["x" * 5000]}, "data": {"a": 1}, "quorate": "\x1b[2J" * 999},
]  # fmt: skip


@pytest.mark.parametrize(
    "manifest", [json.dumps(manifest).encode() for manifest in MANIFESTS] + [b"[" * 10**5, b"\xff"]
)
def test_hostile_manifests(tmp_path: Path, manifest: bytes) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_bytes(manifest)
    with pytest.raises(ValueError, match=r"is damaged|belongs to another run") as caught:
        quorate.generate(X, 2, k=2, checkpoint=tmp_path / "run")
    assert len(str(caught.value)) < 2000
    assert "\x1b" not in str(caught.value)


def test_a_manifest_that_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "run" / "manifest.json").mkdir(parents=True)
    with pytest.raises(ValueError, match="is no file"):
        quorate.generate(X, 2, k=2, checkpoint=tmp_path / "run")


def test_masked_measurements_are_refused() -> None:
    X = np.ma.masked_array([[0.0, 1.0], [1.0, 0.0], [9.0, 9.0]], mask=[[False, True], [False, False], [False, False]])
    for fit in (quorate.generate, quorate.EnsembleClustering(2).fit):
        with pytest.raises(ValueError, match="X has 1 masked value; fill them in"):
            fit(X)
    assert quorate.generate(X[1:], 2, k=2, base="kmeans", random_state=0).n_objects == 2


@pytest.mark.parametrize("number", [2.5, np.float64(2), float("nan"), True])
def test_the_estimator_names_the_number_of_clusters(number: Any) -> None:
    with pytest.raises(TypeError, match="n_clusters must be an integer"):
        quorate.EnsembleClustering(number).fit(np.arange(12.0).reshape(6, 2))
