"""What pages and docstrings say about the methods is what the register and the imports say."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from docs import make_methods
from docs.make_methods import FAMILIES, PACKAGE, ROOT

from quorate import METHODS
from quorate.methods import NAMES


@pytest.mark.parametrize("path", make_methods.pages(), ids=lambda path: "/".join(path.parts[-2:]))
def test_what_is_written_about_methods_follows_from_the_register(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert make_methods.pages()[path](text) == text, "run `make methods`"


def test_the_table_names_every_method() -> None:
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")] == list(METHODS)


def test_a_page_without_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="must hold a table"):
        make_methods.with_table("# Methods\n")


def test_the_readme_tells_the_number_of_methods() -> None:
    assert f"{len(METHODS)} methods in" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_module_of_methods_is_in_the_register() -> None:
    modules = {path.stem for path in (PACKAGE / "methods").glob("*.py")} - {"__init__"}
    assert set(NAMES) == modules == set(METHODS)
    assert list(NAMES) == sorted(NAMES) == list(METHODS)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_lists_its_modules(family: str) -> None:
    text = importlib.import_module(f"quorate.solvers.{family}").__doc__ or ""
    listed = set(re.findall(r"^- `(\w+)`: .*?Used by [^.]*\.$", text, re.MULTILINE))
    assert listed == {path.stem for path in (PACKAGE / "solvers" / family).glob("*.py")} - {"__init__"}


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
