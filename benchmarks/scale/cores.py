"""`python -m benchmarks.scale.cores [--rows N] [--threads 1 2 4 8 16]`: compress and consensus on 1 to 16 threads.

Needs nothing but quorate and what it always needs: neither pymetis nor polars nor Dask.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from functools import partial


def measure(n: int, repeat: int) -> None:
    """Print the least seconds of each job with the number of threads that this process has."""
    from benchmarks.scale import inputs
    from quorate import as_ensemble, compress, consensus, merge
    from quorate.ops.threads import n_threads

    table = inputs.labels(n)
    compress(as_ensemble(table[:100_000]))
    consensus(table[:100_000], inputs.N_CLUSTERS, method="kmeans", random_state=0)
    blocks = [compress(as_ensemble(part))[0] for part in (table[i::50] for i in range(50))]
    merge(blocks[:2])
    best: dict[str, float] = {}
    for _ in range(repeat):
        ensemble = as_ensemble(table)
        for name, work in (
            ("as_ensemble", partial(as_ensemble, table)),
            ("compress", partial(compress, ensemble)),
            ("merge", partial(merge, blocks)),
            ("consensus", partial(consensus, table, inputs.N_CLUSTERS, random_state=0)),
        ):
            start = time.perf_counter()
            work()
            best[name] = min(best.get(name, math.inf), time.perf_counter() - start)
    told = "  ".join(f"{name} {seconds:8.3f} s" for name, seconds in best.items())
    print(f"{n_threads():3d} threads  {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--here", action="store_true", help="measure in this process, with the threads it has")
    arguments = parser.parse_args()
    if arguments.here:
        measure(arguments.rows, arguments.repeat)
        return
    print(f"{arguments.rows:,} objects, {os.cpu_count()} cores", flush=True)
    for threads in arguments.threads:
        if threads <= (os.cpu_count() or 1):
            command = [sys.executable, "-m", "benchmarks.scale.cores", "--here"]
            command += ["--rows", str(arguments.rows), "--repeat", str(arguments.repeat)]
            limits = {"NUMBA_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
            subprocess.run(command, check=True, env={**os.environ, **limits})


if __name__ == "__main__":
    main()
