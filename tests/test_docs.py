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


AMERICAN = re.compile(
    r"\b(?:colors?|centers?|centered|gray|neighbors?|behaviors?|favors?|favorites?|labeled|labeling|modeling|canceled|licenses?"
    r"|(?:normal|organ|recogn|optim|minim|maxim|summar|initial|standard|general|random|visual|special|categor|synchron)iz\w+"
    r"|analyz\w+)\b"
)
# the names of published methods keep the spelling of their papers
PUBLISHED = re.compile(r"normalized (?:edges|cuts?)|Self-organizing maps", flags=re.IGNORECASE)
# these pages are written by benchmarks, from words that stand there
WRITTEN_BY_BENCHMARKS = {
    "trust.md",
    "scale.md",
    "accuracy.md",
    "peers.md",
    "gpu.md",
    "reliability.md",
    "default-method.md",
}


def written_by_hand() -> list[Path]:
    pages = [page for page in DOCS.glob("*.md") if page.name not in WRITTEN_BY_BENCHMARKS]
    folders = ("tutorials", "how-to", "coming-from", "explanation", "reference", "decisions")
    top = [
        DOCS.parent / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG", "CODE_OF_CONDUCT")
    ]
    return sorted([*pages, *top, *(page for folder in folders for page in (DOCS / folder).glob("*.md"))])


@pytest.mark.parametrize("page", written_by_hand(), ids=lambda page: page.stem)
def test_prose_is_in_british_spelling(page: Path) -> None:
    text = re.sub(r"^(`{3,}).*?^\1`*$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"`[^`]*`|\]\([^)]*\)", "", PUBLISHED.sub("", text))
    assert AMERICAN.findall(prose) == []
