"""A paper as a list of experiments; measuring them and writing the page are the same for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.papers.compare import Claim, plain_table
from benchmarks.papers.records import Case, Record, Results, Values


@dataclass(frozen=True)
class Experiment:
    """One table or figure.

    name : as in `make papers ARGS="linear_eac:tables"`; title : its headline on the page.
    cases : quick -> what to measure; every case is a flat mapping with a "repeat" that seeds it.
    measure : one case -> values. FileNotFoundError, from `data.load`, leaves the case out: its data set is not there.
    page : records (all cases that were measured) and the folder for pictures -> the section's Markdown.
    """

    name: str
    title: str
    cases: Callable[[bool], Sequence[Case]]
    measure: Callable[[Case], Values]
    page: Callable[[list[Record], Path], str]


@dataclass(frozen=True)
class Paper:
    """`name` is the module's and the page's; `claims` gets the records of each experiment by name."""

    name: str
    title: str
    introduction: str
    experiments: Sequence[Experiment]
    claims: Callable[[dict[str, list[Record]]], Sequence[Claim]]
    notes: str = field(default="")


def measure(paper: Paper, results: Results, *, only: str | None, quick: bool) -> dict[str, int]:
    """Measure what is missing; how many cases of each experiment lack their data."""
    absent: dict[str, int] = {}
    for experiment in paper.experiments:
        if only not in (None, experiment.name):
            continue
        left = results.missing(experiment.name, experiment.cases(quick))
        for case in (bar := tqdm(left, desc=f"{paper.name}:{experiment.name}", leave=False)):
            bar.set_postfix_str(" ".join(str(value) for value in case.values()))
            try:
                results.measure(experiment.name, case, experiment.measure)
            except FileNotFoundError:
                absent[experiment.name] = absent.get(experiment.name, 0) + 1
    return absent


def write_page(paper: Paper, results: Results, folder: Path, *, quick: bool) -> list[Claim]:
    """The page of one paper from what was measured, and its claims."""
    pictures = folder / "images"
    pictures.mkdir(parents=True, exist_ok=True)
    records = {e.name: results.of(e.name, e.cases(quick)) for e in paper.experiments}
    sections = [f"# {paper.title}", paper.introduction.strip()]
    claims = list(paper.claims(records))
    sections += ["## Claims", claims_table(claims)]
    for experiment in paper.experiments:
        sections.append(f"## {experiment.title}")
        if found := records[experiment.name]:
            sections.append(experiment.page(found, pictures).strip())
            total = sum(record.seconds for record in found)
            cases = "1 case" if len(found) == 1 else f"{len(found):,} cases"
            sections.append(f"This is the experiment `{paper.name}:{experiment.name}`: {cases}, {total:,.0f} s in all.")
        else:
            sections.append(f"Not measured. Run `make papers DATA=... ARGS={paper.name}:{experiment.name}`.")
    if paper.notes:
        sections += ["## Where we differ", paper.notes.strip()]
    (folder / f"{paper.name.replace('_', '-')}.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    return claims


def claims_table(claims: Sequence[Claim]) -> str:
    return plain_table(("claim", "verdict", "measured"), [(c.text, f"**{c.verdict}**", c.number) for c in claims])


def grouped(records: Sequence[Record], *names: str) -> dict[tuple[Any, ...], list[Record]]:
    """Records by the values of some names of their case, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record.case[name] for name in names), []).append(record)
    return groups
