"""Draw six-shapes.png, one k-means above and default Quorate below: `python docs/make_shapes.py [folder]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_moons

from quorate import EnsembleClustering, datasets, nmi

COLOURS = np.array(["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"])
"""Okabe and Ito's colours, which people with any kind of colour vision can tell apart."""
SEED = 0
UNEQUAL = [[0, 0], [9, 4], [9, -4]]


def shapes() -> dict[str, tuple[Any, Any]]:
    """Six sets of 600 to 900 points in the plane, and their classes."""
    rings = datasets.three_rings(900, random_state=SEED)
    spirals = datasets.two_spirals(600, random_state=SEED)
    X, long = make_blobs(600, 2, centers=3, random_state=170)
    return {
        "two moons": make_moons(600, noise=0.06, random_state=SEED),
        "three rings": (rings.X, rings.y),
        "two spirals": (spirals.X, spirals.y),
        "long clusters": (X @ [[0.6, -0.6], [-0.4, 0.8]], long),
        "unequal spread": make_blobs([500, 100, 100], 2, centers=UNEQUAL, cluster_std=[3, 0.5, 0.5], random_state=SEED),
        "compact": make_blobs(600, 2, centers=5, cluster_std=0.8, random_state=SEED),
    }


def draw(target: Path) -> None:
    """Both answers for each shape, with their NMI."""
    figure, panels = plt.subplots(2, 6, figsize=(12, 4.4), layout="constrained")
    for column, (name, (X, y)) in zip(panels.T, shapes().items(), strict=True):
        n_clusters = len(np.unique(y))
        answers = (
            KMeans(n_clusters, n_init=10, random_state=SEED).fit_predict(X),
            EnsembleClustering(n_clusters, random_state=SEED).fit_predict(X),
        )
        scores = [nmi(answer, y) for answer in answers]
        for axes, answer, score in zip(column, answers, scores, strict=True):
            _panel(axes, X, _matched(answer, y), score)
        column[0].set_title(name, fontsize=11)
    for axes, title in zip(panels[:, 0], ("k-means", "Quorate"), strict=True):
        axes.set_ylabel(title, fontsize=13, fontweight="bold")
    figure.savefig(target, dpi=90)
    plt.close(figure)
    Image.open(target).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(target, optimize=True)


def _panel(axes: Any, X: Any, labels: Any, score: float) -> None:
    axes.scatter(*X.T, s=4, c=COLOURS[labels], linewidths=0)
    axes.set(xticks=[], yticks=[], box_aspect=1)
    axes.set_xlabel(f"NMI {score:.2f}", fontsize=11)
    axes.spines[:].set_color("0.8")


def _matched(labels: Any, classes: Any) -> Any:
    """Labels with the numbers of the classes they fit best, so that equal clusters have equal colours in both rows."""
    overlap = np.zeros((labels.max() + 1, classes.max() + 1))
    np.add.at(overlap, (labels, classes), 1)
    return linear_sum_assignment(-overlap)[1][labels]


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    draw(folder / "six-shapes.png")


if __name__ == "__main__":
    main()
