"""A process that runs one algorithm after another under limits: `python -m benchmarks.accuracy.worker`.

It reads one JSON object per line (set, algorithm, seed, seconds, gigabytes) and answers each with one line. The limit
of processor time is the kernel's (RLIMIT_CPU), which ends the process even inside compiled code that Python cannot
interrupt; whoever started it sees that it ended and starts another one.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.accuracy.algorithms import ALGORITHMS, singular_directions
from benchmarks.accuracy.sets import Prepared, prepared
from quorate import accuracy, ari, nmi


def main() -> None:
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an algorithm prints must not be taken for an answer
    _warm_up()
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def answer(task: dict[str, Any]) -> dict[str, Any]:
    """The scores of one run, or why there are none."""
    algorithm = ALGORITHMS[task["algorithm"]]
    data = _data(task["set"], algorithm.dense)
    if len(data.y) > algorithm.most_objects:
        return {"not": f"more than {algorithm.most_objects:,} objects"}
    start = time.process_time()
    try:
        with _Limits(task["seconds"], task["gigabytes"]):
            labels, note = algorithm.run(data.X, data.n_classes, task["seed"])
    except MemoryError:
        return {"not": f"over {task['gigabytes']:g} GB"}
    except (ValueError, RuntimeError, ArithmeticError, np.linalg.LinAlgError) as error:
        return {"not": f"{type(error).__name__}: {error}".splitlines()[0][:120]}
    seconds = time.process_time() - start
    codes = np.unique(labels, return_inverse=True)[1].ravel()  # noise, -1, becomes a cluster of its own
    scores = [round(float(score(codes, data.y)), 4) for score in (nmi, ari, accuracy)]
    found = {"values": [*scores, round(seconds, 3), int(codes.max()) + 1]}
    return {**found, "note": note} if note else found


@lru_cache(maxsize=1)
def _whole(name: str) -> Prepared:
    return prepared(name)


@lru_cache(maxsize=2)
def _data(name: str, dense: bool) -> Prepared:
    data = _whole(name)
    return data._replace(X=singular_directions(data.X)) if dense and hasattr(data.X, "tocsr") else data


class _Limits:
    """Processor seconds and gigabytes beyond what the process has used by now."""

    def __init__(self, seconds: float, gigabytes: float) -> None:
        self.values = {
            resource.RLIMIT_CPU: max(1, int(time.process_time() + seconds) + 1),
            resource.RLIMIT_AS: _address_space() + int(gigabytes * 1e9),
        }

    def __enter__(self) -> None:
        for what, limit in self.values.items():
            resource.setrlimit(what, (limit, resource.getrlimit(what)[1]))

    def __exit__(self, *error: object) -> None:
        for what in self.values:
            hard = resource.getrlimit(what)[1]
            resource.setrlimit(what, (hard, hard))


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _warm_up() -> None:
    """Imports and compiled code, so that the first set does not pay for them."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(centre, 1, size=(40, 2)) for centre in (0, 9, 18)])
    for algorithm in ALGORITHMS.values():
        algorithm.run(X, 3, 0)
        if not algorithm.dense:
            algorithm.run(csr_matrix(np.abs(X)), 3, 0)


if __name__ == "__main__":
    main()
