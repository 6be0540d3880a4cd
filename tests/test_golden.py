"""Printed figures of the specification, to the last digit given."""

from __future__ import annotations

from itertools import product

import numpy as np
import oracle
import pytest
from benchmarks.papers import ca_tree_example

from quorate import anmi, as_ensemble, evaluate

MEMBERS = [
    (0, 0, 0, 1, 1, 2, 2),
    (1, 1, 1, 2, 2, 0, 0),
    (0, 0, 1, 1, 2, 2, 2),
    (0, 1, -1, 0, 1, -1, -1),
]
BEST = (0, 0, 0, 1, 1, 2, 2)
RUNNER_UP = (0, 0, 0, 1, 2, 2, 2)


@pytest.fixture(scope="module")
def ranking():
    """All partitions of 7 objects into 3 groups with their ANMI, best first."""
    ensemble = as_ensemble(MEMBERS)
    partitions = {tuple(oracle.canonical(labels)) for labels in product(range(3), repeat=7)}
    scores = {labels: anmi(labels, ensemble) for labels in partitions if max(labels) == 2}
    return sorted(scores.items(), key=lambda entry: -entry[1])


def test_cluster_ensembles_best_of_all_partitions(ranking):
    assert len(ranking) == 301
    (best, best_score), (second, second_score), *_ = ranking
    assert best == BEST
    assert round(best_score, 6) == 0.717818
    assert round(best_score * 25, 6) == 17.945449
    assert second == RUNNER_UP
    assert round(second_score * 25, 6) == 17.897237


def test_cluster_ensembles_against_oracle(ranking):
    members = np.array(MEMBERS).T
    for labels, score in ranking[::30]:
        assert score == pytest.approx(oracle.anmi(labels, members), abs=1e-12)


def test_cluster_ensembles_evaluate():
    scores = evaluate(BEST, MEMBERS, truth=BEST)
    assert round(scores.anmi, 6) == 0.717818
    assert (scores.n_objects, scores.n_clusters) == (7, 3)
    assert (scores.nmi, scores.nmi_arithmetic, scores.ari, scores.accuracy) == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("keep", ca_tree_example.NODES)
def test_the_worked_example_of_the_ca_tree_has_the_printed_numbers_of_nodes(keep):
    """Table I, Figures 1 to 3: thresholds of 0, 1, 2 and 3 members, all nodes and those that hold four fifths."""
    tree = ca_tree_example.example_tree()
    assert tuple(tree.curve(keep=keep)[1]) == ca_tree_example.NODES[keep]


def test_the_worked_example_of_the_ca_tree_finds_the_four_clusters():
    tree = ca_tree_example.example_tree()
    assert tree.rows.n_rows == 9
    assert np.sort(tree.rows.counts)[-6:].sum() == ca_tree_example.LARGEST
    assert tree.counts[tree.cut(2 / 4)].tolist() == [25, 25, 25, 25]
