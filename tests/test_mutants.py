"""Benchmarks stand alone; the runner of mutants makes every kind of change, and knows tests for every module."""

from __future__ import annotations

import ast

import pytest
from benchmarks.mutants.__main__ import OF_MODULE, PACKAGE, REPOSITORY, files_for, mutants, path_of
from benchmarks.mutants.changes import changes

SOURCE = '''
LIMIT = 0.5
def decide(é: int = 1) -> bool:
    """No change is made in here, if 1 < 2."""
    if é <= LIMIT and not é:
        raise ValueError(f"{é} < 1")
    return é in (2, True)
'''


def test_each_kind_of_change_is_made_once() -> None:
    lines = SOURCE.splitlines()
    made = []
    for change in changes(SOURCE):
        changed = change.apply(SOURCE).splitlines()
        ast.parse("\n".join(changed))
        assert [i for i, line in enumerate(changed) if line != lines[i]] == [change.line - 1]
        made.append(changed[change.line - 1].strip())
    assert sorted(made) == sorted(
        [
            "LIMIT = 0.31",
            "def decide(é: int = 2) -> bool:",
            "if (é < LIMIT) and not é:",
            "if (é > LIMIT) and not é:",
            "if (é <= LIMIT or not é):",
            "if é <= LIMIT and (é):",
            "if False:",
            "return (é not in (2, True))",
            "return é in (3, True)",
            "return é in (2, False)",
            "return None",
        ]
    )


def test_every_module_has_tests() -> None:
    modules = {mutant.module for mutant in mutants([])}
    assert set(OF_MODULE) <= modules
    assert [name for module in modules for name in files_for(module) if not (REPOSITORY / name).exists()] == []
    assert len(mutants(["_solve"])) > 100
    assert {mutant.module for mutant in mutants(["_trust.agreement"])} == {"_trust.agreement"}


@pytest.mark.parametrize("number", range(0, 3000, 300))
def test_changed_modules_are_python(number: int) -> None:
    mutant = mutants([])[number]
    ast.parse(mutant.change.apply(path_of(PACKAGE, mutant.module).read_text()))
    assert mutant.module in str(mutant)


def test_benchmarks_import_nothing_from_tests() -> None:
    """Tests import the benchmarks that they test, so that an import the other way would bind both to each other."""
    of_tests = {"tests", *(file.stem for file in (REPOSITORY / "tests").rglob("*.py"))}
    found = set()
    for path in (REPOSITORY / "benchmarks").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom | ast.Import):
                named = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                found |= {path.name for name in named if name.split(".")[0] in of_tests}
    # it runs the tests of the card on machines that have no pytest
    assert found == {"twins.py"}
