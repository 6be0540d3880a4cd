"""Make mutants of the modules that decide, run the tests of each module on them, and report those that survive.

    make mutants ARGS="--number 60 --seed 0 _choose_k _trust.agreement"

Without names all packages of PACKAGES are taken. Each mutant runs in a copy of the package, in a process of its own.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from benchmarks.mutants.changes import Change, changes

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "src" / "quorate"
PACKAGES = ("_solve", "_consensus", "_choose_k", "_evaluation", "_trust", "_data")
NEVER = ("_data.rows_on_card",)
"""Modules that only a machine with a card executes."""

OF_PACKAGE = {
    "_solve": "auto run_method long_work",
    "_consensus": "confidence place ensemble soft_door",
    "_choose_k": "choose_k auto",
    "_evaluation": "evaluate evaluate_large compare formulas",
    "_trust": "trust evaluate",
    "_data": "ensemble compress tables proof bad_tables blocks",
}
"""The files of tests, without "test_", that are run for every module of a package."""

OF_MODULE = {
    "_solve.procedure": "compress_once confidence trust",
    "_solve.run_method": "row_order",
    "_consensus.refine": "graphs local",
    "_consensus.consensus": "results",
    "_consensus.place": "blocks",
    "_choose_k.criteria": "structure",
    "_choose_k.choose_k": "structure",
    "_choose_k.explore": "structure",
    "_evaluation.binning": "confidence",
    "_evaluation.co_association": "eac",
    "_evaluation.consensus_index": "graphs",
    "_evaluation.scores": "golden soft",
    "_evaluation.member_table": "results",
    "_trust.compare": "compare",
    "_trust.over_k": "compare",
    "_trust.reference": "structure",
    "_trust.subject": "report_words report tables",
    "_data.blocks": "blocks_types many_objects",
    "_data.ids": "tables_files cli_score evaluate",
    "_data.joining": "tables_files",
    "_data.labelling": "evaluate place io",
    "_data.rows": "many_objects results",
    "_data.soft_members": "soft_door",
    "_data.tables": "tables_files io_formats",
    "_data.coding": "many_objects io",
    "_data.ensemble": "blocks_types auto",
}
"""Further files for single modules."""


class Mutant(NamedTuple):
    """A change to a module, whose name has no "quorate" in front."""

    module: str
    change: Change

    def __str__(self) -> str:
        line = path_of(PACKAGE, self.module).read_text().splitlines()[self.change.line - 1].strip()
        return f"{self.module}:{self.change.line}: {self.change.kind}: `{line}`, with {self.change.new}"


def path_of(package: Path, module: str) -> Path:
    """The file of a module in a copy of the package."""
    return package / f"{module.replace('.', '/')}.py"


def files_for(module: str) -> list[str]:
    """The files of tests that belong to a module, those of its package last; test_decisions.py is for all."""
    words = ["decisions", *OF_MODULE.get(module, "").split(), *OF_PACKAGE[module.partition(".")[0]].split()]
    return [f"tests/test_{word}.py" for word in dict.fromkeys(words)]


def mutants(names: list[str]) -> list[Mutant]:
    """All mutants of the packages and modules of these names."""
    modules = [f"{folder}.{path.stem}" for folder in PACKAGES for path in sorted((PACKAGE / folder).glob("[!_]*.py"))]
    wanted = [m for m in modules if m not in NEVER and (not names or {m, m.partition(".")[0]} & set(names))]
    return [Mutant(module, change) for module in wanted for change in changes(path_of(PACKAGE, module).read_text())]


def passes(copy: Path, files: list[str], limit: float) -> bool:
    """Whether tests pass on a copy of the package within a limit of seconds, in a process forked from this one."""
    process = multiprocessing.get_context("fork").Process(target=_test, args=(copy, files))
    process.start()
    process.join(limit)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode == 0


def _test(copy: Path, files: list[str]) -> None:
    """Run tests, whose output goes to a file of the copy, and leave with their status."""
    output = os.open(copy / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.path.insert(0, str(copy))
    os.environ.update(PYTHONPATH=str(copy), HYPOTHESIS_STORAGE_DIRECTORY=str(copy / "examples"))
    import pytest

    plain = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    os._exit(pytest.main([*plain, "--hypothesis-seed=0", *files]))


def survives(mutant: Mutant, copy: Path, limit: float) -> bool:
    """Whether no test notices a mutant. A test that never ends has noticed it."""
    path = path_of(copy / "quorate", mutant.module)
    before = path.read_text()
    path.write_text(mutant.change.apply(before))
    try:
        return passes(copy, files_for(mutant.module), limit)
    finally:
        path.write_text(before)


def _import_first() -> None:
    """Import what tests need beside the package, once for all the forked processes."""
    for name in (
        "numba",
        "scipy.sparse.linalg",
        "sklearn.cluster",
        "sklearn.metrics",
        "pandas",
        "hypothesis",
        "pytest",
    ):
        importlib.import_module(name)
    if "quorate" in sys.modules:
        raise RuntimeError("quorate must not be imported before the copy of it is made.")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="packages and modules, such as _choose_k or _trust.agreement")
    parser.add_argument("--number", type=int, default=60, help="mutants drawn (0: all); default 60")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    everything = mutants(options.names)
    drawn = everything
    if 0 < options.number < len(everything):
        drawn = sorted(random.Random(options.seed).sample(everything, options.number))
    os.chdir(REPOSITORY)
    _import_first()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(PACKAGE, Path(folder, "quorate"))
        report(drawn, len(everything), Path(folder))


def report(drawn: list[Mutant], n_possible: int, copy: Path) -> None:
    """Try the mutants one after another, and print the survivors by module at the end."""
    survivors = defaultdict(list)
    limits: dict[str, float] = {}
    for number, mutant in enumerate(drawn, 1):
        if mutant.module not in limits:
            start = time.perf_counter()
            if not passes(copy, files_for(mutant.module), 3600):
                raise RuntimeError(f"{mutant.module}: tests fail without any change\n{(copy / 'output').read_text()}")
            limits[mutant.module] = 30 + 3 * (time.perf_counter() - start)
        alive = survives(mutant, copy, limits[mutant.module])
        if alive:
            survivors[mutant.module].append(mutant)
        print(f"{number:4d} {'SURVIVED' if alive else 'noticed '} {mutant}", flush=True)
    for module in sorted(survivors):
        print(f"\n{module}: {len(survivors[module])} of {sum(m.module == module for m in drawn)} survived")
        print("\n".join(f"  {mutant}" for mutant in survivors[module]))
    print(f"\n{sum(map(len, survivors.values()))} of {len(drawn)} mutants survived; {n_possible} can be made.")


if __name__ == "__main__":
    main()
