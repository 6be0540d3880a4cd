"""Measure the peak of memory of methods on tables of several shapes, in a process of its own: prints JSON lines.

The peak is that of resident memory, which the Linux kernel lets a process set back; compiled code is loaded before.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from inspect import signature
from typing import Any

import numpy as np

from quorate import METHODS, Ensemble, as_ensemble, compress, solve
from quorate._solve.run_method import bytes_beyond_linear
from quorate.solvers.sizes import linear_bytes, size_of

SLOW = {("correlation", "wide"), ("correlation", "many k")}
"""What takes long and shows nothing that other shapes do not show."""
SOAK_ONLY = {("lwgp", "gaps"), ("spectral", "gaps"), ("transfer", "gaps")}
"""What takes up to two minutes, so that only `make soak` measures it: Lanczos iterations hardly converge there."""
WITH_CONFIDENCE = "fine,gaps"
"""The shapes on which the confidence, which repeats the method on parts of the table, can take more than the method.

In the others its tables, of clusters by clusters of members, are small; `make soak` measures it there, too.
"""


SHORT = {"n_init": 2, "max_iter": 5}
"""Options that methods get if they have them: more restarts and iterations use the same memory again."""


def shapes(*, small: bool = False) -> dict[str, tuple[Ensemble, int]]:
    """Tables that differ in rows, members and clusters, a number of clusters to ask for; small ones load kernels"""
    rng = np.random.default_rng(0)
    n, n_wide, n_plain = (160, 15, 75) if small else (20_000, 600, 3_000)
    # a member of as many clusters as there are objects
    fine = np.column_stack([rng.integers(10, size=(n, 3)), rng.permutation(n)])
    gaps = fine[: n // 4].copy()
    gaps[rng.random(gaps.shape) < 0.3] = -1
    gaps[gaps.max(axis=1) < 0, 0] = 0
    wide = rng.integers(8, size=(n_wide, 150))
    plain = rng.integers(12, size=(n_plain, 6))
    tables = {"fine": (fine, 10), "gaps": (gaps, 10), "wide": (wide, 20), "many k": (plain, 100)}
    return {
        name: (compress(as_ensemble(labels, orientation="objects", check=False))[0], k)
        for name, (labels, k) in tables.items()
    }


def resident(entry: str) -> int:
    """Read VmRSS, what is resident now, or VmHWM, the peak, in bytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith(entry))
    return int(line.split()[1]) * 1024


def peak_of(method: str, ensemble: Ensemble, n_clusters: int | None, max_bytes: int, *, confidence: bool) -> int | None:
    """Bytes beyond those resident before; None if the method refuses."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as refs:
        refs.write("5")
    before = resident("VmRSS")
    try:
        solve(
            ensemble,
            n_clusters,
            method=method,
            random_state=0,
            max_bytes=max_bytes,
            confidence=confidence,
            **short_options(method),
        )
    except MemoryError:
        return None
    return resident("VmHWM") - before


def short_options(method: str) -> dict[str, int]:
    """Those of SHORT that a method has."""
    return {name: value for name, value in SHORT.items() if name in signature(METHODS[method].solve).parameters}


def exceeds(entry: dict[str, Any], limit: int) -> bool:
    """Whether a method took more than it states, or its confidence more than the limit."""
    if entry["alone"] is None:
        return False
    beyond, linear = entry["beyond"], entry["linear"]
    # the confidence repeats the method on parts of the table, each of which is held to the same limit
    too_much = entry["whole"] is not None and entry["whole"] > limit + linear
    return bool(beyond > limit or entry["alone"] > beyond + linear or too_much)


def main() -> None:
    """Arguments: the limit in bytes, the shapes whose confidence is measured, and perhaps the names of methods."""
    limit, shapes_with_confidence = int(sys.argv[1]), sys.argv[2].split(",")
    small = shapes(small=True)
    large = shapes()
    left_out = SLOW if set(shapes_with_confidence) == set(large) else SLOW | SOAK_ONLY
    for method in sys.argv[3:] or METHODS:
        if METHODS[method].combines:
            continue
        for name, (ensemble, k) in large.items():
            if (method, name) in left_out:
                continue
            number = None if method == "best" else k
            with suppress(ValueError):
                few = number and min(number, small[name][0].n_rows)
                peak_of(method, small[name][0], few, limit, confidence=name in shapes_with_confidence)
            entry: dict[str, Any] = {"method": method, "shape": name, "whole": None}
            entry["beyond"] = bytes_beyond_linear(METHODS[method], ensemble, {}, number)
            entry["linear"] = linear_bytes(size_of(ensemble, number))
            try:
                if name in shapes_with_confidence:
                    entry["whole"] = peak_of(method, ensemble, number, limit, confidence=True)
                # the run with confidence holds one without it, which therefore took no more
                entry["alone"] = entry["whole"]
                if entry["whole"] is None or entry["whole"] > entry["beyond"] + entry["linear"]:
                    entry["alone"] = peak_of(method, ensemble, number, limit, confidence=False)
            except ValueError:
                # the method does not take so many clusters
                continue
            entry["exceeds"] = exceeds(entry, limit)
            sys.stdout.write(json.dumps(entry) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
