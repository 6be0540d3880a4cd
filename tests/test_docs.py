"""The Python blocks of pages that promise to run do run, in their order, as one program."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import matplotlib as mpl
import pytest

DOCS = Path(__file__).parents[1] / "docs"

mpl.use("agg")


GUIDES = sorted(
    str(page.relative_to(DOCS))
    for folder in ("how-to", "coming-from")
    for page in (DOCS / folder).glob("*.md")
    if "```python" in page.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", GUIDES)
def test_the_python_blocks_of_a_guide_run(name: str) -> None:
    import matplotlib.pyplot as plt

    blocks = re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        # a guide shows warnings to its reader, for example about objects that cannot be placed
        warnings.simplefilter("default")
        for block in blocks:
            exec(compile(block, name, "exec"), names)
    plt.close("all")


def test_there_are_guides() -> None:
    assert len(GUIDES) >= 12


@pytest.mark.parametrize("name", ["results.md", "out-of-core.md"])
def test_the_python_blocks_of_a_page_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    import matplotlib.pyplot as plt

    blocks = re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, name, "exec"), names)
    plt.close("all")
    printed = capsys.readouterr().out
    page = (DOCS / name).read_text(encoding="utf-8")
    rest = re.sub(r"```(?:python|bash)\n.*?```", "", page, flags=re.DOTALL)
    shown = re.findall(r"```\n(.*?)```", rest, flags=re.DOTALL)
    assert shown
    assert all(text in printed for text in shown)
