"""The tables of the page, as HTML in which every text from the user is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from quorate._evaluation.subject import Subject
from quorate._summaries import LabelShare

ROWS_OF_TABLES = 400
"""The largest number of clusters and of members in the tables."""
MEMBERS_TOLD = 4
"""The number of members whose commonest label is written into the profile of a cluster."""
NAME_LENGTH = 40
"""The number of characters of a member's name or label that a profile shows."""
NONE = "\u2013"
"""The character shown for a number that does not exist."""


def by_size(subject: Subject) -> list[int]:
    """Return the clusters in the order of the tables: the largest first, as many as a table has rows."""
    order = sorted(range(subject.n_clusters), key=lambda cluster: (-int(subject.labelled.sizes[cluster]), cluster))
    return order[:ROWS_OF_TABLES]


def profile_table(subject: Subject, shades: Sequence[str]) -> str:
    """Return the rows that say what each cluster is made of."""
    commonest, total = subject.profiles.commonest(), int(subject.labelled.sizes.sum())
    rows = []
    for cluster in by_size(subject):
        size = int(subject.labelled.sizes[cluster])
        rows.append(
            f"<tr>{_head(subject, cluster, shades)}<td>{size:,}</td><td>{size / total:.1%}</td>"
            f'<td class="profile">{_profile(commonest[cluster])}</td></tr>'
        )
    return "".join(rows) + _more(subject.n_clusters - ROWS_OF_TABLES, 4, "clusters")


def _profile(labels: Sequence[LabelShare]) -> str:
    told = [
        f'<span class="label-share">{_short(entry.member)}: <b>{_short(entry.label)}</b> {entry.share:.0%} '
        f"<small>({entry.overall:.0%} overall)</small></span>"
        for entry in labels[:MEMBERS_TOLD]
    ]
    more = len(labels) - len(told)
    return ", ".join(told) + (f" <small>and {more:,} more {'member' if more == 1 else 'members'}</small>" * (more > 0))


def cluster_table(subject: Subject, shades: Sequence[str]) -> str:
    """Return the rows with size, confidence and density of each cluster."""
    total = int(subject.labelled.sizes.sum())
    rows = []
    for cluster in by_size(subject):
        size = int(subject.labelled.sizes[cluster])
        rows.append(
            f"<tr>{_head(subject, cluster, shades)}<td>{size:,}</td><td>{size / total:.1%}</td>"
            f"<td>{subject.cluster_confidence[cluster]:.2f}</td><td>{subject.densities[cluster]:.2f}</td></tr>"
        )
    return "".join(rows) + _more(subject.n_clusters - ROWS_OF_TABLES, 5, "clusters")


def member_table(subject: Subject) -> str:
    """Return the rows with clusters, missing labels, weight and NMI of each member."""
    ensemble, rows = subject.ensemble, []
    for member in range(min(ensemble.n_members, ROWS_OF_TABLES)):
        value = subject.member_nmi[member]
        rows.append(
            f'<tr><th scope="row">{escape(ensemble.member_names[member])}</th>'
            f"<td>{int(ensemble.n_clusters[member]):,}</td><td>{subject.missing[member]:.1%}</td>"
            f"<td>{ensemble.weights[member]:g}</td><td>{NONE if value != value else format(value, '.3f')}</td></tr>"
        )
    return "".join(rows) + _more(ensemble.n_members - ROWS_OF_TABLES, 5, "members")


def cluster_span(cluster: int, name: str) -> str:
    """Return the name of a cluster, marked so that the script can change it when the cluster is renamed."""
    return f'<span data-cluster="{cluster}">{escape(name)}</span>'


def _head(subject: Subject, cluster: int, shades: Sequence[str]) -> str:
    swatch = f'<span class="swatch" data-swatch="{cluster}" style="background:{shades[cluster]}"></span>'
    return f'<th scope="row">{swatch}{cluster_span(cluster, subject.names[cluster])}</th>'


def _short(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= NAME_LENGTH else text[: NAME_LENGTH - 1] + "…")


def _more(count: int, columns: int, noun: str) -> str:
    return "" if count <= 0 else f'<tr><td colspan="{columns}">and {count:,} more {noun}</td></tr>'
