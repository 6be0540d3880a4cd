"""Figures of trees: the dendrogram of rows with the cut, the nodes of a CA-tree, and clusters over resolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._coarsening.tree import KEEP, CATree
from quorate._trust.resolutions import Resolutions, levels_of
from quorate._trust.split_tests import SplitTree, nodes_of
from quorate._types import Consensus, FloatArray
from quorate.plot import _axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TopOfTree(NamedTuple):
    """The last merges of a tree as a linkage matrix over the branches that they join.

    `counts` is the number of objects of each branch, and `first` is one leaf of the whole tree in each branch.
    """

    tree: FloatArray
    counts: NDArray[np.int64]
    first: NDArray[np.int64]


def top_of_tree(tree: FloatArray, n_branches: int, counts: NDArray[np.int64]) -> TopOfTree:
    """Return the `n_branches` branches that the last merges join; `counts` is the number of objects of each leaf."""
    n_leaves = len(tree) + 1
    kept = tree[n_leaves - n_branches :]
    limit = 2 * n_leaves - n_branches
    children = kept[:, :2].astype(np.int64)
    branches = np.sort(children[children < limit])
    number = np.empty(2 * n_leaves - 1, dtype=np.int64)
    number[branches] = np.arange(n_branches)
    number[limit:] = np.arange(n_branches, 2 * n_branches - 1)
    short = np.column_stack([np.sort(number[children], axis=1), kept[:, 2], np.zeros(len(kept))])
    sizes = np.ones(2 * n_branches - 1)
    for step, (left, right) in enumerate(short[:, :2].astype(np.int64)):
        short[step, 3] = sizes[n_branches + step] = sizes[left] + sizes[right]
    inner = branches >= n_leaves
    held = np.zeros(n_branches, dtype=np.int64)
    held[~inner] = counts[branches[~inner]]
    held[inner] = tree[branches[inner] - n_leaves, 3].astype(np.int64)
    return TopOfTree(short, held, np.array([_leaf_of(tree, branch) for branch in branches.tolist()], dtype=np.int64))


def _leaf_of(tree: FloatArray, node: int) -> int:
    """Return any leaf under a node."""
    n_leaves = len(tree) + 1
    while node >= n_leaves:
        node = int(tree[node - n_leaves, 0])
    return node


def dendrogram(result: Consensus, *, max_leaves: int = 30, ax: Axes | None = None) -> Axes:
    """Draw the top of the tree of a consensus, with the number of objects of each branch and the cut.

    Parameters
    ----------
    result : Consensus
        The result of a method that gives a tree, such as `eac`.
    max_leaves : int
        The number of branches drawn, which are joined by as many last merges, minus one. At least as many branches are
        drawn as there are clusters.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The numbers at the bottom are the numbers of objects of the branches. Below the cut, branches have the colour of
    their cluster. The cut is the dashed line; it lies between the last merge within clusters and the first merge
    between clusters.

    Examples
    --------
    >>> from quorate import consensus, plot
    >>> ax = plot.dendrogram(consensus([[0, 0, 1, 1, 2], [0, 0, 1, 1, 1]], 2, method="eac"))
    """
    wanted = _check.integer(max_leaves, "max_leaves", low=2)
    if not isinstance(result, Consensus) or result.tree is None or not len(result.tree):
        raise ValueError("result must be a Consensus with a tree of two rows or more; method='eac' gives one.")
    from scipy.cluster.hierarchy import dendrogram as layout

    n_leaves = len(result.tree) + 1
    rows = np.arange(n_leaves) if result.rows is None else result.rows
    labels = np.zeros(n_leaves, dtype=np.int64)
    labels[rows] = result.labels
    top = top_of_tree(result.tree, min(n_leaves, max(wanted, result.n_clusters)), np.bincount(rows, minlength=n_leaves))
    drawn = layout(top.tree, no_plot=True, link_color_func=_link_colours(top, labels, result.n_clusters))
    ax = _axes.axes(ax, (7.0, 4.0))
    for x, y, colour in zip(drawn["icoord"], drawn["dcoord"], drawn["color_list"], strict=True):
        ax.plot(x, y, color=colour, linewidth=1.6, solid_joinstyle="miter")
    places, names = 5 + 10 * np.arange(len(top.counts)), [f"{top.counts[leaf]:,}" for leaf in drawn["leaves"]]
    ax.set_xticks(places, names, rotation=90 if len(names) > 8 else 0, fontsize=8)
    ax.tick_params(axis="x", length=0)
    ax.set(xlim=(0, 10 * len(places)), ylim=(0, 1.05 * max(float(top.tree[-1, 2]), 1e-12)))
    if result.n_clusters > 1:
        height = _cut_height(result.tree, result.n_clusters)
        for place, colour in _lone_branches(top, drawn["leaves"], labels, result.n_clusters):
            ax.plot([5 + 10 * place] * 2, [0, height], color=colour, linewidth=1.6)
        ax.axhline(height, color=_axes.DARK, linestyle="--", linewidth=1)
    extent = f"top of {n_leaves:,} rows" if n_leaves > len(places) else f"{n_leaves:,} rows"
    title = f"Dendrogram, cut at {result.n_clusters} clusters ({extent})"
    return _axes.finish(ax, title, "objects", "height: 1 - co-association")


def _link_colours(top: TopOfTree, labels: NDArray[np.int64], n_clusters: int) -> Any:
    """Return the colour of each merge: that of the cluster below the cut, grey above."""
    shades = _axes.colours(int(labels.max()) + 1)
    n_branches = len(top.counts)
    cluster = np.concatenate([labels[top.first], np.zeros(n_branches - 1, dtype=np.int64)])
    for step, left in enumerate(top.tree[:, 0].astype(np.int64)):
        cluster[n_branches + step] = cluster[left]

    def colour(node: int) -> str:
        within = node < 2 * n_branches - n_clusters
        return shades[cluster[node]] if within else _axes.QUIET

    return colour


def _lone_branches(
    top: TopOfTree, leaves: list[int], labels: NDArray[np.int64], n_clusters: int
) -> list[tuple[int, str]]:
    """Return the place and colour of each branch that is a cluster by itself.

    The stem of such a branch has its colour up to the cut.
    """
    shades = _axes.colours(int(labels.max()) + 1)
    above = set(top.tree[len(top.counts) - n_clusters :, :2].astype(np.int64).ravel().tolist())
    return [(place, shades[labels[top.first[leaf]]]) for place, leaf in enumerate(leaves) if leaf in above]


def _cut_height(tree: FloatArray, n_clusters: int) -> float:
    below = tree[-n_clusters, 2] if n_clusters <= len(tree) else 0.0
    return float((below + tree[-(n_clusters - 1), 2]) / 2)


def node_curve(tree: CATree, *, keep: Any = (1.0, KEEP), ax: Axes | None = None) -> Axes:
    """Draw the number of nodes, N_Z, that a cut of the CA-tree leaves at each theta.

    Parameters
    ----------
    tree : CATree
        The result of `ca_tree`.
    keep : float or several floats
        Shares of the objects whose nodes are kept; one curve is drawn for each.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from quorate import as_ensemble, ca_tree, plot
    >>> ax = plot.node_curve(ca_tree(as_ensemble([[0, 0, 1, 1], [0, 1, 2, 2], [0, 0, 1, 2]])))
    """
    if not isinstance(tree, CATree):
        raise TypeError(f"tree must be a CATree, got {type(tree).__name__}; make it with ca_tree(ensemble).")
    ax = _axes.axes(ax, (5.6, 3.8))
    for share, shade, dashes in zip(
        np.atleast_1d(keep), _axes.PALETTE, ("-", "--", ":", "-.", "-", "--", ":"), strict=False
    ):
        thetas, nodes = tree.curve(keep=float(share))
        name = "all nodes" if share == 1 else f"nodes that hold {share:.0%} of the objects"
        ax.plot(thetas, nodes, color=shade, linestyle=dashes, marker="o", markersize=4, label=name)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter("{x:,.0f}")
    ax.set(xlim=(0, 1))
    ax.grid(axis="y", color=_axes.MISSING)
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=9)
    title = f"CA-tree over {tree.rows.n_rows:,} rows of {tree.rows.n_objects:,} objects"
    return _axes.finish(ax, title, "theta, share of the members", "nodes left, $N_Z$")


def clustering_tree(found: Resolutions, *, ax: Axes | None = None) -> Axes:
    """Draw which cluster goes into which as the number of clusters grows: a row of circles for each resolution.

    Parameters
    ----------
    found : Resolutions
        What `quorate.resolutions` returns.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The area of a circle is proportional to the objects of the cluster; it is the darker the more consistent they are.
    A line is the darker the larger the share of the lower cluster that comes along it, so that a cluster with two
    dark lines from above mixes two; flows below 5% of the lower cluster are left out. The resolution that `resolutions`
    would take has a mark.

    Examples
    --------
    >>> from quorate import plot, resolutions
    >>> ax = plot.clustering_tree(resolutions({"two": [0, 0, 0, 1, 1], "three": [0, 0, 2, 1, 1]}))
    """
    if not isinstance(found, Resolutions):
        raise TypeError(f"found must be what quorate.resolutions returns, got {type(found).__name__}.")
    levels = levels_of(found)
    widest = max(len(level.nodes) for level in levels)
    ax = _axes.axes(ax, (3.0 + 0.4 * min(widest, 24), 1.2 + 0.55 * len(levels)))
    import matplotlib

    shades = matplotlib.colormaps[_axes.SHADES]
    for number, level in enumerate(levels):
        for start, end, share in level.arriving:
            x = levels[number - 1].nodes[start].place, level.nodes[end].place
            ax.plot(x, (number - 1, number), color=_axes.DARK, alpha=share, linewidth=1.2, zorder=1)
        area = [30 + 500 * node.objects / max(len(found.labels), 1) for node in level.nodes]
        colours = [shades(0.25 + 0.7 * node.consistency) for node in level.nodes]
        places = [node.place for node in level.nodes]
        ax.scatter(places, [number] * len(places), area, colours, edgecolors=_axes.DARK, zorder=2)
    marks = [" <" if number == found.chosen else "" for number in range(len(levels))]
    ax.set_yticks(range(len(levels)), [f"{row.name}{mark}" for row, mark in zip(found.rows, marks, strict=True)])
    ax.set(ylim=(len(levels) - 0.5, -0.5), xticks=[], xlim=(-0.08, 1.08))
    _axes.bare(ax)
    legend = "large: many objects; dark: stable; <: the one to take"
    return _axes.finish(ax, "Clusters over resolutions", legend, "resolution")


def split_tree(found: SplitTree, *, ax: Axes | None = None) -> Axes:
    """Draw the tree of the splits that were tested, with the adjusted p-value of each.

    Parameters
    ----------
    found : SplitTree
        What `quorate.significant_splits` returns.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The numbers in the boxes are numbers of objects. Below a significant split there are two lines and its p-value,
    which accounts for all tests above and beside it. A part that was tested and is one cluster has its
    p-value, too, in grey.

    Examples
    --------
    >>> from quorate import plot, significant_splits
    >>> ax = plot.split_tree(significant_splits([[0] * 30 + [1] * 30] * 3))
    """
    if not isinstance(found, SplitTree):
        raise TypeError(f"found must be what quorate.significant_splits returns, got {type(found).__name__}.")
    nodes = nodes_of(found)
    deepest = max(node.level for node in nodes)
    ax = _axes.axes(ax, (2.0 + 0.9 * found.n_clusters, 1.6 + 0.9 * deepest))
    for node in nodes:
        x, level = node.place, node.level
        if node.above is not None:
            over = nodes[node.above]
            ax.plot((over.place, x), (over.level, level), color=_axes.DARK, linewidth=1.2, zorder=1)
        ax.text(x, level, f"{node.size:,}", ha="center", va="center", fontsize=9, zorder=3, bbox=BOX)
        if node.split is not None:
            shade = _axes.DARK if node.split.is_significant else _axes.QUIET
            told = f"p = {node.split.adjusted:.2g}"
            ax.text(x, level + 0.26, told, ha="center", va="top", fontsize=8, color=shade, zorder=3, bbox=BEHIND)
    ax.set(ylim=(deepest + 0.6, -0.4), xlim=(-0.6, found.n_clusters - 0.4), xticks=[], yticks=[])
    _axes.bare(ax)
    return _axes.finish(ax, f"Significant splits by adjusted p, error {found.alpha:g}", "", "")


BOX = {"boxstyle": "round", "facecolor": "white", "edgecolor": _axes.DARK}
"""The frame of a node with its number of objects."""
BEHIND = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
"""What keeps lines away from a p-value."""
