"""Cluster Ensembles: its experiments on tiny inputs, its page and claims from invented records and from none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.papers import cluster_ensembles_fdc as fdc
from benchmarks.papers import cluster_ensembles_noise as noise
from benchmarks.papers import cluster_ensembles_odc as odc
from benchmarks.papers import cluster_ensembles_rcc as rcc
from benchmarks.papers.cluster_ensembles import PAPER
from benchmarks.papers.cluster_ensembles_data import Data, data_set, graph_clusters
from benchmarks.papers.paper import write_page
from benchmarks.papers.records import Results


def test_the_worked_example() -> None:
    values = noise.golden({"repeat": 0})
    assert values["partitions"] == 301
    assert values["best"] == np.asarray(values["mcla"]).tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert values["best sum"] == pytest.approx(17.945449, abs=1e-5)
    assert values["second sum"] == pytest.approx(17.897237, abs=1e-5)
    np.testing.assert_allclose(values["confidence"], noise.CONFIDENCES)


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
        if experiment.name != "golden":
            for case in experiment.cases(True):
                results.measure(experiment.name, case, lambda case, name=experiment.name: invented(name, rng))
    results.measure("golden", {"repeat": 0}, noise.golden)
    claims = {claim.text: claim.verdict for claim in write_page(PAPER, results, tmp_path, quick=True)}
    assert (
        claims["MCLA finds the best of all 301 groupings of the worked example, with the printed confidences"]
        == "holds"
    )
    text = (tmp_path / "cluster-ensembles.md").read_text()
    assert "Not measured" not in text
    assert all(
        (tmp_path / "images" / f"cluster-ensembles-{n}.png").exists() for n in ("noise", "fdc", "odc", "rcc", "k")
    )


def invented(experiment: str, rng: np.random.Generator) -> dict[str, Any]:
    """Values of one case: every name some experiment writes, at random."""
    if experiment == "k_peak":
        lists = {name: rng.random(9).tolist() for name in ("anmi", "nmi", "changed", "gained")}
        return {**lists, "numbers": list(range(2, 11)), "best member": 0.5}
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
