"""The picture of mean ranks with their critical difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

BLUE, ORANGE = "#0072B2", "#D55E00"


def draw(ranks: dict[str, tuple[dict[str, float], int]], path: Path) -> None:
    """One panel for each half: mean ranks on a line, with a bar over each group of methods that do not differ."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    n_methods = len(next(iter(ranks.values()))[0])
    size = (5.5 * len(ranks), 0.27 * n_methods + 1.2)
    figure, panels = plt.subplots(1, len(ranks), figsize=size, layout="constrained")
    for axes, (half, (found, n_cases)) in zip(panels, ranks.items(), strict=True):
        _panel(axes, half, found, n_cases)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def _panel(axes: Any, half: str, found: dict[str, float], n_cases: int) -> None:
    from benchmarks.methods.page import critical_difference

    methods = sorted(found, key=lambda method: found[method])
    ranks, places = np.array([found[method] for method in methods]), np.arange(len(methods))
    difference = critical_difference(len(methods), n_cases)
    axes.hlines(places, 1, ranks, color="0.85", zorder=1)
    axes.plot(ranks, places, "o", color=BLUE, zorder=3)
    axes.set_yticks(places, methods)
    axes.invert_yaxis()
    shown = -1
    for first in places:
        last = int(np.flatnonzero(ranks <= ranks[first] + difference)[-1])
        if last > max(shown, first):
            axes.plot([ranks[first]] * 2, [first, last], color=ORANGE, lw=2.5, alpha=0.6, zorder=2)
            shown = last
    axes.set_xlim(1, ranks.max() + 1)
    axes.set_xlabel(f"mean rank by NMI, {n_cases} cases; 1 is best")
    axes.set_title(f"{half}: methods on one orange bar differ by less than {difference:.1f}", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
