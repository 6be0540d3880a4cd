"""How long a newcomer waits: imports, help, the first consensus."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.speed.measure import seconds


def _python(code: str) -> float:
    return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True), 5)[0]


def main(*, quick: bool = False) -> None:
    del quick  # nothing here grows with size
    bare = _python("pass")
    libraries = _python("import numpy, scipy, numba")
    ours = _python("import numpy, scipy, numba, quorate; quorate.consensus")
    print(f"import numpy, scipy, numba           {libraries - bare:6.3f} s beyond the interpreter's {bare:.3f} s")
    print(f"import quorate and its verbs beyond  {ours - libraries:6.3f} s")
    print(f"import quorate alone                 {_python('import quorate') - bare:6.3f} s")
    help_time = seconds(
        lambda: subprocess.run([sys.executable, "-m", "quorate", "--help"], check=True, capture_output=True), 5
    )[0]
    print(f"quorate --help                       {help_time:6.3f} s in all")
    first = _python("import quorate; quorate.consensus([[0, 1, 1], [0, 0, 1]], 2)")
    print(f"first consensus, kernels cached      {first:6.3f} s in all")
