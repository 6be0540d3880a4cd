"""The lowest versions of pyproject.toml as pip constraints, which `make test-floors` installs and tests."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
floors = runpy.run_path(str(REPOSITORY / ".ci" / "floors.py"))["floors"]


def test_every_dependency_is_pinned_to_its_floor() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    lines = floors(text)
    needed = re.search(r"^dependencies = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert needed is not None
    names = re.findall(r'"([A-Za-z0-9_.-]+)>=', needed.group(1))
    assert len(names) >= 9
    assert set(names) <= {line.split("==")[0] for line in lines}


def test_floors_keep_markers_and_leave_tools_out() -> None:
    text = """dependencies = ["numpy>=1.26", "scipy>=1.15,<2"]
zarr = ["zarr>=3.1.1; python_version >= '3.11'"]
dev = ["ruff>=0.8", "quorate[all]"]
[project.scripts]
other = ["late>=1"]"""
    with pytest.raises(ValueError, match=r"scipy>=1\.15,<2"):
        floors(text)
    assert floors(text.replace(",<2", "")) == ["numpy==1.26", "scipy==1.15", "zarr==3.1.1; python_version >= '3.11'"]
