"""Pictures of the CA-tree pages: one panel a data set, and photographs beside their regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito: told apart by people with any kind of colour vision."""
MARKERS = ("o", "s", "^", "D", "v", "P")


def panels(path: Path, names: Sequence[str], draw: Callable[[Any, str], None], x: str, y: str) -> None:
    """A panel for each name, three a row, one legend below."""
    plt = _plot()
    rows = -(-len(names) // 3)
    width = min(3, len(names))
    figure, grid = plt.subplots(rows, width, figsize=(3.1 * width, 2.45 * rows + 0.35), layout="constrained")
    axes = np.atleast_1d(grid).ravel()
    for axis, name in zip(axes, names, strict=False):
        draw(axis, name)
        axis.set_title(name, fontsize=10)
        axis.grid(alpha=0.25)
        axis.tick_params(labelsize=8)
    for axis in axes[len(names) :]:
        axis.set_axis_off()
    figure.supxlabel(x, fontsize=9)
    figure.supylabel(y, fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=8, frameon=False)
    _save(figure, path)


def single(path: Path, draw: Callable[[Any], None], x: str, y: str) -> None:
    """One pair of axes with a legend."""
    plt = _plot()
    figure, axis = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    draw(axis)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.grid(alpha=0.25)
    axis.legend(fontsize=8, frameon=False)
    _save(figure, path)


def line(axis: Any, place: int, x: Any, y: Any, label: str, **style: Any) -> None:
    """One curve in the colour and marker of its place."""
    given = {"marker": MARKERS[place], "markersize": 3.5, "linewidth": 1.3, **style}
    axis.plot(x, y, color=COLOURS[place], label=label, **given)


def log_ticks(axis: Any, which: str, at: Sequence[float] = ()) -> None:
    """A logarithmic axis with plain numbers: at given places, or at 1, 2 and 5 of each decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    (axis.set_xscale if which == "x" else axis.set_yscale)("log")
    ticks = axis.xaxis if which == "x" else axis.yaxis
    if at:
        ticks.set_ticks(list(at))
        axis.minorticks_off()
    else:
        ticks.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ticks.set_minor_formatter(NullFormatter())


def photographs(path: Path, pictures: Sequence[tuple[str, NDArray[Any]]]) -> None:
    """Pictures in a row."""
    plt = _plot()
    figure, grid = plt.subplots(1, len(pictures), figsize=(3.2 * len(pictures), 2.5), layout="constrained")
    for axis, (title, picture) in zip(np.atleast_1d(grid), pictures, strict=True):
        axis.imshow(picture, interpolation="antialiased")
        axis.set_title(title, fontsize=9)
        axis.set_axis_off()
    _save(figure, path)


def _plot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _save(figure: Any, path: Path) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    _plot().close(figure)
    # 64 colours are enough for the eye, at a third of the bytes
    Image.open(path).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
