"""Scores of very large numbers of objects and of many clusters."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from strategies import labelled_tables
from test_evaluate import _ensemble

from quorate import accuracy, anmi, ari, as_ensemble, compress, evaluate, nmi
from quorate._evaluation.scores import cluster_density, member_nmi_matrix
from quorate.solvers import contingency as tables_of

# large numbers


LARGE = [10**8, 3, 10**8 - 7, 10**8 + 11, 1]
LARGE_TABLE = [[0, 0, 0], [0, 1, 0], [1, 1, -1], [1, 0, 1], [2, 2, 2]]
LARGE_LABELS = [0, 0, 1, 1, 2]


def _exact_pairs(labels, table, counts):
    """Ordered pairs of different objects that share a label, within and between clusters, member by member."""
    within, between = [], []
    for column in zip(*table, strict=True):
        groups = {}
        for label, base, count in zip(labels, column, counts, strict=True):
            if base != -1:
                group = groups.setdefault(base, {})
                group[label] = group.get(label, 0) + count
        squares = sum(c * c for group in groups.values() for c in group.values())
        within.append(sum(c * (c - 1) for group in groups.values() for c in group.values()))
        between.append(sum(sum(group.values()) ** 2 for group in groups.values()) - squares)
    return within, between


def _exact_ari(first, second, counts):
    def pairs(keys):
        sizes = {}
        for key, count in zip(keys, counts, strict=True):
            sizes[key] = sizes.get(key, 0) + count
        return sum(Fraction(size * (size - 1), 2) for size in sizes.values())

    both, one, other = pairs(list(zip(first, second, strict=True))), pairs(first), pairs(second)
    expected = one * other / pairs([0] * len(counts))
    return float((both - expected) / ((one + other) / 2 - expected))


@pytest.mark.parametrize("scale", [1, 40, 10**3])
def test_large_counts_against_exact_arithmetic(scale):
    """Beyond 3e9 objects the squares leave int64 as well."""
    counts = [count * scale for count in LARGE]
    n = sum(counts)
    ensemble = as_ensemble(np.array(LARGE_TABLE), counts=counts)
    truth = [0, 1, 1, 1, 0]
    scores = evaluate(LARGE_LABELS, ensemble, truth=truth)
    within, between = _exact_pairs(LARGE_LABELS, LARGE_TABLE, counts)
    sizes = [counts[0] + counts[1], counts[2] + counts[3], counts[4]]
    unordered = n * n - sum(size * size for size in sizes)
    assert scores.n_objects == n
    assert scores.inter_density == pytest.approx(float(Fraction(sum(between), 3 * unordered)), rel=1e-12)
    assert scores.ari == pytest.approx(_exact_ari(LARGE_LABELS, truth, counts), rel=1e-12)
    assert scores.accuracy == pytest.approx(float(Fraction(counts[0] + counts[2] + counts[3], n)), rel=1e-15)
    expected = [
        Fraction(_exact_pairs([label if label == c else -9 for label in LARGE_LABELS], rows, kept)[0][q])
        for c in range(3)
        for rows, kept in [_only(c, counts)]
        for q in range(3)
    ]
    for c, found in enumerate(cluster_density(LARGE_LABELS, ensemble)):
        pairs = 3 * sizes[c] * (sizes[c] - 1)
        exact = float(sum(expected[3 * c : 3 * c + 3]) / pairs) if pairs else 0.0
        assert found == pytest.approx(exact, rel=1e-12)
    assert sum(expected) == sum(within)


def _only(cluster, counts):
    """Rows of one cluster, the others without labels."""
    kept = [row if label == cluster else [-1] * 3 for row, label in zip(LARGE_TABLE, LARGE_LABELS, strict=True)]
    return kept, counts


def test_large_counts_change_no_nmi():
    """NMI depends on shares alone."""
    table = np.array(LARGE_TABLE)
    small, large = (as_ensemble(table, counts=np.array([2, 1, 3, 2, 1]) * scale) for scale in (1, 10**8))
    assert anmi(LARGE_LABELS, large) == pytest.approx(anmi(LARGE_LABELS, small), rel=1e-14)
    assert np.allclose(member_nmi_matrix(large), member_nmi_matrix(small), rtol=1e-14, equal_nan=True)


def test_a_small_inter_density_beside_a_huge_cluster():
    """The difference of squares near 1e16 must not be lost."""
    ensemble = as_ensemble([[0, 0, 1]], counts=[10**8, 1, 1])
    assert evaluate([0, 1, 1], ensemble).inter_density == 10**8 / (2 * 10**8)


# many clusters


def test_as_many_clusters_as_objects_stay_linear():
    """A dense table would hold 1e10 cells."""
    n = 100_000
    alone = np.arange(n)
    halves = alone % (n // 2)
    assert nmi(alone, alone[::-1]) == ari(alone, alone) == 1.0
    assert accuracy(alone[:3000], alone[:3000] // 2) == accuracy(alone[:3000] // 2, alone[:3000]) == 0.5
    scores = evaluate(alone, as_ensemble(np.stack([halves, alone], axis=1), check=False))
    assert scores.density == 0.0
    assert scores.inter_density == pytest.approx(1 / (2 * (n - 1)))


@given(labelled_tables(max_objects=8, max_members=3))
def test_sparse_tables_equal_dense_ones(case):
    table, labels, weights, counts = case
    ensemble = _ensemble(table, weights=weights, counts=counts)
    dense = evaluate(labels, ensemble, truth=labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables_of, "_is_small", lambda n_cells, n_entries: False)
        assert evaluate(labels, ensemble, truth=labels) == dense


def test_compressed_rows_score_as_all_objects():
    rng = np.random.default_rng(5)
    table = rng.integers(-1, 3, (300, 4))
    ensemble = as_ensemble(table[table.max(axis=1) >= 0])
    rows, inverse = compress(ensemble)
    labels = rng.integers(0, 4, rows.n_rows)
    assert evaluate(labels, rows) == evaluate(labels[inverse], ensemble)


def test_optimisers_are_imported_only_when_needed():
    code = "import sys, quorate._evaluation.scores as e; e.nmi([0, 1], [0, 1]); print('scipy.optimize' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
