"""Measurements in steps, such as counts and rounded numbers: their steps are no valleys between clusters."""

from __future__ import annotations

import numpy as np
import pytest

from quorate import EnsembleClustering, evaluate
from quorate._trust.reference import principal_sample, without_steps
from quorate._trust.separation import separation
from quorate.generation.features import as_features


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


def divided(seed: int, mean: float, n_columns: int) -> np.ndarray:
    """Counts divided by the total of their row."""
    counts = np.random.default_rng(seed).poisson(mean, (300, n_columns)).astype(float)
    counts[counts.sum(axis=1) == 0, 0] = 1
    return counts / counts.sum(axis=1, keepdims=True)


def test_counts_that_were_divided_in_rows_have_no_clusters() -> None:
    """Logarithms of them passed for clusters in 9 of 10 cases, because each row has steps of its own."""
    claimed = [
        EnsembleClustering(random_state=0).fit(np.log1p(1e4 * divided(seed, 4, 3))).n_clusters_ for seed in (1, 3)
    ]
    assert claimed == [1, 1]


def test_counts_that_were_divided_in_rows_are_spread_over_the_steps_of_their_row() -> None:
    values = divided(0, 4, 6)
    total = 1 / np.where(values > 0, values, 1).min(axis=1, keepdims=True)
    spread = without_steps(values, np.random.default_rng(1))
    # a row whose counts have a common divisor has wider steps
    assert np.quantile(np.abs(spread - values) * total, 0.95) <= 0.5 * (1 + 1e-9)
    assert len(np.unique(spread)) == spread.size
    for root in (np.log1p(1e4 * values), np.log2(1 + 1e4 * values), np.sqrt(values)):
        seen = without_steps(root, np.random.default_rng(1))
        scale = np.sqrt(values).max() / seen.max()
        assert np.corrcoef((seen * scale).ravel(), np.sqrt(values).ravel())[0, 1] > 0.9
    # also if the first column is zero in most rows
    rare = np.column_stack([np.where(np.arange(300) < 200, 0, values[:, 0]), values[:, 1:]])
    assert len(np.unique(without_steps(np.log1p(1e4 * rare), np.random.default_rng(1)))) == rare.size
    smooth = np.random.default_rng(0).random((300, 3))
    assert np.array_equal(without_steps(smooth, np.random.default_rng(1)), smooth)


def test_values_at_a_limit_are_spread_beyond_it_as_densely_as_those_beside_it() -> None:
    values = np.random.default_rng(0).random(4_000)
    block = np.column_stack([np.clip(values, 0.25, 0.9), np.where(values < 0.4, 0, values + 5)])
    spread = without_steps(block, np.random.default_rng(1))
    cut, gap = spread.T
    assert np.array_equal(cut[(values > 0.25) & (values < 0.9)], values[(values > 0.25) & (values < 0.9)])
    shares = np.histogram(cut, 10, (0, 1))[0] / 4_000
    assert shares.sum() > 0.95
    assert shares == pytest.approx(np.full(10, 0.1), abs=0.03)
    # what is far from all others is brought less far away, and the space stays empty
    assert ((gap <= 0) | (gap > 5)).all()
    assert gap.min() > -5


def test_values_cut_at_a_limit_have_no_clusters() -> None:
    """Many equal values at the top passed for clusters in 3 of 4 such tables."""
    for seed in (1, 2):
        cut = np.minimum(np.random.default_rng((91, seed)).exponential(size=(300, 3)), 1.2)
        assert EnsembleClustering(random_state=0).fit(cut).n_clusters_ == 1


def test_columns_with_hardly_any_other_value_are_not_blown_up() -> None:
    """Two pixels that are white in all but four images outweighed the other sixty, and digits had no clusters."""
    from sklearn.datasets import load_digits

    X, classes = load_digits(return_X_y=True)
    spread = without_steps(X, np.random.default_rng(1))
    # eight columns have hardly any other value
    assert np.sort(np.ptp(spread, axis=0))[-1] <= 2 * 16
    part = as_features(X[:900])
    points, codes = principal_sample(part, classes[:900], 0)
    assert separation(points, codes).cut < 0.1
    assert (
        evaluate(classes[:900], [classes[:900]] * 3, null="auto", features=X[:900]).verdict.grade == "strong structure"
    )


def test_columns_of_equal_width_stay_equally_wide() -> None:
    """With all columns scaled to a standard deviation of 1, the steps of the rarest pixels outweighed the digits."""
    from sklearn.datasets import load_digits

    X, classes = load_digits(return_X_y=True)
    X = X[:900, X[:900].std(axis=0) > 0]
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    points, codes = principal_sample(as_features(scaled), classes[:900], 0)
    assert (points**2).sum() <= (scaled**2).sum() * as_features(scaled).scale ** 2 * (1 + 1e-9)
    assert separation(points, codes).cut < 0.15
