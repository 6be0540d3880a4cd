"""Boosting and bagging: the formulas by hand, members that differ, k and seeds honoured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from quorate import EnsembleClustering, consensus, datasets, generate
from quorate.generation.clusterers.bagging import (
    BaggedClustering,
    Bagging,
    Boosting,
    bootstrap,
    hardness,
)

SEQUENCES = [Boosting(), Boosting(quality="entropy", patience=None), Bagging(), Bagging(out_of_bag="missing")]
EACH = pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda sequence: repr(sequence))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_hardness_by_hand() -> None:
    distances = np.array([[1.0, 3.0, 2.0], [2.0, 2.0, 2.0], [0.0, 1.0, 5.0], [0.0, 0.0, 1.0]])
    for row, minmax, entropy in zip(
        distances, hardness(distances, "minmax"), hardness(distances, "entropy"), strict=True
    ):
        zeros = np.count_nonzero(row == 0)
        degrees = (row == 0) / zeros if zeros else np.array([1 / sum(d / e for e in row) for d in row])
        assert minmax == pytest.approx(1 - max(degrees) + min(degrees))
        positive = degrees[degrees > 0]
        assert entropy == pytest.approx(-(positive @ np.log(positive)) / np.log(3), abs=1e-12)
    assert hardness(distances, "minmax")[1] == 1.0
    assert hardness(distances, "minmax")[2] == 0.0
    assert hardness(np.array([[1e-300, 1e300, 1.0]]), "minmax").tolist() == [0.0]


def test_losses_and_votes_follow_the_formulas() -> None:
    """Weights recomputed beside the sequence from its own labels' centres: the draw is replayed."""
    X = datasets.two_d_two_k(200, random_state=0).X
    steps = list(Boosting(patience=None).steps(X, [3] * 4, rng(1)))
    replay = rng(1)
    weights = np.full(200, 1 / 200)
    from quorate.generation.clusterers.bagging import feature_rows, trained_centres

    rows = feature_rows(X)
    for step in steps:
        centres = trained_centres(rows, replay.multinomial(200, weights), 3, replay, 100)
        distances = np.linalg.norm((X - X.mean(axis=0))[:, None] - centres, axis=2)
        degrees = 1 / (distances[:, :, None] / distances[:, None, :]).sum(axis=2)
        hard = 1 - degrees.max(axis=1) + degrees.min(axis=1)
        loss = 0.5 * (weights * hard).sum()
        assert step.loss == pytest.approx(loss)
        assert step.vote == pytest.approx(np.log((1 - loss) / loss))
        assert np.array_equal(step.labels, distances.argmin(axis=1))
        weights = weights * ((1 - loss) / loss) ** hard
        weights /= weights.sum()


def test_weight_goes_to_the_border() -> None:
    """Later members see more of the objects between two clusters; their losses grow."""
    X = np.concatenate([rng(0).normal(0, 1, (300, 1)), rng(1).normal(5, 1, (300, 1))])
    losses = [step.loss for step in Boosting(patience=None).steps(X, [2] * 8, rng(2))]
    assert losses[4] > losses[0]
    assert all(0 < loss <= 0.5 for loss in losses)


def test_patience_begins_a_new_round() -> None:
    X = datasets.spherical5(200, random_state=0).X
    steps = list(Boosting(patience=2).steps(X, [5] * 30, rng(0)))
    rounds = [step.round for step in steps]
    assert rounds == sorted(rounds)
    assert rounds[-1] > 0
    for number in range(rounds[-1]):
        losses = [step.loss for step in steps if step.round == number]
        assert len(losses) - 1 - int(np.argmax(losses)) == 2
    assert {step.round for step in Boosting(patience=None).steps(X, [5] * 12, rng(0))} == {0}


@EACH
def test_members_have_their_k(sequence: Any) -> None:
    X, y, _ = datasets.eight_d_five_k(150, random_state=0)
    members = list(sequence.members(X, [2, 5, 9], rng(0)))
    for k, labels in zip([2, 5, 9], members, strict=True):
        assert labels.shape == (150,)
        assert set(labels[labels >= 0].tolist()) == set(range(k))
        assert ((labels == -1).any()) == (getattr(sequence, "out_of_bag", "") == "missing")
    again = list(sequence.members(X, [2, 5, 9], rng(0)))
    assert all(np.array_equal(a, b) for a, b in zip(members, again, strict=True))
    other = list(sequence.members(X, [2, 5, 9], rng(1)))
    assert any(not np.array_equal(a, b) for a, b in zip(members, other, strict=True))
    del y


@EACH
def test_sparse_equals_dense(sequence: Any) -> None:
    X = np.abs(datasets.eight_d_five_k(80, random_state=0).X)
    dense = np.column_stack(list(sequence.members(X, [5] * 3, rng(0))))
    sparse = np.column_stack(list(sequence.members(csr_array(X), [5] * 3, rng(0))))
    assert np.array_equal(dense, sparse)


