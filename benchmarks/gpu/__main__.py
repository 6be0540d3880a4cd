"""All cases of the benchmark, each in a process of its own: python -m benchmarks.gpu [--out FILE] [--only TEXT] [...].

Results are added to benchmarks/gpu/results.jsonl; python -m benchmarks.gpu.page writes docs/gpu.md from it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.jsonl"

MILLION = 1_000_000


def features(n: int, base: str, data: str, method: str, device: str, **more: Any) -> dict[str, Any]:
    return {"kind": "features", "n": n, "base": base, "data": data, "method": method, "device": device, **more}


def labels(n: int, data: str, method: str, device: str) -> dict[str, Any]:
    return {"kind": "labels", "n": n, "data": data, "method": method, "device": device}


def cases() -> list[dict[str, Any]]:
    """The cases, the most important first."""
    sizes = (100 * MILLION, 10 * MILLION, MILLION)
    found = [features(n, "kmeans", data, "lwgp", "cuda") for n in sizes for data in ("easy", "hard")]
    found += [labels(n, data, "lwgp", "cuda") for n in sizes for data in ("easy", "hard")]
    found += [features(n, "spectral", data, "lwgp", "cuda") for n in sizes for data in ("easy", "hard")]
    found += [features(1000 * MILLION, "kmeans", "easy", "lwgp", "cuda")]
    for method in ("transfer", "kmeans"):
        found += [
            features(100 * MILLION, "kmeans", "hard", method, "cuda"),
            labels(100 * MILLION, "hard", method, "cuda"),
        ]
    found += [features(100 * MILLION, "kmeans", "easy", "lwgp", "cuda", start="host")]
    found += [{"kind": "torch", "n": 100 * MILLION, "data": data, "device": "cuda"} for data in ("easy", "hard")]
    found += [features(n, "kmeans", data, "lwgp", "cpu") for n in (MILLION, 10 * MILLION) for data in ("easy", "hard")]
    found += [labels(n, data, "lwgp", "cpu") for n in (MILLION, 10 * MILLION) for data in ("easy", "hard")]
    found += [
        {"kind": "sklearn", "n": n, "data": data, "device": "cpu"} for n in (MILLION,) for data in ("easy", "hard")
    ]
    found += [features(MILLION, "spectral", "easy", "lwgp", "cpu"), labels(100 * MILLION, "easy", "lwgp", "cpu")]
    found += [features(100 * MILLION, "kmeans", "easy", "lwgp", "cpu")]
    return found


def machine() -> dict[str, Any]:
    """The card and the driver, as nvidia-smi names them."""
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return {"card": None}
    name, driver = told.split(", ")[:2]
    return {"card": name, "driver": driver}


def run(case: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Run a case; what goes wrong becomes its result."""
    command = [sys.executable, "-m", "benchmarks.gpu.case", json.dumps(case)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {**case, "failed": f"not finished after {seconds:.0f} s"}
    if done.returncode:
        return {
            **case,
            "failed": (done.stderr.strip().splitlines() or ["no message"])[-1],
            "stderr": done.stderr[-1500:],
        }
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS, help="file that results are added to")
    parser.add_argument("--only", action="append", default=[], help="only cases whose JSON contains this text")
    parser.add_argument("--not", dest="without", action="append", default=[], help="no cases that contain this text")
    parser.add_argument("--limit", type=float, default=100.0, help="seconds that a case may take")
    parser.add_argument("--total", type=float, default=1e9, help="seconds after which no further case is begun")
    arguments = parser.parse_args()
    start, about = time.perf_counter(), machine()
    for case in cases():
        text = json.dumps(case)
        if not all(part in text for part in arguments.only) or any(part in text for part in arguments.without):
            continue
        if time.perf_counter() - start > arguments.total:
            print("not run, time is up:", text, flush=True)
            continue
        began = time.perf_counter()
        found = {**run(case, arguments.limit), **about}
        stderr = found.pop("stderr", "")
        print(f"{time.perf_counter() - began:6.1f} s", json.dumps(found), flush=True)
        if stderr:
            print(stderr, flush=True)
        with arguments.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
