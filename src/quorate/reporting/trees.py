"""Trees in the report: how that of the result comes apart, and the clusters over resolutions."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from quorate._check import counted
from quorate._trust.resolutions import Level, Resolutions, levels_of
from quorate._trust.subject import Subject
from quorate.reporting.page import NONE, folded

MOST_SPLITS = 20
"""Splits that the table of the result's own tree has."""
MOST_LEVELS = 40
"""Resolutions that are drawn; of more the page has the table alone."""
_WIDTH, _NAMES, _LEVEL, _MARGIN = 900, 180, 46, 28


def trees_html(subject: Subject, trees: Sequence[Resolutions]) -> str:
    """Return the parts of the page about trees."""
    return tree_table(subject) + "".join(map(resolution_tree, trees))


def checked_trees(trees: Any, n_objects: int) -> list[Resolutions]:
    """Return what `resolutions` made, one or several results, about as many objects as the report."""
    several = [] if trees is None else [trees] if isinstance(trees, Resolutions) else list(trees)
    for tree in several:
        if not isinstance(tree, Resolutions):
            raise TypeError(f"trees must be what quorate.resolutions returns, got {type(tree).__name__}.")
        if len(tree.labels) != n_objects:
            raise ValueError(
                f"trees must be about the objects of the ensemble, {n_objects:,}, got {len(tree.labels):,}; pass the "
                f"same table to resolutions and to report."
            )
    return several


def tree_table(subject: Subject) -> str:
    """Return how the tree of the result comes apart, as a part of the page; empty if it has no tree."""
    result = subject.result
    if result is None or (result.tree is None and "leaves" not in result.info):
        return ""
    from quorate._evaluation.co_association import splits

    rows = []
    for split in splits(result, min(MOST_SPLITS, max(8, subject.n_clusters + 3))):
        mark = ' class="own"' if split.n_clusters == subject.n_clusters else ""
        value = split.gain if split.lifetime is None else split.lifetime
        rows.append(
            f'<tr{mark}><th scope="row">{split.n_clusters}</th><td>{split.size:,}</td><td>{split.left:,}</td>'
            f"<td>{split.right:,}</td><td>{NONE if value is None else format(value, '.4f')}</td></tr>"
        )
    speaks = "density gained" if result.tree is None else "lifetime"
    return folded(
        "How the tree comes apart",
        ("clusters", "objects that are split", "into", "and", speaks),
        "".join(rows),
        f"One tree holds all numbers of clusters; the row in bold is that of {counted(subject.n_clusters, 'cluster')}. "
        f"The higher the {speaks}, the more speaks for that number. result.cut(k) gives the clusters of another row, "
        f"in the shell quorate cut result.npz -k K.",
    )


def resolution_tree(found: Resolutions) -> str:
    """Return the clusters over resolutions as a part of the page: the choice, a picture and a table."""
    rows = []
    for place, row in enumerate(found.rows):
        mark = ' class="own"' if place == found.chosen else ""
        values = "".join(f"<td>{_share(value)}</td>" for value in (row.stability, row.adjusted))
        rows.append(
            f'<tr{mark}><th scope="row">{escape(row.name)}</th><td>{row.n_runs:,}</td><td>{row.n_clusters:,}</td>'
            f"{values}</tr>"
        )
    return folded(
        "Clusters over resolutions",
        ("resolution", "runs", "clusters", "stability", "beyond chance"),
        "".join(rows),
        f"Resolution to take: {found.reason} A circle is a cluster: the larger, the more objects it has; the darker, "
        "the more alike the clusters of its objects are in other runs. A line shows where a cluster comes from: the "
        "darker it is, the larger the share of the lower cluster that comes along it. A cluster with two dark lines "
        "from above mixes two.",
        _picture(found, levels_of(found)) if len(found.rows) <= MOST_LEVELS else "",
    )


def _picture(found: Resolutions, levels: Sequence[Level]) -> str:
    """Draw circles for clusters, one line of them for each resolution, and lines between them."""
    lines, circles, names = [], [], []
    n_objects = max(len(found.labels), 1)
    for number, level in enumerate(levels):
        y = _MARGIN + number * _LEVEL
        mark = ' class="own"' if number == found.chosen else ""
        names.append(
            f'<text x="{_NAMES - 24}" y="{y + 4}" text-anchor="end"{mark}>{escape(found.rows[number].name[:24])}</text>'
        )
        lines += [
            f'<line x1="{_x(levels[number - 1].nodes[start].place):.1f}" y1="{y - _LEVEL}" '
            f'x2="{_x(level.nodes[end].place):.1f}" y2="{y}" stroke-opacity="{share:.2f}"/>'
            for start, end, share in level.arriving
        ]
        circles += [
            f'<circle cx="{_x(node.place):.1f}" cy="{y}" r="{3 + 15 * (node.objects / n_objects) ** 0.5:.1f}" '
            f'fill="{_shade(node.consistency)}"><title>{escape(str(node.name))}: {node.objects:,} '
            f"objects, consistency {node.consistency:.2f}</title></circle>"
            for node in level.nodes
        ]
    height = 2 * _MARGIN + (len(levels) - 1) * _LEVEL
    return (
        f'<svg class="levels" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Which cluster splits into which">'
        f"{''.join(lines)}{''.join(circles)}{''.join(names)}</svg>"
    )


def _x(place: float) -> float:
    return _NAMES + place * (_WIDTH - _NAMES - _MARGIN)


def _shade(consistency: float) -> str:
    """Return a blue that is the darker the more consistent a cluster is."""
    light = 0.85 * (1 - consistency)
    return f"rgb({', '.join(f'{value + light * (255 - value):.0f}' for value in (59, 111, 182))})"


def _share(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"
