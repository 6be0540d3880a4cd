"""Every example runs as it stands, is short, and leaves a picture."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import quorate

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
NEEDED = {"single_cell": ("anndata", "pandas"), "photograph": ("PIL",)}


def test_there_are_three() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path: Path, tmp_path: Path) -> None:
    for module in NEEDED.get(path.stem, ()):
        if find_spec(module) is None:
            pytest.skip(f"{path.name} needs {module}, which is not installed")
    assert len(path.read_text(encoding="utf-8").splitlines()) < 80
    target = tmp_path / "picture.png"
    source = str(Path(quorate.__file__).parents[1])
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": source}
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(path), str(target)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert target.read_bytes().startswith(b"\x89PNG")
    assert target.stat().st_size > 10_000
