"""Whether measurements have clusters: valleys, links, the reference without clusters, and the doors that use it."""

from __future__ import annotations

import json
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial import cKDTree
from sklearn.cluster import KMeans

from quorate import EnsembleClustering, consensus, evaluate, generate, load_consensus, save_consensus
from quorate._choose_k.criteria import link_gaps, modularities
from quorate._choose_k.explore import (
    LEAST_DIMENSION,
    How,
    chooses_number,
    links_between_cells,
)
from quorate._consensus import consensus as consensus_module
from quorate._trust.agreement import checked_draws
from quorate._trust.reference import (
    Reference,
    compare_with_reference,
    drawn_reference,
    judged_clusters,
    principal_sample,
    reference_of,
)
from quorate._types import Solving
from quorate._verdict import NO_STRUCTURE, STRONG
from quorate.cli import main
from quorate.generation.features import as_features
from quorate.generation.landmarks import dimension_around, links_of, neighbours_of
from quorate.generation.plans import Request
from quorate.generation.runner import Options
from quorate.generation.trial import Trial


def blobs(n: int = 300, apart: float = 6.0, k: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal((apart * place, 0), 1, size=(n // k, 2)) for place in range(k)])


def by_kmeans(points: np.ndarray, number: int, k: int = 3) -> np.ndarray:
    return np.asarray(KMeans(k, n_init=1, random_state=number).fit_predict(points))


def test_links_are_those_of_a_tree() -> None:
    points = blobs(90)
    labels = np.arange(90) // 30
    found = links_of(neighbours_of(points, 10)[0], labels, 3)
    near = cKDTree(points).query(points, 11)[1]
    expected = np.zeros((3, 3))
    for row, others in enumerate(near):
        for other in others:
            expected[labels[row], labels[other]] += 1
    assert np.array_equal(found, expected + expected.T)


def test_a_ring_in_noise_is_beyond_the_reference_by_its_border() -> None:
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, size=500)
    ring = 4 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(scale=0.2, size=(500, 2))
    points = np.concatenate([ring, rng.normal(scale=0.6, size=(150, 2)), rng.uniform(-5, 5, size=(65, 2))])
    labels = (np.linalg.norm(points, axis=1) > 2.3).astype(int)
    halves = partial(by_kmeans, k=2)
    found = compare_with_reference(as_features(points), labels, halves, seed=0, n_draws=5)
    assert found is not None
    assert found.is_beyond
    assert found.valley - found.expected < 3
    assert found.border is not None
    assert found.expected_border is not None
    assert found.border - found.expected_border > 0.8
    angles = np.arctan2(points[:, 1], points[:, 0])
    wrong = compare_with_reference(as_features(points), (angles > 0).astype(int), halves, seed=0, n_draws=5)
    assert wrong is not None
    assert wrong.border is not None
    assert wrong.expected_border is not None
    assert wrong.border < wrong.expected_border + 0.5


def test_cells_lie_within_clusters_and_keep_all_links() -> None:
    points = blobs(300)
    divisions, more = links_between_cells(as_features(points), 0)
    assert more == []  # in two dimensions modularity says nothing
    assert [len(links) for links in divisions] == [60, 60, 60]
    for links in divisions:
        assert np.array_equal(links, links.T)
        assert links.sum() == 2 * 300 * 11
    gaps = link_gaps(divisions, range(2, 10))
    assert max(gaps, key=lambda k: gaps[k]) == 3
    assert links_between_cells(as_features(points[:14]), 0) == ([], [])
    assert links_between_cells(as_features(csr_array(points)), 0) == ([], [])


def test_the_link_gap_is_the_mean_over_divisions() -> None:
    one = np.array([[8.0, 4.0, 0.0], [4.0, 8.0, 1.0], [0.0, 1.0, 9.0]])
    # two of three are merged at 4 / 12, and the next two at 1 / 10
    gap = np.log(4 / 12 + 0.005) - np.log(1 / 10 + 0.005)
    assert link_gaps([one], range(2, 5)) == pytest.approx({2: gap})
    other = np.array([[8.0, 2.0], [2.0, 8.0]])
    assert link_gaps([one, other], [2]) == pytest.approx({2: gap})
    assert link_gaps([one, one[::-1, ::-1]], [2]) == pytest.approx({2: gap})
    assert link_gaps([], [2, 3]) == {}


def test_modularity_by_hand() -> None:
    links = np.array([[8.0, 4.0, 0.0], [4.0, 8.0, 1.0], [0.0, 1.0, 9.0]])
    three, two = 25 / 35 - (12**2 + 13**2 + 10**2) / 35**2, 33 / 35 - (25**2 + 10**2) / 35**2
    assert modularities([links], range(2, 6)) == pytest.approx({2: two, 3: three})
    assert modularities([links, links[::-1, ::-1]], [2]) == pytest.approx({2: two})
    assert modularities([], [2, 3]) == {}


def test_dimensions_around_objects() -> None:
    rng = np.random.default_rng(0)
    for d, low, high in ((1, 0.9, 1.1), (2, 1.7, 2.2), (3, 2.4, 3.3), (6, 4.2, 6.5), (10, 6, 10)):
        flat = np.zeros((600, 20))
        flat[:, :d] = rng.random(size=(600, d))
        found = dimension_around(neighbours_of(flat * 1e3, 10)[1])
        assert low < found < high
        assert (found >= LEAST_DIMENSION) == (d > 5)
    copies = np.repeat(rng.random(size=(100, 10)), 6, axis=0)
    assert dimension_around(neighbours_of(copies, 10)[1]) == 0
    assert dimension_around(neighbours_of(np.eye(40), 10)[1]) == np.inf


def test_in_many_dimensions_the_number_of_most_modularity_is_found() -> None:
    """Gaps speak for two clusters here, because the other three are closer to one another than to these."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6, 12)) * 1.3
    centres[3:] += 3
    points = np.concatenate([rng.normal(centre, 1, size=(80, 12)) for centre in centres])
    choice = EnsembleClustering(random_state=0).fit(points).consensus_.info["choice"]
    assert choice.n_clusters == choice.votes["modularity"] == 6
    fewer = EnsembleClustering(random_state=0).fit(points[:, :2]).consensus_.info["choice"]
    assert all(entry.modularity is None for entry in fewer.table)
    assert "modularity" not in str(fewer)
    few = EnsembleClustering((2, 4), random_state=0).fit(points[::5]).consensus_.info["choice"]
    assert few.table[0].modularity is None


def test_the_number_is_chosen_with_the_options_of_the_consensus() -> None:
    """Those that belong to no method were once refused: "method 'auto' has no option 'confidence'"."""
    options = {"confidence": False}
    model = EnsembleClustering((2, 4), n_members=6, method_options=options, reference=None, random_state=0).fit(blobs())
    assert model.n_clusters_ == 3
    assert model.confidence_ is None


def test_clusters_of_a_number_are_judged_as_if_it_were_given() -> None:
    X = blobs()
    request = Request(20, None, "auto", 1.0, 1.0)
    how = How(request, Solving(), 0, Options(), {}, {}, {})
    found = judged_clusters(as_features(X), how, 3, draws=3)
    model = EnsembleClustering(3, reference=3, random_state=0).fit(X)
    assert found is not None
    assert found.valley == model.consensus_.info["reference_test"]["valley"]
    assert judged_clusters(as_features(csr_array(X)), how, 3, draws=3) is None
    many = judged_clusters(as_features(np.tile(X, (20, 1)) + np.arange(6_000)[:, None] * 1e-6), how, 3, draws=2)
    assert many is not None
    assert many.n_objects == 1_000


def test_the_reference_has_the_same_covariance_and_is_flat() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20_000, 3)) * [3.0, 2.0, 1.0]
    points -= points.mean(axis=0)
    drawn = drawn_reference(len(points), points.std(axis=0), rng)
    assert np.cov(drawn.T) == pytest.approx(np.cov(points.T), abs=0.2)
    radius = np.linalg.norm(drawn / points.std(axis=0), axis=1) / np.sqrt(5)
    assert radius.max() <= 1
    assert np.mean(radius**3) == pytest.approx(0.5, abs=0.02)


def test_the_sample_is_rotated_and_keeps_distances() -> None:
    points = np.column_stack([blobs(300), np.ones(300)])
    labels = np.where(np.arange(300) < 10, -1, np.arange(300) // 100)
    sample, codes = principal_sample(as_features(points), labels, 0)
    assert sample.shape == (290, 2)
    assert sorted(set(codes.tolist())) == [0, 1, 2]
    scale = as_features(points).scale
    one = np.linalg.norm(points[10] - points[250]) * scale
    assert np.linalg.norm(sample[0] - sample[240]) == pytest.approx(one)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, d: rng.normal(size=(500, d)),
        lambda rng, d: rng.uniform(size=(500, d)),
        lambda rng, d: rng.normal(size=(500, d)) @ rng.normal(size=(d, d)),
        lambda rng, d: rng.standard_t(3, size=(500, d)),
        lambda rng, d: rng.exponential(size=(500, d)),
    ],
    ids=["gaussian", "uniform", "correlated", "heavy tails", "skewed"],
)
@pytest.mark.parametrize("d", [2, 20])
def test_measurements_without_clusters_are_not_beyond_the_reference(draw: Any, d: int) -> None:
    points = draw(np.random.default_rng(1), d)
    found = compare_with_reference(as_features(points), by_kmeans(points, 0), by_kmeans, seed=0)
    assert found is not None
    assert not found.is_beyond


@pytest.mark.parametrize("apart", [4.0, 8.0])
def test_clusters_are_beyond_the_reference(apart: float) -> None:
    points = blobs(600, apart)
    found = compare_with_reference(as_features(points), by_kmeans(points, 0), by_kmeans, seed=0)
    assert found is not None
    assert found.is_beyond
    assert found.p_value == pytest.approx(1 / (1 + found.n_draws))
    assert found.valley > found.expected
    again = compare_with_reference(as_features(points), by_kmeans(points, 0), by_kmeans, seed=0, n_draws=3)
    assert again is not None
    assert again.n_draws == 3


def test_clusters_of_any_shape_are_beyond_the_reference_by_their_links() -> None:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, size=800)
    labels = np.arange(800) % 2
    rings = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(labels, 1.0, 3.0)[:, None]
    rings += rng.normal(scale=0.05, size=rings.shape)
    found = compare_with_reference(
        as_features(rings), labels, lambda points, number: by_kmeans(points, number, 2), seed=0
    )
    assert found is not None
    assert found.is_beyond
    assert found.cut < 0.001


def test_what_cannot_be_compared() -> None:
    points = blobs(60)
    assert compare_with_reference(as_features(points), np.zeros(60, dtype=int), by_kmeans, seed=0) is None
    assert compare_with_reference(as_features(points[:10]), np.arange(10) % 2, by_kmeans, seed=0) is None
    assert compare_with_reference(as_features(np.ones((60, 2))), np.arange(60) % 2, by_kmeans, seed=0) is None
    sparse = as_features(csr_array(points))
    assert compare_with_reference(sparse, np.arange(60) % 2, by_kmeans, seed=0) is None


def test_how_often_to_draw() -> None:
    assert [checked_draws(value) for value in (None, False, "auto", True, 7)] == [None, None, 0, 0, 7]
    with pytest.raises(ValueError, match="reference must be between 2 and 10,000"):
        checked_draws(1)
    assert [chooses_number(k, "auto") for k in (None, "auto", (2, 5), 3)] == [True, True, True, False]
    assert [chooses_number(None, method) for method in ("eac", "lwgp")] == [False, True]


@pytest.fixture(scope="module")
def chosen() -> EnsembleClustering:
    return EnsembleClustering("auto", random_state=0).fit(blobs())


def test_every_door_finds_the_same_clusters(chosen: EnsembleClustering, tmp_path: Path) -> None:
    X = blobs()
    assert chosen.n_clusters_ == 3
    assert Reference(**chosen.consensus_.info["reference_test"]).is_beyond
    given = EnsembleClustering(3, random_state=0).fit(X)
    assert np.array_equal(given.labels_, chosen.labels_)
    assert "reference_test" not in given.consensus_.info
    none = EnsembleClustering(None, random_state=0, reference=None).fit(X)
    assert np.array_equal(none.labels_, chosen.labels_)
    table, output = tmp_path / "X.csv", tmp_path / "labels.csv"
    np.savetxt(table, X, delimiter=",", header="a,b", comments="")
    for options in ([], ["-k", "auto"]):
        call = ["cluster", str(table), "-o", str(output), "--force", "--no-null", "--no-reference", *options]
        assert main(call) == 0
        found = np.loadtxt(output, delimiter=",", skiprows=1, ndmin=2)[:, 0]
        assert np.array_equal(found, chosen.labels_), options


def test_measurements_without_clusters_have_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = EnsembleClustering("auto", random_state=0).fit(X)
    assert model.n_clusters_ == 1
    reason = model.consensus_.info["choice"].reason
    assert reason.startswith("1 cluster: random measurements without clusters")
    assert "no number stands out: try " in reason, "none is recommended as if it were good"
    assert "criteria" not in reason
    assert model.predict(X[:5]).tolist() == [0] * 5
    assert model.transform(X[:5]).shape == (5, 1)
    scores = evaluate(model.consensus_, model.ensemble_, null=19)
    assert scores.verdict.grade == NO_STRUCTURE
    assert scores.reference_z is not None
    table = tmp_path / "X.csv"
    np.savetxt(table, X, delimiter=",", header="a,b", comments="")
    assert main(["cluster", str(table), "--json", "--no-null"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["n_clusters"] == 1
    assert told["verdict"]["grade"] == NO_STRUCTURE
    within = EnsembleClustering((2, 4), random_state=0).fit(X)
    assert within.n_clusters_ >= 2
    assert within.consensus_.info["choice"].reason.endswith("so there may be no clusters at all.")


def test_evaluate_with_features() -> None:
    X = blobs()
    ensemble = generate(X, 10, k=("default", 3), base="kmeans", random_state=0)
    result = consensus(ensemble, 3, random_state=0)
    scores = evaluate(result, ensemble, null=19, features=X)
    assert scores.reference_z is not None
    assert scores.reference_z > 3
    assert scores.verdict.grade == STRONG
    assert "measurements without clusters" in scores.verdict.reason
    assert evaluate(result, ensemble, features=X).verdict.grade is None
    assert "separated better" in evaluate(result, ensemble, features=X).verdict.text
    plain = evaluate(result.labels, ensemble, features=X, reference=4)
    assert plain.n_draws == 4
    assert evaluate(result, ensemble, features=X, reference=None).reference_z is None
    with pytest.raises(ValueError, match="features must have one row per row of the ensemble, got 10 rows for 300"):
        evaluate(result, ensemble, features=X[:10])


def test_the_comparison_is_kept_in_files(chosen: EnsembleClustering, tmp_path: Path) -> None:
    path = tmp_path / "result.npz"
    save_consensus(path, chosen.consensus_)
    again = load_consensus(path)
    assert again.info["reference_test"] == chosen.consensus_.info["reference_test"]
    assert again.info["choice"].n_clusters == 3
    assert tuple(again.info["choice"].candidates) == chosen.consensus_.info["choice"].candidates
    assert evaluate(again, chosen.ensemble_).reference_z == chosen.consensus_.info["reference_test"]["z"]


def test_a_number_of_draws_compares_a_given_number_of_clusters_too() -> None:
    X = blobs()
    model = EnsembleClustering(3, reference=3, random_state=0).fit(X)
    assert model.consensus_.info["reference_test"]["n_draws"] == 3
    again = reference_of(model.consensus_, model.labels_, model.ensemble_, as_features(X), 3)
    assert again is not None
    assert again.z == model.consensus_.info["reference_test"]["z"]


def test_nobody_is_warned_of_clusters_made_for_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consensus_module, "collapsed", lambda sizes, ensemble: "Nearly all objects are in one cluster.")
    how = How(Request(20, None, "kmeans", 1.0, 1.0), Solving(), 0, Options(), {}, {}, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert judged_clusters(as_features(blobs()), how, 3, draws=2) is not None
    with pytest.warns(UserWarning, match="Nearly all"):
        EnsembleClustering(3, random_state=0).fit(blobs())


def test_measurements_without_clusters_need_no_trial_of_members(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trial, "decided", lambda trial: pytest.fail("a trial was made"))
    X = np.random.default_rng(0).random((300, 4))
    model = EnsembleClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 1
    assert model.predict(X[:5]).tolist() == [0] * 5
    with pytest.raises(pytest.fail.Exception, match="a trial was made"):
        EnsembleClustering(random_state=0).fit(blobs())


def test_values_near_the_largest_number_are_judged_as_others_are() -> None:
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    X = random.normal(size=(60, 2)) + 6 * truth[:, None]
    members = generate(X, 4, k=3, random_state=0)
    result = consensus(members, 3, random_state=0)
    plain, huge = (evaluate(result, members, features=values).reference_z for values in (X, X * 2.0**1018))
    assert plain == huge
