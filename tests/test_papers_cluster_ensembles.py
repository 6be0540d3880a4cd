"""Cluster Ensembles: its experiments on tiny inputs, its page and claims from invented records and from none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.papers import cluster_ensembles_fdc as fdc
from benchmarks.papers import cluster_ensembles_figures as figures
from benchmarks.papers import cluster_ensembles_noise as noise
from benchmarks.papers import cluster_ensembles_odc as odc
from benchmarks.papers import cluster_ensembles_rcc as rcc
from benchmarks.papers.cluster_ensembles import PAPER
from benchmarks.papers.cluster_ensembles_data import Data, data_set, graph_clusters
from benchmarks.papers.paper import write_page
from benchmarks.papers.records import Record, Results


def test_the_worked_example() -> None:
    values = noise.golden({"repeat": 0})
    assert values["partitions"] == 301
    assert values["best"] == np.asarray(values["mcla"]).tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert values["best sum"] == pytest.approx(17.945449, abs=1e-5)
    assert values["second sum"] == pytest.approx(17.897237, abs=1e-5)
    np.testing.assert_allclose(values["confidence"], noise.CONFIDENCES)


def test_figures_2_to_4_of_the_worked_example() -> None:
    values = figures.example({"repeat": 0})
    average = np.array(values["average"])
    assert average[0, 1] == 3 / 4 > average[0, 2] == 2 / 4
    apart = ~np.eye(7, dtype=bool)
    assert average[apart] == pytest.approx(np.mean(values["members"], axis=0)[apart])
    assert (values["least cut"], values["printed cut"], values["partitions"]) == (4, 4, 105)
    assert values["library"] == 4
    assert sorted(values["meta-cluster"]) == [[4, 5, 6], [5, 6], [5, 6]]
    assert values["association"] == pytest.approx([0, 0, 0, 0, 1 / 3, 1, 1])
    assert values["answer"] == [0, 0, 0, 1, 1, 2, 2]


def test_a_longer_search_is_never_worse() -> None:
    values = figures.search({"kind": "copies under noise", "repeat": 4})
    assert values["greedy"]["anmi"] <= values["greedy, 50 tries"]["anmi"] <= values["greedy, 200 tries"]["anmi"]
    records = [Record("search", {"kind": "copies under noise", "repeat": 4}, dict(values), 0.0)]
    assert "above both in 1, below the better one in 0 of 1" in figures.search_page(records, Path())


def test_the_published_search_beats_greedy_and_supra() -> None:
    records = Results(Path("benchmarks/papers/results/cluster_ensembles.jsonl")).of("search")
    assert len(records) == 20
    first = np.array([max(r.values["greedy"]["anmi"], r.values["supra"]["anmi"]) for r in records])
    longer = np.array([r.values["greedy, 50 tries"]["anmi"] for r in records])
    assert (longer >= first - 1e-9).all()
    assert (longer > first + 1e-4).sum() > 10


def test_the_sets_of_table_2() -> None:
    values = figures.measure_set({"set": "8D5K", "repeat": 0})
    assert (values["features"], values["categories"], values["balance"], values["clusters"]) == (8, 5, 1.0, 5)
    views = figures.views({"repeat": 0})
    assert views["wrong"]["consensus"] < min(n for name, n in views["wrong"].items() if name.startswith("view"))
    assert set(map(len, views["labels"].values())) == {1000}


def test_copies_without_noise_are_recovered() -> None:
    values = noise.noise({"noise": 0.0, "repeat": 0})
    assert all(values[f"{name} nmi"] == pytest.approx(1.0) for name in noise.METHODS)
    assert values["random nmi"] < 0.2


@pytest.mark.parametrize("graph", ["full", "inverse", "neighbours"])
def test_graphs_split_two_clear_groups(graph: Any) -> None:
    X = np.concatenate([np.linspace(0.0, 0.3, 50), np.linspace(5.0, 5.3, 50)])[:, None]
    labels = graph_clusters(Data(X, np.repeat([0, 1], 50), 2, "euclidean"), X, 0, graph)
    assert len(set(labels[:50])) == len(set(labels[50:])) == 1


def test_views_are_as_they_say() -> None:
    rng = np.random.default_rng(0)
    assert fdc.columns_seen("2D2K", "printed", 2, rng) == [[0], [0], [1]]
    assert len(np.unique(fdc.columns_seen("8D5K", "covering", 8, rng))) == 8
    assert len(np.unique(fdc.columns_seen("YAHOO", "disjoint", 2903, rng))) == 20 * 128
    assert np.shape(fdc.columns_seen("PENDIG", "drawn", 16, rng)) == (10, 4)


def test_few_features_make_a_consensus() -> None:
    values = fdc.distributed(data_set("8D5K", 0, 150), "8D5K", "printed", "full", 0)
    assert values["worst"] <= values["mean"] <= values["best"] < values["consensus"]
    assert values["covered"] == 1.0


def test_parts_cover_all_objects_and_overlap() -> None:
    parts = odc.parts_of(100, 8, np.random.default_rng(0))
    assert {len(part) for part in parts} == {25}
    assert all(len(np.unique(part)) == len(part) for part in parts)
    assert len(np.unique(np.concatenate(parts))) == 100


def test_parts_and_their_speed_are_measured() -> None:
    values = odc.measure({"set": "2D2K", "parts": 4, "graph": "full", "n": 120, "repeat": 0})
    assert values["share"] == pytest.approx(values["consensus"] / values["full"])
    assert values["share"] > 0.6
    assert odc.speed({"n": 100, "parts": 4, "repeat": 0})["one"] > 0


def test_ten_clusterers_and_their_consensus() -> None:
    values = rcc.robust(data_set("2D2K", 0, 80), 0)
    assert set(rcc.NAMES) <= set(values)
    assert values["consensus"] > values["mean"]


def test_pages_and_claims_need_no_records(tmp_path: Path) -> None:
    claims = write_page(PAPER, Results(tmp_path / "none.jsonl"), tmp_path, quick=False)
    assert {claim.verdict for claim in claims} == {"not tested"}
    assert "Not measured" in (tmp_path / "cluster-ensembles.md").read_text()


def test_pages_and_claims_of_invented_records(tmp_path: Path) -> None:
    results, rng = Results(tmp_path / "some.jsonl"), np.random.default_rng(0)
    for experiment in PAPER.experiments:
        for case in experiment.cases(True):
            if experiment.name in ("golden", "figures", "views"):
                results.measure(experiment.name, case, experiment.measure)
            elif experiment.name != "sets" or case["set"] in ("2D2K", "8D5K"):
                results.measure(experiment.name, case, lambda case, name=experiment.name: invented(name, rng))
    claims = {claim.text: claim.verdict for claim in write_page(PAPER, results, tmp_path, quick=True)}
    assert (
        claims["MCLA finds the best of all 301 groupings of the worked example, with the printed confidences"]
        == "holds"
    )
    text = (tmp_path / "cluster-ensembles.md").read_text()
    assert "Not measured" not in text
    assert all(
        (tmp_path / "images" / f"cluster-ensembles-{n}.png").exists()
        for n in ("noise", "fdc", "odc", "rcc", "k", "example", "views")
    )


def invented(experiment: str, rng: np.random.Generator) -> dict[str, Any]:
    """Values of one case: every name some experiment writes, at random."""
    if experiment == "k_peak":
        lists = {name: rng.random(9).tolist() for name in ("anmi", "nmi", "changed", "gained")}
        return {**lists, "numbers": list(range(2, 11)), "best member": 0.5}
    if experiment == "sets":
        return figures.measure_set({"set": "2D2K", "repeat": 0})
    if experiment == "search":
        return {name: {"anmi": float(rng.random()), "seconds": 0.1} for name in figures.WAYS}
    names = [f"{curve} {score}" for curve in noise.CURVES for score in ("nmi", "anmi")]
    names += [
        *fdc.VALUES,
        *rcc.NAMES,
        "cspa",
        "hgpa",
        "mcla",
        "accuracy",
        "covered",
        "without features",
        "hgpa-connectivity",
        "random",
        "anmi",
    ]
    names += [
        "HGP neighbours",
        "consensus neighbours",
        "mean neighbours",
        "full",
        "share",
        "one",
        "many",
        "merge",
        "nmi",
    ]
    return {**{name: float(rng.random()) for name in names}, "winner": "cspa"}