@EACH
def test_consensus_of_the_members_finds_the_clusters(sequence: Any) -> None:
    X, y, _ = datasets.eight_d_five_k(400, random_state=0)
    labels = np.column_stack(list(sequence.members(X, [5] * 10, rng(0))))
    assert adjusted_rand_score(y, consensus(labels, 5, random_state=0).labels) > 0.9


@EACH
def test_equal_and_few_objects(sequence: Any) -> None:
    for X in (np.ones((6, 2)), np.array([[0.0], [1.0], [1.0]]), np.arange(3.0).reshape(-1, 1)):
        members = list(sequence.members(X, [2, 3], rng(0)))
        assert len(members) == 2
        for labels in members:
            assert len(labels) == len(X)
            assert labels.max() >= 0


def test_bagging_marks_objects_that_were_not_drawn_and_can_be_called() -> None:
    X = datasets.two_d_two_k(60, random_state=0).X
    assert all(labels.min() == -1 for labels in Bagging("missing").members(X, [2] * 3, rng()))
    assert np.array_equal(Bagging()(X, 3, rng(4)), next(iter(Bagging().members(X, [3], rng(4)))))


def test_bootstrap() -> None:
    drawn, weights = bootstrap(1000, 1, rng(0))
    assert weights.sum() == 1000
    assert 0.58 < len(drawn) / 1000 < 0.68
    assert len(bootstrap(5, 5, rng(0))[0]) == 5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Boosting(quality="beauty"), "quality"),
        (lambda: Boosting(patience=0), "patience"),
        (lambda: Bagging(out_of_bag="lost"), "out_of_bag"),
        (lambda: next(Boosting().members(np.ones((3, 1)), [1], rng())), "k must be between 2 and 3"),
        (lambda: next(Boosting().members(np.ones((3, 1)), [4], rng())), "k must be between 2 and 3"),
        (lambda: Bagging()(np.ones((3, 1)), 4, rng()), "k must be between 1 and 3"),
        (lambda: next(Boosting().members(np.array([[np.nan], [1.0]]), [2], rng())), "NaN"),
        (lambda: BaggedClustering(2, linkage="odd").fit(np.eye(4)), "linkage"),
        (lambda: BaggedClustering(2, n_samples=0).fit(np.eye(4)), "n_samples"),
    ],
)
def test_wrong_options_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_bagged_clustering_follows_shapes_k_means_cannot() -> None:
    X, y, _ = datasets.three_rings(600, random_state=0)
    clusterer = BaggedClustering(3, n_centres=60, linkage="single", random_state=0).fit(X)
    assert adjusted_rand_score(y, clusterer.labels_) > 0.95
    assert clusterer.centres_.shape == (600, 2)
    again = BaggedClustering(3, n_centres=60, linkage="single", random_state=0).fit_predict(X)
    assert np.array_equal(clusterer.labels_, again)
    assert BaggedClustering(1, n_centres=1, n_samples=1).fit_predict(np.ones((1, 1))).tolist() == [0]


@pytest.mark.parametrize("name", ["boosting", "bagging", "robust"])
@pytest.mark.parametrize("sparse", [False, True])
def test_generate_knows_them_by_name(name: str, sparse: bool) -> None:
    if name == "robust":
        pytest.importorskip("mtkahypar", reason="hypergraph partitioning needs the extra 'hypergraph'")
    X, y, _ = datasets.eight_d_five_k(150, random_state=0)
    data = csr_array(np.abs(X)) if sparse else X
    runs = [generate(data, 10, k=5, base=name, random_state=3, n_jobs=n_jobs) for n_jobs in (1, 2)]
    assert np.array_equal(runs[0].labels, runs[1].labels)
    assert runs[0].labels.shape == (150, 10)
    assert adjusted_rand_score(y, consensus(runs[0], 5, random_state=0).labels) > 0.9


def test_a_boosted_run_goes_on_where_it_was_killed(tmp_path: Any) -> None:
    X = datasets.spherical5(120, random_state=0).X
    whole = generate(X, 7, k=4, base="boosting", random_state=1)
    folder = tmp_path / "members"
    generate(X, 7, k=4, base="boosting", random_state=1, checkpoint=folder)
    stored = sorted(folder.rglob("member-*"))
    assert len(stored) == 7
    for path in stored[3:]:
        path.unlink()
    again = generate(X, 7, k=4, base="boosting", random_state=1, checkpoint=folder)
    assert np.array_equal(whole.labels, again.labels)


def test_new_objects_are_labelled_like_old_ones() -> None:
    X, y, _ = datasets.eight_d_five_k(200, random_state=1)
    pytest.importorskip("mtkahypar", reason="hypergraph partitioning needs the extra 'hypergraph'")
    for name in ("boosting", "bagging", "robust"):
        fitted = EnsembleClustering(5, base=name, random_state=0).fit(X)
        assert adjusted_rand_score(y, fitted.predict(X)) > 0.9
    assert set(fitted.ensemble_.n_clusters.tolist()) == {5}
