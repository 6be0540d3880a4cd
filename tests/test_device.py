"""The device's line on a card of NumPy: same answers as the processor, in kind, and one clear line where it cannot be.

tests/gpu runs the same comparisons on a real card.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_kernels import TWINS
from device_twin import CardArray, TwinCard, blobs
from ensembles import WEIGHTS, noisy
from sklearn.metrics import adjusted_rand_score

import quorate
from quorate import METHODS, EnsembleClustering, as_ensemble, compress, consensus, generate
from quorate._data import rows_on_card
from quorate._device import card_rows, choose
from quorate._device.card_rows import code_columns_on_card, distinct_rows_on_card
from quorate._device.choose import in_kind, kind_of, lives_on_card
from quorate._device.device_ensemble import upload
from quorate.cli import main
from quorate.ops import landmarks
from quorate.ops.euclidean import nearest_centres, pad_columns
from quorate.solvers.label_space import lookup
from quorate.solvers.spectral import embedding

CUDA = Path(quorate.__file__).parent / "_device" / "cuda"
ON_CARD = ("kmeans", "sec", "kmodes", "qmi", "kcc", "ecc", "voting", "transfer", "lwgp")
"""The methods that run on a card if there are many rows."""
FLOATS = ("transfer", "lwgp", "ecpcs")
"""The methods whose sums on the card are rounded differently."""
BALANCED_CUTS = ("cspa", "hbgf", "hgpa", "mcla", "supra")
"""The methods that need pymetis."""


@pytest.fixture
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restarts on samples, so that small ensembles take the way of large ones."""
    monkeypatch.setattr(lookup, "SAMPLE_ROWS", 20)
    monkeypatch.setattr(embedding, "SAMPLE_POINTS", 20)


def test_every_kernel_has_a_twin_and_every_twin_a_kernel() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in CUDA.glob("*.cu"))
    kernels = {part.split("(")[0].split()[-1] for part in text.split('extern "C" __global__ void')[1:]}
    kernels = {name for name in kernels if name != "__launch_bounds__"}
    assert f"#define GRID {landmarks.GRID}" in text
    bounded = {part.split("(")[1].split(")\n")[-1].split()[-1] for part in text.split("__launch_bounds__")[1:]}
    assert kernels | bounded == set(TWINS)


@pytest.mark.parametrize(
    ("method", "seed"), [(method, seed) for method in sorted(METHODS) for seed in range(3 if method in ON_CARD else 1)]
)
@pytest.mark.usefixtures("few_rows_are_many")
def test_methods_give_the_answer_of_the_processor(card: TwinCard, method: str, seed: int) -> None:
    if method in BALANCED_CUTS:
        pytest.importorskip("pymetis", reason="balanced cuts need pymetis, which is not installed here")
    labels = noisy(seed, n=600, k=4, missing=0.1 * (seed % 2))
    weights = WEIGHTS if seed == 2 else None
    k = None if method == "best" else 4
    wanted = consensus(labels, k, method=method, random_state=0, weights=weights)
    found = consensus(labels, k, method=method, random_state=0, weights=weights, device="cuda")
    assert isinstance(found.labels, np.ndarray)
    if method in FLOATS:
        assert adjusted_rand_score(wanted.labels, found.labels) >= 0.9999
    else:
        assert np.array_equal(wanted.labels, found.labels)
        assert np.array_equal(wanted.runner_up, found.runner_up)
        np.testing.assert_allclose(found.confidence, wanted.confidence, rtol=1e-12)
    assert (found.info["device"] == card.name) == (method in ON_CARD)
    assert ("look_up" in card.launched or "unit_sums" in card.launched) or method not in ON_CARD


def test_methods_without_code_for_a_card_say_where_they_ran(card: TwinCard) -> None:
    result = consensus(noisy(0), 3, method="eac", device="cuda")
    assert "the processor" in result.info["device"]
    assert "'eac'" in result.info["device"]
    assert "the processor" in consensus(noisy(0), (2, 4), method="lwgp", device="cuda", random_state=0).info["device"]
    assert "merged" in consensus(noisy(0), 3, method="lwgp", coarsen=0.2, device="cuda", random_state=0).info["device"]
    assert "device" not in consensus(noisy(0), 3, method="eac").info


