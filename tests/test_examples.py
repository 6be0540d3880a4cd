"""Every example runs as it stands, is short, and leaves a picture."""

from __future__ import annotations

import runpy
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

mpl.use("agg")

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
NEEDED = {"single_cell": ("anndata", "pandas"), "photograph": ("PIL",)}


def test_there_are_three() -> None:
    assert len(EXAMPLES) >= 3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in NEEDED.get(path.stem, ()):
        if find_spec(module) is None:
            pytest.skip(f"{path.name} needs {module}, which is not installed")
    assert len(path.read_text(encoding="utf-8").splitlines()) < 80
    target = tmp_path / "picture.png"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path), str(target)])
    with warnings.catch_warnings():
        # as in a process of its own, where the warnings of libraries fail nothing
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=DeprecationWarning, module="__main__")
        runpy.run_path(str(path), run_name="__main__")
    plt.close("all")
    assert capsys.readouterr().out
    assert target.read_bytes().startswith(b"\x89PNG")
    assert target.stat().st_size > 10_000
