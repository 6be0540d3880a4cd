"""What only a real card can show: kernels beside their twins, the laws, the same answers, and arrays in kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device_twin import TwinCard
from ensembles import noisy
from operations import CLOSE, EXACT
from sklearn.metrics import adjusted_rand_score

from quorate import METHODS, EnsembleClustering, as_ensemble, compress, consensus, evaluate, generate, merge, solve
from quorate._data import rows_on_card
from quorate._device import card_features, card_rows
from quorate._device.card import Card
from quorate._device.choose import find_card
from quorate.generation import Projection, Spectral, on_card
from quorate.solvers.label_space import lookup
from quorate.solvers.spectral import embedding

ON_CARD = ("kmeans", "sec", "kmodes", "qmi", "kcc", "ecc", "voting", "transfer", "lwgp")
FLOATS = ("transfer", "lwgp")


@pytest.fixture(params=["samples", "whole"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Small ensembles once as they are, and once so that they take the way of large ones."""
    if request.param == "samples":
        monkeypatch.setattr(lookup, "SAMPLE_ROWS", 20)
        monkeypatch.setattr(embedding, "SAMPLE_POINTS", 20)
    return str(request.param)


def card() -> Card:
    found = find_card()
    assert isinstance(found, Card)
    return found


def blobs(seed: int, n: int, d: int = 16, spread: float = 1.0) -> Any:
    rng = np.random.default_rng(seed)
    means = rng.normal(scale=2.0, size=(10, d))
    return (means[rng.integers(10, size=n)] + spread * rng.normal(size=(n, d))).astype(np.float32)


def same(wanted: Any, found: Any, method: str) -> None:
    if method in FLOATS:
        assert adjusted_rand_score(wanted, found) >= 0.9999
    else:
        assert np.array_equal(wanted, found)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("seed", range(3))
def test_kernels_equal_their_twins(name: str, seed: int) -> None:
    for found, wanted in zip(EXACT[name](card(), seed), EXACT[name](TwinCard(), seed), strict=True):
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("name", CLOSE)
@pytest.mark.parametrize("seed", range(3))
def test_kernels_of_floats_are_close_to_their_twins(name: str, seed: int) -> None:
    for found, wanted in zip(CLOSE[name](card(), seed), CLOSE[name](TwinCard(), seed), strict=True):
        if np.asarray(wanted).dtype.kind == "f":
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-12)
        else:
            assert np.mean(np.asarray(found) != wanted) <= 1e-3


@pytest.mark.parametrize("name", {**EXACT, **CLOSE})
def test_the_same_input_has_the_same_answer(name: str) -> None:
    operation = {**EXACT, **CLOSE}[name]
    for one, two in zip(operation(card(), 5), operation(card(), 5), strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("method", ON_CARD)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("size")
def test_methods_give_the_answer_of_the_processor(method: str, seed: int) -> None:
    labels = noisy(seed, n=600, k=4, missing=0.1 * (seed % 2))
    wanted = consensus(labels, 4, method=method, random_state=0)
    found = consensus(labels, 4, method=method, random_state=0, device="cuda")
    same(wanted.labels, found.labels, method)
    np.testing.assert_allclose(found.confidence, wanted.confidence, rtol=1e-9)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"hbgf", "cspa", "hgpa", "mcla", "supra"}))
def test_every_method_takes_rows_from_the_card(method: str) -> None:
    labels = noisy(1, n=200)
    k = None if method == "best" else 3
    same(
        consensus(labels, k, method=method, random_state=0).labels,
        consensus(labels, k, method=method, random_state=0, device="cuda").labels,
        method,
    )