@pytest.mark.parametrize("shape", [(500, 1), (500, 3), (300, 8)])
@pytest.mark.parametrize("seed", range(3))
def test_compress_is_exact(card: TwinCard, shape: tuple[int, int], seed: int) -> None:
    labels = np.random.default_rng(seed).integers(-1, 3, size=shape)
    labels[labels.max(axis=1) < 0, 0] = 0
    rows, inverse = compress(as_ensemble(labels))
    found, where = compress(as_ensemble(labels), device="cuda")
    assert np.array_equal(rows.labels, found.labels)
    assert np.array_equal(rows.counts, found.counts)
    assert np.array_equal(inverse, where)
    assert type(found) is quorate.Ensemble
    again, same = compress(found, device="cuda")
    assert np.array_equal(again.labels, rows.labels)
    assert np.array_equal(same, np.arange(rows.n_rows))


def test_a_full_hash_table_grows_and_a_collision_is_repeated(card: TwinCard, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = card.to_card(np.arange(5000, dtype=np.int32)[:, None] % 3000)
    card.free = 60_000 + 13 * 5000 + 12 * 1024 * 4
    monkeypatch.setattr(card_rows, "PATIENCE", 64)
    found = distinct_rows_on_card(TwinCard(), labels, None)
    assert len(found.first) == 3000
    plain, calls = TWINS["number_rows"], []

    def collide_once(*arguments: Any) -> None:
        plain(*arguments)
        calls.append(1)
        if len(calls) == 1:
            arguments[-1][0] = 1

    monkeypatch.setitem(TWINS, "number_rows", collide_once)
    again = distinct_rows_on_card(TwinCard(), labels, None)
    assert len(calls) == 2
    assert np.array_equal(again.inverse.get(), found.inverse.get())


@pytest.mark.parametrize("method", ["kmeans", "lwgp", "eac"])
def test_tables_larger_than_the_card_are_compressed_in_blocks(
    card: TwinCard, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    labels = noisy(4, n=2500, k=5, members=5, missing=0.1).astype(np.int16)
    monkeypatch.setattr(rows_on_card, "ROOM", 0.0)
    monkeypatch.setattr(rows_on_card, "BLOCK_SHARE", 1e-9)
    wanted = consensus(labels, 5, method=method, random_state=0)
    found = consensus(labels, 5, method=method, random_state=0, device="cuda")
    assert card.launched.count("insert_rows") == 4
    assert np.array_equal(found.labels, wanted.labels)
    assert np.array_equal(found.rows, wanted.rows)
    np.testing.assert_allclose(found.confidence, wanted.confidence, rtol=1e-12)
    with pytest.raises(ValueError, match="no label in any member"):
        consensus(np.where(np.arange(2500)[:, None] == 7, -1, labels), 5, method=method, device="cuda")


def test_labels_on_the_card_come_back_in_kind(card: TwinCard) -> None:
    labels = noisy(3, n=90, missing=0.2).astype(np.int16)
    wanted = consensus(labels, 3, method="kmeans", random_state=0)
    found = consensus(CardArray(labels), 3, method="kmeans", random_state=0)
    assert isinstance(found.labels, CardArray)
    assert np.array_equal(found.labels.get(), wanted.labels)
    assert np.array_equal(found.rows.get(), wanted.rows)
    rows, inverse = compress(upload(card, as_ensemble(labels), "cupy"), device="cuda")
    assert isinstance(inverse, CardArray)
    assert rows.n_rows == wanted.info["n_rows"]
    with pytest.raises(ValueError, match="must not be 'cpu'"):
        consensus(CardArray(labels), 3, device="cpu")


@pytest.mark.parametrize(
    "values", [[[10**9, 1], [2, 3], [10**9, 1]], [[-5, 1], [2, 3], [2, 3]], [[-1, -1], [2, 3], [2, 3]]]
)
def test_tables_that_the_card_cannot_code_take_the_way_of_the_processor(card: TwinCard, values: Any) -> None:
    table = np.array(values)
    try:
        wanted = consensus(table, 2, method="kmeans", random_state=0).labels.tolist()
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error)[:20]):
            consensus(table, 2, method="kmeans", random_state=0, device="cuda")
    else:
        assert consensus(table, 2, method="kmeans", random_state=0, device="cuda").labels.tolist() == wanted


