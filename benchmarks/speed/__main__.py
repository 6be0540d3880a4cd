"""`python -m benchmarks.speed [name ...] [--quick]`: run all speed benchmarks, or those named."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.speed.measure import environment

NAMES = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem not in {"__init__", "__main__", "measure", "inputs"}
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the size: a check that it runs, not a measurement"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    print(environment(), flush=True)
    for name in arguments.names or NAMES:
        print(f"\n## {name}\n", flush=True)
        import_module(f"benchmarks.speed.{name}").main(quick=arguments.quick)


if __name__ == "__main__":
    main()
