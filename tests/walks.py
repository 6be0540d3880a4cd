"""How much of the package a reader walks through to follow one call: files, functions and packages."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import NamedTuple

WALKS = {
    "quorate consensus": """
from quorate.cli import main
main(["consensus", f"{folder}/t.csv", "-k", "5", "-o", f"{folder}/out.csv"])
""",
    "EnsembleClustering(5)": """
import quorate
quorate.EnsembleClustering(5, random_state=0).fit(X)
""",
    "EnsembleClustering('auto')": """
import quorate
quorate.EnsembleClustering("auto", random_state=0).fit(X)
""",
    "stream.consensus": """
import quorate.stream
quorate.stream.consensus(f"{folder}/t.csv", 5, out=f"{folder}/out.csv")
""",
    "report": """
import quorate
quorate.report(quorate.consensus(labels, 5, random_state=0), labels, f"{folder}/r.html")
""",
}
"""The calls that are followed, each in a process of its own."""

# Bodies of modules and classes run when they are imported, which is no part of the walk; only functions are counted.
_RECORDER = """
import json, sys, threading
import numpy as np
folder = sys.argv[1]
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(30, 2)) + 8 * np.array([i % 3, i // 3]) for i in range(5)])
truth = np.repeat(np.arange(5), 30)
labels = np.column_stack([np.where(rng.random(150) < 0.2, rng.integers(5, size=150), truth) for _ in range(6)])
lines = ["a,b,c,d,e,f"] + [",".join(map(str, row)) for row in labels]
open(f"{folder}/t.csv", "w").write("\\n".join(lines) + "\\n")
seen = set()
def record(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and not code.co_name.startswith("<"):
        if "/quorate/" in code.co_filename and "site-packages" not in code.co_filename:
            seen.add((code.co_filename, code.co_qualname if hasattr(code, "co_qualname") else code.co_name))
sys.setprofile(record)
threading.setprofile(record)
"""
_REPORT = """
sys.setprofile(None)
files = {file for file, _ in seen}
packages = {file.rpartition("/")[0] for file in files}
imported = [name for name in sys.modules if name == "quorate" or name.startswith("quorate.")]
print("\\n" + json.dumps([len(files), len(seen), len(packages), len(imported)]))
"""


class Walk(NamedTuple):
    """Files, functions and packages that a call executes, and modules of the package that it imports."""

    files: int
    functions: int
    packages: int
    imported: int


def walk(name: str) -> Walk:
    """Follow one of WALKS."""
    with tempfile.TemporaryDirectory() as folder:
        code = _RECORDER + WALKS[name] + _REPORT
        done = subprocess.run([sys.executable, "-c", code, folder], check=True, capture_output=True, text=True)
    return Walk(*json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    for each in WALKS:
        print(f"{each:28s} {walk(each)}")  # noqa: T201 - run by hand