def test_text_labels_and_named_objects_work_on_a_card(card: TwinCard) -> None:
    segments = {"legacy": ["a", "a", "b", "b", "c"], "web": [1, 1, 2, 2, None], "region": [7, 7, 8, 8, 8]}
    found = consensus(segments, 2, method="kmeans", random_state=0, device="cuda", ids=list("uvwxy"))
    assert found.labels.tolist() == [0, 0, 1, 1, 1]
    assert found.object_ids.tolist() == list("uvwxy")
    ensemble = upload(card, as_ensemble(segments))
    weighted = consensus(ensemble, 2, method="kmeans", random_state=0, weights=[1, 1, 9])
    assert np.array_equal(
        weighted.labels, consensus(segments, 2, method="kmeans", random_state=0, weights=[1, 1, 9]).labels
    )


def test_codes_follow_first_appearance(card: TwinCard) -> None:
    values = np.array([[3, -1], [3, 7], [0, 7], [9, 2]], dtype=np.int8)
    coded = code_columns_on_card(card, card.to_card(values))
    assert coded is not None
    assert coded[0].get().tolist() == [[0, -1], [0, 0], [1, 0], [2, 1]]
    assert [part.tolist() for part in coded[1]] == [[3, 0, 9], [7, 2]]


def test_the_twin_of_the_assignment_is_the_kernel_of_the_processor() -> None:
    rng = np.random.default_rng(0)
    rows, centres = rng.normal(size=(500, 13)).astype(np.float32), rng.normal(size=(40, 13)).astype(np.float32)
    starts = np.array([0, 11, 40])
    wanted, found = np.empty((500, 2), dtype=np.int8), np.empty((500, 2), dtype=np.int8)
    nearest_centres(rows, pad_columns(centres), starts, wanted)
    shape = rows, 500, 13, np.arange(13), 13, np.zeros(13), 1.0
    TWINS["nearest_centres"]({}, *shape, centres, starts, 2, 40, [0, 1], found, 2)
    assert np.array_equal(wanted, found)


def test_a_device_ensemble_is_an_ensemble_in_host_memory_when_read(card: TwinCard) -> None:
    plain = as_ensemble(noisy(0, missing=0.2))
    there = upload(card, plain)
    for name in ("labels", "counts"):
        there.__dict__.pop(name)
    assert np.array_equal(there.labels, plain.labels)
    assert np.array_equal(there.counts, plain.counts)
    assert (there.n_rows, there.n_objects, there.has_missing) == (plain.n_rows, plain.n_objects, plain.has_missing)
    assert repr(there) == repr(plain).replace("Ensemble", "DeviceEnsemble")
    assert type(replace(there, weights=np.full(6, 2.0))) is quorate.Ensemble
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = there.nothing


def test_the_shell_works_on_a_card(card: TwinCard, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "X.csv", blobs(0, n=300), delimiter=",", header="a,b,c,d,e,f", comments="")
    wanted, found = tmp_path / "wanted.csv", tmp_path / "found.csv"
    fixed = ["cluster", str(tmp_path / "X.csv"), "-k", "3", "--base", "kmeans", "--no-null", "--quiet"]
    assert main([*fixed, "-o", str(wanted)]) == 0
    assert main([*fixed, "--device", "cuda", "-o", str(found)]) == 0
    assert "nearest_centres" in card.launched
    assert found.read_text() == wanted.read_text()


