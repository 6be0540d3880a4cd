"""The figure of a comparison, with methods as rows and numbers of clusters as columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quorate._trust.compare import Comparison
from quorate.plot import _axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {
    "anmi": "ANMI with the members",
    "density": "mean co-association within clusters",
    "agreement": "mean NMI with members that were left out",
    "null": "the same for permuted labels",
    "stability": "mean ARI with runs on other members",
    "seconds": "median seconds of a run",
}


def comparison(table: Comparison, value: str = "agreement", *, ax: Axes | None = None) -> Axes:
    """Draw a heat map of one value over methods and numbers of clusters.

    Parameters
    ----------
    table : Comparison
        The result of `quorate.compare`.
    value : {"anmi", "density", "agreement", "null", "stability", "seconds"}
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Shades run from the lowest to the highest value of the table. A cell without a number is a method that gave no
    answer.

    Examples
    --------
    >>> from quorate import compare, plot
    >>> members = [[0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 2, 2]]
    >>> ax = plot.comparison(compare(members, ["kmeans", "eac"], (2, 3), n_repeats=2, random_state=0), "stability")
    """
    if not isinstance(table, Comparison):
        raise TypeError(f"table must be what quorate.compare returns, got {type(table).__name__}.")
    matrix = table.matrix(value)
    if np.isnan(matrix).all():
        raise ValueError(f"no method has a value for {value!r}; agreement and stability need n_repeats of at least 1.")
    low, high = float(np.nanmin(matrix)), float(np.nanmax(matrix))
    ax = _axes.axes(ax, (min(10.0, 2.6 + 0.62 * matrix.shape[1]), 1.5 + 0.36 * matrix.shape[0]))
    span = high - low if high > low else 1.0
    image = ax.imshow(np.ma.masked_invalid(matrix), cmap=_axes.SHADES, vmin=low, vmax=low + span, aspect="auto")
    ax.set_facecolor(_axes.MISSING)
    for (row, column), number in np.ndenumerate(matrix):
        if np.isfinite(number):
            dark = number > low + 0.55 * span
            text = f"{number:.2g}" if value == "seconds" else f"{number:.2f}"
            ax.text(column, row, text, ha="center", va="center", fontsize=8, color="white" if dark else _axes.DARK)
    ax.set_yticks(range(len(table.methods)), list(table.methods))
    ax.set_xticks(range(len(table.numbers)), [str(k) for k in table.numbers])
    _axes.shades_legend(ax, image, value)
    _axes.finish(ax, TITLES[value], "number of clusters", "method")
    _axes.bare(ax)
    return ax
