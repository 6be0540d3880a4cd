"""HNE: pictures of co-association, partitions and sensitivity, and the numbers behind Figure 1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.ca_hne_sets import SETS, base_k, features
from benchmarks.papers.records import Record, Values
from quorate import co_association, consensus, generate

COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#56B4E9",
    "#F0E442",
    "#222255",
    "#7A1F3D",
    "#666633",
    "#999999",
)
FACTS = {
    "between_euclid": "between clusters: mean similarity of features",
    "between_shared": "between clusters: mean co-association",
    "between_tied": "pairs between clusters above theta",
    "within_low": "pairs within clusters below 0.1",
    "within_joined": "pairs within clusters joined by a path above theta",
}


def both_matrices(name: str, labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Similarity of features in 0 to 1, and co-association."""
    from scipy.spatial.distance import pdist, squareform

    distances = squareform(pdist(features(name)[0]))
    return 1 - distances / distances.max(), co_association(labels, triangle="full").matrix.toarray()


def matrix_facts(name: str, labels: NDArray[Any], theta: float) -> Values:
    """Noise objects are left out."""
    from scipy.sparse.csgraph import connected_components

    euclid, shared = both_matrices(name, labels)
    y = features(name)[1]
    part = connected_components(shared > theta, directed=False)[1]
    known = np.flatnonzero(y >= 0)
    y, part, euclid, shared = y[known], part[known], euclid[np.ix_(known, known)], shared[np.ix_(known, known)]
    upper = np.triu(np.ones(euclid.shape, dtype=bool), 1)
    same = y[:, None] == y
    within, between = upper & same, upper & ~same
    return {
        "between_euclid": euclid[between].mean(),
        "between_shared": shared[between].mean(),
        "between_tied": (shared[between] > theta).mean(),
        "within_low": (shared[within] < 0.1).mean(),
        "within_joined": (part[:, None] == part)[within].mean(),
    }


def _plot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def draw_matrices(labels: NDArray[Any], path: Path) -> None:
    """Figure 1: the spirals, similarity of features, co-association, and a corner of it."""
    plt = _plot()
    X, y = features("2-spirals")
    euclid, shared = both_matrices("2-spirals", labels)
    figure, axes = plt.subplots(1, 4, figsize=(12.4, 3.3), layout="constrained")
    for cluster in (0, 1):
        axes[0].plot(*X[y == cluster].T, "o^"[cluster], ms=3, color=COLOURS[cluster])
    axes[0].set(aspect="equal", title="a  2-spirals", xticks=[], yticks=[])
    pictures = (
        (euclid, "b  similarity of features"),
        (shared, "c  co-association"),
        (shared[:40, :40], "d  first 40 objects"),
    )
    for ax, (values, title) in zip(axes[1:], pictures, strict=True):
        image = ax.imshow(values, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
        ax.set_title(title)
    figure.colorbar(image, ax=axes[-1], shrink=0.8)
    for ax in axes:
        ax.title.set_fontsize(10)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def draw_partitions(path: Path) -> None:
    """Figure 2: two sets as normalized edges and average link cut them."""
    plt = _plot()
    figure, axes = plt.subplots(2, 2, figsize=(9.4, 6), layout="constrained")
    for row, name in zip(axes, ("complex image", "3-paths"), strict=True):
        X, y = features(name)
        labels = generate(X, 30, k=base_k(name), base="kmeans", random_state=0, n_jobs=1).labels
        for ax, method in zip(row, ("hne", "eac"), strict=True):
            found = consensus(labels, SETS[name].n_clusters, method=method).labels
            for cluster in range(int(found.max()) + 1):
                mine = (found == cluster) & (y >= 0)
                ax.plot(*X[mine].T, "o", ms=2.5, color=COLOURS[cluster % len(COLOURS)])
            ax.plot(*X[y < 0].T, ".", ms=2, color="#AAAAAA")
            title = "normalized edges" if method == "hne" else "average link"
            ax.set(title=f"{name}, {title}", xticks=[], yticks=[], aspect="equal")
            ax.title.set_fontsize(10)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def draw_grids(records: Sequence[Record], path: Path) -> None:
    """Mean error over each setting, a line for each set."""
    plt = _plot()
    names = list(dict.fromkeys(r.case["set"] for r in records))
    whats = list(dict.fromkeys(r.case["what"] for r in records))
    figure, axes = plt.subplots(
        1, len(whats), figsize=(3.2 * len(whats), 3.4), layout="constrained", sharey=True, squeeze=False
    )
    for ax, what in zip(axes[0], whats, strict=True):
        for place, name in enumerate(names):
            found = [r.values for r in records if r.case["set"] == name and r.case["what"] == what]
            if not found:
                continue
            keys = [key for key in found[0] if " " not in key]
            means = [np.mean([values[key] for values in found]) for key in keys]
            style = {
                "color": COLOURS[place % len(COLOURS)],
                "marker": "os^vD"[place % 5],
                "ms": 3,
                "lw": 1,
                "label": name,
            }
            ax.plot([float(key) for key in keys], means, **style)
        if what == "theta":
            ax.axvspan(0.1, 0.4, color="#EEEEEE", zorder=0)
        ax.set(xlabel={"base k": "base k / that of the table", "final k": "final k - true k"}.get(what, what))
        ax.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("error")
    figure.legend(
        *axes[0][0].get_legend_handles_labels(), fontsize=7, frameon=False, loc="outside lower center", ncols=5
    )
    figure.savefig(path, dpi=90)
    plt.close(figure)
