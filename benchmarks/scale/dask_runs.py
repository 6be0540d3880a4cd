"""Dask beside a run in memory on the same cores, the bytes that travel, and a model of time with measured constants.

    python -m benchmarks.scale.dask_runs 10_000_000             # lines of JSON, then the model for 10^9 objects

Both ways start from labels in memory: an array here, chunks of 500,000 rows on the workers there. Both end with the
labels of all objects, in one array here, on the workers there.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from typing import Any

import numpy as np

from benchmarks.scale.watching import machine

N_MEMBERS, CHUNK = 20, 500_000
BANDWIDTH = 1e9
"""Bytes per second between two machines that the model assumes: a network of 10 Gbit/s."""
PER_TASK = 0.5e-3
"""Seconds that Dask's scheduler takes for a task; `run_dask` measures it as task_seconds."""
N_TRIVIAL = 2_000
STAGE = "planted labels to labels"
"""Both ways label the same planted tables, which are not those of the other stages."""


def chunk(number: int, size: int, random: float = 0.05, seed: int = 1) -> Any:
    """Return labels of a planted partition seen by 20 members, a share of them random."""
    rng = np.random.default_rng((seed, number))
    fine = np.random.default_rng(0).integers(8, 30, size=N_MEMBERS)
    truth = rng.integers(10, size=size, dtype=np.int8)
    labels = np.empty((size, N_MEMBERS), dtype=np.int8)
    for member in range(N_MEMBERS):
        column = (truth * 7 + member) % fine[member]
        wrong = rng.random(size, dtype=np.float32) < random
        column[wrong] = rng.integers(fine[member], size=int(wrong.sum()))
        labels[:, member] = column
    return labels


def sizes(n_objects: int) -> list[int]:
    return [min(CHUNK, n_objects - start) for start in range(0, n_objects, CHUNK)]


def run_local(n_objects: int, method: str) -> dict[str, Any]:
    """Time `quorate.consensus` on the whole table."""
    import quorate

    labels = np.concatenate([chunk(number, size) for number, size in enumerate(sizes(n_objects))])
    quorate.consensus(labels[:50_000], 10, method=method, random_state=0)
    start = time.perf_counter()
    result = quorate.consensus(labels, 10, method=method, random_state=0)
    return facts("memory", n_objects, time.perf_counter() - start, n_rows=result.info["n_rows"])


