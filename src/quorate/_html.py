"""Small tables for notebooks. Everything that comes from the user's data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from quorate._types import Consensus, Ensemble, Scores

ROWS_SHOWN = 5
MEMBERS_SHOWN = 12
CLUSTERS_SHOWN = 20
LENGTH = 40
"""The number of characters of a label or a name that are shown."""
DOTS = "…"
GAP = "·"
"""The character shown for a missing label."""


def ensemble_html(ensemble: Ensemble) -> str:
    """Return a table of the first rows, under the members' names, with the labels as they were given."""
    members = range(min(ensemble.n_members, MEMBERS_SHOWN))
    more = [DOTS] if ensemble.n_members > MEMBERS_SHOWN else []
    aggregated = ensemble.n_rows != ensemble.n_objects
    head = ["", *(ensemble.member_names[member] for member in members), *more, *(["objects"] if aggregated else [])]
    body = []
    for row in range(min(ensemble.n_rows, ROWS_SHOWN)):
        name = row if ensemble.object_ids is None else ensemble.object_ids[row]
        labels = [_label(ensemble, row, member) for member in members]
        body.append([name, *labels, *more, *([f"{ensemble.counts[row]:,}"] if aggregated else [])])
    if ensemble.n_rows > ROWS_SHOWN:
        body.append([DOTS] * len(head))
    return _page(repr(ensemble), _table(head, body))


def _label(ensemble: Ensemble, row: int, member: int) -> Any:
    code = int(ensemble.labels[row, member])
    return GAP if code < 0 else ensemble.categories[member][code]


def consensus_html(result: Consensus) -> str:
    """Return a table of the clusters, with their sizes and, if it is known, their mean confidence."""
    sizes = np.bincount(result.labels[result.labels >= 0], minlength=result.n_clusters)
    head = ["cluster", "objects", "share"]
    columns = [[f"{size:,}" for size in sizes], [f"{size / max(1, sizes.sum()):.1%}" for size in sizes]]
    if result.confidence is not None:
        known = result.labels >= 0
        sums = np.bincount(result.labels[known], weights=result.confidence[known], minlength=result.n_clusters)
        head.append("mean confidence")
        columns.append([f"{value:.3f}" for value in sums / np.maximum(sizes, 1)])
    body: list[list[Any]] = [
        [name, *cells] for name, cells in zip(result.shown_names, zip(*columns, strict=True), strict=True)
    ]
    if len(body) > CLUSTERS_SHOWN:
        body = [*body[:CLUSTERS_SHOWN], [DOTS] * len(head)]
    return _page(repr(result), _table(head, body))


def scores_html(scores: Scores) -> str:
    """Return a table of the name and value of each score that is known."""
    known = {name: value for name, value in scores.as_dict().items() if value is not None}
    cells = [
        [name.replace("_", " "), f"{value:,}" if isinstance(value, int) else f"{value:.4f}"]
        for name, value in known.items()
    ]
    return _page("Scores", _table(["score", "value"], cells))


def _page(title: str, table: str) -> str:
    return f"<div><p><b>{escape(title)}</b></p>{table}</div>"


def _table(head: Sequence[Any], body: Iterable[Sequence[Any]]) -> str:
    top = "".join(f"<th>{_text(cell)}</th>" for cell in head)
    rows = "".join("<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in body)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table>"


def _text(value: Any) -> str:
    text = str(value)
    return escape(text if len(text) <= LENGTH else text[: LENGTH - 1] + DOTS)
