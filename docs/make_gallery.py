"""Draw the pictures of docs/plots.md: `python docs/make_gallery.py [folder]`, docs/images by default."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from PIL import Image
from sklearn.datasets import load_digits, make_blobs

from quorate import ca_tree, choose_k, compare, consensus, explain, generate, plot, resolutions, significant_splits

MOST_BYTES = 100_000


def pictures() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name and drawing of every picture: k-means runs on 1,797 digits, and four blobs for the split tree."""
    X = load_digits().data
    members = generate(X, 20, k=(8, 24), base="kmeans", random_state=0)
    result = consensus(members, 10, method="eac")
    results = [consensus(members, k, method="eac") for k in range(2, 13)]
    sizes = {k: generate(X, 30, k=k, rows=0.8, base="kmeans", random_state=k) for k in range(2, 9)}
    yield "consensus_heatmap", lambda: plot.consensus_heatmap(result, members)
    yield "membership_heatmap", lambda: plot.membership_heatmap(result, members)
    yield "member_nmi", lambda: plot.member_nmi(members, result)
    yield "densities", lambda: plot.densities(result, members)
    yield "dendrogram", lambda: plot.dendrogram(result)
    yield "node_curve", lambda: plot.node_curve(ca_tree(members))
    yield "consensus_cdf", lambda: plot.consensus_cdf(sizes)
    yield "delta_area", lambda: plot.delta_area(sizes)
    yield "tracking", lambda: plot.tracking(results)
    yield "k_choice", lambda: plot.k_choice(choose_k(members, (2, 16), random_state=0))
    yield "item_consensus", lambda: plot.item_consensus(result, members)
    yield "cluster_consensus", lambda: plot.cluster_consensus(results[2:9], members)
    yield "silhouette", lambda: plot.silhouette(result, members)
    yield "comparison", lambda: plot.comparison(compare(members, n_clusters=(6, 14), random_state=0), "stability")
    several = {k: generate(X, 6, k=k, base="kmeans", random_state=k).labels.T for k in (2, 4, 6, 8, 10, 12, 16)}
    sweep = {f"k{k} {run}": labels for k, runs in several.items() for run, labels in enumerate(runs)}
    yield "clustering_tree", lambda: plot.clustering_tree(resolutions(sweep, groups="k([0-9]+) "))
    blobs, _ = make_blobs(600, centers=[(0, 0), (5, 0), (0, 6), (12, 12)], random_state=0)
    parts = generate(blobs, k=(5, 20), random_state=0)
    yield "split_tree", lambda: plot.split_tree(significant_splits(parts, blobs))
    yield "traits", lambda: plot.traits(explain(result, load_digits(as_frame=True).data), most=12)
    yield "confidence_histogram", lambda: plot.confidence_histogram(consensus(members, 6, random_state=0))


def save(ax: Any, target: Path) -> None:
    """A PNG of at most 128 colours, which halves its bytes and which no eye can tell."""
    ax.figure.savefig(target, dpi=90)
    plt.close(ax.figure)
    Image.open(target).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)
    if target.stat().st_size > MOST_BYTES:
        raise ValueError(f"{target} has {target.stat().st_size:,} bytes, more than {MOST_BYTES:,}.")


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in pictures():
        save(draw(), folder / f"plot_{name}.png")


if __name__ == "__main__":
    main()
