"""Trees in the report: how that of the result comes apart, which splits are real, and clusters over resolutions."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from quorate._check import counted
from quorate._trust.resolutions import Level, Resolutions, levels_of
from quorate._trust.split_tests import SplitTree, nodes_of
from quorate._trust.subject import Subject
from quorate.reporting.page import NONE, folded

MOST_SPLITS = 20
"""Splits that the table of the result's own tree has."""
MOST_LEVELS = 40
"""Resolutions that are drawn; of more the page has the table alone."""
_WIDTH, _NAMES, _LEVEL, _MARGIN = 900, 180, 46, 28


Tree = Resolutions | SplitTree
"""What `report` takes as trees."""


def trees_html(subject: Subject, trees: Sequence[Tree]) -> str:
    """Return the parts of the page about trees."""
    parts = [split_table(tree) if isinstance(tree, SplitTree) else resolution_tree(tree) for tree in trees]
    return tree_table(subject) + "".join(parts)


def checked_trees(trees: Any, n_objects: int) -> list[Tree]:
    """Return what `resolutions` or `significant_splits` made, one or several, about as many objects as the report."""
    several = [] if trees is None else [trees] if isinstance(trees, Tree) else list(trees)
    for tree in several:
        if not isinstance(tree, Tree):
            raise TypeError(
                f"trees must be what quorate.resolutions or quorate.significant_splits returns, got "
                f"{type(tree).__name__}."
            )
        if len(tree.labels) != n_objects:
            made = "significant_splits" if isinstance(tree, SplitTree) else "resolutions"
            raise ValueError(
                f"trees must be about the objects of the ensemble, {n_objects:,}, got {len(tree.labels):,}; pass the "
                f"same table to {made} and to report."
            )
    return several


def split_table(found: SplitTree) -> str:
    """Return which splits are real as a part of the page: the number of clusters, a picture and a table."""
    rows = []
    for split in found.splits:
        mark = ' class="own"' if split.is_significant else ""
        rows.append(
            f'<tr{mark}><th scope="row">{split.node}</th><td>{split.size:,}</td><td>{split.left:,}</td>'
            f"<td>{split.right:,}</td><td>{split.strength:.1f}</td><td>{split.adjusted:.2g}</td>"
            f"<td>{'yes' if split.is_significant else 'no'}</td></tr>"
        )
    return folded(
        "Which splits are real",
        ("node", "objects", "into", "and", "strength", "adjusted p", "significant"),
        "".join(rows),
        f"{counted(found.n_clusters, 'cluster')} {'follows' if found.n_clusters == 1 else 'follow'} at a family-wise "
        f"error of {found.alpha:g}. Each split of the tree was compared, from the top, with those that the same search "
        f"finds in {found.reference}; below a split that is not significant nothing is tested. Strength is how many "
        "standard deviations better its parts are divided than those. The picture has the "
        "number of objects of each part, and the p-value of the split below it, adjusted for all tests.",
        _split_picture(found) if found.n_clusters <= MOST_LEAVES else "",
    )


MOST_LEAVES = 40
"""Clusters that the picture of significant splits has at most; of more the page has the table alone."""
_LEAF, _STEP = 84, 64


def _split_picture(found: SplitTree) -> str:
    """Draw the parts as numbers of objects, lines between them, and p-values below those that were tested."""
    nodes = nodes_of(found)
    at = [(_LEAF * (node.place + 0.5), _MARGIN + _STEP * node.level) for node in nodes]
    lines, texts = [], []
    for (x, y), node in zip(at, nodes, strict=True):
        if node.above is not None:
            over = at[node.above]
            lines.append(f'<line x1="{over[0]:.1f}" y1="{over[1] + 22}" x2="{x:.1f}" y2="{y - 16}"/>')
        mark = ' class="own"' if node.split is None or not node.split.is_significant else ""
        texts.append(f'<text x="{x:.1f}" y="{y}" text-anchor="middle"{mark}>{node.size:,}</text>')
        if node.split is not None:
            texts.append(f'<text x="{x:.1f}" y="{y + 16}" text-anchor="middle">p = {node.split.adjusted:.2g}</text>')
    width = max(_LEAF * found.n_clusters, 200)
    height = 2 * _MARGIN + _STEP * max(node.level for node in nodes)
    return (
        f'<svg class="levels" style="max-width: {width}px" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Which splits are significant">{"".join(lines)}{"".join(texts)}</svg>'
    )


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
