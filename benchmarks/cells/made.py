"""Made-up counts of single cells, of two to ten types, on which nothing was chosen but what decision 140 names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

REPORTED = range(300, 324)
"""The seeds of the sets on the page; others were used to choose."""


def made_cells(seed: int) -> tuple[Any, NDArray[np.int64]]:
    """Return counts of 120 to 700 cells in 500 to 1,500 genes, and their types.

    5 to 25% of the genes differ between types, by factors from a log-normal distribution. In half of the sets 8% of the
    genes also follow a continuous course that all types share. Counts have a negative binomial distribution; cells
    differ in their totals, which are 1,000 to 8,000 on average.
    """
    rng = np.random.default_rng(seed)
    n_types, n_cells, n_genes = int(rng.integers(2, 11)), int(rng.integers(120, 700)), int(rng.integers(500, 1500))
    shares = np.maximum(rng.dirichlet(np.full(n_types, rng.choice([2.0, 8.0]))), 12 / n_cells)
    types = rng.choice(n_types, size=n_cells, p=shares / shares.sum())
    base = rng.gamma(0.6, 1 / 0.3, n_genes)
    share, factor = rng.uniform(0.05, 0.25), rng.uniform(0.4, 1.0)
    differ = [
        np.where(rng.random(n_genes) < share, np.exp(rng.normal(0.1, factor, n_genes)), 1) for _ in range(n_types)
    ]
    course = np.where(rng.random(n_genes) < 0.08, rng.normal(0, 0.5, n_genes), 0)
    place, totals = rng.uniform(-1, 1, n_cells), np.exp(rng.normal(0, 0.3, n_cells))
    depth = rng.uniform(1000, 8000)
    means = (base * np.stack(differ))[types] * np.exp(place[:, None] * course * rng.choice([0, 1]))
    means *= (depth * totals / means.sum(axis=1))[:, None]
    return sparse.csr_array(rng.poisson(rng.gamma(25.0, means / 25.0))), types
