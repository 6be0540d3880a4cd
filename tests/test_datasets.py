"""Synthetic sets have the parameters they promise; `load` reads every file there is and nothing else."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse, save_npz

from quorate import datasets
from quorate.datasets import files

SYNTHETIC = {
    datasets.two_d_two_k: ([500, 500], 2),
    datasets.eight_d_five_k: ([200] * 5, 8),
    datasets.spherical5: ([50] * 5, 16),
    datasets.half_rings: ([200, 600], 2),
    datasets.three_rings: ([100, 400, 400], 2),
    datasets.two_spirals: ([100, 100], 2),
    datasets.cigar: ([100, 100, 25, 25], 2),
    datasets.ten_gaussians: ([100] * 10, 2),
}
EACH = pytest.mark.parametrize("make", [*SYNTHETIC, datasets.three_paths], ids=lambda make: make.__name__)


@pytest.mark.parametrize(("make", "expected"), SYNTHETIC.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_sizes_are_the_papers(make: Any, expected: tuple[list[int], int]) -> None:
    X, y, _ = make(random_state=0)
    assert np.bincount(y).tolist() == expected[0]
    assert X.shape == (sum(expected[0]), expected[1])


@EACH
@pytest.mark.parametrize("n_objects", [10, 37, 1234])
def test_any_size(make: Any, n_objects: int) -> None:
    X, y, name = make(n_objects, random_state=1)
    shares = SYNTHETIC.get(make, ([1, 1, 1], 2))[0]
    assert X.shape[0] == len(y) == n_objects
    assert X.dtype == np.float64
    assert np.isfinite(X).all()
    assert set(y[y >= 0].tolist()) == set(range(len(shares)))
    sizes = np.bincount(y[y >= 0])
    assert np.abs(sizes - sizes.sum() * np.array(shares) / sum(shares)).max() <= 1.5
    assert name
    with pytest.raises(ValueError, match="n_objects"):
        make(1, random_state=0)


@EACH
def test_seeds(make: Any) -> None:
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    assert np.array_equal(make(random_state=3).X, make(random_state=3).X)
    assert not np.array_equal(make(random_state=3).X, make(random_state=4).X)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def moments(data: datasets.DataSet) -> tuple[Any, Any]:
    clusters = [data.X[data.y == label] for label in range(data.y.max() + 1)]
    return np.array([c.mean(axis=0) for c in clusters]), np.array([c.std(axis=0) for c in clusters])


def test_2d2k() -> None:
    means, spread = moments(datasets.two_d_two_k(200_000, random_state=0))
    assert np.allclose(means, [[-0.227, 0.077], [0.095, 0.323]], atol=2e-3)
    assert np.allclose(spread, 0.1, atol=2e-3)
    printed = datasets.two_d_two_k(200_000, spread=0.1**0.5, random_state=0)
    assert np.allclose(moments(printed)[1] ** 2, 0.1, atol=2e-3)


def test_8d5k() -> None:
    means, spread = moments(datasets.eight_d_five_k(100_000, random_state=0))
    assert means.min() > -0.01
    assert means.max() < 1.01
    assert np.allclose(spread, 0.1, atol=5e-3)


def test_spherical5() -> None:
    means, spread = moments(datasets.spherical5(200_000, random_state=0))
    assert np.allclose(spread, 1.0, atol=0.03)
    assert np.abs(means[:, 2:]).max() < 0.03
    distances = np.sort(np.linalg.norm(means[:, None] - means, axis=2), axis=1)
    assert np.allclose(distances[:, 1:3], 4.0, atol=0.05)


def test_ten_gaussians() -> None:
    means, spread = moments(datasets.ten_gaussians(200_000, random_state=0))
    assert np.allclose(means, [[0, 12 * i] for i in range(1, 11)], atol=0.04)
    assert np.allclose(spread, 1.0, atol=0.03)


def test_rings_do_not_touch() -> None:
    X, y, _ = datasets.three_rings(5000, random_state=0)
    radius = np.linalg.norm(X, axis=1)
    for label, middle in enumerate((0.5, 2.5, 4.5)):
        assert np.abs(radius[y == label] - middle).max() <= 0.1 + 1e-9


def test_noise_of_the_paths_is_labelled_so() -> None:
    assert np.count_nonzero(datasets.three_paths(1000, noise=0.2, random_state=0).y == -1) == 200
    assert datasets.three_paths(random_state=0, noise=0.0).y.min() == 0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with gzip.open(tmp_path / "small.csv.gz", "wt") as file:
        file.write("f0,f1,f2,label\n1,2,3,-1\n,5,,7\n")
    (tmp_path / "words.csv").write_text("f0,label\r\n1e3,Class 1\r\n,grey soil\r\n")
    np.savez(tmp_path / "pixels.npz", X=np.arange(6, dtype=np.uint8).reshape(3, 2), y=np.array([1, 0, 1], np.uint8))
    matrix = csr_array(np.array([[0, 200], [3, 0], [0, 0]], dtype=np.uint8))
    save_npz(tmp_path / "text.npz", matrix)
    arrays = dict(np.load(tmp_path / "text.npz", allow_pickle=False))
    np.savez(tmp_path / "text.npz", **arrays, y=np.array([0, 1, 1], np.int16))
    (tmp_path / "notes.md").write_text("not a data set")
    return tmp_path


def test_csv(home: Path) -> None:
    X, y, name = datasets.load("small", home)
    assert np.array_equal(X, [[1, 2, 3], [np.nan, 5, np.nan]], equal_nan=True)
    assert y.tolist() == [-1, 7]
    assert y.dtype == np.int64
    assert name == "small"
    words = datasets.load("words", home)
    assert np.array_equal(words.X, [[1000.0], [np.nan]], equal_nan=True)
    assert words.y.tolist() == ["Class 1", "grey soil"]


def test_npz(home: Path) -> None:
    X, y, _ = datasets.load("pixels", home)
    assert X.dtype == np.float32
    assert X.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert y.dtype == np.int64
    text = datasets.load("text", home)
    assert issparse(text.X)
    assert text.X.format == "csr"
    assert text.X.dtype == np.float64
    assert text.X.toarray().tolist() == [[0, 200], [3, 0], [0, 0]]


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (os.mkdir, (str(tmp_path / "sprung"),))

    np.savez(tmp_path / "trap.npz", X=np.array([Trap()], dtype=object), y=np.array([0]))
    (tmp_path / "bare.npz").write_bytes(pickle.dumps(Trap()))
    for name in ("trap", "bare"):
        with pytest.raises(ValueError, match="cannot be read as a data set"):
            datasets.load(name, tmp_path)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("f0,f1,class\n1,2,3\n", "last column must be 'label'"),
        ("f0,f1,label\n1,2,3,4\n", "header has 3 columns"),
        ("f0,f1,label\n1,2,3\n1,3\n", "cannot be read"),
        ("f0,f1,label\n1,red,3\n", "cannot be read"),
        ("f0,label\n", "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "odd.csv").write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        datasets.load("odd", tmp_path)
    assert "odd.csv" in str(caught.value)


def test_a_torn_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "torn.csv.gz").write_bytes(gzip.compress(b"f0,label\n1,2\n")[:-9])
    with pytest.raises(ValueError, match=r"torn\.csv\.gz"):
        datasets.load("torn", tmp_path)
    np.savez(tmp_path / "short.npz", X=np.ones((3, 2)), y=np.ones(2))
    with pytest.raises(ValueError, match="3 objects but 2 classes"):
        datasets.load("short", tmp_path)


def test_names(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUORATE_DATA", raising=False)
    assert datasets.names() == sorted(files.OPENML)
    assert set(datasets.names(home)) == set(files.OPENML) | {"small", "words", "pixels", "text"}
    monkeypatch.setenv("QUORATE_DATA", str(home))
    assert "pixels" in datasets.names()
    assert datasets.load("words").name == "words"


@pytest.mark.parametrize("wrong", ["smal", "SMALL", "tex", "pendigit"])
def test_unknown_names_are_answered_with_near_ones(home: Path, wrong: str) -> None:
    with pytest.raises(ValueError, match=r"nearest: .*(small|text|pendigits)"):
        datasets.load(wrong, home)


@pytest.mark.parametrize("wrong", ["../small", "a/b", "", 7, "small.csv.gz\n"])
def test_names_are_no_paths(home: Path, wrong: Any) -> None:
    with pytest.raises(ValueError, match="plain name"):
        datasets.load(wrong, home)


def test_missing_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match="data_home must name a folder"):
        datasets.load("iris", tmp_path / "nowhere")
    monkeypatch.setenv("QUORATE_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="QUORATE_DATA must name a folder"):
        datasets.names()


def test_openml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def fetch(**named: Any) -> Any:
        asked.append(named)
        return SimpleNamespace(data=np.ones((2, 3)), target=np.array(["Iris-setosa", "Iris-virginica"], dtype=object))

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    data = datasets.load("iris", tmp_path)
    assert data.X.shape == (2, 3)
    assert data.y.tolist() == ["Iris-setosa", "Iris-virginica"]
    assert data.y.dtype.kind == "U"
    assert asked[0]["data_id"] == 61
    (tmp_path / "iris.csv").write_text("f0,label\n1,0\n")
    assert datasets.load("iris", tmp_path).X.shape == (1, 1)
    assert len(asked) == 1


def test_without_network_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(**named: Any) -> Any:
        raise ConnectionError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    monkeypatch.delenv("QUORATE_DATA", raising=False)
    with pytest.raises(OSError, match=r"OpenML did not give it .*no route to host.*holds letter\.csv\.gz"):
        datasets.load("letter")
    with pytest.raises(OSError, match="is not in"):
        datasets.load("letter", tmp_path)


@pytest.mark.skipif(not os.environ.get("QUORATE_DATA"), reason="set QUORATE_DATA to a folder of data sets")
@pytest.mark.parametrize(
    ("name", "shape", "n_classes", "missing"),
    [
        ("iris", (150, 4), 3, 0),
        ("breast_wisconsin_699", (699, 9), 2, 16),
        ("house_votes", (435, 16), 2, 392),
        ("pendigits", (10992, 16), 10, 0),
        ("satimage", (6435, 36), 6, 0),
        ("text_re0", (1504, 2886), 13, 0),
        ("shape_banana", (4811, 2), 2, 0),
    ],
)
def test_published_sets(name: str, shape: tuple[int, int], n_classes: int, missing: int) -> None:
    if name not in datasets.names():
        pytest.skip(f"{name} is not in the folder")
    X, y, _ = datasets.load(name)
    assert X.shape == shape
    assert len(set(y.tolist())) == n_classes
    assert np.isnan(X.data if issparse(X) else X).sum() == missing
