"""The shell on tables in blocks: the same numbers as on the table in one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from quorate.cli import main

N = 1_200


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A table as one file and as a folder of three."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=N)
    columns = {f"m{n}": np.where(rng.random(N) < 0.2, rng.integers(4, size=N), truth) for n in range(5)}
    frame = pd.DataFrame({"id": np.arange(N), **columns})
    frame.to_parquet(tmp_path / "whole.parquet", index=False)
    (tmp_path / "parts").mkdir()
    for number in range(3):
        frame.iloc[number * 400 : number * 400 + 400].to_parquet(tmp_path / "parts" / f"{number}.parquet", index=False)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_consensus_score_and_place(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    how = ["--id", "id", "--null", "2"]
    whole = told(capsys, "consensus", str(place / "whole.parquet"), *how, "-k", "3", "-o", str(place / "whole.csv"))
    parts = told(capsys, "consensus", str(place / "parts" / "*.parquet"), *how, "-k", "3", "-o", str(place / "out"))
    for name in ("scores", "sizes", "n_rows", "method", "clusterings", "ambiguous", "verdict"):
        assert parts[name] == whole[name]
    assert parts["n_blocks"] == 3
    assert parts["memory"]["budget"] > 0
    labels = pyarrow.parquet.read_table(place / "out")["label"].to_pylist()
    assert labels == pd.read_csv(place / "whole.csv")["label"].tolist()
    one = told(capsys, "score", str(place / "whole.parquet"), str(place / "whole.csv"), *how, "--members", "--profiles")
    many = told(capsys, "score", str(place / "parts"), str(place / "out"), *how, "--members", "--profiles")
    assert many == one
    placed = told(capsys, "place", str(place / "parts"), str(place / "out"), str(place / "parts"), "--id", "id", "-o",
                  str(place / "placed"))  # fmt: skip
    assert placed["n_known_rows"] == N
    assert pyarrow.parquet.read_table(place / "placed")["label"].to_pylist() == labels


def test_the_device_of_tables_in_blocks_is_the_processor(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--memory 1GB --device cpu` was once an error: "method 'auto' has no option 'device'"."""
    how = [str(place / "whole.parquet"), "--id", "id", "--no-null", "-k", "3"]
    whole = told(capsys, "consensus", *how)
    for device in ("cpu", "auto"):
        assert told(capsys, "consensus", *how, "--memory", "1GB", "--device", device)["sizes"] == whole["sizes"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--device", "cuda"], "--device cuda does not go together with tables in blocks"),
        (["--orientation", "members"], "--orientation members does not go together"),
        (["--report", "r.html"], "--report needs a table in memory"),
        (["-o", "-"], "cannot go to standard output"),
        (["--memory", "much"], "memory must be a number of bytes"),
        (["--safe-cells"], "--safe-cells is for text files in memory"),
    ],
)
def test_what_does_not_go_together(
    more: list[str], words: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["consensus", str(place / "parts"), "--id", "id", "-k", "3", *more]) == 2
    assert words in capsys.readouterr().err
