"""Methods and numbers of clusters side by side: compare, over_k, and their pictures."""

from __future__ import annotations

import json

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from oracle import co_association
from strategies import labelled_tables
from test_laws import noisy

import quorate
from quorate import as_ensemble, compare, consensus, generate, over_k, plot
from quorate._evaluation.binning import labelled_rows
from quorate._evaluation.consensus_index import cluster_consensus, row_consensus

mpl.use("agg")


@pytest.fixture(autouse=True)
def _close_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def three_blobs(n: int = 30) -> np.ndarray:
    return np.concatenate([np.random.default_rng(0).normal(m, 1, size=(n, 2)) for m in (0, 8, 16)])


def test_every_cell_is_the_score_of_its_result() -> None:
    labels = noisy(3, missing=0.1)
    table = compare(labels, ["kmeans", "eac"], range(2, 5), n_repeats=2, random_state=0)
    assert [row[:2] for row in table.rows] == [(m, k) for m in ("kmeans", "eac") for k in (2, 3, 4)]
    for row in table.rows:
        result = table.result(row.method, row.n_clusters)
        assert result.n_clusters == row.n_clusters
        assert row.anmi == pytest.approx(quorate.anmi(result, labels))
        assert row.agreement == pytest.approx(quorate.evaluate(result, labels).agreement)
        assert row.null < row.agreement
        assert result.confidence is not None
        assert row.density == pytest.approx(quorate.density(result, labels))
        assert -1 <= row.stability <= 1
        assert row.seconds > 0
    frame = table.to_frame()
    assert frame.loc[frame["method"] == "eac", "agreement"].tolist() == table.matrix()[1].tolist()
    assert table.matrix("stability").shape == (2, 3)
    json.dumps(table.as_dict())
    assert len(str(table).splitlines()) == 7


def test_one_seed_makes_one_table() -> None:
    labels = noisy(1)
    one, other = (compare(labels, ["kmeans"], (2, 4), n_repeats=3, random_state=5) for _ in range(2))
    assert [row[:7] for row in one.rows] == [row[:7] for row in other.rows]


def test_members_that_agree_make_a_stable_consensus_and_noise_does_not() -> None:
    truth = np.repeat([0, 1, 2], 20)
    agreeing = compare([truth] * 6, ["kmeans"], 3, random_state=0)
    assert agreeing.rows[0].stability == 1
    noise = np.random.default_rng(0).integers(3, size=(60, 6))
    assert compare(noise, ["kmeans"], 3, random_state=0).rows[0].stability < 0.6


def test_a_method_that_cannot_answer_stays_in_the_table() -> None:
    labels = np.random.default_rng(0).integers(3, size=(200, 5))
    table = compare(labels, ["kmeans", "cspa"], [2, 3, 10_000], n_repeats=0, random_state=0, max_bytes=1000)
    failed = {row[:2]: row.failed for row in table.rows if row.failed}
    assert ("kmeans", 10_000) in failed
    assert ("cspa", 2) in failed
    assert ("kmeans", 2) not in failed
    with pytest.raises(ValueError, match="method 'cspa' gave no answer for 2 clusters"):
        table.result("cspa", 2)
    assert np.isnan(table.matrix("stability")).all()
    assert "distinct label rows" in str(table)
    with pytest.raises(ValueError, match="no method has a value for 'stability'"):
        plot.comparison(table, "stability")
    assert len(plot.comparison(table, "anmi").texts) == 2


