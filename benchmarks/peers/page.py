"""docs/peers.md and docs/measured/peers.md from what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers.compare import plain_table
from benchmarks.papers.records import Record
from benchmarks.peers.features import HEAD, ROWS
from benchmarks.peers.inputs import N_CLUSTERS, N_MEMBERS, SPREADS
from benchmarks.peers.peers import PEERS

SHOWN_AT = 10_000
"""The number of objects whose times the first page shows."""
TITLES = {
    "labels": "From labels: the same twenty members for everybody",
    "features": "From features: twenty runs and their consensus, the whole job",
}


def page(records: Sequence[Record]) -> str:
    """The page for readers; without records it says so."""
    parts = [
        "# Quorate and other packages",
        "**What this means for you.** Up to a few thousand objects nearly every package here finishes, and you can "
        "choose by what it offers. Beyond that most of them end, because they hold a matrix over all pairs of "
        "objects or one column for each cluster. The answers are about as good where a package finishes, with "
        "exceptions: look at the NMI on the hard data.",
        _limits(records),
        _overview(records) if records else "Not measured.",
        "[All sizes, errors and versions](measured/peers.md) have a page of their own. "
        "[The field](explanation/the-field.md) says what each package is for, those in R included.",
        "## What they offer",
        "This table was made by reading the installed packages.",
        plain_table(HEAD, ROWS),
    ]
    return "\n\n".join(parts) + "\n"


def measured(records: Sequence[Record]) -> str:
    """The page behind it; sections without a record say so."""
    parts = [
        "# All measurements of other packages",
        "[The page before](../peers.md) says what follows from these tables. Each cell shows processor seconds, "
        "gigabytes beyond the input, and the NMI with the classes / the ANMI with the members. " + _limits(records),
    ]
    for takes, title in TITLES.items():
        parts.append(f"## {title}")
        for data in SPREADS:
            chosen = [r for r in records if r.case["data"] == data and PEERS[r.case["peer"]].takes == takes]
            parts += [f"### {_spread(data)}", _times(chosen) if chosen else "Not measured."]
    parts += ["## Where they end", _errors(records), "## How it was measured", _method(records)]
    return "\n\n".join(parts) + "\n"


def _overview(records: Sequence[Record]) -> str:
    """One line for each package: the most objects it finished, its time, and its quality on hard data."""
    rows = []
    for takes, words in {"labels": "labels", "features": "measurements"}.items():
        for peer in (name for name in PEERS if PEERS[name].takes == takes):
            done = {
                (r.case["data"], r.case["n"]): r.values for r in records if r.case["peer"] == peer and "nmi" in r.values
            }
            most = [max((n for data, n in done if data == kind), default=0) for kind in SPREADS]
            shown = f"**{peer}**" if peer.startswith("quorate") else peer
            small = [done.get((kind, SHOWN_AT)) for kind in SPREADS]
            seconds, scores = (
                " / ".join("-" if values is None else form(values) for values in small)
                for form in (lambda values: _seconds(values["seconds"]), lambda values: f"{values['nmi']:.3f}")
            )
            rows.append((words, shown, " / ".join(f"{n:,}" if n else "none" for n in most), seconds, scores))
    at = f"at {SHOWN_AT:,} objects"
    return plain_table(
        ("from", "package", "most objects, easy / hard", f"seconds {at}", f"NMI with the classes {at}"), rows
    )


def _limits(records: Sequence[Record]) -> str:
    limits = next((r.values["limits"] for r in records if "limits" in r.values), [60.0, 8.0])
    return (
        f"Packages that PyPI offers, and recipes that people write by hand, got the same objects: ten Gaussians, "
        f"far apart (easy) or overlapping (hard), {N_MEMBERS} members, {N_CLUSTERS} clusters wanted. Each call had one "
        f"thread, {limits[0]:g} s and {limits[1]:g} GB, and the largest tables have 1,000,000 objects."
    )


def _spread(data: str) -> str:
    n_dims, spread = SPREADS[data]
    return f"{data}: {n_dims} dimensions, standard deviation {spread:g} in a cube of side 40"


def _times(records: Sequence[Record]) -> str:
    sizes = sorted({record.case["n"] for record in records})
    found = {(record.case["peer"], record.case["n"]): record for record in records}
    rows = [
        (peer, *(_cell(found.get((peer, n))) for n in sizes))
        for peer in PEERS
        if any((peer, n) in found for n in sizes)
    ]
    return plain_table(("", *(f"n = {n:,}" for n in sizes)), rows)


def _cell(record: Record | None) -> str:
    if record is None:
        return ""
    values = record.values
    if "skipped" in values:
        return "-"
    if "error" in values:
        return "**fails**"
    clusters = "" if values["clusters"] == N_CLUSTERS else f", {values['clusters']:,} clusters"
    scores = f"{values['nmi']:.3f} / {values['anmi']:.3f}{clusters}"
    return f"{_seconds(values['seconds'])}, {values['gigabytes']:.2f} GB, {scores}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f} s" if seconds < 0.1 else f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"


def _errors(records: Sequence[Record]) -> str:
    """The first failure of each peer on each kind of data, in its own words."""
    rows = [
        (r.case["peer"], r.case["data"], f"{r.case['n']:,}", f"`{r.values['error']}`".replace("|", "/"))
        for r in records
        if "error" in r.values
    ]
    return (
        plain_table(("peer", "data", "n", "the first line of its error, or the limit"), rows)
        if rows
        else "None failed."
    )


def _method(records: Sequence[Record]) -> str:
    versions = dict.fromkeys(
        f"{PEERS[r.case['peer']].package} {r.values['version']}" for r in records if "version" in r.values
    )
    return (
        f"Versions: {', '.join(versions) or 'not measured'}. Peers that take features get the same features and do "
        f"{N_MEMBERS} runs of k-means with {N_CLUSTERS} clusters on 80% of the objects (sc3s: on all, as it has no "
        "resampling); EnsembleClustering runs with its defaults. consensusclustering returns a matrix alone, so "
        "average link follows it, as in the R package it is modelled on. openensembles is given 0.5 as its threshold, "
        "and multicons nothing: neither accepts a number of clusters there. ANMI is with the members made for "
        "the label section in both sections. Calls are warmed up on 300 objects first, so that imports and compiled "
        "code do not count. A peer that failed is not asked for more objects, nor for as many hard ones (-); "
        "an empty cell was not measured. The limit of memory is the process's, so that a peer sees the error it would "
        "see on a machine of that size. KMeans runs ten starts, as Quorate's kmeans does. "
        "The members were made by "
        "`quorate.generate`, k from 10 to 40. inmoose and openensembles are GPL: measured, never a dependency."
    )
