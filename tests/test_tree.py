"""The CA-tree: equal to its slow twin, lawful cuts, honest growth, and coarsening that any method can run on."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from ensembles import noisy
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_tree import distance, slow_cut, slow_objects, slow_reduce, slow_tree
from sklearn.metrics import adjusted_rand_score
from strategies import label_tables
from test_laws import number, opted_out

from quorate import METHODS, CATree, anmi, as_ensemble, ca_tree, coarsen, compress, consensus
from quorate._coarsening import coarsen as coarsening
from quorate.ops import threads

TABLES = ("parent", "first_child", "n_children", "split", "start", "stop", "order", "size", "representative", "counts")
WEIGHTS = (1.0, 0.5, 2.0, 1.25, 3.0, 0.75, 1.5)


def build(labels, weighted=False, n_des=32):
    members = labels.shape[1]
    weights = np.resize(WEIGHTS, members) if weighted else None
    return ca_tree(as_ensemble(labels, weights=weights, orientation="objects"), n_des)


def assert_same_tree(one: CATree, other: CATree) -> None:
    for name in TABLES:
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert np.array_equal(one.rows.labels, other.rows.labels)
    assert np.array_equal(one.rows.counts, other.rows.counts)
    assert np.array_equal(one.inverse, other.inverse)


def assert_equals_twin(tree: CATree) -> None:
    rows = tree.rows
    nodes = slow_tree(rows.labels, rows.weights, tree.n_des)
    assert tree.n_nodes == len(nodes) <= 2 * rows.n_rows
    assert tree.parent.tolist() == [-1 if node.parent is None else node.parent.number for node in nodes]
    assert tree.split.tolist() == [node.split for node in nodes]
    assert tree.size.tolist() == [node.size for node in nodes]
    assert tree.representative.tolist() == [node.representative for node in nodes]
    assert tree.counts.tolist() == [slow_objects(node, rows.counts) for node in nodes]
    for node in nodes:
        held = tree.order[tree.start[node.number] : tree.stop[node.number]]
        assert sorted(held.tolist()) == node.rows
        first, children = tree.first_child[node.number], tree.n_children[node.number]
        assert [child.number for child in node.children] == list(range(first, first + children))
    for theta in (0, 0.2, 0.4, 0.5, 0.75, 1):
        cut = slow_cut(nodes[0], theta * rows.weights.sum())
        assert tree.cut(theta).tolist() == sorted(node.number for node in cut)
        for keep in (0.6, 0.9):
            target = slow_reduce(nodes, cut, keep, rows.labels, rows.counts, rows.weights)
            _, inverse = tree.coarsen(theta, keep=keep)
            owner = {row: target[node.number] for node in cut for row in node.rows}
            names: dict[int, int] = {}
            wanted = [names.setdefault(owner[row], len(names)) for row in tree.inverse.tolist()]
            assert inverse.tolist() == wanted


@given(label_tables(max_objects=30, max_members=6), st.sampled_from([2, 3, 5, 32, None]), st.booleans())
@settings(max_examples=60)
def test_the_tree_equals_its_slow_twin(labels, n_des, weighted):
    assert_equals_twin(build(labels, weighted, n_des))


@pytest.mark.parametrize("n_des", [4, 32, None])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_larger_tree_equals_its_slow_twin(n_des: int | None, missing: float) -> None:
    assert_equals_twin(build(noisy(3, n=260, k=4, members=7, missing=missing), n_des=n_des))


@given(label_tables(max_objects=30), st.floats(0, 1), st.booleans())
@settings(max_examples=60)
def test_laws_of_the_cut(labels, theta, weighted):
    """Every cut shares the rows out; with exact radii every row is within theta of what stands for it."""
    tree = build(labels, weighted, n_des=None)
    ensemble, weights = tree.rows, tree.rows.weights
    cut = tree.cut(theta)
    held = [tree.order[tree.start[node] : tree.stop[node]].tolist() for node in cut]
    assert sorted(itertools.chain(*held)) == list(range(ensemble.n_rows))
    for node, rows in zip(cut, held, strict=True):
        assert tree.representative[node] in rows
        for row in rows:
            far = distance(ensemble.labels, row, int(tree.representative[node]), weights)
            assert far <= tree.size[node] + 1e-9 <= theta * weights.sum() * (1 + 1e-8) + 1e-8
    _, found = tree.curve(np.linspace(0, 1, 23))
    assert (np.diff(found) <= 0).all()
    assert found[0] == ensemble.n_rows
    assert found[-1] == 1


@given(label_tables(max_objects=30))
def test_estimated_sizes_bound_the_exact_ones(labels):
    assert (build(labels, n_des=2).size >= build(labels, n_des=None).size).all()


@given(label_tables(max_objects=30, max_members=6, min_objects=2))
@settings(max_examples=40)
def test_growing_equals_building(labels):
    tree = build(labels[:, :1].clip(0))
    for members in range(1, labels.shape[1]):
        column = labels[:, members]
        if column.max() < 0:
            return
        tree = tree.grow(column)
        assert_same_tree(tree, build(np.concatenate([labels[:, :1].clip(0), labels[:, 1 : members + 1]], axis=1)))


def test_growing_takes_names_weights_and_texts() -> None:
    tree = build(noisy(1)).grow(["a", "b", "?"] * 20, name="survey", weight=2.5, missing="?")
    assert tree.rows.member_names[-1] == "survey"
    assert tree.rows.weights[-1] == 2.5
    assert tree.rows.categories[-1].tolist() == ["a", "b"]
    assert tree.rows.n_objects == 60
    with pytest.raises(ValueError, match="one label for each row that the tree was built from"):
        tree.grow([0, 1])
    with pytest.raises(ValueError, match="must label at least one object"):
        tree.grow([-1] * 60)
    with pytest.raises(ValueError, match="weight must be positive"):
        tree.grow([0] * 60, weight=0)


def test_growing_a_tree_of_counted_rows_keeps_the_counts() -> None:
    labels = noisy(2, n=40)
    counts = np.random.default_rng(0).integers(1, 9, size=40)
    extra = np.arange(40) % 3
    grown = ca_tree(as_ensemble(labels, counts=counts)).grow(extra)
    assert_same_tree(grown, ca_tree(as_ensemble(np.column_stack([labels, extra]), counts=counts)))
    assert grown.counts[0] == counts.sum()


def test_names_of_labels_do_not_matter() -> None:
    labels = noisy(4, n=120, missing=0.1)
    renamed = np.where(labels < 0, labels, 7 - 2 * labels)
    assert_same_tree(build(labels), build(renamed))


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = noisy(5, n=3000, members=10, k=4)
    alone = build(labels)
    rows, inverse = alone.coarsen(0.3, keep=0.8)
    monkeypatch.setattr(threads, "BLOCK", 64)
    monkeypatch.setattr("numba.config.NUMBA_NUM_THREADS", 3)
    together = build(labels)
    assert_same_tree(alone, together)
    again, there = together.coarsen(0.3, keep=0.8)
    assert np.array_equal(rows.labels, again.labels)
    assert np.array_equal(inverse, there)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_theta_zero_is_compress(missing: float) -> None:
    ensemble = as_ensemble(noisy(6, missing=missing))
    for (rows, inverse), (ours, where) in [(compress(ensemble), coarsen(ensemble, 0.0))]:
        assert np.array_equal(rows.labels, ours.labels)
        assert np.array_equal(rows.counts, ours.counts)
        assert np.array_equal(inverse, where)


@given(label_tables(max_objects=30), st.floats(0, 1), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
@settings(max_examples=60)
def test_coarse_rows_are_a_sound_ensemble(labels, theta, keep):
    """As as_ensemble would make it: codes by first appearance, no empty member, rows distinct, by first object."""
    ensemble = as_ensemble(labels, orientation="objects")
    rows, inverse = coarsen(ensemble, theta, keep=keep)
    assert rows.n_objects == ensemble.n_objects
    assert np.array_equal(np.bincount(inverse, weights=ensemble.counts), rows.counts)
    firsts = [int(np.flatnonzero(inverse == row)[0]) for row in range(rows.n_rows)]
    assert firsts == sorted(firsts)
    again = as_ensemble(rows.labels, orientation="objects")
    assert np.array_equal(again.labels, rows.labels)
    assert np.array_equal(again.n_clusters, rows.n_clusters)
    assert compress(rows)[0].n_rows == rows.n_rows
    plain, there = coarsen(ensemble, theta, keep=keep, weighted=False)
    assert np.array_equal(plain.labels, rows.labels)
    assert np.array_equal(there, inverse)
    assert (plain.counts == 1).all()


def test_coarse_categories_still_name_the_labels() -> None:
    labels = np.array([["a", "x"], ["a", "x"], ["a", "y"], ["b", "z"], ["b", "z"], ["b", "w"]])
    rows, inverse = coarsen(as_ensemble(labels), 0.5)
    told = [[rows.categories[q][rows.labels[r, q]] for q in range(2)] for r in range(rows.n_rows)]
    assert told == [["a", "x"], ["b", "z"]]
    assert inverse.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("asked", [0.3, {"theta": 0.2, "keep": 0.9}, {"max_rows": 30}, "auto", {"weighted": False}])
def test_every_method_runs_coarsened(method: str, asked: object) -> None:
    truth = noisy(8, n=400, k=4, members=10, noise=0.0)[:, 0]
    labels = noisy(8, n=400, k=4, members=10, noise=0.1, missing=0.1)
    result = consensus(labels, number(method, 4), method=method, coarsen=asked, random_state=0)
    firsts = [int(np.flatnonzero(result.labels == c)[0]) for c in range(result.n_clusters)]
    assert firsts == sorted(firsts)
    if not opted_out("planted_partition_is_found", method):
        assert adjusted_rand_score(truth, result.labels) > 0.9
    told = result.info["coarsen"]
    assert told["n_rows"] == result.info["n_rows"] <= told["n_distinct_rows"]
    assert result.rows is not None
    # the rows of a sample are rows that were not merged
    assert result.rows.max() + 1 == told["n_rows" if told.get("way", "merged") == "merged" else "n_distinct_rows"]


def test_weights_are_distances() -> None:
    """Rows that differ in a heavy member alone are not merged."""
    labels = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    ensemble = as_ensemble(labels, weights=[1, 1, 1000])
    assert coarsen(ensemble, 0.4)[1].tolist() == [0, 1, 2, 3]
    assert coarsen(as_ensemble(ensemble, weights=np.ones(3)), 0.4)[1].tolist() == [0, 0, 1, 1]


def test_auto_says_what_and_why() -> None:
    labels = noisy(9, n=800, k=4, members=10, noise=0.2)
    small = consensus(labels, 4, coarsen="auto", random_state=0).info["coarsen"]
    assert small["theta"] == 0
    assert "nothing was merged" in small["why"]
    tight = consensus(labels, 4, coarsen={"max_rows": 50}, random_state=0).info["coarsen"]
    assert tight["n_rows"] <= 50
    assert "is the smallest that fits" in tight["why"]
    tree = ca_tree(compress(as_ensemble(labels))[0])
    step = tight["theta"] - 0.1
    assert len(tree.largest(tree.cut(step), tight["keep"])) > 50
    # a budget of bytes counts as well, where a method needs pairs
    few = consensus(labels, 4, coarsen="auto", max_bytes=8 * 40 * 40, random_state=0).info["coarsen"]
    assert few["n_rows"] <= 40


NOISY = noisy(2, n=3000, k=15, members=20, noise=0.4)


def test_auto_measures_what_merging_loses_and_takes_a_sample_instead() -> None:
    merged = coarsen(as_ensemble(NOISY), 0.9)[0]
    assert merged.n_rows < 1000
    with pytest.warns(UserWarning, match=r"merging rows with theta=0.9, keep=1 lost \d+% of the agreement"):
        given = consensus(NOISY, 15, method="cspa", coarsen=0.9, random_state=0, confidence=False)
    assert given.info["coarsen"]["loss"] > 0.02
    assert given.info["coarsen"]["way"] == "merged"
    auto = consensus(NOISY, 15, method="cspa", coarsen={"max_rows": 1000}, random_state=0, confidence=False)
    told = auto.info["coarsen"]
    assert (told["way"], told["n_rows"], told["n_distinct_rows"]) == ("sample of 1,000 objects", 1000, 3000)
    assert told["loss"] > 0.02
    assert auto.n_clusters == 15
    assert anmi(auto, NOISY) == pytest.approx(auto.objective)
    assert anmi(auto, NOISY) > 1.02 * anmi(given, NOISY)
    again = consensus(NOISY, 15, method="cspa", coarsen={"max_rows": 1000}, random_state=0, confidence=False)
    assert np.array_equal(auto.labels, again.labels)
    options = {"coarsen": {"max_rows": 1000}, "random_state": 0, "confidence": False, "refine": True}
    raised = consensus(NOISY, 15, method="cspa", **options)
    assert raised.objective >= auto.objective


def test_merging_that_loses_nothing_is_kept_without_a_warning() -> None:
    labels = noisy(9, n=800, k=4, members=10, noise=0.1)
    told = consensus(labels, 4, coarsen=0.3, random_state=0).info["coarsen"]
    assert told["way"] == "merged"
    assert 0 <= told["loss"] <= 0.02


def test_shape_indicator() -> None:
    """Blobs leave few large nodes; a line leaves many of one size."""
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(0)
    blobs = np.concatenate([rng.normal(centre, 0.3, size=(400, 4)) for centre in rng.uniform(-1, 1, size=(4, 4))])
    line = np.column_stack([np.sort(rng.uniform(0, 100, size=600)), np.zeros(600)])
    shapes = []
    for X, low in ((blobs, 4), (line, 20)):
        members = [KMeans(low + s % 5, init="random", n_init=1, random_state=s).fit_predict(X) for s in range(20)]
        shapes.append(ca_tree(as_ensemble(members)).shape_indicator())
    assert shapes[0].ratio < shapes[1].ratio
    assert shapes[0].compact
    assert not shapes[1].compact
    assert "keep=0.9" in shapes[0].advice
    assert "keep all nodes" in shapes[1].advice


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"theta": 8}, r"theta must lie in \[0, 1\], got 8; it is a fraction of the number of members"),
        ({"theta": "half"}, "theta must be a number"),
        ({"keep": 1.5}, r"keep must lie in \[0, 1\]"),
        ({"n_des": 1}, "n_des must be at least 2"),
        ({"max_rows": 0}, "max_rows must be at least 1"),
        ({"max_rows": 2.5}, "max_rows must be an integer"),
        ({"max_rows": 10, "theta": 0.1}, "not both"),
        ({"alpha": 0.9}, "coarsen has no option 'alpha'"),
        ("automatic", "coarsen must be one of 'auto'"),
        (1.0, "is more than the 1 row that coarsening with theta=1, keep=1 leaves of 3"),
    ],
)
def test_refusals(options: object, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        consensus(noisy(0, noise=0.0), 3, coarsen=options)


def test_smallest_trees() -> None:
    one = build(np.zeros((5, 3), dtype=int))
    assert (one.n_nodes, one.cut(0).tolist(), one.cut(1).tolist()) == (1, [0], [0])
    assert coarsen(as_ensemble(np.zeros((5, 3), dtype=int)))[1].tolist() == [0] * 5
    assert one.shape_indicator().ratio == 1


@pytest.mark.parametrize("k", [128, 129])
def test_many_clusters_at_the_edge_of_a_type(k: int) -> None:
    rng = np.random.default_rng(k)
    labels = np.column_stack([rng.integers(3, size=k + 20), np.arange(k + 20) % k])
    assert_equals_twin(build(labels))


def test_rows_that_do_not_fit_are_merged_in_blocks(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With "auto", and told: by a warning and in info. One member labels nothing in the first block."""
    monkeypatch.setattr(coarsening, "BLOCK", 300)
    truth = np.repeat(np.arange(3), 400)
    rng = np.random.default_rng(0)
    labels = np.where(rng.random((1200, 9)) < 0.15, rng.integers(3, size=(1200, 9)), truth[:, None])
    order = rng.permutation(1200)
    labels, truth = labels[order], truth[order]
    labels[:700, 4] = -1
    rows = compress(as_ensemble(labels))[0]
    budget = coarsening.LEAST_BYTES * 200
    assert rows.n_rows > 300
    result = consensus(labels, 3, random_state=0, max_bytes=budget)
    told = result.info["coarsen"]
    assert told["n_distinct_rows"] == rows.n_rows
    assert 3 <= told["n_rows"] == result.info["n_rows"] <= 220
    assert f"more than max_bytes = {budget:,}" in told["why"]
    assert "a larger max_bytes avoids it" in caplog.text
    assert adjusted_rand_score(truth, result.labels) > 0.9
    again = consensus(labels, 3, random_state=0, max_bytes=budget)
    assert np.array_equal(result.labels, again.labels)
    assert "coarsen" not in consensus(labels, 3, random_state=0, max_bytes=coarsening.LEAST_BYTES * 1200).info
    assert "coarsen" not in consensus(labels, 3, method="kmeans", random_state=0, max_bytes=budget).info