class TestLaws:
    """The laws of design.md for the methods that run on the card."""

    @pytest.mark.parametrize("method", ON_CARD)
    @pytest.mark.usefixtures("size")
    def test_labels_are_canonical_and_unanimity_holds(self, method: str) -> None:
        partition = np.random.default_rng(3).integers(3, size=400)
        labels = consensus(
            np.repeat(partition[:, None], 5, axis=1), 3, method=method, random_state=0, device="cuda"
        ).labels
        assert adjusted_rand_score(partition, labels) == 1.0
        firsts = [int(np.flatnonzero(labels == c)[0]) for c in range(3)]
        assert firsts == sorted(firsts)

    @pytest.mark.parametrize("method", ON_CARD)
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.usefixtures("size")
    def test_renaming_and_repeating_change_nothing(self, method: str, seed: int) -> None:
        labels = noisy(seed, n=500, k=4, missing=0.15)
        rng = np.random.default_rng(seed)
        renamed = np.full_like(labels, -1)
        for member in range(labels.shape[1]):
            names = rng.permutation(50)[:4]
            known = labels[:, member] >= 0
            renamed[known, member] = names[labels[known, member]]
        settings: dict[str, Any] = {"method": method, "random_state": 0, "device": "cuda"}
        wanted = consensus(labels, 4, **settings).labels
        assert np.array_equal(wanted, consensus(renamed, 4, **settings).labels)
        assert np.array_equal(wanted, consensus(labels, 4, **settings).labels)

    @pytest.mark.parametrize("method", ON_CARD)
    def test_a_planted_partition_is_found_under_noise_and_gaps(self, method: str) -> None:
        truth = noisy(7, n=3000, k=5, members=15, noise=0.0)[:, 0]
        labels = noisy(7, n=3000, k=5, members=15, noise=0.15, missing=0.1)
        found = consensus(labels, 5, method=method, random_state=0, device="cuda").labels
        assert adjusted_rand_score(truth, found) > 0.95

    @pytest.mark.parametrize("seed", range(5))
    def test_compress_and_merge_agree_with_the_processor(self, seed: int) -> None:
        ensemble = as_ensemble(noisy(seed, n=5000, members=8, missing=0.1))
        rows, inverse = compress(ensemble)
        found, where = compress(as_ensemble(noisy(seed, n=5000, members=8, missing=0.1)), device="cuda")
        assert np.array_equal(rows.labels, found.labels)
        assert np.array_equal(rows.counts, found.counts)
        assert np.array_equal(inverse, where)
        merged, _ = merge([found, found])
        assert np.array_equal(merged.counts, 2 * rows.counts)
        assert solve(found, 3, method="kmeans", random_state=0).n_clusters == 3


@pytest.mark.parametrize("n", [3_000, 400_000])
@pytest.mark.parametrize(
    "options",
    [
        {"base": "kmeans", "k": (5, 30)},
        {"base": "kmeans", "k": (5, 30), "rows": 0.5, "columns": 0.5},
        {"base": "kmeans", "k": 9, "columns": Projection(5)},
        {"base": Spectral(landmarks=300, sample=40), "k": (5, 30)},
    ],
)
def test_members_are_those_of_the_processor(options: dict[str, Any], n: int) -> None:
    X = blobs(0, n)
    wanted = generate(X, 4, random_state=1, **options)
    found = generate(X, 4, random_state=1, device="cuda", **options)
    assert found.info["members"] == wanted.info["members"]
    assert (wanted.labels != found.labels).mean() <= 1e-5


def test_wide_features_and_other_types() -> None:
    for d, dtype in ((100, np.float32), (16, np.float64), (7, np.int16), (300, np.float64)):
        X = (10 * blobs(0, 20_000, d)).astype(dtype)
        wanted = generate(X, 3, k=(5, 20), base="kmeans", random_state=0)
        found = generate(X, 3, k=(5, 20), base="kmeans", random_state=0, device="cuda")
        assert (wanted.labels != found.labels).mean() <= 1e-5


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_arrays_come_back_in_kind(library: str) -> None:
    module = pytest.importorskip(library)
    X = blobs(2, 50_000, spread=0.3)
    there = module.asarray(X) if library == "cupy" else module.as_tensor(X, device="cuda")
    settings: dict[str, Any] = {"n_members": 8, "base": "kmeans", "k": (10, 20), "random_state": 0}
    wanted = EnsembleClustering(10, **settings).fit(X)
    found = EnsembleClustering(10, **settings).fit(there)
    assert type(found.labels_) is type(there)
    labels = found.labels_.get() if library == "cupy" else found.labels_.cpu().numpy()
    assert adjusted_rand_score(wanted.labels_, labels) >= 0.9999
    table = found.ensemble_.labels
    given = module.asarray(table) if library == "cupy" else module.as_tensor(np.array(table), device="cuda")
    result = consensus(given, 10, method="kmeans", random_state=0)
    assert type(result.labels) is type(there)
    host = consensus(table, 10, method="kmeans", random_state=0).labels
    assert np.array_equal(result.labels.get() if library == "cupy" else result.labels.cpu().numpy(), host)
    placed = found.predict(there)
    assert type(placed) is type(there)


