"""Three regions of a photograph: every pixel an object, ten k-means runs, a CA-tree, one consensus.

As in section 4.4 of the CA-tree paper: RGB values, H = 10 members of 3 to 6 clusters, theta = 0.2, keep = 0.9, k = 3.
Run it with `python examples/photograph.py [picture.png]`; it needs matplotlib (`pip install quorate[plot]`).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from quorate import as_ensemble, compress, consensus

METHOD = "eac"


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "photograph.png")
    photograph = load_sample_image("flower.jpg")
    pixels = photograph.reshape(-1, 3).astype(np.float32)
    rng = np.random.default_rng(0)
    members = [
        KMeans(int(rng.integers(3, 7)), init="random", n_init=1, random_state=int(rng.integers(2**31))).fit_predict(
            pixels
        )
        for _ in range(10)
    ]
    ensemble = as_ensemble(members)
    start = time.perf_counter()
    result = consensus(ensemble, 3, method=METHOD, coarsen={"theta": 0.2, "keep": 0.9}, random_state=0)
    spent = time.perf_counter() - start
    print(
        f"{len(pixels):,} pixels in {compress(ensemble)[0].n_rows} distinct label rows, {result.info['n_rows']} after "
        f"the tree; {METHOD} in {spent:.2f} s, compiling included"
    )
    regions = result.labels.reshape(photograph.shape[:2])
    print(f"agreement with two areas drawn by hand: {drawn_by_hand(regions):.3f}")
    draw(photograph, regions, target)


def drawn_by_hand(regions: np.ndarray) -> float:
    """The share of pixels told right in a disc inside the large blossom and in all that clearly is not blossom."""
    row, column = np.indices(regions.shape)
    distance = np.hypot(column - 308, row - 222)
    inside, outside = distance < 120, (distance > 155) & (row < 330)
    blossom = np.bincount(regions[inside]).argmax()
    return float(np.mean(np.concatenate([regions[inside] == blossom, regions[outside] != blossom])))


def draw(photograph: np.ndarray, regions: np.ndarray, target: Path) -> None:
    """The photograph, and each region in its mean colour, made a little lighter so that dark ones can be told apart."""
    colours = np.array([photograph[regions == region].mean(axis=0) for region in range(regions.max() + 1)]) / 255
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.52), layout="constrained")
    panels[0].imshow(photograph, interpolation="antialiased")
    panels[0].set_title(f"{regions.size:,} pixels")
    panels[1].imshow((colours**0.75)[regions], interpolation="antialiased")
    panels[1].set_title("consensus of ten k-means runs, three regions")
    for panel in panels:
        panel.set_axis_off()
    figure.savefig(target, dpi=110)
    # 256 colours are enough for the eye, at a third of the bytes
    Image.open(target).convert("RGB").quantize(256, dither=Image.Dither.FLOYDSTEINBERG).save(target, optimize=True)
    print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
