"""Ensembles of other clusterers, and of parts of objects and columns."""

from __future__ import annotations

import math
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_generate import BLOBS, TRUTH, same

import quorate
from quorate import _progress, consensus
from quorate.generation import KMeans, Parts, Projection, Share, Views

# the members of this file are those of the built-in k-means, where a test names no other base
generate = partial(quorate.generate, base="kmeans")

# ---------------------------------------------------------------------------------------------- bases


def test_a_clusterer_keeps_its_own_k_unless_told():
    assert generate(BLOBS, 3, base=SklearnKMeans(5, n_init=1)).n_clusters.tolist() == [5, 5, 5]
    assert generate(BLOBS, 3, k=7, base=SklearnKMeans(5, n_init=1)).n_clusters.tolist() == [7, 7, 7]
    pipeline = make_pipeline(StandardScaler(), SklearnKMeans(5, n_init=1))
    assert generate(BLOBS, 2, k=6, base=pipeline).n_clusters.tolist() == [6, 6]
    assert generate(BLOBS, 2, k=4, base=GaussianMixture()).n_clusters.tolist() == [4, 4]


def test_clusterers_are_cloned_and_seeded():
    base = SklearnKMeans(9, n_init=1, init="random", max_iter=1)
    ensemble = generate(BLOBS, 4, base=base, random_state=0)
    assert not hasattr(base, "labels_")
    assert len({tuple(column) for column in ensemble.labels.T}) > 1


def test_portfolio_takes_turns():
    bases = [SklearnKMeans(4, n_init=1), AgglomerativeClustering(3), KMeans(), "kmeans"]
    ensemble = generate(BLOBS, 6, base=bases, random_state=0)
    names = [facts["base"] for facts in ensemble.info["members"]]
    assert names == ["KMeans", "AgglomerativeClustering", "kmeans", "kmeans", "KMeans", "AgglomerativeClustering"]
    assert ensemble.n_clusters[[0, 1, 4, 5]].tolist() == [4, 3, 4, 3]


def test_noise_is_missing():
    X = np.concatenate([BLOBS, [[100.0, 100.0, 100.0]]])
    ensemble = generate(X, 2, base=[DBSCAN(eps=2.5), KMeans()], k=None, random_state=0)
    assert ensemble.labels[-1, 0] == -1
    assert ensemble.has_missing
    with pytest.raises(ValueError, match="1 of 301 objects has no label in any member"):
        generate(X, 2, base=DBSCAN(eps=2.5))


def test_callables():
    def halves(X, k, rng):
        return (X[:, 0] > np.median(X[:, 0])).astype(int) * 10 + int(rng.integers(2))

    ensemble = generate(BLOBS, 3, base=halves)
    assert ensemble.n_clusters.tolist() == [2, 2, 2]
    assert ensemble.info["members"][0]["base"] == "halves"


class Chain:
    """Each member is the one before it with one object moved."""

    def members(self, X, ks, rng):
        labels = rng.integers(2, size=len(X))
        for k in ks:
            labels = labels.copy()
            labels[rng.integers(len(X))] = k
            yield labels


def test_members_that_depend_on_one_another(tmp_path):
    ensemble = generate(BLOBS, 5, k=(3, 9), base=Chain(), random_state=0, checkpoint=tmp_path)
    alike = [adjusted_rand_score(*ensemble.labels[:, [place, place + 1]].T) for place in range(4)]
    assert min(alike) > 0.95
    for number in (1, 3):
        (tmp_path / f"member-{number:06d}.npy").unlink()
    assert same(ensemble, generate(BLOBS, 5, k=(3, 9), base=Chain(), random_state=0, checkpoint=tmp_path))
    mixed = generate(BLOBS, 5, k=4, base=[Chain(), KMeans()], random_state=0)
    assert [facts["base"] for facts in mixed.info["members"]] == ["Chain", "kmeans", "Chain", "kmeans", "Chain"]
    with pytest.raises(ValueError, match="must get the same rows and columns"):
        generate(BLOBS, 2, base=Chain(), rows=0.5)


@pytest.mark.parametrize(
    ("base", "error", "words"),
    [
        ("nonsense", ValueError, "base must be one of 'kmeans'"),
        ([], ValueError, "must not be an empty list"),
        (SklearnKMeans, TypeError, "not its class"),
        (3, TypeError, "base must be a clusterer"),
        (lambda X, k, rng: X, ValueError, r"member 0 \(<lambda>\) failed: .* one label per object"),
        (lambda X, k, rng: np.full(len(X), 0.5), ValueError, "integer labels"),
        (lambda X, k, rng: np.full(len(X), -1), ValueError, "labelled no object"),
    ],
)
def test_base_refused(base, error, words):
    with pytest.raises(error, match=words):
        generate(BLOBS, 2, base=base)


def test_k_that_nobody_takes_is_refused():
    with pytest.raises(ValueError, match="DBSCAN has no parameter for the number of clusters"):
        generate(BLOBS, 2, base=DBSCAN(), k=3)


# ---------------------------------------------------------------------------------------------- rows