@pytest.mark.parametrize("base", ["kmeans", "auto"])
def test_the_number_of_clusters_is_chosen_for_features_on_the_card(base: str) -> None:
    X = blobs(6, 30_000, spread=0.2)
    there = EnsembleClustering(n_members=8, base=base, random_state=0).fit(card().xp.asarray(X))
    wanted = EnsembleClustering(n_members=8, base=base, random_state=0).fit(X)
    assert there.n_clusters_ == wanted.n_clusters_ > 1
    assert adjusted_rand_score(wanted.labels_, there.labels_.get()) >= 0.99
    ensemble = there.ensemble_
    assert evaluate(there.consensus_, ensemble, null=19).n_permutations == 19
    assert consensus(ensemble, random_state=0).n_clusters == consensus(ensemble.on_host(), random_state=0).n_clusters


def test_features_of_noise_on_the_card_are_one_cluster() -> None:
    X = np.random.default_rng(0).normal(size=(3_000, 6))
    found = EnsembleClustering(n_members=8, random_state=0).fit(card().xp.asarray(X))
    assert found.n_clusters_ == EnsembleClustering(n_members=8, random_state=0).fit(X).n_clusters_
    assert len(np.unique(found.labels_.get())) == found.n_clusters_


def test_scores_are_those_of_the_processor() -> None:
    X = blobs(3, 30_000)
    found = EnsembleClustering(10, n_members=6, base="kmeans", random_state=0, device="cuda").fit(X)
    plain = found.ensemble_.on_host()
    assert evaluate(found.consensus_, found.ensemble_).as_dict() == evaluate(found.consensus_, plain).as_dict()


def test_large_ensembles_give_the_answer_of_the_processor() -> None:
    labels = noisy(0, n=300_000, k=8, members=10, noise=0.25).astype(np.int8)
    for method in ON_CARD:
        wanted = consensus(labels, 8, method=method, random_state=0)
        found = consensus(labels, 8, method=method, random_state=0, device="cuda")
        assert found.info["device"] == card().name
        same(wanted.labels, found.labels, method)


def test_data_larger_than_the_card_go_through_it_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_card, "ROOM", 0.0)
    monkeypatch.setattr(card_features, "BLOCK_BYTES", 1 << 20)
    monkeypatch.setattr(rows_on_card, "ROOM", 0.0)
    monkeypatch.setattr(rows_on_card, "BLOCK_SHARE", 1e-5)
    X = blobs(4, 300_001)
    wanted = generate(X, 6, k=(5, 20), base="kmeans", random_state=0)
    found = generate(X, 6, k=(5, 20), base="kmeans", random_state=0, device="cuda")
    assert (wanted.labels != found.labels).mean() <= 1e-5
    labels = noisy(5, n=400_001, k=6, members=7, missing=0.05).astype(np.int16)
    for method in ("kmeans", "eac"):
        few = labels[:, :4].copy() if method == "eac" else labels
        few[few.max(axis=1) < 0, 0] = 0
        one, two = (consensus(few, 6, method=method, random_state=0, device=d) for d in (None, "cuda"))
        assert np.array_equal(one.labels, two.labels)
        assert np.array_equal(one.rows, two.rows)


def test_a_billion_labels_are_read_in_parts() -> None:
    """CuPy's own reductions change at 2^31 values; ours must not."""
    labels = card().xp.zeros((1 << 28, 9), dtype=card().xp.int8)
    labels[-1, -1] = 3
    labels[12345, 4] = -1
    assert card_rows.extent(labels) == (-1, 3)
    coded = card_rows.code_columns_on_card(card(), labels)
    assert coded is not None
    assert [len(known) for known in coded[1]] == [1] * 8 + [2]