def test_blocks_are_put_together_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no two rows of a block are merged, the result is the rows that were given, in other codes at most."""
    monkeypatch.setattr(coarsening, "BLOCK", 20)
    monkeypatch.setattr(
        coarsening, "coarsen_by_option", lambda block, options: (block, np.arange(block.n_rows), {"theta": 0.0})
    )
    labels = np.random.default_rng(3).integers(-1, 4, size=(90, 3))
    labels[:40, 1], labels[:, 0] = -1, np.maximum(labels[:, 0], 0)
    rows = compress(as_ensemble(labels))[0]
    found = coarsening.coarsen_to_fit(rows, coarsening.LEAST_BYTES * rows.n_rows - 1)
    assert found is not None
    merged, inverse, told = found
    assert told["n_rows"] == merged.n_rows == rows.n_rows > 40
    assert np.array_equal(inverse, np.arange(rows.n_rows))
    assert np.array_equal(merged.counts, rows.counts)
    assert merged.member_names == rows.member_names
    for member in range(3):
        known = rows.labels[:, member] >= 0
        assert np.array_equal(merged.labels[:, member] >= 0, known)
        assert np.array_equal(
            merged.categories[member][merged.labels[known, member]], rows.categories[member][rows.labels[known, member]]
        )
    assert coarsening.coarsen_to_fit(rows, coarsening.LEAST_BYTES * rows.n_rows) is None


def test_estimates_grow_better_with_the_number_of_members() -> None:
    """The paper: "ndes may be needed if significantly more base clusterings are used, leading to a deeper tree"."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 2000)
    labels = np.where(rng.random((2000, 100)) < 0.08, rng.integers(0, 5, (2000, 100)), truth[:, None])
    exact = len(build(labels, n_des=None).cut(0.2))
    few, grown = build(labels, n_des=32), build(labels, n_des="auto")
    assert (grown.n_des, build(labels[:, :32], n_des="auto").n_des, build(labels[:, :40], n_des="auto").n_des) == (
        312,
        32,
        50,
    )
    assert len(grown.cut(0.2)) <= 1.1 * exact < 2 * exact < len(few.cut(0.2))
    assert few.overestimated(0.2) > 0.75 > 0.25 > grown.overestimated(0.2)
    with pytest.warns(UserWarning, match="estimates the sizes of its nodes too high"):
        coarsen(few.rows, 0.2, n_des=32)
    half = build(labels[:, :99], n_des="auto").grow(labels[:, 99])
    assert half.n_des == 312
    assert np.array_equal(half.size, grown.size)


def test_overestimated_nodes_are_counted_by_their_exact_radius() -> None:
    """Slow twin: the least over rows of the most members in which another row of the node differs."""
    tree = build(noisy(3, n=200, k=4, members=40), n_des=4)
    theta = 0.5
    above = np.setdiff1d(np.unique(tree.parent[tree.cut(theta)]), [-1])
    largest = above[np.argsort(-tree.counts[above], kind="stable")][:16]
    small = []
    for node in largest:
        rows = tree.rows.labels[tree.order[tree.start[node] : tree.stop[node]]]
        small.append((rows[:, None] != rows[None]).sum(axis=2).max(axis=1).min() <= theta * 40)
    assert tree.overestimated(theta) == np.mean(small) > 0
