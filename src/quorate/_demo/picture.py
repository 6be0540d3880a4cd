"""The picture of the demo: who says what about whom, and who is right how often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import Ensemble

Array = NDArray[Any]
# Okabe and Ito: told apart by people with any kind of colour vision
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00")
GAP = "#E4E4E4"
QUIET = "#9A9A9A"


def draw(
    file: IO[bytes],
    ensemble: Ensemble,
    labels: Array,
    names: Sequence[str],
    right: Sequence[tuple[str, float]],
) -> None:
    """Draw to a PNG file: `names` are those of the clusters, `right` the share each segmentation places right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 6.6), dpi=130, layout="constrained")
    left, side = figure.subplots(1, 2, width_ratios=(1.45, 1))
    _draw_table(left, ensemble, labels, names)
    _draw_bars(side, right)
    *singles, (_, ours) = right
    best, share = max(singles, key=lambda pair: pair[1])
    figure.suptitle(
        f"Four partial segmentations, one consensus: {ours:.0%} of the customers placed right, "
        f"{share:.0%} by the best department ({best})",
        fontsize=14,
        fontweight="bold",
    )
    figure.savefig(file, format="png")


def _draw_table(axes: Any, ensemble: Ensemble, labels: Array, names: Sequence[str]) -> None:
    """One row a customer, sorted by consensus; a segment has the colour of the cluster it shares most with."""
    from matplotlib.colors import ListedColormap

    seen = np.column_stack([_translate(column, labels) for column in ensemble.labels.T])
    sizes = np.bincount(labels)
    # large clusters first; in a cluster those come first on whom all agree, then equal rows side by side
    agreeing = (seen == labels[:, None]).sum(axis=1) - (seen >= 0).sum(axis=1)
    order = np.lexsort((*seen.T[::-1], agreeing[::1] * -1, -sizes[labels]))
    image = np.column_stack([seen[order], np.full(len(order), -2), labels[order]])
    colours = ListedColormap(["#FFFFFF", GAP, *COLOURS[: len(sizes)]])
    axes.imshow(image, aspect="auto", interpolation="nearest", cmap=colours, vmin=-2.5, vmax=len(sizes) - 0.5)
    places = np.arange(ensemble.n_members + 2)
    axes.set_xticks(np.delete(places, ensemble.n_members), [*ensemble.member_names, "consensus"], fontsize=11)
    axes.xaxis.tick_top()
    edges = np.cumsum(np.sort(sizes)[::-1])
    starts = edges - np.sort(sizes)[::-1]
    ranked = np.argsort(-sizes, kind="stable")
    axes.set_yticks((starts + edges) / 2, [f"{names[c]}\n{sizes[c]:,}" for c in ranked], fontsize=11)
    for edge in edges[:-1]:
        axes.axhline(edge - 0.5, color="white", linewidth=3)
    for place in range(ensemble.n_members):
        axes.axvline(place + 0.5, color="white", linewidth=3)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(
        "One row a customer, sorted by consensus. A segment has the colour of the consensus cluster\n"
        "it shares most customers with; light grey: no label.",
        fontsize=10,
    )


def _translate(column: Array, labels: Array) -> Array:
    """A member's codes as the consensus cluster each of them shares most objects with; -1 stays."""
    known = column >= 0
    shared = np.zeros((int(column.max()) + 1, int(labels.max()) + 1), dtype=np.int64)
    np.add.at(shared, (column[known], labels[known]), 1)
    return np.where(known, shared.argmax(axis=1)[column], -1)


def _draw_bars(axes: Any, right: Sequence[tuple[str, float]]) -> None:
    names, shares = zip(*right, strict=True)
    places = np.arange(len(names))
    axes.barh(places, shares, color=[QUIET] * (len(names) - 1) + [COLOURS[0]], height=0.65)
    for place, share in zip(places, shares, strict=True):
        axes.text(share + 0.01, place, f"{share:.0%}", va="center", fontsize=12, fontweight="bold")
    axes.set_yticks(places, names, fontsize=12)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.08)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("Customers placed right, of all", fontsize=12, loc="left")
    axes.set_xlabel(
        "Segments matched to the true types in the best way;\nwho has no label is not placed right.", fontsize=10
    )
