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
def test_the_python_blocks_of_a_guide_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)

    blocks = re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        # a guide shows warnings to its reader, for example about objects that cannot be placed
        warnings.simplefilter("default")
        for block in blocks:
            exec(compile(block, name, "exec"), names)
    plt.close("all")


COMING_FROM = sorted(name for name in GUIDES if name.startswith("coming-from"))


@pytest.mark.parametrize("name", COMING_FROM)
def test_the_calls_in_the_tables_of_a_page_run(name: str) -> None:
    """What stands in the last column of a table runs after the block of the page, as far as it names known things."""
    import matplotlib.pyplot as plt
    from sklearn.cluster import AgglomerativeClustering, KMeans
    from sklearn.mixture import GaussianMixture

    import quorate

    text = (DOCS / name).read_text(encoding="utf-8")
    names: dict[str, object] = {public: getattr(quorate, public) for public in quorate.__all__}
    names |= {part.__name__: part for part in (AgglomerativeClustering, GaussianMixture, KMeans)}
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            exec(compile(block, name, "exec"), names)
        names |= {"k": 3, "data": names.get("X"), "ens": names.get("ensemble")}
        columns = [line.split("|")[-2] for line in text.splitlines() if line.startswith("|")]
        calls = [call for column in columns for call in re.findall(r"`([^`]*)`", column) if "..." not in call]
        n_run = 0
        for call in calls:
            try:
                eval(compile(call, name, "eval"), names)
                n_run += 1
            except (SyntaxError, NameError):  # an option such as method="eac", or data that the page does not have
                continue
    assert n_run
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
    "judge.md",
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


def test_the_index_of_decisions_has_each_page_once() -> None:
    folder = DOCS / "decisions"
    linked = re.findall(
        r"^- \[.*\]\((\d{4}-[^)]*\.md)\)$", (folder / "index.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(linked) == sorted(page.name for page in folder.glob("0*.md"))
