"""Make a notebook to download of every tutorial, from the same text that the site executes."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

SITE = "https://quorate.github.io/quorate"


def write_notebooks(app: Any) -> None:
    """Write one .ipynb file per tutorial into the folder of downloads."""
    import jupytext

    source = Path(app.srcdir)
    folder = source / "_build" / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted((source / "tutorials").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if not text.startswith("---\n"):
            continue  # the list of tutorials is not a notebook
        notebook = jupytext.reads(_away_from_the_site(text), fmt="md:myst")
        target = folder / page.with_suffix(".ipynb").name
        written = jupytext.writes(notebook, fmt="ipynb")
        if not target.exists() or target.read_text(encoding="utf-8") != written:
            target.write_text(written, encoding="utf-8")


def _away_from_the_site(text: str) -> str:
    """Return the text of a tutorial without the link to itself, and with whole addresses instead of paths."""
    text = re.sub(r"\{download\}`[^`]*`\n+", "", text)
    return re.sub(r"\]\((?!https?:|#)([^)#]+)\.md(#[^)]*)?\)", _address, text)


def _address(link: re.Match[str]) -> str:
    page = posixpath.normpath(posixpath.join("tutorials", link[1]))
    return f"]({SITE}/{page}.html{link[2] or ''})"


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write_notebooks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
