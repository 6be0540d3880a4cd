"""The lowest versions of pyproject.toml as pip constraints, which `make test-floors` installs, and their advisories."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
judged = runpy.run_path(str(REPOSITORY / ".ci" / "audit.py"))["judged"]
floors = runpy.run_path(str(REPOSITORY / ".ci" / "floors.py"))["floors"]


def test_every_dependency_is_pinned_to_its_floor() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    lines = floors(text)
    needed = re.search(r"^dependencies = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert needed is not None
    names = re.findall(r'"([A-Za-z0-9_.-]+)>=', needed.group(1))
    assert len(names) >= 8
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


SAFE = {
    "tqdm": ("4.66.3", "CVE-2024-34062"),
    "scikit-learn": ("1.5.0", "CVE-2024-5206"),
    "joblib": ("1.2.0", "CVE-2022-21797"),
    "numpy": ("1.22.2", "CVE-2021-41495"),
    "pyarrow": ("14.0.1", "CVE-2023-47248"),
    "distributed": ("2026.1.0", "CVE-2026-23528"),
}
"""The first versions without the advisories that are known for our dependencies."""


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@pytest.mark.parametrize("name", SAFE)
def test_no_floor_admits_a_known_advisory(name: str) -> None:
    lines = floors((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    versions = {line.split(";")[0].partition("==")[2] for line in lines if line.startswith(f"{name}==")}
    assert versions
    safe, advisory = SAFE[name]
    assert all(numbers(version) >= numbers(safe) for version in versions), f"{name} below {safe}: {advisory}"


def test_an_advisory_is_an_error_and_a_service_that_cannot_be_reached_is_none() -> None:
    bad = {"name": "tqdm", "version": "4.66", "vulns": [{"id": "CVE-2024-34062", "fix_versions": ["4.66.3"]}]}
    good = {"name": "numpy", "version": "2.0", "vulns": []}
    gone = {"name": "dask", "skip_reason": "Dependency not found on PyPI"}
    assert judged("floors", json.dumps({"dependencies": [good]}), "") == (
        True,
        "floors: 1 packages looked up, 0 advisories",
    )
    fine, words = judged("floors", json.dumps({"dependencies": [bad, good, gone]}), "")
    assert not fine
    assert "tqdm 4.66: CVE-2024-34062, mended in ['4.66.3']" in words
    assert "NOT AUDITED: dask" in words
    assert judged("floors", json.dumps({"dependencies": [gone]}), "")[0]
    for output, reason in (("", "ConnectionError: no network"), ("{}", ""), ("no json", "")):
        fine, words = judged("floors", output, reason)
        assert fine
        assert "NOT AUDITED" in words