def run_dask(n_objects: int, method: str) -> dict[str, Any]:
    """Time `quorate.dask.consensus` and the labels of all objects, on two workers of one thread."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    import quorate.dask

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="8GB") as cluster,
        Client(cluster) as client,
    ):
        parts = [dask.delayed(chunk)(number, size) for number, size in enumerate(sizes(n_objects))]
        shapes = zip(parts, sizes(n_objects), strict=True)
        members = da.concatenate([da.from_delayed(part, (size, N_MEMBERS), np.int8) for part, size in shapes])
        members = client.persist(members)
        wait(members)
        # workers load what is compiled already: chunks, their merging and the way back
        quorate.dask.consensus(members[: 3 * CHUNK], 10, method=method, random_state=0).labels.compute()
        before, start = moved(client), time.perf_counter()
        result = quorate.dask.consensus(members, 10, method=method, random_state=0)
        solved = time.perf_counter()
        labels = client.persist(result.labels)
        wait(labels)
        end = time.perf_counter()
        travelled = moved(client) - before
        # the root comes to the machine of the call, which is not a worker
        travelled += result.ensemble.n_rows * (N_MEMBERS + 8)
        found = facts("dask", n_objects, end - start, n_rows=result.ensemble.n_rows)
        start = time.perf_counter()
        client.gather(client.map(abs, range(N_TRIVIAL), pure=False))
        found["task_seconds"] = (time.perf_counter() - start) / N_TRIVIAL
        return {**found, "down_seconds": round(end - solved, 2), "moved_bytes_per_object": travelled / n_objects}


def moved(client: Any) -> int:
    """Return how many bytes the workers have sent to one another so far."""
    totals = client.run(lambda dask_worker: int(getattr(dask_worker, "transfer_outgoing_bytes_total", 0)))
    return sum(totals.values())


def facts(way: str, n_objects: int, seconds: float, **more: Any) -> dict[str, Any]:
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {"way": way, "stage": STAGE, "n": n_objects, "seconds": round(seconds, 2), "peak_bytes": peak}
    return {**found, **machine(), **more}


def measure_constants() -> dict[str, float]:
    """Measure what the model needs: seconds of the processor per object and per row of each step."""
    from quorate._distributed.chunks import code_chunk, rows_alone
    from quorate._distributed.merge_tree import merge_parts, take_part, values_of_objects

    names = tuple(map(str, range(N_MEMBERS)))
    tables = [chunk(number, CHUNK) for number in range(8)]
    code_chunk(tables[0][:1000], 0, names, None)
    start = time.process_time()
    leaves = [code_chunk(table, number, names, None) for number, table in enumerate(tables)]
    coded = time.process_time()
    node = merge_parts(None, *map(rows_alone, leaves))
    merged = time.process_time()
    labels = np.zeros(len(node.block.labels), dtype=np.int32)
    for place, leaf in enumerate(leaves):
        values_of_objects(leaf, take_part(node, place, labels))
    end = time.process_time()
    n_objects, n_merged = CHUNK * len(leaves), sum(len(leaf.block.labels) for leaf in leaves)
    return {
        "code_per_object": (coded - start) / n_objects,
        "merge_per_row": (merged - coded) / n_merged,
        "down_per_object": (end - merged) / n_objects,
        "rows_per_chunk": n_merged / len(leaves),
    }


def model(constants: dict[str, float], n_objects: float, n_workers: int, n_rows: float, solve: float) -> dict[str, Any]:
    """Return the seconds of each step for chunks of a million rows.

    Distinct rows of a node with c chunks below it are taken as min(n_rows, c times those of a chunk): an upper bound.
    """
    n_chunks = math.ceil(n_objects / 1e6)
    per_chunk = min(n_rows, constants["rows_per_chunk"] * 1e6 / CHUNK)
    row_bytes = N_MEMBERS + 8
    steps = {"compress": n_objects * constants["code_per_object"] / min(n_workers, n_chunks)}
    nodes, below, merging = n_chunks, 1, 0.0
    while nodes > 1 or below == 1:
        rows = min(n_rows, below * per_chunk)
        nodes, below = math.ceil(nodes / 8), below * 8
        each = 8 * rows * (constants["merge_per_row"] + row_bytes / BANDWIDTH)
        merging += each * math.ceil(nodes / n_workers)
    steps["merge"] = merging
    steps["root to the call"] = n_rows * row_bytes / BANDWIDTH
    steps["solve"] = solve
    steps["labels"] = n_objects * constants["down_per_object"] / min(n_workers, n_chunks)
    steps["scheduler"] = PER_TASK * n_chunks * 4.3
    return {"workers": n_workers, **{name: round(value, 1) for name, value in steps.items()},
            "sum": round(sum(steps.values()), 1)}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=lambda text: int(text.replace("_", "")))
    parser.add_argument("--method", default="kmeans")
    parser.add_argument("--only", choices=("local", "dask", "model"))
    parser.add_argument("--rows", type=float, default=1e7, help="distinct rows at 10^9 objects that the model assumes")
    parser.add_argument("--solve", type=float, default=60.0, help="seconds of the method on so many rows")
    arguments = parser.parse_args()
    if arguments.only in (None, "dask"):
        print(json.dumps(run_dask(arguments.n, arguments.method)))
    if arguments.only in (None, "local"):
        print(json.dumps(run_local(arguments.n, arguments.method)))
    if arguments.only in (None, "model"):
        constants = measure_constants()
        print(json.dumps({"way": "dask", "stage": "constants", **constants}))
        for n_workers in (2, 10, 100, 1000):
            print(json.dumps(model(constants, 1e9, n_workers, arguments.rows, arguments.solve)))


if __name__ == "__main__":
    main()
