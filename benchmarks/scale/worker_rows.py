"""Rows that stay on Dask's workers beside a run in memory: processor seconds, bytes that travel, and a model of time.

    python -m benchmarks.scale.worker_rows 10_000_000 --method lwgp      # lines of JSON, then the model

The table is hard: a quarter of the labels is random, so that nearly all rows are distinct. Seconds are of the
processor, added up over the machine of the call, where Dask's scheduler runs as well, and two workers of one thread.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import resource
import time
from typing import Any

import numpy as np

from benchmarks.scale import dask_runs
from benchmarks.scale.dask_runs import BANDWIDTH, N_MEMBERS, PER_TASK

N_CLUSTERS = 12
CHUNKS = 24
"""Chunks of a table, so that there are three parts, more than workers."""
CHUNK_ROWS = 1e6
"""Objects of a chunk that the model assumes; a part has eight chunks."""


def chunk(number: int, size: int) -> Any:
    """Return labels of which a quarter is random."""
    return dask_runs.chunk(number, size, random=0.25, seed=2)


def sizes(n_objects: int) -> list[int]:
    return [n_objects // CHUNKS] * CHUNKS


def run_local(n_objects: int, method: str) -> tuple[dict[str, Any], Any]:
    """Time `quorate.consensus` on the whole table, without the confidence."""
    import quorate

    labels = np.concatenate([chunk(number, size) for number, size in enumerate(sizes(n_objects))])
    options: dict[str, Any] = {"method": method, "random_state": 0, "confidence": False}
    quorate.consensus(labels[:100_000], N_CLUSTERS, **options)
    begun, start = time.process_time(), time.perf_counter()
    result = quorate.consensus(labels, N_CLUSTERS, **options)
    found = {"cpu_seconds": round(time.process_time() - begun, 2), "seconds": round(time.perf_counter() - start, 2)}
    facts = {"n_rows": result.info["n_rows"], "n_iter": result.n_iter}
    return {"way": "memory", "method": method, "n": n_objects, **found, **facts}, result


def run_dask(n_objects: int, method: str, expected: Any) -> dict[str, Any]:
    """Time `quorate.dask.consensus` with the rows on two workers, and the labels of all objects."""
    import dask
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    import quorate.dask
    from quorate._distributed import rows_on_workers

    travelled: list[tuple[int, int]] = []
    # twice what a worker takes, because Dask writes to the disk from 60% on
    limit = max(6_000_000_000, 240 * n_objects)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=limit) as cluster,
        Client(cluster) as client,
    ):
        parts = [dask.delayed(chunk)(number, size) for number, size in enumerate(sizes(n_objects))]
        shapes = zip(parts, sizes(n_objects), strict=True)
        members = da.concatenate([da.from_delayed(part, (size, N_MEMBERS), np.int8) for part, size in shapes])
        members = client.persist(members)
        wait(members)
        options: dict[str, Any] = {"method": method, "random_state": 0, "confidence": False, "max_bytes": 10_000_000}
        few = members[: n_objects // 10].rechunk((n_objects // 200, -1))
        quorate.dask.consensus(few, N_CLUSTERS, **{**options, "max_bytes": 1}).labels.compute()
        divided = []
        inner = quorate.dask.rows_on_workers

        def timed(*arguments: Any) -> Any:
            found = inner(*arguments)
            divided.append((cpu(client), moved(client)))
            return found

        quorate.dask.rows_on_workers = timed
        rows_on_workers.DaskHolder.call = _weighed(rows_on_workers.DaskHolder.call, travelled)
        begun, sent, start = cpu(client), moved(client), time.perf_counter()
        result = quorate.dask.consensus(members, N_CLUSTERS, **options)
        solved, between = cpu(client), moved(client)
        labels = client.persist(result.labels)
        wait(labels)
        end, seconds = cpu(client), time.perf_counter() - start
        after = moved(client)
        peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
        same = bool(np.array_equal(labels.compute(), expected.labels))
    n_rows, (at_rows, moved_then) = result.ensemble.n_rows, divided[0]
    steps = {"rows": at_rows - begun, "solve": solved - at_rows, "labels": end - solved}
    moves = {"rows": moved_then - sent, "solve": between - moved_then, "labels": after - between}
    return {
        "way": "dask", "method": method, "n": n_objects, "n_rows": n_rows, "n_iter": result.solution.n_iter,
        "n_parts": result.solution.info["n_parts"], "same_labels": same, "seconds": round(seconds, 2),
        "cpu_seconds": round(end - begun, 2), "cpu_of": {name: round(value, 2) for name, value in steps.items()},
        "bytes_per_object": {name: round(value / n_objects, 2) for name, value in moves.items()},
        "calls": len(travelled), "bytes_to_a_worker": sum(down for down, _ in travelled),
        "bytes_from_parts": sum(up for _, up in travelled), "most_in_a_call": max(map(sum, travelled)),
        "peak_bytes_of_workers": sum(peaks.values()),
    }  # fmt: skip


def _weighed(call: Any, travelled: list[tuple[int, int]]) -> Any:
    """Return the call of a holder, which also notes the bytes that go to the parts and come back."""

    def weighed(self: Any, function: Any, arguments: Any, n_kept: int) -> Any:
        kept, told = call(self, function, arguments, n_kept)
        same = [value for value in arguments if getattr(value, "pieces", None) is None and not callable(value)]
        travelled.append((len(pickle.dumps(same)), sum(len(pickle.dumps(value)) for value in told)))
        return kept, told

    return weighed


def cpu(client: Any) -> float:
    """Return the seconds of processor of this process and of the workers."""
    return time.process_time() + float(sum(client.run(time.process_time).values()))


def moved(client: Any) -> int:
    """Return how many bytes the workers have sent to one another so far."""
    totals = client.run(lambda dask_worker: int(getattr(dask_worker, "transfer_outgoing_bytes_total", 0)))
    return int(sum(totals.values()))


def measure_constants(size: int = 100_000) -> dict[str, float]:
    """Measure what the model needs: seconds of the processor per object or row of each step."""
    from quorate._distributed import rows_on_workers as steps
    from quorate._distributed.chunks import code_chunk, rows_alone
    from quorate._distributed.merge_tree import merge_parts

    names = tuple(map(str, range(N_MEMBERS)))
    found: dict[str, float] = {}
    marks = [time.process_time()]

    def mark(name: str, number: float) -> None:
        marks.append(time.process_time())
        found[name] = (marks[-1] - marks[-2]) / number

    tables = [chunk(number, size) for number in range(16)]
    code_chunk(tables[0][:1000], 0, names, None)
    marks = [time.process_time()]
    leaves = [code_chunk(table, number, names, None) for number, table in enumerate(tables)]
    mark("code_per_object", size * len(leaves))
    nodes = [merge_parts(None, *map(rows_alone, leaves[start : start + 8])) for start in (0, 8)]
    mark("merge_per_row", size * len(leaves))
    codes = [[np.append(np.arange(len(values)), -1) for values in node.block.categories] for node in nodes]
    rows = [steps.rows_in_codes(node, own, np.dtype(np.int8)) for node, own in zip(nodes, codes, strict=True)]
    marks.append(time.process_time())
    pieces = [steps.pieces_by_hash(own, 2) for own in rows]
    mark("hash_per_row", size * len(leaves))
    buckets = [steps.joined_bucket(*(own[number + 1] for own in pieces)) for number in range(2)]
    mark("bucket_per_row", size * len(leaves))
    for part in range(2):
        answers = [steps.answer_to(bucket, part) for bucket in buckets]
        steps.own_rows(rows[part], pieces[part][0], _fields(nodes[0]), *answers)
    mark("own_per_row", size * len(leaves))
    return found


def _fields(node: Any) -> Any:
    values = node.block.categories
    n_clusters = np.array([len(own) for own in values], dtype=np.int64)
    return {"n_clusters": n_clusters, "weights": np.ones(len(values)), "member_names": tuple(map(str, range(20))),
            "categories": values}  # fmt: skip


def model(constants: dict[str, float], n_workers: int, run: dict[str, float], n_objects: float = 1e10) -> Any:
    """Return the seconds of each step, if all objects differ, for chunks of a million objects and parts of eight.

    `run` says what a sweep costs per row, how many sweeps there are, and what travels to and from a part in each.
    """
    n_chunks = math.ceil(n_objects / CHUNK_ROWS)
    n_parts, row_bytes = math.ceil(n_chunks / 8), N_MEMBERS + 8
    share = n_objects / min(n_workers, n_parts)
    reading = constants["code_per_object"] + constants["merge_per_row"]
    exchange = sum(constants[name] for name in ("hash_per_row", "bucket_per_row", "own_per_row"))
    n_buckets = min(n_parts, 2 * n_workers)
    tables = run["bytes"] / BANDWIDTH * (n_workers + n_parts)
    tasks = n_chunks * 4 + 5 * n_parts * n_buckets + run["calls"] * 3 * n_parts
    steps = {
        "compress and merge": share * reading,
        "exchange of rows": share * (exchange + (row_bytes + 9) / BANDWIDTH),
        "sweeps": share * run["seconds_per_row"],
        "tables to and from the call": tables,
        "labels": share * 2 * 4 / BANDWIDTH + share * 0.05e-6,
        "scheduler": PER_TASK * tasks,
    }
    return {"workers": n_workers, **{name: round(value) for name, value in steps.items()},
            "sum": round(sum(steps.values()))}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=lambda text: int(text.replace("_", "")), help="objects of the run")
    parser.add_argument("--method", default="kmeans")
    parser.add_argument("--only", choices=("run", "model"))
    parser.add_argument("--seconds-per-row", type=float, default=1e-6, help="of all sweeps together")
    parser.add_argument("--calls", type=float, default=60)
    parser.add_argument("--objects", type=float, default=1e10, help="of the model")
    parser.add_argument("--bytes", type=float, default=1e6, help="to each worker and from each part in all calls")
    arguments = parser.parse_args()
    if arguments.only in (None, "run"):
        facts, result = run_local(arguments.n, arguments.method)
        print(json.dumps(facts), flush=True)
        print(json.dumps(run_dask(arguments.n, arguments.method, result)), flush=True)
    if arguments.only in (None, "model"):
        constants = measure_constants()
        print(json.dumps({"way": "dask", "stage": "constants of rows on workers", **constants}))
        run = {"seconds_per_row": arguments.seconds_per_row, "calls": arguments.calls, "bytes": arguments.bytes}
        for n_workers in (2, 10, 100, 1000):
            print(json.dumps(model(constants, n_workers, run, arguments.objects)))


if __name__ == "__main__":
    main()
