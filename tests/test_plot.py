"""Pictures: numbers behind them against slow twins; every function draws, labels, and honours ax."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import oracle
import oracle_plot
import pytest
from ensembles import noisy
from hypothesis import given
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.patches import StepPatch
from strategies import labelled_tables

from quorate import Consensus, as_ensemble, ca_tree, choose_k, compare, compress, consensus, plot, solve
from quorate._evaluation import binning, consensus_index
from quorate.plot import _axes
from quorate.plot.trees import top_of_tree
from quorate.solvers.linkage.dendrogram import cut

MEMBERS = as_ensemble(noisy(0, 300, k=4, members=12, noise=0.2, missing=0.1))
SIZES = {k: as_ensemble(noisy(k, 120, k=k, noise=0.2, missing=0.1)) for k in (2, 3, 4)}
eac = cache(lambda: consensus(MEMBERS, 4, method="eac"))  # made when a test asks: every worker collects every file
flat = cache(lambda: consensus(MEMBERS, 4, random_state=0))
PICTURES = {
    "consensus_heatmap": lambda **ax: plot.consensus_heatmap(eac(), MEMBERS, **ax),
    "densities": lambda **ax: plot.densities(flat(), MEMBERS, **ax),
    "member_nmi": lambda **ax: plot.member_nmi(MEMBERS, flat(), **ax),
    "membership_heatmap": lambda **ax: plot.membership_heatmap(flat(), MEMBERS, **ax),
    "item_consensus": lambda **ax: plot.item_consensus(flat(), MEMBERS, **ax),
    "cluster_consensus": lambda **ax: plot.cluster_consensus(flat(), MEMBERS, **ax),
    "silhouette": lambda **ax: plot.silhouette(flat(), MEMBERS, **ax),
    "confidence_histogram": lambda **ax: plot.confidence_histogram(flat(), **ax),
    "dendrogram": lambda **ax: plot.dendrogram(eac(), **ax),
    "node_curve": lambda **ax: plot.node_curve(ca_tree(MEMBERS), **ax),
    "consensus_cdf": lambda **ax: plot.consensus_cdf(SIZES, **ax),
    "delta_area": lambda **ax: plot.delta_area(SIZES, **ax),
    "tracking": lambda **ax: plot.tracking([consensus(MEMBERS, k, random_state=0) for k in (3, 2, 4)], **ax),
    "k_choice": lambda **ax: plot.k_choice(choose_k(MEMBERS, (2, 6), random_state=0), **ax),
    "comparison": lambda **ax: plot.comparison(compare(MEMBERS, ["kmeans"], (2, 4), random_state=0), **ax),
}


@pytest.fixture(autouse=True)
def _close_figures() -> Any:
    yield
    plt.close("all")


def labelled_pair(case: Any) -> tuple[Any, list[int], np.ndarray, np.ndarray]:
    """An ensemble with counts, canonical labels of its rows without gaps, and the objects one by one."""
    table, labels, weights, counts = case
    codes = oracle.canonical([max(label, 0) for label in labels])
    ensemble = as_ensemble(table, weights=weights, counts=counts, orientation="objects")
    return ensemble, codes, oracle.repeat(ensemble.labels, counts), oracle.repeat(codes, counts)


def test_every_function_is_pictured_here() -> None:
    # pictures without titles of axes are tested by test_resolutions, test_split_tests and test_explain
    assert sorted([*PICTURES, "clustering_tree", "split_tree", "traits"]) == sorted(plot.__all__)


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_returns_labelled_axes(name: str) -> None:
    ax = PICTURES[name]()
    assert isinstance(ax, Axes)
    assert ax.get_title(loc="left")
    ax.figure.canvas.draw()
    for axis in (ax.xaxis, ax.yaxis):
        # an axis without a title must be one whose ticks are names
        assert axis.get_label_text() or any(tick.get_text().startswith("member ") for tick in axis.get_ticklabels())


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_honours_ax(name: str) -> None:
    figure, panels = plt.subplots(1, 2)
    assert PICTURES[name](ax=panels[1]) is panels[1]
    assert not panels[0].has_data()
    assert panels[1].has_data()
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_names_of_clusters_do_not_overlap(name: str) -> None:
    ax = PICTURES[name]()
    ax.figure.canvas.draw()
    texts = [[label for label in axis.get_ticklabels() if label.get_text()] for axis in (ax.xaxis, ax.yaxis)]
    assert len(texts[0]) + len(texts[1]) > 1
    for side in texts:
        boxes = [label.get_window_extent() for label in side]
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


@given(labelled_tables(max_objects=8))
def test_index_distribution(case: Any) -> None:
    ensemble, _, objects, _ = labelled_pair(case)
    expected = oracle_plot.index_distribution(objects, ensemble.weights)
    if not expected:
        with pytest.raises(ValueError, match="no member labels two objects"):
            consensus_index.index_distribution(ensemble, np.random.default_rng(0))
        return
    found = consensus_index.index_distribution(ensemble, np.random.default_rng(0))
    assert found.values.tolist() == pytest.approx(list(expected))
    assert found.shares.tolist() == pytest.approx(list(expected.values()))
    assert found.area == pytest.approx(1 - sum(value * share for value, share in expected.items()))


def test_drawn_pairs_are_near_to_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = consensus_index.index_distribution(MEMBERS, np.random.default_rng(0))
    monkeypatch.setattr(consensus_index, "EXACT_ROWS", 10)
    drawn = consensus_index.index_distribution(MEMBERS, np.random.default_rng(0))
    assert (exact.n_drawn, drawn.n_drawn) == (0, consensus_index.DRAWN_PAIRS)
    assert drawn.area == pytest.approx(exact.area, abs=0.002)
    for value in (0.1, 0.5, 0.9):
        shares = [part.shares[part.values <= value].sum() for part in (exact, drawn)]
        assert shares[0] == pytest.approx(shares[1], abs=0.005)


def test_members_that_do_not_know_a_row_share_nothing_there() -> None:
    # the members of two clusters know the first two objects only
    table = np.array([[0] * 5 + [0], [1] * 5 + [1], [-1] * 5 + [2], [-1] * 5 + [2]])
    part = consensus_index.by_size(as_ensemble(table, orientation="objects"))[2]
    found = consensus_index.index_distribution(part, np.random.default_rng(0))
    assert (found.values.tolist(), found.shares.tolist()) == ([0.0], [1.0])


def test_by_size() -> None:
    assert list(consensus_index.by_size(SIZES)) == [2, 3, 4]
    assert list(consensus_index.by_size(MEMBERS)) == [4]
    assert list(consensus_index.by_size([[0, 0, 1], [0, 1, 2]])) == ["all members"]


def test_relative_gains() -> None:
    assert consensus_index.relative_gains([0.5, 0.6, 0.6, 0.0, 0.0]).tolist() == pytest.approx(
        [0.5, 0.2, 0.0, -1.0, 0.0]
    )


@given(labelled_tables(max_objects=8))
def test_item_consensus_and_silhouette(case: Any) -> None:
    ensemble, codes, objects, labels = labelled_pair(case)
    found = binning.labelled_rows(codes, ensemble)
    order = np.argsort(found.labels, kind="stable")
    bins = binning.cut_into_bins(found, order, 10_000)
    assert (np.diff(bins.edges) == 1).all()
    expected = oracle_plot.item_consensus(labels, objects, ensemble.weights)
    # objects of a bin are looked up by what they are: labels and cluster
    where = {(*row, label): place for place, (row, label) in enumerate(zip(objects.tolist(), labels, strict=True))}
    places = [where[(*found.rows.labels[row].tolist(), found.labels[row])] for row in bins.row]
    assert consensus_index.bin_item_consensus(found, bins) == pytest.approx(expected[places])
    own = consensus_index.closeness(found).own[bins.row]
    assert own == pytest.approx(expected[places, labels[places]])
    if found.n_clusters > 1:
        twin = oracle_plot.silhouettes(labels, objects, ensemble.weights)
        assert consensus_index.silhouettes(found)[bins.row] == pytest.approx(twin[places], abs=1e-9)


@given(labelled_tables(max_objects=10))
def test_bins_hold_every_object_once_and_stay_within_clusters(case: Any) -> None:
    ensemble, codes, objects, _ = labelled_pair(case)
    found = binning.labelled_rows(codes, ensemble)
    order = np.argsort(found.labels, kind="stable")
    bins = binning.cut_into_bins(found, order, 4)
    assert bins.edges[0] == 0
    assert bins.edges[-1] == len(objects)
    assert len(bins.clusters) <= max(4, found.n_clusters) + found.n_clusters
    assert (found.labels[bins.row] == bins.clusters[bins.bin]).all()
    assert np.bincount(bins.bin, weights=bins.counts).tolist() == np.diff(bins.edges).tolist()
    assert np.bincount(bins.row, weights=bins.counts).tolist() == found.rows.counts.tolist()
    assert (found.labels[bins.middle()] == bins.clusters).all()
    groups = np.repeat(bins.bin, bins.counts)
    rows = replace(found.rows, labels=found.rows.labels[bins.row], counts=bins.counts)
    matrix = binning.mean_co_association(rows, bins.bin, len(bins.clusters))
    twin = oracle_plot.group_means(groups, found.rows.labels[np.repeat(bins.row, bins.counts)], ensemble.weights)
    assert matrix == pytest.approx(twin)


@pytest.mark.parametrize("solved", [eac, flat], ids=["tree", "no tree"])
def test_heatmap_of_few_objects_is_the_matrix(solved: Any) -> None:
    picture = binning.heatmap(binning.labelled_rows(result := solved(), MEMBERS), 10_000)
    matrix, clusters, edges = picture.matrix, picture.clusters, picture.edges
    assert (np.diff(edges) == 1).all()
    whole = oracle.co_association(MEMBERS.labels)
    np.fill_diagonal(whole, 1.0)
    assert np.sort(matrix, axis=None) == pytest.approx(np.sort(whole, axis=None))
    assert np.bincount(clusters).tolist() == np.bincount(result.labels).tolist()
    # clusters are together
    assert np.count_nonzero(np.diff(clusters)) == result.n_clusters - 1


def test_heatmap_of_many_objects_is_small_and_keeps_the_mean() -> None:
    members = as_ensemble(noisy(1, 5_000, k=4, members=12, noise=0.2, missing=0.1))
    result = consensus(members, 4, random_state=0)
    picture = binning.heatmap(binning.labelled_rows(result, members), 50)
    matrix, edges = picture.matrix, picture.edges
    assert 40 <= len(matrix) <= 50
    sizes = np.diff(edges)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    rows, _ = compress(members)
    groups = np.zeros(rows.n_rows, dtype=np.int32)
    assert (matrix * pairs).sum() / pairs.sum() == pytest.approx(binning.mean_co_association(rows, groups, 1)[0, 0])


def test_the_tree_orders_the_rows() -> None:
    found = binning.labelled_rows(eac(), MEMBERS)
    ordered = found.labels[np.argsort(found.place)]
    assert np.count_nonzero(np.diff(ordered)) == eac().n_clusters - 1
    rows, _ = compress(MEMBERS)
    alone = binning.labelled_rows(solve(rows, 4, method="eac"), rows)
    assert alone.place.tolist() == found.place.tolist()


def test_top_of_tree() -> None:
    tree = np.array([[0, 1, 0.1, 3], [2, 3, 0.2, 2], [4, 5, 0.3, 5], [6, 7, 0.4, 6]])
    # leaf 0 stands for two objects, so its branch with leaf 1 has three
    top = top_of_tree(tree, 3, np.array([2, 1, 1, 1, 1]))
    assert top.tree.tolist() == [[0, 1, 0.3, 2], [2, 3, 0.4, 3]]
    assert (top.counts.tolist(), top.first.tolist()) == ([1, 3, 2], [4, 0, 2])


@pytest.mark.parametrize("n_branches", [2, 4, 9, 30])
def test_branches_are_those_of_a_cut(n_branches: int) -> None:
    counts = np.bincount(eac().rows)
    top = top_of_tree(eac().tree, n_branches, counts)
    labels = cut(eac().tree, n_branches)
    assert sorted(top.counts) == sorted(np.bincount(labels, weights=counts))
    assert len(set(labels[top.first])) == n_branches


def test_translated_labels() -> None:
    members = as_ensemble([["b", "b", "a", "a", None], [0, 1, 2, 2, 2]])
    found = binning.labelled_rows([0, 0, 1, 1, 1], members)
    assert binning.translated(found).tolist() == [[0, 0], [0, 0], [1, 1], [-1, 1]]


def test_matched_clusters_keep_their_number() -> None:
    labels = [[0, 0, 0, 0, 0, 1, 1], [0, 1, 1, 1, 1, 2, 2], [0, 0, 0, 0, 1, 2, 2]]
    results = [Consensus(np.array(part, dtype=np.int32), 0.0) for part in labels]
    rows, counts = binning.matched_rows(results)
    assert rows.tolist() == [[0, 2, 0], [0, 0, 0], [0, 0, 3], [1, 1, 1]]
    assert counts.tolist() == [1, 3, 1, 2]


def drawn(ax: Axes) -> list[np.ndarray]:
    """The numbers in a picture: shades of its images and meshes, heights of its steps."""
    meshes = [part.get_array() for part in ax.collections if isinstance(part, QuadMesh)]
    steps = [np.stack(np.broadcast_arrays(*part.get_data()[::2])) for part in ax.patches if isinstance(part, StepPatch)]
    return [np.ma.filled(part, np.nan) for part in [*meshes, *(image.get_array() for image in ax.images), *steps]]


def test_objects_without_a_label_are_left_out() -> None:
    labels = [None if place < 20 else f"c{label}" for place, label in enumerate(flat().labels)]
    known = replace(MEMBERS, labels=MEMBERS.labels[20:], counts=MEMBERS.counts[20:])
    assert binning.labelled_rows(labels, MEMBERS).rows.n_objects == 280
    for draw in (plot.consensus_heatmap, plot.membership_heatmap, plot.silhouette, plot.item_consensus):
        whole, part = drawn(draw(labels, MEMBERS)), drawn(draw(labels[20:], known))
        assert len(whole) == len(part) > 0
        for one, other in zip(whole, part, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


@cache
def pairs_of_members() -> np.ndarray:
    """Co-association of every two objects of MEMBERS; an object is not paired with itself."""
    matrix = oracle.co_association(MEMBERS.labels)
    np.fill_diagonal(matrix, 0.0)
    return matrix


@pytest.mark.parametrize("k", [1, 2, 9, 30])
def test_maps_of_any_number_of_clusters(k: int) -> None:
    result = consensus(MEMBERS, k, method="eac")
    ax = plot.consensus_heatmap(result, MEMBERS)
    assert ax.get_xlabel() == f"300 objects in {k} clusters"
    whole = pairs_of_members() + np.eye(300)
    np.testing.assert_allclose(np.sort(drawn(ax)[0], axis=None), np.sort(whole, axis=None), atol=1e-12)
    picture = drawn(plot.membership_heatmap(result, MEMBERS))[0]
    assert picture.shape == (MEMBERS.n_members + 1, 300)
    assert np.bincount(picture[-1].astype(int)).tolist() == np.bincount(result.labels).tolist()
    between = np.stack(
        [
            oracle_plot.with_clusters(pairs_of_members(), result.labels)[result.labels == cluster].mean(axis=0)
            for cluster in range(k)
        ]
    )
    np.testing.assert_allclose(drawn(plot.densities(result, MEMBERS))[0], between, atol=1e-12)
    assert [bar.get_height() for bar in plot.cluster_consensus(result, MEMBERS).patches] == pytest.approx(
        np.diag(between)
    )


@pytest.mark.parametrize("k", [1, 2, 9, 30])
def test_objects_of_any_number_of_clusters(k: int) -> None:
    result = consensus(MEMBERS, k, method="eac")
    consensus_index = oracle_plot.with_clusters(pairs_of_members(), result.labels)
    own = consensus_index[np.arange(300), result.labels]
    steps = drawn(plot.item_consensus(result, MEMBERS, max_bins=10_000))
    assert len(steps) == 2 * k
    for cluster in range(k):
        bars = steps[cluster][0]
        assert np.sort(bars[bars > 0]) == pytest.approx(np.sort(own[(result.labels == cluster) & (own > 0)]))
    # the last layer ends at the sum over all clusters
    assert np.sort(steps[-1][0]) == pytest.approx(np.sort(consensus_index.sum(axis=1)))
    if k > 1:
        twin = 1 - np.where(np.arange(k) == result.labels[:, None], -np.inf, consensus_index).max(axis=1)
        alone = np.bincount(result.labels)[result.labels] == 1
        values = np.where(alone, 0.0, (twin - (1 - own)) / np.maximum(np.maximum(twin, 1 - own), 1e-12))
        ax = plot.silhouette(result, MEMBERS, max_bins=10_000)
        assert ax.get_title(loc="left") == f"Silhouette, mean {values.mean():.2f} (dashed)"
        assert np.sort(np.sum([part[0] for part in drawn(ax)], axis=0)) == pytest.approx(np.sort(values), abs=1e-9)


@pytest.mark.parametrize("k", [1, 2, 9, 30])
def test_trees_and_histograms_of_any_number_of_clusters(k: int) -> None:
    result = consensus(MEMBERS, k, method="eac")
    ax = plot.dendrogram(result, max_leaves=12)
    assert ax.get_title(loc="left").startswith(f"Dendrogram, cut at {k} clusters (top of ")
    named = [int(label.get_text()) for label in ax.get_xticklabels()]
    assert (len(named), sum(named)) == (max(12, k), 300)
    shades = {line.get_color() for line in ax.lines} - {_axes.QUIET, _axes.DARK}
    assert shades == set(_axes.colours(k))
    steps = drawn(plot.confidence_histogram(result))
    assert len(steps) == (k if k <= 7 else 1)
    assert result.confidence is not None
    assert steps[-1][0].tolist() == np.histogram(result.confidence, np.linspace(0, 1, 41))[0].tolist()


def test_many_members_are_not_named() -> None:
    members = as_ensemble(noisy(1, 200, k=4, members=60, noise=0.2))
    assert not plot.member_nmi(members).get_xticklabels()
    assert not plot.membership_heatmap(consensus(members, 4), members).get_yticklabels()


def test_member_nmi_has_the_consensus_last() -> None:
    ax = plot.member_nmi({"web": [0, 0, 1, 1], "shop": [0, 0, 1, 2]}, [0, 0, 1, 1])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["web", "shop", "consensus"]
    assert ax.images[0].get_array()[2].tolist() == pytest.approx([1.0, 0.816497, 1.0], abs=1e-6)


ERRORS = {
    "result must be a Consensus with a tree": lambda: plot.dendrogram(flat()),
    "that has a confidence": lambda: plot.confidence_histogram(replace(flat(), confidence=None)),
    "needs at least two, but the result has one": lambda: plot.silhouette(consensus(MEMBERS, 1), MEMBERS),
    "result must have one label per row of the ensemble": lambda: plot.consensus_heatmap(flat().labels[:-1], MEMBERS),
    "one label per row of the ensemble": lambda: plot.member_nmi(MEMBERS, flat().labels[:-1]),
    "make it with ca_tree": lambda: plot.node_curve(MEMBERS),
    "results must be a list of Consensus": lambda: plot.tracking(flat()),
    "results must label the same objects": lambda: plot.tracking([flat(), consensus([0, 1], 2)]),
    "needs at least two, got": lambda: plot.delta_area(MEMBERS),
    "what choose_k returns": lambda: plot.k_choice(flat()),
    "max_bins must be at least 1": lambda: plot.consensus_heatmap(flat(), MEMBERS, max_bins=0),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors(message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        ERRORS[message]()


def test_a_consensus_that_chose_its_number_has_the_choice() -> None:
    assert plot.k_choice(consensus(MEMBERS, (2, 4), random_state=0)).get_title(loc="left").startswith("Recommended")


def test_matplotlib_is_loaded_when_drawing_and_missed_politely() -> None:
    code = """
import sys, quorate
quorate.plot.densities
assert not any(name.startswith("matplotlib") for name in sys.modules)
sys.modules["matplotlib"] = None
sys.modules["matplotlib.pyplot"] = None
try:
    quorate.plot.densities([0, 0, 1], [[0, 0, 1], [0, 1, 1]])
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert 'pip install "quorate[plot]"' in done.stdout