class TestNoCard:
    """One clear line where there is no card, or the processor if "auto" was asked for."""

    @pytest.fixture(autouse=True)
    def no_card(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(choose, "_found", lambda: "this machine has no CUDA card; use device='cpu'.")

    def test_cuda_is_refused_in_one_line(self) -> None:
        for call in (
            lambda: consensus(noisy(0), 3, device="cuda"),
            lambda: generate(blobs(0, n=50), 2, k=2, device="cuda"),
            lambda: compress(as_ensemble(noisy(0)), device="cuda"),
            lambda: EnsembleClustering(2, device="cuda").fit(blobs(0, n=50)),
        ):
            with pytest.raises(OSError, match=r"^device 'cuda' cannot be used: this machine has no CUDA card.*$"):
                call()

    def test_the_shell_says_so_in_one_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        table = tmp_path / "labels.csv"
        table.write_text("a,b\n1,1\n1,1\n2,2\n2,2\n", encoding="utf-8")
        assert main(["consensus", str(table), "-k", "2", "--device", "cuda", "--no-null", "--quiet"]) != 0
        told = capsys.readouterr().err
        assert "no CUDA card" in told
        assert told.count("\n") == 1
        assert main(["consensus", str(table), "-k", "2", "--device", "auto", "--no-null", "--quiet"]) == 0

    def test_auto_takes_the_processor(self) -> None:
        wanted = consensus(noisy(0), 3, method="kmeans", random_state=0)
        assert np.array_equal(
            consensus(noisy(0), 3, method="kmeans", random_state=0, device="auto").labels, wanted.labels
        )
        assert "device" not in generate(blobs(0, n=50), 2, k=2, base="kmeans", device="auto", random_state=0).info
        assert compress(as_ensemble(noisy(0)), device="auto")[0].n_rows == wanted.info["n_rows"]
        assert len(EnsembleClustering(2, base="kmeans", device="auto").fit(blobs(0, n=50)).labels_) == 50

    def test_unknown_devices_are_refused(self) -> None:
        for call in (
            lambda: consensus(noisy(0), 3, device="gpu"),
            lambda: generate(blobs(0, n=50), 2, k=2, device="gpu"),
            lambda: compress(as_ensemble(noisy(0)), device="gpu"),
            lambda: EnsembleClustering(2, device="gpu").fit(blobs(0, n=50)),
        ):
            with pytest.raises(ValueError, match="device must be one of"):
                call()


def test_too_little_memory_is_one_line_or_the_processor(card: TwinCard) -> None:
    card.free = 1000
    with pytest.raises(MemoryError, match="GB on the card"):
        consensus(noisy(0).astype(np.int64), 3, device="cuda")
    with pytest.raises(MemoryError, match="GB on the card"):
        generate(blobs(0), 2, k=2, base="kmeans", device="cuda")
    wanted = consensus(noisy(0), 3, method="kmeans", random_state=0)
    assert np.array_equal(consensus(noisy(0), 3, method="kmeans", random_state=0, device="auto").labels, wanted.labels)
    made = generate(blobs(0), 2, k=2, base="kmeans", device="auto", random_state=0)
    assert np.array_equal(made.labels, generate(blobs(0), 2, k=2, base="kmeans", random_state=0).labels)
    assert "memory" in made.info["device"]


def test_kinds_of_arrays_are_recognised_without_imports() -> None:
    assert kind_of(np.zeros(3)) == "numpy"
    assert kind_of([1, 2]) == "numpy"
    assert kind_of(CardArray(np.zeros(3))) == "cupy"
    tensor = type("Tensor", (), {"__module__": "torch", "is_cuda": True})()
    assert kind_of(tensor) == "torch"
    tensor.is_cuda = False
    assert kind_of(tensor) == "numpy"
    assert not lives_on_card(as_ensemble(noisy(0)))
    assert in_kind(None, "torch") is None


def test_nothing_of_the_device_is_imported_unless_asked_for() -> None:
    code = """
import sys, numpy as np, quorate
X = np.random.default_rng(0).normal(size=(60, 2))
quorate.EnsembleClustering(2, n_members=2, base="kmeans", random_state=0).fit(X)
quorate.consensus(np.array([[0, 0], [1, 1], [0, 1]]), 2, device="cpu")
loaded = [name for name in sys.modules if name.startswith("quorate._device.") or name in ("cupy", "torch")]
assert loaded == ["quorate._device.choose"], loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)
