"""One ensemble of one data set through every method."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods.sets import SETS, features, half_of
from quorate import METHODS, Ensemble, anmi, ari, as_ensemble, compress, consensus, generate, nmi
from quorate.generation import KMeans

PROTOCOLS = ("20 members", "10 members")
"""20 k-means members with k from 10 to 40; 10 k-means members with k from 2 to sqrt(n), at most 100."""
GAPS = (0.3, 0.6, 0.85)
"""Shares of labels taken away at random from the 20 members, as protocol "gaps 0.3"."""
MOST_ROWS = {"cspa": 3_000, "supra": 3_000}
"""Distinct rows up to which a slow method is run; others have no limit here."""
MEASURES = ("nmi", "ari", "anmi", "seconds")


class Case(NamedTuple):
    """One ensemble: a data set, a protocol, and a repeat, which is also the seed."""

    set: str
    protocol: str
    repeat: int


def cases(repeats: int, gap_repeats: int, *, quick: bool) -> list[Case]:
    """All cases, the first repeat of each first."""
    if quick:
        return [Case(name, protocol, 0) for name in SMALLEST for protocol in PROTOCOLS]
    plain = [Case(name, protocol, r) for r in range(repeats) for protocol in PROTOCOLS for name in SETS]
    gaps = [Case(name, f"gaps {share}", r) for r in range(gap_repeats) for share in GAPS for name in GAP_SETS]
    return plain + gaps


SMALLEST = ("iris", "wine", "seeds", "shape_hepta", "glass")
# real sets, and not the largest ones: both halves are in it
GAP_SETS = [
    "breast_wisconsin", "ecoli", "glass", "ionosphere", "iris", "mfeat_fac", "mfeat_fou", "mfeat_kar", "mfeat_mor",
    "mfeat_zer", "optdigits_test", "satimage", "seeds", "segmentation", "shape_D31", "shape_R15", "shape_s2",
    "synthetic_control", "wdbc", "wine", "yeast",
]  # fmt: skip


class Results:
    """What was measured: one JSON line per case and run; a method that stands there is not run again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values: dict[Case, dict[str, dict[str, Any]]] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                record = json.loads(line)
            except ValueError:
                continue  # the last line of a run that was killed while writing it
            self._keep(record)

    def _keep(self, record: dict[str, Any]) -> None:
        case = Case(record["set"], record["protocol"], record["repeat"])
        found = self.values.setdefault(case, {})
        for method, values in record["values"].items():
            found[method] = dict(zip(MEASURES, values, strict=True)) if isinstance(values, list) else {"not": values}

    def missing(self, case: Case) -> list[str]:
        return [method for method in METHODS if method not in self.values.get(case, {})]

    def write(self, case: Case, values: dict[str, Any]) -> None:
        record = {**case._asdict(), "values": values}
        broken = self.path.exists() and not self.path.read_bytes().endswith(b"\n") and self.path.stat().st_size > 0
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * broken + json.dumps(record, separators=(",", ":")) + "\n")
        self._keep(record)


def ensemble_of(case: Case, cache: Path | None = None) -> tuple[Ensemble, NDArray[np.intp], int]:
    """The case's members, the classes and their number. A cache holds the labels without gaps as .npz files."""
    protocol = PROTOCOLS[0] if case.protocol.startswith("gaps") else case.protocol
    place = cache / f"{case.set}-{protocol.split()[0]}-{case.repeat}.npz" if cache else None
    if place is not None and place.exists():
        held = np.load(place)
        labels, y = held["labels"], held["y"]
    else:
        X, y, _ = features(case.set)
        labels = np.asarray(as_ensemble(_members(X, protocol, case.repeat)).labels)
        if place is not None:
            np.savez_compressed(place, labels=labels, y=y)
    if case.protocol.startswith("gaps"):
        labels = _with_gaps(labels, float(case.protocol.split()[1]), case.repeat)
    return as_ensemble(labels, orientation="objects"), y, int(y.max()) + 1


def _members(X: NDArray[np.float64], protocol: str, seed: int) -> Ensemble:
    n_members = int(protocol.split()[0])
    k: Any = (10, min(40, max(11, len(X) // 5))) if n_members == 20 else "candel"
    return generate(X, n_members, k=k, base=KMeans(init="random"), random_state=seed)


def _with_gaps(labels: NDArray[Any], share: float, seed: int) -> NDArray[np.int64]:
    """Take labels away at random; every object keeps one, so that there is something to go by."""
    rng = np.random.default_rng(seed)
    result = np.array(labels, dtype=np.int64)
    gone = rng.random(result.shape) < share
    gone[np.arange(len(result)), rng.integers(result.shape[1], size=len(result))] = False
    result[gone] = -1
    return result


def run_case(case: Case, methods: Iterable[str], cache: Path | None = None) -> dict[str, Any]:
    """[NMI, ARI, ANMI, seconds] of each method, or why there is none."""
    ensemble, y, k = ensemble_of(case, cache)
    n_rows = compress(ensemble)[0].n_rows
    values: dict[str, Any] = {}
    for method in methods:
        if n_rows > MOST_ROWS.get(method, n_rows):
            values[method] = f"more than {MOST_ROWS[method]:,} distinct rows"
            continue
        start = time.perf_counter()
        try:
            result = consensus(ensemble, None if method == "best" else k, method=method, random_state=case.repeat)
        except (ValueError, MemoryError, RuntimeError) as error:
            values[method] = str(error)
            continue
        seconds = time.perf_counter() - start
        scores = nmi(result, y), ari(result, y), anmi(result, ensemble)
        values[method] = [*(round(score, 4) for score in scores), round(seconds, 4)]
    return values


def half(case: Case) -> str:
    """The half of the data sets that the case belongs to."""
    return half_of(case.set)
