"""The section of docs/measured/trust.md about fresh sets: numbers of clusters, verdicts, clouds without clusters."""

from __future__ import annotations

from typing import Any

from benchmarks.accuracy.tables import table_text
from benchmarks.trust.fresh import FRESH_PEERS
from benchmarks.trust.fresh_noise import SHAPES
from benchmarks.trust.fresh_sets import FAMILIES, GEOMETRIES
from benchmarks.trust.noise import FOUND
from benchmarks.trust.noise_sets import KINDS
from benchmarks.trust.numbers import summary
from quorate._verdict import NO_STRUCTURE

Record = dict[str, Any]
Found = dict[str, dict[str, Record]]
NUMBER_HEAD = ["", "family", "sets", "exact", "within 20%", "mean log error"]


def fresh_section(found: Found) -> str:
    """Return the section, from what was measured."""
    if not found["fresh"]:
        return "Not measured yet."
    return f"""{table_text(NUMBER_HEAD, _numbers(found))}

{_verdicts(found["fresh"])}

| geometry | {" | ".join(f"exact, family {family}" for family in FAMILIES)} |
|---|{"---|" * len(FAMILIES)}
{_by_geometry(found["fresh"])}

{_clouds(found["fresh noise"])}"""


def fresh_lines(found: Found) -> list[str]:
    """Return the main figure of the section, that of the family which nobody had looked at."""
    lines = []
    for family in FAMILIES[-1:]:
        records = list(of_family(found["fresh"], family).values())
        if records:
            exact, near, _ = summary(records)
            lines.append(
                f"- **Number of clusters**, if you leave it out: exactly right on {exact:.0%} of {len(records)} sets "
                f"that nobody had looked at, within 20% on {near:.0%}. These were drawn by a program; on shapes and "
                f"digits that others published it is right on fewer."
            )
    return lines


def of_family(records: dict[str, Record], family: str, kind: str | None = None) -> dict[str, Record]:
    """The records of one family, of one geometry if it is named."""
    start = f"{family} / " if kind is None else f"{family} / {kind} / "
    return {name: record for name, record in records.items() if name.startswith(start)}


def _numbers(found: Found) -> list[list[str]]:
    rows = []
    for way in ("EnsembleClustering", *FRESH_PEERS):
        for family in FAMILIES:
            if way == "EnsembleClustering":
                records = list(of_family(found["fresh"], family).values())
            else:
                peers = of_family(found["fresh peers"], family)
                records = [record for name, record in peers.items() if name.endswith(f" / {way}")]
            if records:
                exact, near, error = summary(records)
                rows.append([way, family, str(len(records)), f"{exact:.0%}", f"{near:.0%}", f"{error:.2f}"])
    return rows


def _verdicts(fresh: dict[str, Record]) -> str:
    lines = []
    for family in FAMILIES:
        records = list(of_family(fresh, family).values())
        findable = [record for record in records if record["ari"] >= FOUND]
        called = sum(record["grade"] == NO_STRUCTURE for record in findable)
        alone = sum(record["k"] == 1 for record in findable)
        lines.append(
            f"Family {family}: of {len(findable)} sets whose clusters `EnsembleClustering` with the true number finds "
            f'with an ARI of {FOUND} or more, {called} are called "{NO_STRUCTURE}" with the number given, and '
            f"{alone} are answered with one cluster if the number is not given."
        )
    return "\n".join(lines)


def _by_geometry(fresh: dict[str, Record]) -> str:
    rows = []
    for kind in GEOMETRIES:
        cells = []
        for family in FAMILIES:
            records = of_family(fresh, family, kind).values()
            right = sum(record["k"] == record["classes"] for record in records)
            cells.append(f"{right} of {len(records)}" if records else "")
        rows.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _clouds(noise: dict[str, Record]) -> str:
    rows = []
    for kind in (*KINDS, *SHAPES):
        records = [record for family in FAMILIES for record in of_family(noise, family, kind).values()]
        called = sum(record["grade"] == NO_STRUCTURE for record in records)
        alone = sum(record["k"] == 1 for record in records)
        rows.append([kind, str(len(records)), str(called), str(alone)])
    head = ["cloud without clusters", "sets", f'"{NO_STRUCTURE}", number given', "one cluster, number not given"]
    return table_text(head, rows)
