"""Measurements in steps, such as counts and rounded numbers: their steps are no valleys between clusters."""

from __future__ import annotations

import numpy as np

from quorate import EnsembleClustering
from quorate._trust.reference import without_steps


def test_coin_flips_have_no_clusters() -> None:
    """Their 32 different rows, with nothing between them, were taken for 32 clusters."""
    flips = np.random.default_rng(0).integers(0, 2, (200, 5)).astype(float)
    assert np.unique(EnsembleClustering(random_state=0).fit(flips).labels_).tolist() == [0]


def test_values_in_steps_are_spread_over_their_steps() -> None:
    rng = np.random.default_rng(0)
    smooth = rng.normal(size=400)
    block = np.column_stack([rng.poisson(2, 400), np.round(smooth, 1), smooth, np.ones(400)])
    spread = without_steps(block, np.random.default_rng(1))
    for place, step in ((0, 1.0), (1, 0.1)):
        assert np.abs(spread[:, place] - block[:, place]).max() <= step / 2 * (1 + 1e-9)
        assert len(np.unique(spread[:, place])) == 400
    # no ties, and one value alone
    assert np.array_equal(spread[:, 2:], block[:, 2:])


def test_uneven_steps_are_filled_and_wide_spaces_are_kept() -> None:
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, 2_000)
    block = np.column_stack([np.log1p(counts), np.sqrt(counts), rng.choice([0, 1, 9.3], 2_000)])
    spread = without_steps(block, np.random.default_rng(1))
    for place, root in enumerate((np.log1p, np.sqrt)):
        common = spread[counts < 7, place]
        assert np.diff(np.sort(common)).max() < 0.06, root.__name__
        middles = (root(np.arange(7)) + root(np.arange(1, 8))) / 2
        assert np.array_equal(np.searchsorted(middles, common), counts[counts < 7])
    last = spread[:, 2]
    assert ((last < 1 + 1.25) | (last > 9.3 - 1.25)).all()
    assert (last[block[:, 2] == 1] > 1).any()


def test_logarithms_of_counts_have_no_clusters() -> None:
    """Their steps are uneven; they were taken for the valleys between clusters."""
    counts = np.log1p(np.random.default_rng(4).poisson(4, (300, 3)))
    assert np.unique(EnsembleClustering(random_state=0).fit(counts).labels_).tolist() == [0]
