"""Cells clustered at many resolutions, on many looks at the counts: one clustering, and which cells are in doubt.

The counts are made up: cells of six types, a few marker genes each, and some cells on their way from one type to
another. With AnnData the clusterings and the consensus live in `adata.obs`, as scanpy's users have them.
Run it with `python examples/single_cell.py [picture.png]`; it needs matplotlib and anndata
(`pip install "quorate[plot,anndata]"`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from anndata import AnnData

from quorate import choose_k, generate, nmi, plot
from quorate.anndata import consensus_anndata

N_TYPES, N_CELLS, N_GENES, MARKERS = 6, 2_000, 400, 25


def cells(rng: np.random.Generator) -> AnnData:
    """Negative binomial counts; the last 8% of the cells are on their way from type 0 to type 1."""
    profile = rng.gamma(0.6, 1.0, N_GENES) * np.ones((N_TYPES, 1))
    for kind in range(N_TYPES):
        profile[kind, kind * MARKERS : (kind + 1) * MARKERS] *= 6
    kind = rng.choice(N_TYPES, N_CELLS, p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.05])
    mean = profile[kind]
    travelling = slice(int(0.92 * N_CELLS), None)
    kind[travelling] = 0
    way = rng.random((N_CELLS - travelling.start, 1))
    mean[travelling] = (1 - way) * profile[0] + way * profile[1]
    depth = rng.lognormal(0, 0.4, (N_CELLS, 1))
    counts = rng.poisson(mean * depth * rng.gamma(2, 0.5, mean.shape))
    obs = pd.DataFrame({"type": kind.astype(str)}, index=[f"cell {place}" for place in range(N_CELLS)])
    obs["half way"] = np.append(np.zeros(travelling.start, bool), np.abs(way[:, 0] - 0.5) < 0.15)
    return AnnData(counts.astype(np.float32), obs=obs)


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "single_cell.png")
    adata = cells(np.random.default_rng(0))
    # the usual way: equal depth, logarithm; then each member sees half of the genes
    features = np.log1p(1e3 * adata.X / adata.X.sum(axis=1, keepdims=True))
    members = generate(features, 30, k=(3, 12), base="kmeans", columns=0.5, random_state=0)
    keys = [f"resolution {k}, run {run}" for run, k in enumerate(members.n_clusters)]
    adata.obs = pd.concat([adata.obs, pd.DataFrame(members.labels.astype(str), adata.obs_names, keys)], axis=1)
    choice = choose_k(members, (3, 12), method="eac")
    print(choice)
    result = consensus_anndata(adata, keys, choice.n_clusters, method="eac")
    print(adata.obs[["type", "consensus", "consensus_confidence"]].head())
    print(f"NMI with the types: {nmi(result, adata.obs['type'].to_numpy()):.3f}")
    sure = adata.obs.groupby("half way")["consensus_confidence"].mean()
    print(f"mean confidence of cells half way {sure[True]:.2f}, of the others {sure[False]:.2f}")
    draw(adata, features, members, choice, result, target)


def draw(adata: AnnData, features: np.ndarray, members, choice, result, target: Path) -> None:
    figure, panels = plt.subplots(2, 2, figsize=(12, 9), layout="constrained")
    plot.consensus_heatmap(result, members, ax=panels[0, 0])
    plot.k_choice(choice, ax=panels[0, 1])
    plot.item_consensus(result, members, ax=panels[1, 0])
    axes = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
    places = axes[0][:, :2] * axes[1][:2]
    dots = panels[1, 1].scatter(*places.T, c=adata.obs["consensus_confidence"], cmap="cividis_r", s=8)
    panels[1, 1].set(title="Doubt lies between clusters", xlabel="principal component 1", ylabel="2")
    figure.colorbar(dots, label="confidence")
    figure.savefig(target, dpi=100)
    print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
