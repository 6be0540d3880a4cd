"""What all figures share: access to matplotlib, colours that everyone can tell apart, and bars of clusters.

matplotlib is imported when the first figure is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The colours of Okabe and Ito, without black, which people with any kind of colour vision can tell apart.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
# Seven more, as different as possible from those, from each other and from the grey of missing labels, for people with
# any kind of colour vision.
MORE = ("#4D2C00", "#222255", "#7A1F3D", "#666633", "#5E2A84", "#99DDFF", "#999933")
MISSING = "#E4E4E4"
QUIET = "#8C8C8C"
DARK = "#222222"
SHADES = "Blues"
"""A sequential colour map of increasing darkness, readable without colour."""
DIVERGING = "RdBu_r"
"""A colour map that is white in the middle, for values of either sign."""
CELLS_WITH_NUMBERS = 12
"""Up to this many rows, the numbers are written into the cells of a matrix."""
NAMES_SHOWN = 40
"""Up to this many members, their names are written."""
NAME_LENGTH = 18
LEAST_SHARE = 0.035
"""The share of the height of a figure that a cluster must take for its name to fit beside it."""


def axes(ax: Axes | None, size: tuple[float, float] = (6.4, 4.2)) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'quorate.plot draws with matplotlib, which is not installed; pip install "quorate[plot]".'
        ) from error
    made: Axes = plt.subplots(figsize=size, layout="constrained")[1]
    return made


def colours(n: int) -> list[str]:
    """Return n colours: fourteen, then paler versions of the same; after these they are repeated."""
    every = [*PALETTE, *MORE, *(_pale(colour) for colour in (*PALETTE, *MORE))]
    return [every[place % len(every)] for place in range(n)]


def _pale(colour: str) -> str:
    """Return the colour half way to white."""
    return "#" + "".join(f"{(int(colour[place : place + 2], 16) + 255) // 2:02X}" for place in (1, 3, 5))


def finish(ax: Axes, title: str, x: str = "", y: str = "") -> Axes:
    """Write the title and the labels in the same way on all figures, and remove superfluous parts of the frame."""
    ax.set_title(title, loc="left", fontsize=11)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def bare(ax: Axes) -> None:
    """Remove the frame and the tick marks, for figures that fill their axes."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def shades_legend(ax: Axes, image: Any, label: str) -> None:
    """Add the bar that explains the meaning of the shades."""
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(label)


def cluster_bars(ax: Axes, clusters: IntArray, edges: IntArray, *, sides: str) -> None:
    """Draw coloured bars for the clusters, which end at `edges`, on the left of a figure, on top, or both.

    The bars are inside the axes, in a margin for which the limits make room, so that no layout can cut them off.
    """
    total = int(edges[-1])
    margin, width = 0.045 * total, 0.03 * total
    shade = colours(int(clusters.max()) + 1)
    for cluster, start, stop in zip(clusters.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if "left" in sides:
            ax.bar(-margin, stop - start, width, start, align="edge", color=shade[cluster])
        if "top" in sides:
            ax.barh(-margin, stop - start, width, start, align="edge", color=shade[cluster])


def cluster_ticks(ax: Axes, axis: str, clusters: IntArray, edges: IntArray) -> None:
    """Write the names of the clusters that are large enough, in the middle of each."""
    sizes, middles = np.diff(edges), (edges[1:] + edges[:-1]) / 2
    shown = sizes >= LEAST_SHARE * edges[-1]
    names = [f"{cluster}" for cluster in clusters[shown]]
    getattr(ax, f"set_{axis}ticks")(middles[shown], names)


def numbers_in_cells(ax: Axes, matrix: FloatArray, low: float) -> None:
    """Write the numbers of a small matrix into its cells, dark on light and light on dark.

    The shades begin at `low`.
    """
    if len(matrix) > CELLS_WITH_NUMBERS:
        return
    for (row, column), value in np.ndenumerate(matrix):
        text = f"{value:.2f}" if np.isfinite(value) else "-"
        ax.text(
            column,
            row,
            text,
            ha="center",
            va="center",
            fontsize=8,
            color="white" if value > low + 0.55 * (1 - low) else DARK,
        )


def member_ticks(ax: Axes, names: Sequence[str], *, both: bool) -> None:
    """Write the names of members at the side, and also at the bottom if `both`; too many names to read are left out."""
    short = [name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…" for name in names]
    size = 9 if len(names) <= 12 else 7.5 if len(names) <= 25 else 6
    if len(names) > NAMES_SHOWN:
        ax.set_yticks([])
        if both:
            ax.set_xticks([])
        return
    ax.set_yticks(range(len(names)), short, fontsize=size)
    if both:
        ax.set_xticks(range(len(names)), short, fontsize=size, rotation=90 if len(names) > 4 else 0)