@pytest.mark.parametrize("base", [None, SklearnKMeans(4, n_init=1)])
def test_shares(base):
    ensemble = generate(BLOBS, 5, base=base, rows=0.4, random_state=0)
    assert ((ensemble.labels >= 0).sum(axis=0) >= 120).all()
    assert ((ensemble.labels >= 0).sum(axis=0) < 140).all()
    assert (ensemble.labels.max(axis=1) >= 0).all()
    filled = generate(BLOBS, 5, base=base, rows=Share(0.4, fill=True), random_state=0)
    known = ensemble.labels >= 0
    assert filled.labels.min() == 0
    for member in range(5):
        seen = known[:, member]
        assert adjusted_rand_score(ensemble.labels[seen, member], filled.labels[seen, member]) == 1.0


def test_every_object_is_seen_by_somebody():
    ensemble = generate(BLOBS, 2, k=3, rows=0.1, random_state=0)
    assert (ensemble.labels.max(axis=1) >= 0).all()
    assert [facts["n_objects"] for facts in ensemble.info["members"]] == (ensemble.labels >= 0).sum(axis=0).tolist()


@pytest.mark.parametrize(("n_members", "n_parts"), [(6, None), (6, 3), (1, None), (7, 7)])
def test_parts_cover_everything_in_every_round(n_members, n_parts):
    ensemble = generate(BLOBS, n_members, k=3, rows=Parts(n_parts), random_state=0)
    size = n_parts or n_members
    known = ensemble.labels >= 0
    assert known.sum(axis=0).tolist() == [min(300, math.ceil(2 * 300 / size))] * n_members
    for first in range(0, n_members, size):
        assert known[:, first : first + size].any(axis=1).all()


def test_parts_of_one_repetition_are_a_partition():
    known = generate(BLOBS, 4, k=3, rows=Parts(repetition=1.0), random_state=0).labels >= 0
    assert (known.sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": 0.0}, "rows must be a share above 0"),
        ({"rows": 1.5}, r"rows must lie in \[0, 1\]"),
        ({"rows": "half"}, "rows must be a number"),
        ({"rows": Parts(4), "n_members": 6}, "must be a multiple of n_parts = 4"),
        ({"rows": 0.5, "k": 290}, "gets [0-9]+ objects, too few for 290 clusters"),
        ({"n_members": 0}, "n_members must be at least 1"),
    ],
)
def test_rows_refused(options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        generate(BLOBS, **{"n_members": 4, **options})
    with pytest.raises(ValueError, match="repetition must lie"):
        Parts(repetition=0.5)


# ---------------------------------------------------------------------------------------------- columns


def test_column_subsets_are_what_the_member_sees():
    ensemble = generate(BLOBS, 6, k=4, columns=1, random_state=0)
    for place, facts in enumerate(ensemble.info["members"]):
        (column,) = facts["columns"]
        order = np.argsort(BLOBS[:, column], kind="stable")
        # in one dimension clusters are intervals
        assert np.count_nonzero(np.diff(ensemble.labels[order, place])) == 3
    assert [len(f["columns"]) for f in generate(BLOBS, 3, columns=0.5).info["members"]] == [2, 2, 2]
    assert "columns" not in generate(BLOBS, 1, columns=3).info["members"][0]


def test_projections():
    ensemble = generate(BLOBS, 12, k=6, columns=Projection(2), random_state=0)
    assert ensemble.info["members"][0]["n_dims"] == 2
    assert adjusted_rand_score(TRUTH, consensus(ensemble, 4, random_state=0).labels) > 0.9
    line = generate(BLOBS, 4, k=2, columns=Projection(), base=SklearnKMeans(n_init=1), random_state=0)
    assert line.n_clusters.tolist() == [2] * 4


def test_views_take_turns():
    frame = pd.DataFrame(BLOBS, columns=["x", "y", "z"])
    ensemble = generate(frame, 4, k=4, columns=Views([["x", "z"], [1]]), random_state=0)
    assert [facts["columns"] for facts in ensemble.info["members"]] == [[0, 2], [1], [0, 2], [1]]
    sparse = generate(csr_array(BLOBS), 4, k=4, columns=Views([[0, 2], [1]]), random_state=0)
    assert sparse.n_clusters.tolist() == [4] * 4


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (0, "columns must be between 1 and 3"),
        (4, "columns must be between 1 and 3"),
        (2.0, r"columns must lie in \[0, 1\]"),
        (Views([[5]]), "a column of a view must be between 0 and 2"),
        (Views([["a"]]), "X has no column names"),
    ],
)
def test_columns_refused(columns, words):
    with pytest.raises(ValueError, match=words):
        generate(BLOBS, 2, columns=columns)
    with pytest.raises(ValueError, match="Views needs at least one group"):
        Views([])
    with pytest.raises(ValueError, match="it has a, b"):
        generate(pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}), 1, k=1, columns=Views([["c"]]))


def test_more_clusters_than_planned_widen_the_labels():
    many = np.arange(300)
    ensemble = generate(BLOBS, 2, k=3, base=[KMeans(), lambda X, k, rng: many], random_state=0)
    assert ensemble.labels.dtype == np.int16
    assert ensemble.n_clusters.tolist() == [3, 300]


def test_progress_goes_to_standard_error(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "FIRST_WAIT", 0.05)

    def slow(X, k, rng):
        time.sleep(0.1)
        return rng.integers(k, size=len(X))

    generate(BLOBS, 4, k=(3, 5), base=slow, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("quorate: making 4 members ... 0 s")
