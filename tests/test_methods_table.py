"""What pages and docstrings say about the methods is what the register and the imports say."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest
from docs import make_methods

import quorate
from quorate import METHODS
from quorate.methods import NAMES

ROOT = Path(__file__).parents[1]
PACKAGE = Path(quorate.__file__).parent
FAMILIES = ("label_space", "linkage", "graphs", "spectral")


def test_the_table_of_methods_is_that_of_the_register() -> None:
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert make_methods.renewed(page) == page, "run `make methods`"
    assert [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")] == list(METHODS)


def test_a_page_without_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="must hold a table"):
        make_methods.renewed("# Methods\n")


def test_the_readme_tells_the_number_of_methods() -> None:
    counts = re.findall(r"\b(\d+) methods\b", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert counts
    assert set(counts) == {str(len(METHODS))}


def test_every_module_of_methods_is_in_the_register() -> None:
    modules = {path.stem for path in (PACKAGE / "methods").glob("*.py")} - {"__init__"}
    assert set(NAMES) == modules == set(METHODS)
    assert list(NAMES) == sorted(NAMES) == list(METHODS)


def solvers_used(path: Path) -> set[str]:
    """Modules of quorate.solvers that a file imports, as "family.module"."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("quorate.solvers."):
            home = node.module.removeprefix("quorate.solvers.")
            names |= {f"{home}.{alias.name}" for alias in node.names} if home in FAMILIES else {home}
    return names


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_lists_its_modules_and_the_methods_that_use_them(family: str) -> None:
    text = importlib.import_module(f"quorate.solvers.{family}").__doc__ or ""
    told = dict(re.findall(r"^- `(\w+)`: .*?Used by ([^.]*)\.$", text, re.MULTILINE))
    assert set(told) == {path.stem for path in (PACKAGE / "solvers" / family).glob("*.py")} - {"__init__"}
    used = {name: solvers_used(PACKAGE / "methods" / f"{name}.py") for name in METHODS}
    for module, users in told.items():
        methods = {word for word in re.findall(r"\w+", users) if word in METHODS}
        assert methods == {name for name in METHODS if f"{family}.{module}" in used[name]}, module


def test_solvers_lists_what_the_families_share() -> None:
    text = importlib.import_module("quorate.solvers").__doc__ or ""
    told = set(re.findall(r"^- `(\w+)`:", text, re.MULTILINE))
    assert told == {path.stem for path in (PACKAGE / "solvers").glob("*.py")} - {"__init__"}


def test_contributing_names_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("| kind of method |") : text.index("`src/quorate/solvers/__init__.py`")]
    for name in re.findall(r"`(\w+)\.py`", section):
        assert name in METHODS
    for module in re.findall(r"`((?:\w+\.)?\w+)`", section):
        if module != "runs" and not module.endswith(".py"):
            assert (PACKAGE / "solvers" / f"{module.replace('.', '/')}.py").exists(), module
