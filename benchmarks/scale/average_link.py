"""`python -m benchmarks.scale.average_link [commit ...]`: exact average link in versions of the repository, in turn.

Every version runs in a process of its own, one after the other and several rounds, so that other work on the machine
shows in all of them. The trees are compared bit by bit. Without commits: before decision 82, before decision 98, and
the files as they are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMITS = ("cb68ebe", "f985966")
"""The last ones before decision 82 and before decision 98."""
SIZES = {"k-means members": 144_000, "members with noise": 136_500}
"""Objects from which about 117,000 distinct rows are made."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*", default=COMMITS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=1.0, help="of the objects; less is a check that it runs")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.one, arguments.share)
        return
    with tempfile.TemporaryDirectory() as folder:
        versions = {commit: _unpack(commit, Path(folder)) for commit in arguments.commits} | {"here": ROOT / "src"}
        for name in SIZES:
            for turn in range(arguments.rounds):
                compare(name, versions, arguments.share, turn)


def compare(name: str, versions: dict[str, Path], share: float, turn: int) -> None:
    """Print one line for each version, and stop if the trees differ."""
    trees = set()
    for version, source in versions.items():
        command = [sys.executable, "-m", "benchmarks.scale.average_link", "--one", name, "--share", str(share)]
        found = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(source)}, check=True, stdout=subprocess.PIPE
        )
        line = json.loads(found.stdout)
        trees.add(line["tree"])
        print(
            f"{line['rows']:,} rows of {name}, round {turn + 1}, {version}: {line['seconds']:.2f} s, "
            f"processor {line['processor']:.2f} s; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    if len(trees) > 1:
        raise SystemExit("the trees differ")


def measure(name: str, share: float) -> None:
    """Print as JSON what one tree takes, without compiling."""
    from benchmarks.speed.eac import hard
    from benchmarks.speed.inputs import nearest_point_members, with_noise
    from quorate import as_ensemble, compress
    from quorate.solvers.linkage.average_link import average_link_tree

    n = int(share * SIZES[name])
    labels = hard(n) if name == "k-means members" else with_noise(nearest_point_members(n), 0.1)
    average_link_tree(compress(as_ensemble(labels[:3000]))[0])
    rows = compress(as_ensemble(labels))[0]
    start, processor = time.perf_counter(), time.process_time()
    tree = average_link_tree(rows)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    digest = hashlib.sha256(tree.tobytes()).hexdigest()
    print(json.dumps({"rows": rows.n_rows, "seconds": seconds, "processor": processor, "tree": digest}))


def _unpack(commit: str, folder: Path) -> Path:
    """The sources of a commit in a folder of their own."""
    target = folder / commit
    target.mkdir()
    archive = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    subprocess.run(["tar", "-x", "-C", target], input=archive, check=True)
    return target / "src"


if __name__ == "__main__":
    main()
