"""The good files from which cases start: the same small tables in every format that Quorate reads."""

from __future__ import annotations

import functools
import gzip
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csc_matrix, csr_matrix, save_npz

import quorate

N_OBJECTS = 24
NAMES = [f"c{number:02d}" for number in range(N_OBJECTS)]


@functools.cache
def good_files() -> Path:
    """Return a folder with all good files; it is made once per process and removed when the process ends."""
    import atexit

    folder = Path(tempfile.mkdtemp(prefix="quorate-good-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _write_labels(folder)
    _write_features(folder)
    return folder


def put(name: str, folder: Path) -> None:
    """Copy one good file or store into `folder`."""
    source = good_files() / name
    if source.is_dir():
        shutil.copytree(source, folder / name)
    else:
        shutil.copyfile(source, folder / name)


def names() -> list[str]:
    """Return the names of all good files."""
    return sorted(path.name for path in good_files().iterdir())


def label_table() -> pd.DataFrame:
    """Four clusterings of 24 objects, two of them with gaps, and the names of the objects."""
    truth = np.arange(N_OBJECTS) % 3
    noisy = np.where(np.arange(N_OBJECTS) % 7 == 0, (truth + 1) % 3, truth)
    return pd.DataFrame(
        {
            "id": NAMES,
            "sales": [["gold", "tin", "iron"][label] for label in truth],
            "web": [None if row % 6 == 5 else str(label) for row, label in enumerate(noisy)],
            "shop": (truth * 2 + (np.arange(N_OBJECTS) % 2)).astype(int),
            "post": ["" if row % 8 == 3 else f"p{label}" for row, label in enumerate(truth[::-1])],
        }
    )


def feature_table() -> pd.DataFrame:
    """Three measurements of the same objects, in three groups, and their names."""
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0, 0], [6, 6, 0], [0, 6, 6]])
    values = (centres[np.arange(N_OBJECTS) % 3] + rng.normal(size=(N_OBJECTS, 3))).round(3)
    return pd.DataFrame({"id": NAMES, **dict(zip("xyz", values.T, strict=True))})


def _write_labels(folder: Path) -> None:
    table = label_table()
    _write_tables(folder, "labels", table)
    table.drop(columns="id").to_csv(folder / "plain.csv", index=False)
    table.head(9).assign(id=[f"new{row}" for row in range(9)]).to_csv(folder / "new.csv", index=False)
    ensemble = quorate.load_labels(folder / "labels.csv", ids="id")
    for suffix in ("npz", "zarr"):
        quorate.save_ensemble(folder / f"labels.{suffix}", ensemble)
    np.save(folder / "labels.npy", ensemble.labels)
    result = quorate.consensus(ensemble, 3, method="kmeans", random_state=0)
    for suffix in ("csv", "parquet", "npz", "npy", "zarr"):
        quorate.save_labels(folder / f"result.{suffix}", result)
    quorate.save_consensus(folder / "whole.npz", result)
    quorate.stream.consensus(
        folder / "labels.parquet", 3, ids="id", method="kmeans", random_state=1, out=folder / "parts"
    )


def _write_features(folder: Path) -> None:
    table = feature_table()
    _write_tables(folder, "features", table)
    table.drop(columns="id").to_csv(folder / "numbers.csv", index=False)
    values = table[["x", "y", "z"]].to_numpy()
    np.save(folder / "features.npy", values)
    np.savez_compressed(folder / "features.npz", X=values)
    rounded = np.where(values > 3, values, 0)
    save_npz(folder / "csr.npz", csr_matrix(rounded))
    save_npz(folder / "csc.npz", csc_matrix(rounded))
    model = quorate.EnsembleClustering(3, n_members=3, base="kmeans", random_state=0)
    quorate.save_model(folder / "model.npz", model.fit(table[["x", "y", "z"]]))
    import zarr

    zarr.save(str(folder / "features.zarr"), values)
    # the call that `quorate generate features.npy --members 3 --k 3 --base kmeans --checkpoint run` makes
    quorate.generate(
        np.load(folder / "features.npy", mmap_mode="r"),
        3,
        k=3,
        base="kmeans",
        random_state=0,
        checkpoint=folder / "run",
    )


def _write_tables(folder: Path, stem: str, table: pd.DataFrame) -> None:
    text = table.to_csv(index=False)
    (folder / f"{stem}.csv").write_text(text, encoding="utf-8")
    (folder / f"{stem}.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    table.to_csv(folder / f"{stem}.tsv", sep="\t", index=False)
    table.to_csv(folder / f"{stem}.txt", sep=";", index=False)
    table.to_parquet(folder / f"{stem}.parquet", index=False)
    table.to_excel(folder / f"{stem}.xlsx", index=False)
