"""The CA-tree paper in the harness: experiments on tiny inputs, pages and claims from few records and from none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.papers import ca_tree_accuracy as over_theta
from benchmarks.papers import ca_tree_causes as causes
from benchmarks.papers import ca_tree_example as example
from benchmarks.papers import ca_tree_image as image
from benchmarks.papers import ca_tree_nodes as nodes
from benchmarks.papers import ca_tree_prototypes as prototypes
from benchmarks.papers import ca_tree_sets as sets
from benchmarks.papers import ca_tree_times as times
from benchmarks.papers.ca_tree import PAPER
from benchmarks.papers.paper import write_page
from benchmarks.papers.records import Results

from quorate import as_ensemble


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> str:
    """Three well separated groups in the plane, as a set of the paper."""

    def make(n: int, rng: np.random.Generator) -> sets.Points:
        labels = np.arange(n) % 3
        return np.column_stack([10.0 * labels, labels % 2]) + rng.normal(scale=0.1, size=(n, 2)), labels

    entry = sets.PaperSet("tiny", make, (30, 36, 42, 48, 60), 60, (3, 5), 3, (0.5,) * 7, (0.4,) * 7, 0.5, 7)
    monkeypatch.setitem(sets.BY_NAME, "tiny", entry)
    return "tiny"


@pytest.mark.parametrize("make", [entry.make for entry in sets.SETS[:4] + sets.VARIANTS])
def test_synthetic_sets(make: Any) -> None:
    X, y = make(90, np.random.default_rng(0))
    assert X.shape[0] == 90 == len(y)
    again = make(90, np.random.default_rng(0))
    assert np.array_equal(X, again[0])


def test_even_rings_have_no_gaps() -> None:
    X, y = sets.even_rings(900, np.random.default_rng(0))
    outer = np.sort(np.arctan2(X[y == 2, 1], X[y == 2, 0]))
    assert np.diff(outer).max() < 4 * 2 * np.pi / 400


def test_a_set_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("QUORATE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        sets.from_folder("no_such_set")(10, np.random.default_rng(0))


def test_growth_rates_of_a_power_law() -> None:
    entry = sets.SETS[0]
    n = np.array(entry.sizes, dtype=float)
    curve = np.stack([np.repeat(n[:, None] ** power, 20, axis=1) for power in (0.5, 0.25)])
    assert np.allclose(nodes.slopes(entry, curve[None])[0].T, [0.5, 0.25])
    assert np.allclose(nodes.minimal_ratios(entry, curve[None]), 250**-0.25)
    assert nodes.slopes(entry, np.empty((0, 2, 5, 20))).shape == (0, 2, 20)


def test_experiments_on_a_tiny_set(tiny: str) -> None:
    values = nodes.measure_nodes({"set": tiny, "sweeps": 5, "repeat": 0})
    assert values["nodes"].shape == values["kept"].shape == (5, 20)
    assert (values["kept"] <= values["nodes"]).all()
    both = nodes.measure_radii({"set": tiny, "repeat": 0})
    assert (both["estimated"] >= both["exact"]).all()
    right = over_theta.measure({"set": tiny, "repeat": 0})
    assert right["plain"][0] == right["counted"][0] == 1.0
    order = causes.measure_order({"set": tiny, "repeat": 0})
    assert len(order["nodes"]) == 10


@pytest.mark.parametrize("method", ["EAC-AL", "eac", "CSPA", "HBGF", "MCLA"])
def test_times_of_a_tiny_set(tiny: str, method: str) -> None:
    if method in times.GRAPHS:
        pytest.importorskip("pymetis")
    values = times.measure({"set": tiny, "n": 60, "method": method, "repeat": 0})
    assert values["accuracy"][0] == 1.0
    assert values["rows"] == sorted(values["rows"], reverse=True)
    assert ("metis" in values) == (method in times.GRAPHS)


def test_prototypes_of_a_tiny_set(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prototypes, "NUMBERS", (4, 20))  # 4 are too few for k = 5
    values = prototypes.measure({"set": tiny, "repeat": 0})
    assert np.shape(values["known"]) == np.shape(values["lifetime"]) == (1, 7)
    assert set(prototypes.measure_lifetimes({"set": tiny, "repeat": 0})) == {"lifetime", "merged"}
    X = np.random.default_rng(0).normal(size=(50, 2))
    for find in (prototypes.sample, prototypes.centres, prototypes.medoids):
        assert find(X, 5, np.random.default_rng(0)).shape == (5, 2)
    # rows 1 and 2 join at 2/3 and the others at 1: all rows apart live longest
    members = [[0, 1, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3]]
    assert [labels.max() for labels in prototypes.all_cuts(as_ensemble(members), 2)] == [1, 3, 2]


def test_pieces_and_ties() -> None:
    apart = as_ensemble([[0, 0, 1, 2, 3], [0, 1, 2, 3, 4]])
    assert causes.pieces(apart) == 4
    assert len(set(causes.tied_cut(apart, 3).tolist())) == 1  # all merges at height 1 are made at once
    assert len(set(sets.average_link(apart, 3).tolist())) == 3
    assert causes.nearest(apart, apart).tolist() == [0, 1, 2, 3, 4]
    assert causes.by_class(np.array([0, 0, 1]), np.array([1, 1, 0])).tolist() == [1, 0]


def test_areas_of_a_photograph() -> None:
    for name in ("flower", "china"):
        first, second = image.areas(name, (427, 640))
        assert first.any()
        assert second.any()
        assert not (first & second).any()
        regions = np.where(first, 0, 1)
        assert image.two_classes(name, regions) == image.matched(name, regions) == 1.0


def invented() -> dict[str, list[dict[str, Any]]]:
    """Values of the first quick cases, as an experiment would write them."""
    curve = [[100 - 4 * theta + size for theta in range(20)] for size in range(5)]
    table = [[0.9] * 7] * 4
    right = {form: [0.9] * 20 for form in over_theta.FORMS}
    timed = {"base_seconds": 1.0, "seconds": [4.0, 2.0, 1.0, 0.5], "accuracy": [0.9] * 4, "rows": [9, 5, 4, 3]}
    timed |= {"counted": [0.9] * 4, "metis": [0.8] * 4, "metis_seconds": [4.0, 2.0, 1.0, 0.5]}
    return {
        "example": [example.measure({})],
        "sets": [{"summary": [9, 2, 3, 4, 5], "sizes": [3, 3, 3]}] * 6,
        "nodes": [{"nodes": curve, "kept": curve}] * 6,
        "radii": [{"estimated": curve[0], "exact": curve[0]}] * 3,
        "accuracy": [right] * 3,
        "times": [timed] * 10,
        "rings": [{"accuracy": {"as printed": 0.9}, "pieces": 3, "pieces_all": 3}] * 2,
        "balance": [{method: [0.7] * 3 for method in times.GRAPHS}] * 2,
        "order": [{"accuracy": [0.9] * 10, "nodes": [5] * 10}] * 4,
        "linear": [{"tree": spent, "link": 0.1, "distinct": 9, "rows": 3} for spent in (0.1, 0.2)],
        "image": [{"seconds": 1.0, "distinct": 9, "rows": 3, "two_classes": 0.98, "matched": 0.97, "members": 0.6}],
        "lifetimes": [{"lifetime": table, "merged": table}],
        "prototypes": [
            {"known": table, "lifetime": table, "nodes": [[20, 20]] * 4},
            {"known": table[:3], "lifetime": table[:3], "nodes": [[50, 50]] * 3},
        ],
    }


def test_a_page_from_few_records_and_from_none(tmp_path: Path) -> None:
    results = Results(tmp_path / "empty.jsonl")
    empty = write_page(PAPER, results, tmp_path, quick=True)
    assert {claim.verdict for claim in empty} == {"not tested", "holds"}  # one holds by construction
    for experiment in PAPER.experiments:
        values = invented()[experiment.name]
        for case, found in zip(experiment.cases(True), values, strict=True):
            results.measure(experiment.name, case, lambda _, found=found: found)
    claims = write_page(PAPER, results, tmp_path, quick=True)
    assert len(claims) == len(empty)
    text = (tmp_path / "ca-tree.md").read_text()
    assert "Not measured" not in text
    assert (tmp_path / "images" / "ca_tree_sets.png").stat().st_size > 1000
    assert (tmp_path / "images" / "ca_tree_nodes.png").stat().st_size > 1000


def test_case_lists_name_known_sets() -> None:
    for experiment in PAPER.experiments:
        for quick in (True, False):
            listed = experiment.cases(quick)
            assert len({tuple(sorted(case.items())) for case in listed}) == len(listed) > 0
            assert all(case.get("set", "3Rings") in sets.BY_NAME for case in listed)
