"""Time and peak memory of tables in blocks: labels or measurements in Parquet to labels in Parquet.

    python -m benchmarks.scale.stream make 100_000_000 FOLDER            # 20 members in files of 4M rows, 1.5 GB
    python -m benchmarks.scale.stream labels FOLDER --memory 2GB         # one line of JSON
    python -m benchmarks.scale.stream make-features 50_000_000 FOLDER    # 16 columns of float32, 3.2 GB
    python -m benchmarks.scale.stream features FOLDER --memory 2GB       # one line of JSON

Each run is a process of its own, because the peak of a process is that of all it has done.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.watching import machine

N_MEMBERS, FILE_ROWS, GROUP_ROWS = 20, 4_000_000, 1_000_000


def make_labels(n_objects: int, folder: Path, *, noise: float = 0.05, n_true: int = 10) -> None:
    """Write a planted partition seen by 20 members with their own numbers of clusters, and 5% of random labels."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    fine = rng.integers(8, 30, size=N_MEMBERS)
    # each member cuts the true clusters into pieces of its own
    for number, start in enumerate(range(0, n_objects, FILE_ROWS)):
        rng = np.random.default_rng((1, number))
        size = min(FILE_ROWS, n_objects - start)
        truth = rng.integers(n_true, size=size, dtype=np.int8)
        columns: dict[str, Any] = {"id": np.arange(start, start + size)}
        for member in range(N_MEMBERS):
            labels = (truth * 7 + member) % fine[member]
            wrong = rng.random(size, dtype=np.float32) < noise
            labels[wrong] = rng.integers(fine[member], size=int(wrong.sum()))
            columns[f"member {member}"] = labels.astype(np.int8)
        table = pyarrow.table(columns)
        pyarrow.parquet.write_table(table, folder / f"labels-{number:05d}.parquet", row_group_size=GROUP_ROWS)


def make_features(n_objects: int, folder: Path, *, n_columns: int = 16, n_true: int = 10) -> None:
    """Write ten Gaussian clusters."""
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    centres = np.random.default_rng(0).normal(0, 4, size=(n_true, n_columns)).astype(np.float32)
    for number, start in enumerate(range(0, n_objects, FILE_ROWS)):
        rng = np.random.default_rng((2, number))
        size = min(FILE_ROWS, n_objects - start)
        values = centres[rng.integers(n_true, size=size)] + rng.standard_normal((size, n_columns), dtype=np.float32)
        columns = {f"x{column}": values[:, column] for column in range(n_columns)}
        columns["id"] = np.arange(start, start + size)
        place = folder / f"features-{number:05d}.parquet"
        pyarrow.parquet.write_table(pyarrow.table(columns), place, row_group_size=500_000, use_dictionary=False)


def run_features(folder: Path, memory: str, method: str, k: int, base: str = "kmeans") -> dict[str, Any]:
    """Read measurements in blocks, make 20 clusterings and their consensus, write labels in blocks."""
    from quorate import stream

    out = folder.with_name(folder.name + "-labels")
    shutil.rmtree(out, ignore_errors=True)
    start = time.perf_counter()
    # with the default, up to 100 clusters per member, nearly all rows of labels would be distinct
    how: dict[str, Any] = {"base": base, "k": (k, 2 * k), "method": method, "random_state": 0, "memory": memory}
    result = stream.cluster(folder, k, out=out, ids="id", **how)
    facts = _facts(result, "measurements in Parquet to labels in Parquet", memory, time.perf_counter() - start)
    return {**facts, "base": result.ensemble.info["base"]}


def run_labels(folder: Path, memory: str, method: str, k: int) -> dict[str, Any]:
    """Read labels in blocks, find the consensus, write labels in blocks; return the facts for the scale page."""
    from quorate import stream

    out = folder.with_name(folder.name + "-labels")
    shutil.rmtree(out, ignore_errors=True)
    start = time.perf_counter()
    result = stream.consensus(
        folder, k, out=out, ids="id", method=method, random_state=0, memory=memory, overwrite=True
    )
    return _facts(result, "labels in Parquet to labels in Parquet", memory, time.perf_counter() - start)


def _facts(result: Any, stage: str, memory: str, seconds: float) -> dict[str, Any]:
    return {
        "way": "stream",
        "stage": stage,
        "n": result.n_objects,
        "n_rows": result.ensemble.n_rows,
        "method": result.solution.method,
        "memory": memory,
        "seconds": round(seconds, 2),
        "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        **machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("make", "labels", "make-features", "features"))
    parser.add_argument("rest", nargs="+")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--base", default="kmeans", help="of measurements; spectral members take many times as long")
    parser.add_argument("-k", type=int, default=10)
    arguments = parser.parse_args()
    if arguments.what.startswith("make"):
        make = make_labels if arguments.what == "make" else make_features
        make(int(arguments.rest[0].replace("_", "")), Path(arguments.rest[1]))
    else:
        how = (Path(arguments.rest[0]), arguments.memory, arguments.method, arguments.k)
        print(json.dumps(run_labels(*how) if arguments.what == "labels" else run_features(*how, arguments.base)))


if __name__ == "__main__":
    main()
