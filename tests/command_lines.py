"""Commands in a folder of tables, for tests of what they leave alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
from benchmarks.reliability.shell import run_here, snapshot


def tables(tmp_path: Path) -> Path:
    """Write tables of labels, in memory and in blocks, measurements, and new objects into a folder."""
    (tmp_path / "src").mkdir()
    rng = np.random.default_rng(0)
    for place in range(2):
        labels = rng.integers(3, size=(40, 4))
        columns = {f"m{number}": labels[:, number] for number in range(4)}
        table = pyarrow.table({"id": np.arange(40 * place, 40 * place + 40), **columns})
        pyarrow.parquet.write_table(table, tmp_path / "src" / f"p{place}.parquet")
    names = ["id", *(f"m{number}" for number in range(4))]
    table = pyarrow.parquet.read_table(tmp_path / "src")
    rows = [",".join(map(str, row)) for row in zip(*(table[name].to_pylist() for name in names), strict=True)]
    (tmp_path / "labels.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    (tmp_path / "new.csv").write_text("\n".join([",".join(names), *rows[:5]]) + "\n")
    (tmp_path / "labelling.csv").write_text("id,label\n" + "".join(f"{row},{row % 3}\n" for row in range(80)))
    np.save(tmp_path / "features.npy", rng.normal(size=(80, 3)))
    return tmp_path


CONSENSUS = ["consensus", "src", "--id", "id", "-k", "3", "-m", "kmeans", "--no-null", "--quiet"]
MEMBERS = ["--members", "3", "--k", "3", "--base", "kmeans", "--quiet"]
COMMANDS = {
    "consensus": [CONSENSUS[0], "labels.csv", *CONSENSUS[2:]],
    "place": ["place", "labels.csv", "labelling.csv", "new.csv", "--id", "id", "--quiet"],
    "generate": ["generate", "features.npy", *MEMBERS],
    "cluster": ["cluster", "features.npy", "-k", "3", "--no-null", "--no-reference", *MEMBERS],
    "report": ["report", "labels.csv", "labelling.csv", "--id", "id", "--quiet"],
}
IN_BLOCKS = {name: [*COMMANDS[name], "--memory", "100MB"] for name in ("place", "generate", "cluster")} | {
    "consensus": CONSENSUS
}


def run(command: list[str], folder: Path, *more: str) -> tuple[int | None, str]:
    status, _, err = run_here([*command, *more], folder)
    errors = [line for line in err.splitlines() if line.startswith("quorate: error: ")]
    assert status in (0, 2), err
    assert len(errors) == (status == 2), err
    assert "Traceback" not in err
    return status, err


def assert_refused(command: list[str], folder: Path, *more: str, says: str = "") -> None:
    before = snapshot(folder)
    status, err = run(command, folder, *more)
    assert status == 2
    assert says in err
    assert snapshot(folder) == before
