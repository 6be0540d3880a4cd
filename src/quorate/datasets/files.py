"""Published data sets, loaded by name from a folder of files or from OpenML."""

from __future__ import annotations

import difflib
import gzip
import os
import re
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.proof import csr_from_file

VARIABLE = "QUORATE_DATA"
"""The environment variable that names the folder if the caller does not."""

# OpenML's number of each data set, by the name of the file that it replaces.
OPENML = {
    "abalone": 183,
    "breast_wisconsin_699": 15,
    "cmc": 23,
    "covertype": 150,
    "ecoli": 39,
    "glass": 41,
    "house_votes": 56,
    "ionosphere": 59,
    "iris": 61,
    "isolet": 300,
    "letter": 6,
    "magic": 1120,
    "mfeat_fac": 12,
    "mfeat_fou": 14,
    "mfeat_kar": 16,
    "mfeat_mor": 18,
    "mfeat_pix": 20,
    "mfeat_zer": 22,
    "mnist": 554,
    "pendigits": 32,
    "pima": 37,
    "satimage": 182,
    "segmentation": 36,
    "skin": 1502,
    "sonar": 40,
    "spambase": 44,
    "synthetic_control": 377,
    "wdbc": 1510,
    "wine": 187,
    "yeast": 181,
}


class DataSet(NamedTuple):
    """Features X (n_objects, n_features), dense or CSR; classes y (n_objects,), integers or texts; and a name."""

    X: Any
    y: NDArray[Any]
    name: str


def load(name: str, data_home: str | os.PathLike[str] | None = None) -> DataSet:
    """Load a published data set by its name.

    Parameters
    ----------
    name : str
        One of `names()`.
    data_home : path, optional
        Folder with the files; by default the folder that the environment variable QUORATE_DATA names, if it is set.

    Returns
    -------
    DataSet
        Dense features are float64 (float32 from .npz), and missing values are NaN. Text data are CSR with float64
        counts. Classes are integers if all of them are written as integers, and texts otherwise.

    Notes
    -----
    First a file is looked for. NAME.csv.gz or NAME.csv has a header, numeric columns, and the class in the last column,
    `label`; empty cells are missing values. NAME.npz contains arrays X and y, or those of `scipy.sparse.save_npz` and
    y. Nothing is ever unpickled. If there is no file, the data set is fetched from OpenML if we know its number there;
    OpenML may have another order of the objects or another coding.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "tiny.csv").write_text("f0,f1,label\\n1,2.5,a\\n,3,b\\n")
    >>> load("tiny", folder)
    DataSet(X=array([[1. , 2.5], [nan, 3. ]]), y=array(['a', 'b'], dtype='<U1'), name='tiny')
    """
    home = _home(data_home)
    if not isinstance(name, str) or not re.fullmatch(r"[\w.+-]+", name):
        raise ValueError(f"name must be the plain name of a data set, got {name!r}; names() lists them.")
    for ending, read in _READERS.items():
        path = home / f"{name}{ending}" if home else None
        if path is not None and path.is_file():
            return DataSet(*_read_or_explain(read, path), name)
    if name in OPENML:
        return _openml(name, home)
    raise ValueError(_unknown(name, home))


def names(data_home: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the names that `load` accepts, sorted.

    These are the files of the folder (see `load`) and the data sets that can be fetched from OpenML.
    """
    return sorted(_files(_home(data_home)) | set(OPENML))


def _home(data_home: str | os.PathLike[str] | None) -> Path | None:
    given = data_home if data_home is not None else os.environ.get(VARIABLE) or None
    if given is None:
        return None
    home = Path(given).expanduser()
    if not home.is_dir():
        source = "data_home" if data_home is not None else f"the environment variable {VARIABLE}"
        raise FileNotFoundError(
            f"{source} must name a folder with data sets, got {str(home)!r}, which is not a folder."
        )
    return home


def _files(home: Path | None) -> set[str]:
    if home is None:
        return set()
    return {path.name.removesuffix(ending) for ending in _READERS for path in home.glob(f"*{ending}") if path.is_file()}


def _unknown(name: str, home: Path | None) -> str:
    known = _files(home) | set(OPENML)
    folded = {other.lower(): other for other in known}
    near = [folded[other] for other in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.5)]
    # A name that is part of another one is suggested too, however much longer the other one is.
    near += sorted(other for other in known if name.lower() in other.lower() and other not in near)[:3]
    where = f"in {str(home)!r} or on OpenML" if home else f"on OpenML, and neither data_home nor {VARIABLE} is set"
    hint = f"nearest: {', '.join(near)}" if near else f"names() lists all {len(known)}"
    return f"no data set {name!r} {where}; {hint}."


def _read_or_explain(read: Any, path: Path) -> tuple[Any, NDArray[Any]]:
    """Read a file; if that fails, raise an error that names the file."""
    try:
        X, y = read(path)
    except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{str(path)!r} cannot be read as a data set: {error}") from error
    if X.shape[0] != len(y):
        raise ValueError(f"{str(path)!r} has {X.shape[0]} objects but {len(y)} classes.")
    return X, y


def _read_csv(path: Path) -> tuple[NDArray[np.float64], NDArray[Any]]:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    header, *lines = content.decode("utf-8").splitlines()
    columns = header.split(",")
    if columns[-1].strip().strip('"') != "label":
        raise ValueError(f"the last column must be 'label', got {columns[-1]!r}")
    features, labels = zip(*(line.rstrip().rsplit(",", 1) for line in lines if line), strict=True)
    if any(",," in line or line[:1] in ("", ",") or line[-1:] == "," for line in features):
        features = tuple(",".join(cell or "nan" for cell in line.split(",")) for line in features)
    X = np.loadtxt(features, delimiter=",", ndmin=2, comments=None)
    if X.shape[1] != len(columns) - 1:
        raise ValueError(f"the header has {len(columns)} columns, the lines {X.shape[1] + 1}")
    return X, _classes(np.array([label.strip('"') for label in labels]))


def _read_npz(path: Path) -> tuple[Any, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as archive:
        if "X" in archive:
            return archive["X"].astype(np.float32), _classes(archive["y"])
        arrays = {name: archive[name] for name in archive.files}
        return csr_from_file(arrays, "it").astype(np.float64), _classes(arrays["y"])


_READERS = {".csv.gz": _read_csv, ".csv": _read_csv, ".npz": _read_npz}


def _classes(values: NDArray[Any]) -> NDArray[Any]:
    """Return the classes as integers if all of them are integers, and as texts otherwise."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    texts = values.astype(str)
    try:
        return texts.astype(np.int64)
    except ValueError:
        return texts


def _openml(name: str, home: Path | None) -> DataSet:
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(data_id=OPENML[name], as_frame=False, parser="liac-arff")
    except Exception as error:  # many layers below may fail, each with errors of its own
        where = f"not in {str(home)!r}" if home else f"not at hand: neither data_home nor {VARIABLE} is set"
        raise OSError(
            f"data set {name!r} is {where}, and OpenML did not give it ({type(error).__name__}: {error}); "
            f"name a folder that holds {name}.csv.gz, or try again with a network."
        ) from error
    return DataSet(bunch.data, _classes(np.asarray(bunch.target)), name)
