"""Is it all there? What the five papers hold: algorithms, tables, figures and remarks, each with its place and test."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import NamedTuple

from benchmarks.papers.compare import plain_table


class Item(NamedTuple):
    """`where` is a name that can be imported, or an experiment as "paper:name"; `test` is "file::function"."""

    what: str
    where: str
    test: str


def read(text: str) -> dict[str, tuple[Item, ...]]:
    """The items of each paper, from lines of four fields."""
    items: dict[str, list[Item]] = {}
    for line in text.splitlines()[1:]:
        paper, *fields = line.split(" | ")
        items.setdefault(paper, []).append(Item(*fields))
    return {paper: tuple(found) for paper, found in items.items()}


INVENTORY = read((Path(__file__).parent / "inventory.txt").read_text(encoding="utf-8"))
LEFT = (
    "Not reproduced, because it is no result: Figure 1 of Cluster Ensembles, a diagram. Figures whose data cannot be "
    'had stand with "no data": gisette (linear EAC), std-yeast and textures (sparse EAC). The photograph of the '
    "CA-tree paper is not public; two others stand for it."
)


def found(where: str) -> object:
    """What a name stands for; raises if there is no such thing."""
    if ":" in where:
        paper, _, name = where.partition(":")
        experiments = importlib.import_module(f"benchmarks.papers.{paper}").PAPER.experiments
        return next(experiment for experiment in experiments if experiment.name == name)
    parts = where.split(".")
    for place in range(len(parts), 0, -1):
        try:
            thing: object = importlib.import_module(".".join(parts[:place]))
        except ModuleNotFoundError:
            continue
        for name in parts[place:]:
            thing = getattr(thing, name)
        return thing
    raise ModuleNotFoundError(where)


def section(titles: dict[str, str]) -> str:
    """The section of the summary page."""
    rows = [
        (titles[paper], item.what, f"`{item.where}`", f"`{item.test.partition('::')[2]}`")
        for paper, items in INVENTORY.items()
        for item in items
    ]
    words = (
        "Every algorithm, table, figure and remark that asks for something, where it is (a name in the library, or an "
        "experiment that `make papers ARGS=...` runs), and one of the tests that show it. A test checks that all these "
        "names exist and that no experiment is left out."
    )
    return "\n\n".join(("## Is it all there?", words, plain_table(("paper", "what", "where", "test"), rows), LEFT))
