"""What all pictures share: matplotlib when it is needed, colours everyone can tell apart, bars of clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._types import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito, without black: told apart by people with any kind of colour vision
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
# chosen to stay as far as can be from these, from each other and from the grey of gaps, in any kind of colour vision
MORE = ("#4D2C00", "#222255", "#7A1F3D", "#666633", "#5E2A84", "#99DDFF", "#999933")
MISSING = "#E4E4E4"
QUIET = "#8C8C8C"
DARK = "#222222"
SHADES = "Blues"
"""A sequential map of rising darkness, readable without colour."""
CELLS_WITH_NUMBERS = 12
"""Rows up to which the cells of a matrix carry their numbers."""
NAMES_SHOWN = 40
"""Members up to which their names are written."""
NAME_LENGTH = 18
LEAST_SHARE = 0.035
"""Of the height of a picture that a cluster must take for its name to fit beside it."""


def axes(ax: Axes | None, size: tuple[float, float] = (6.4, 4.2)) -> Axes:
    """The axes given, or those of a new figure."""
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
    """n colours: fourteen, then the same in pale; only then from the start again."""
    every = [*PALETTE, *MORE, *(_pale(colour) for colour in (*PALETTE, *MORE))]
    return [every[place % len(every)] for place in range(n)]


def _pale(colour: str) -> str:
    """Half way to white."""
    return "#" + "".join(f"{(int(colour[place : place + 2], 16) + 255) // 2:02X}" for place in (1, 3, 5))


def finish(ax: Axes, title: str, x: str = "", y: str = "") -> Axes:
    """Title and labels, written alike on all pictures, and no more frame than is needed."""
    ax.set_title(title, loc="left", fontsize=11)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def bare(ax: Axes) -> None:
    """No frame and no tick marks, for pictures that fill their axes."""
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def shades_legend(ax: Axes, image: Any, label: str) -> None:
    """The bar that says what darkness means."""
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(label)


def cluster_bars(ax: Axes, clusters: IntArray, edges: IntArray, *, sides: str) -> None:
    """Coloured bars of clusters along a picture whose clusters end at `edges`; on its left, on top, or both.

    They lie inside the axes, in a margin that the limits make room for, so that no layout can cut them off.
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
    """Names of the clusters that are large enough to carry one, in the midst of each."""
    sizes, middles = np.diff(edges), (edges[1:] + edges[:-1]) / 2
    shown = sizes >= LEAST_SHARE * edges[-1]
    names = [f"{cluster}" for cluster in clusters[shown]]
    getattr(ax, f"set_{axis}ticks")(middles[shown], names)


def numbers_in_cells(ax: Axes, matrix: FloatArray, low: float) -> None:
    """The numbers of a small matrix, dark on light and light on dark; shades begin at `low`."""
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
    """Names of members down the side, and along the foot where `both`; left out where they are too many to read."""
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