def test_objects_that_a_draw_of_members_does_not_know_are_left_out_of_it() -> None:
    table = {f"m{place}": [0, 0, 1, 1, None, None] for place in range(4)} | {"late": [0, 0, 0, 1, 1, 2]}
    found = compare(table, ["kmeans"], 2, n_repeats=6, random_state=0)
    assert 0 < found.rows[0].stability <= 1


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"methods": "kmeans"}, TypeError, "methods must be a list of names"),
        ({"methods": []}, TypeError, "methods must be a list of names"),
        ({"methods": ["kmean"]}, ValueError, "a method must be one of"),
        ({"n_clusters": "auto"}, TypeError, "n_clusters must be a number, a range"),
        ({"n_clusters": 1}, ValueError, "n_clusters must be at least 2"),
        ({"n_clusters": (4, 2)}, ValueError, "the highest n_clusters must be at least 4"),
        ({"n_clusters": []}, TypeError, "n_clusters must be a number, a range"),
        ({"n_repeats": -1}, ValueError, "n_repeats must be at least 0"),
    ],
)
def test_compare_refuses(options: dict, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        compare(noisy(0), **options)


def test_the_heat_map_shows_every_number() -> None:
    table = compare(noisy(0), ["kmeans", "eac"], (2, 3), n_repeats=1, random_state=0)
    for value in ("anmi", "density", "agreement", "null", "stability", "seconds"):
        ax = plot.comparison(table, value)
        assert len(ax.texts) == 4
        assert [tick.get_text() for tick in ax.get_yticklabels()] == ["kmeans", "eac"]
    with pytest.raises(ValueError, match="value must be one of"):
        plot.comparison(table, "beauty")
    with pytest.raises(TypeError, match=r"what quorate\.compare returns"):
        plot.comparison(table.to_frame())


@given(labelled_tables(min_objects=2))
def test_item_and_cluster_consensus_pool_the_pairs_of_objects(drawn) -> None:
    table, labels, weights, _ = drawn
    labels = [max(label, 0) for label in labels]
    ensemble = as_ensemble(table, weights=weights, orientation="objects")
    labelled = labelled_rows(labels, ensemble)
    codes = list(dict.fromkeys(labels))
    items = row_consensus(labelled)
    where = {
        (tuple(row), int(c)): items[place]
        for place, (row, c) in enumerate(zip(ensemble_rows(labelled), labelled.labels, strict=True))
    }
    within = {c: [0.0, 0.0] for c in range(len(codes))}
    for i, own in enumerate(labels):
        for cluster, code in enumerate(codes):
            shared, known = pooled(table, weights, i, [j for j in range(len(table)) if j != i and labels[j] == code])
            found = where[tuple(ensemble.labels[i]), codes.index(own)][cluster]
            assert np.isnan(found) if known == 0 else found == pytest.approx(shared / known, abs=1e-9)
            if code == own:
                within[cluster][0] += shared
                within[cluster][1] += known
    for cluster, value in enumerate(cluster_consensus(labelled)):
        shared, known = within[cluster]
        assert np.isnan(value) if known == 0 else value == pytest.approx(shared / known, abs=1e-9)


def ensemble_rows(labelled):
    return labelled.rows.labels.tolist()


def pooled(table, weights, i, others):
    """Weight of the members that put object i with each of the others, and of those that know both."""
    shared = known = 0.0
    for j in others:
        for a, b, weight in zip(table[i], table[j], weights, strict=True):
            if a >= 0 and b >= 0:
                known += weight
                shared += weight * (a == b)
    return shared, known


def test_over_k_finds_three_blobs() -> None:
    found = over_k(three_blobs(), (2, 5), n_members=20, method="eac", random_state=0)
    assert found.numbers == (2, 3, 4, 5)
    assert found.results[3].sizes.tolist() == [30, 30, 30]
    assert min(found.table, key=lambda row: row.pac).n_clusters == 3
    assert found.table[0].delta_area == found.table[0].area
    assert found.labels.shape == (90, 4)
    assert [len(part.member_names) for part in found.ensembles.values()] == [20] * 4
    again = over_k(three_blobs(), (2, 5), n_members=20, method="eac", random_state=0)
    assert np.array_equal(found.labels, again.labels)
    assert len(str(found).splitlines()) == 5
    json.dumps(found.as_dict())
    assert found.to_frame().loc[3, "pac"] == found.pac(3)


def test_the_matrix_is_the_share_of_the_members_that_know_both() -> None:
    found = over_k(three_blobs(10), 3, n_members=8, random_state=0)
    labels = found.ensembles[3].labels
    wanted = co_association(labels, np.ones(8), pairwise=True)
    known = (labels >= 0).astype(int) @ (labels >= 0).T.astype(int)
    np.fill_diagonal(wanted, 1)
    matrix = found.matrix(3)
    assert np.allclose(np.where(known > 0, matrix, 0), np.where(known > 0, wanted, 0))
    assert np.isnan(matrix[known == 0]).all()
    upper = matrix[np.triu_indices(30, 1)]
    upper = upper[~np.isnan(upper)]
    values, heights = found.cdf(3)
    assert [np.mean(upper <= value + 1e-9) for value in values] == pytest.approx(heights.tolist())
    assert found.pac(3, low=0.2, high=0.8) == pytest.approx(np.mean((upper > 0.2) & (upper < 0.8)))
    with pytest.raises(MemoryError, match=r"consensus matrix of 30 objects would need 7.2 kB"):
        found.matrix(3, max_bytes=1000)
    with pytest.raises(ValueError, match="n_clusters must be one of 3, got 4"):
        found.pac(4)


def test_tables_of_items_and_clusters_are_those_of_the_matrix_where_nothing_is_missing() -> None:
    X = pd.DataFrame(three_blobs(8), index=[f"object {place}" for place in range(24)])
    found = over_k(X, (2, 4), n_members=9, rows=1.0, base=None, random_state=1)
    matrix, result = found.matrix(4), found.results[4]
    items = found.item_consensus(4)
    assert items.index.tolist() == X.index.tolist()
    for place, own in enumerate(result.labels.tolist()):
        for cluster in range(4):
            others = [j for j in np.flatnonzero(result.labels == cluster) if j != place]
            if others:
                assert items.iloc[place, cluster] == pytest.approx(matrix[place, others].mean())
            else:
                assert cluster == own
                assert np.isnan(items.iloc[place, cluster])
    clusters = found.cluster_consensus()
    assert clusters["n_clusters"].tolist() == [2] * 2 + [3] * 3 + [4] * 4
    assert clusters.loc[clusters["n_clusters"] == 4, "objects"].tolist() == result.sizes.tolist()
    assert found.labels_frame()[4].tolist() == result.labels.tolist()
    assert found.labels_frame().index.equals(X.index)


def test_over_k_takes_members_that_are_there() -> None:
    X = three_blobs(10)
    parts = {k: generate(X, 6, k=k, random_state=k) for k in (4, 2, 3)}
    found = over_k(parts, random_state=0)
    assert found.numbers == (2, 3, 4)
    assert over_k(parts, (2, 3)).numbers == (2, 3)
    joined = as_ensemble([column for part in parts.values() for column in part.labels.T])
    apart = over_k(joined, random_state=0)
    assert apart.numbers == (2, 3, 4)
    assert apart.pac(3) == pytest.approx(found.pac(3))
    assert over_k({2: [[0, 0, 1], [0, 1, 1]]}).results[2].n_clusters == 2


@pytest.mark.parametrize(
    ("source", "options", "kind", "words"),
    [
        (as_ensemble([[0, 0, 1], [0, 1, 2]]), {}, ValueError, "at least five members with one number of clusters"),
        ({}, {}, ValueError, "at least one number of clusters"),
        ({"two": [[0, 1]]}, {}, TypeError, "a key of the mapping, a number of clusters, must be an integer"),
        ({2: [0, 0, 1], 3: [0, 1, 2, 2]}, {}, ValueError, "same number of objects for every number"),
        ({2: [0, 0, 1]}, {"n_clusters": (2, 4)}, ValueError, "no members for n_clusters 3, 4; there are for 2"),
        ({2: [0, 0, 1]}, {"bounds": 0.1}, TypeError, "bounds must be a pair"),
        ({2: [0, 0, 1]}, {"bounds": (0.9, 0.1)}, ValueError, "the upper bound must lie in"),
        (three_blobs(3), {"speed": 9}, TypeError, "speed"),
    ],
)
def test_over_k_refuses(source, options: dict, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        over_k(source, **options)


def test_pictures_take_what_over_k_returns() -> None:
    found = over_k(three_blobs(10), (2, 4), n_members=6, bounds=(0.2, 0.7), random_state=0)
    ax = plot.consensus_cdf(found)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["2", "3", "4"]
    shaded = ax.patches[0].get_path().transformed(ax.patches[0].get_patch_transform()).vertices[:, 0]
    assert (shaded.min(), shaded.max()) == pytest.approx((0.2, 0.7))
    gains = plot.delta_area(found).lines[0].get_ydata()
    assert gains.tolist() == pytest.approx([row.delta_area for row in found.table])
    assert [tick.get_text() for tick in plot.tracking(found).get_yticklabels()] == ["2", "3", "4"]
    bars = plot.cluster_consensus(found).patches
    assert [bar.get_height() for bar in bars] == pytest.approx(found.cluster_consensus()["consensus"].tolist())
    plot.item_consensus(found.results[3], found.ensembles[3])
    with pytest.raises(ValueError, match="ensemble must be left out"):
        plot.cluster_consensus(found, found.ensembles[3])
    with pytest.raises(TypeError, match="ensemble must be the members"):
        plot.cluster_consensus(consensus(noisy(0), 3))
