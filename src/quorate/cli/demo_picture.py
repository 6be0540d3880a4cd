"""The picture of the demo: the labels of all segmentations, and the share of customers each of them places right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from quorate import Ensemble

Array = NDArray[Any]
# the palette of Okabe and Ito, which people with any kind of colour vision can tell apart; the largest cluster has
# the first colour
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00")
GAP = "#E4E4E4"
QUIET = "#A6A6A6"
DARK = "#222222"


def draw(
    file: IO[bytes], ensemble: Ensemble, labels: Array, names: Sequence[str], right: Sequence[tuple[str, float]]
) -> None:
    """Draw the picture as a PNG file.

    Parameters
    ----------
    file : binary file
        Open for writing.
    ensemble : Ensemble
        The segmentations of the departments.
    labels : array of shape (n_objects,)
        The consensus.
    names : sequence of str
        The name of each cluster of the consensus.
    right : sequence of (str, float)
        The name of each segmentation and the share of customers it places right; the consensus comes last.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(12.5, 7), dpi=130, layout=ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.1))
    left, side = figure.subplots(1, 2, width_ratios=(1.6, 1))
    _draw_table(left, ensemble, labels, names)
    _draw_bars(side, right)
    *singles, (_, ours) = right
    best, share = max(singles, key=lambda pair: pair[1])
    figure.suptitle(
        f"Four partial segmentations, one consensus: {ours:.0%} of the customers placed right\n"
        f"(the best department alone, {best}: {share:.0%})",
        fontsize=15,
        fontweight="bold",
    )
    figure.savefig(file, format="png")


def _draw_table(axes: Any, ensemble: Ensemble, labels: Array, names: Sequence[str]) -> None:
    """Draw one row per customer, large clusters first, and one column per segmentation, the consensus last."""
    # number the clusters by size, so that a number is both a place and a colour
    sizes = np.bincount(labels)
    by_size = np.argsort(-sizes, kind="stable")
    names, sizes = [names[cluster] for cluster in by_size], sizes[by_size]
    ranks = np.argsort(by_size)[labels]
    members = np.column_stack([_translate(column, ranks) for column in ensemble.labels.T])
    order = _row_order(members, ranks)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    places = [*range(ensemble.n_members), ensemble.n_members + 0.25]
    for place, column in zip(places, [*members[order].T, ranks[order]], strict=True):
        _draw_column(axes, place, column, len(sizes))
    for member in range(ensemble.n_members):
        _remark(axes, member, members[order, member], edges, names)
    axes.set(xlim=(-0.5, places[-1] + 0.5), ylim=(edges[-1], 0))
    axes.hlines(edges[1:-1], -0.5, places[-1] + 0.5, color="white", linewidth=4)
    axes.set_xticks(places, [*ensemble.member_names, "consensus"], fontsize=12)
    ticks = [f"{name}\n{size:,}" for name, size in zip(names, sizes, strict=True)]
    axes.set_yticks((edges[1:] + edges[:-1]) / 2, ticks, fontsize=11)
    _explain_table(axes)


def _row_order(members: Array, ranks: Array) -> Array:
    """Sort customers by cluster, within a cluster by the number of segmentations that disagree, equal rows together."""
    disagreeing = ((members >= 0) & (members != ranks[:, None])).sum(axis=1)
    return np.lexsort((*members.T[::-1], disagreeing, ranks))


def _explain_table(axes: Any) -> None:
    _strip(axes)
    axes.xaxis.tick_top()
    axes.set_xlabel(
        "One row per customer, sorted by consensus. A department's segment has the colour of the consensus\n"
        "segment with which it shares most customers. Light grey: no label.",
        fontsize=10,
    )


def _translate(column: Array, labels: Array) -> Array:
    """Replace each label of a member by the consensus cluster with which it shares most objects; -1 stays."""
    known = column >= 0
    shared = np.zeros((int(column.max()) + 1, int(labels.max()) + 1), dtype=np.int64)
    np.add.at(shared, (column[known], labels[known]), 1)
    return np.where(known, shared.argmax(axis=1)[column], -1)


def _draw_column(axes: Any, place: float, column: Array, n_clusters: int) -> None:
    from matplotlib.colors import ListedColormap

    axes.imshow(
        column[:, None],
        extent=(place - 0.46, place + 0.46, len(column), 0),
        aspect="auto",
        interpolation="nearest",
        cmap=ListedColormap([GAP, *COLOURS[:n_clusters]]),
        vmin=-1.5,
        vmax=n_clusters - 0.5,
    )


def _remark(axes: Any, member: int, column: Array, edges: Array, names: Sequence[str]) -> None:
    """Write a note wherever a member labels less than half of a cluster, or merges it with another one."""
    for cluster, (start, end) in enumerate(pairwise(edges.tolist())):
        part = column[start:end]
        known = part[part >= 0]
        most_frequent = int(np.bincount(known, minlength=len(names)).argmax()) if len(known) else cluster
        if 2 * len(known) < len(part):
            text = "mostly\nno label"
        elif most_frequent != cluster:
            text = "merged with\n" + names[most_frequent]
        else:
            continue
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        axes.text(member, (start + end) / 2, text, ha="center", va="center", fontsize=8.5, color=DARK, bbox=box)


def _draw_bars(axes: Any, right: Sequence[tuple[str, float]]) -> None:
    """Draw one bar per segmentation, the consensus in a darker colour."""
    names, shares = zip(*right, strict=True)
    places = np.arange(len(names))
    axes.barh(places, shares, color=[QUIET] * (len(names) - 1) + [DARK], height=0.62)
    for place, share in zip(places, shares, strict=True):
        axes.text(share + 0.015, place, f"{share:.0%}", va="center", fontsize=13, fontweight="bold")
    axes.set_yticks(places, names, fontsize=12)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12)
    axes.set_xticks([])
    _strip(axes)
    axes.set_title("Share of all customers placed right", fontsize=12, pad=10, loc="left")
    axes.set_xlabel(
        "Segments are matched to the true types in the\nbest way. No label counts as not placed right.",
        fontsize=10,
    )


def _strip(axes: Any) -> None:
    """Remove ticks and frame."""
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
