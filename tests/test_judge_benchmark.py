"""How the judge is fitted: generated sets, the search for weights, and the page that tells of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.judge.fitting import FIXED, TERMS, Table, chosen_by, fitted, left_out, mean_ari
from benchmarks.judge.geometries import FAMILIES, generated
from benchmarks.judge.mixed import SEEDS, read_mixed
from benchmarks.judge.one_kind import METHODS, RULES, _solved, highest, pools, table
from benchmarks.judge.pools import POOLS, cut_tree, genie, linked

from quorate import ari, as_ensemble
from quorate.generation.judge import WEIGHTS

PAGE = Path(__file__).parents[1] / "docs" / "judge.md"


def made_table(seed: int, direction: np.ndarray, group: str = "generated") -> Table:
    """A set whose best candidate has the largest sum of terms along a direction."""
    rng = np.random.default_rng(seed)
    names = tuple(dict.fromkeys(name for pool in POOLS.values() for name in pool))
    terms = rng.normal(size=(len(names), len(TERMS))) + 5 * rng.normal(size=len(TERMS))
    terms[:, [TERMS.index(name) for name in FIXED]] *= 0.01
    value = terms @ direction
    scores = 1 / (1 + np.exp(-(value - value.mean())))
    return Table(f"family {seed % 5}", seed, group, names, scores, scores, terms)


@pytest.mark.parametrize("family", FAMILIES)
def test_generated_sets_follow_from_their_seed(family: str) -> None:
    for seed in range(3):
        made, again = generated(family, seed), generated(family, seed)
        assert np.array_equal(made.X, again.X)
        assert np.isfinite(made.X).all()
        assert np.bincount(made.y).min() >= 12
        assert len(made.X) == len(made.y)
        assert 2 <= made.y.max() + 1 <= FAMILIES[family][1]


def test_the_fit_finds_what_makes_candidates_good() -> None:
    direction = np.zeros(len(TERMS))
    direction[[2, 7]] = 1.5, -1.0
    tables = [made_table(seed, direction) for seed in range(60)]
    weights = fitted(tables)
    free = [place for place, name in enumerate(TERMS) if name not in FIXED]
    assert np.argmax(weights[free]) == 2
    assert np.argmin(weights[free]) == 7
    assert [weights[TERMS.index(name)] for name in FIXED] == list(FIXED.values())
    fresh = [made_table(seed, direction) for seed in range(100, 130)]
    best = mean_ari(fresh, "all", lambda table: int(np.argmax(table.ari)))
    assert mean_ari(fresh, "all", chosen_by(weights)) > best - 0.02
    assert mean_ari(fresh, "all", chosen_by(None)) < best - 0.2


def test_what_is_left_out_has_no_part_in_the_fit() -> None:
    direction = np.eye(len(TERMS))[3]
    tables = [made_table(seed, direction) for seed in range(20)]
    judged = left_out(tables, lambda table: table.set, 5)
    assert sorted(table.seed for table, _ in judged) == list(range(20))
    table, weights = judged[0]
    assert np.allclose(weights, fitted([other for other in tables if other.set != table.set]))


def test_linkages_find_clusters_that_single_linkage_misses() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.3, (60, 2)), rng.normal(4, 0.3, (60, 2)), [[20.0, 20.0]]])
    y = np.repeat([0, 1, 0], [60, 60, 1])
    assert ari(linked(X, 2, 0.3), y) > 0.95
    assert ari(genie(X, 2, 0.3), y) > 0.95
    # with a share of nothing the outlier is a cluster of its own, as in single linkage
    assert np.bincount(linked(X, 2, 0.0)).min() == 1
    chain = cut_tree(4, np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([1.0, 3.0, 1.0]), 2, 1.0)
    assert ari(chain, [0, 0, 1, 1]) == 1


def test_the_page_tells_the_weights_of_the_code() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name, weight in WEIGHTS.items():
        assert f"| {name} | {weight:.2f} |" in text


def test_ensembles_of_different_algorithms_are_complete() -> None:
    records = read_mixed()
    assert len({(record["set"], record["seed"]) for record in records}) == len(records)
    assert {record["seed"] for record in records} <= set(range(SEEDS))
    for record in records:
        assert set(record["members"]) <= set(POOLS["different algorithms"])
        assert all(-1 <= score <= 1 for score in record["answers"].values())


def test_rules_choose_among_methods_by_what_they_name() -> None:
    level = {"anmi": 0.5, "agree": 0.5, "even": 0.5, "left out": 0.5, "halves": 0.5}
    made = {name: {**level, "ari": 0.0} for name in METHODS}
    made["hne"] = {**level, "anmi": 0.54, "agree": 0.6, "ari": 1.0}
    assert highest("anmi")(made) == "hne"
    assert highest("anmi", 0.05)(made) == METHODS[0]
    assert {name: rule(made) for name, rule in RULES.items()}["agrees most by .05"] == "hne"
    text = table([{**made, "group": "half A", "pool": "spectral"}])
    assert "| best, known afterwards | 1.000 | 1.000 |" in text
    assert "| lwgp | 0.000 | 0.000 |" in text


def test_members_that_agree_are_agreed_with_when_left_out() -> None:
    made = generated("balls", 3)
    right = np.column_stack([made.y] * 10)
    noise = np.random.default_rng(0).permuted(right, axis=0)
    of_right, of_noise = (_solved(as_ensemble(members, check=False), made.y)["lwgp"] for members in (right, noise))
    assert of_right["left out"] == of_right["halves"] == 1.0
    assert of_noise["left out"] < 0.2
    assert of_noise["halves"] < 0.3


def test_pools_of_one_kind_are_ensembles_of_all_objects() -> None:
    made = generated("balls", 3)
    found = dict(pools(made.X, made.y, 3))
    assert len(found) == 4
    assert {ensemble.n_rows for ensemble in found.values()} == {len(made.y)}
    errors = [np.mean([ari(column, made.y) for column in found[name].labels.T]) for name in found]
    assert 0.05 < errors[-1] < 0.95
