"""Coverage-guided fuzzing of one reader by atheris, which keeps inputs that reach new lines.

Usage: python -m benchmarks.reliability.guided READER [SECONDS].
atheris is no dependency of the project; `make fuzz-guided` installs it beside the tests. What breaks a
promise is written to the folder of inputs, as a file whose name begins with "crash-", and the exit status is not 0.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

# native code under the fuzzer proves its indices; read before numba is imported
os.environ.setdefault("NUMBA_BOUNDSCHECK", "1")
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / "quorate-guided-numba"))

import atheris
import numpy as np

import quorate.ops

# numba cannot compile kernels with the instructions of atheris among theirs: those are imported before
for module in pkgutil.iter_modules(quorate.ops.__path__):
    importlib.import_module(f"quorate.ops.{module.name}")

with atheris.instrument_imports(include=["quorate"], enable_loader_override=False):
    import quorate._io.consensus_file
    import quorate._io.load
    import quorate._io.opening
    import quorate._io.zarr_store
    import quorate.generation.checkpoint
from benchmarks.reliability import fixtures  # noqa: E402
from quorate import generate, load_consensus, load_labels, stream  # noqa: E402

EXPECTED = (ValueError, TypeError, OSError, MemoryError)
POINTS = np.random.default_rng(0).normal(size=(30, 2))


def _labels(path: Path) -> object:
    return load_labels(path, check=False)


def _blocks(path: Path) -> object:
    return stream.compress(path, check=False, memory="100MB")


def _checkpoint(path: Path) -> object:
    return generate(POINTS, 2, k=3, base="kmeans", random_state=0, checkpoint=path.parent)


READERS: dict[str, tuple[str, list[Callable[[Path], object]]]] = {
    "csv": ("labels.csv", [_labels, _blocks]),
    "parquet": ("labels.parquet", [_labels, _blocks]),
    "xlsx": ("labels.xlsx", [_labels]),
    "npy": ("labels.npy", [_labels, _blocks]),
    "npz": ("labels.npz", [_labels]),
    "zarr": ("labels.zarr/.zarray", [_labels, _blocks]),
    "consensus": ("whole.npz", [load_consensus]),
    "manifest": ("run/manifest.json", [_checkpoint]),
    "member": ("run/member-000000.npy", [_checkpoint]),
}
"""For each reader, the file whose content is drawn, and what reads it."""


def _place(reader: str, folder: Path) -> Path:
    """Return where the file with drawn content lies in a folder; the other files around it are good ones."""
    whole = READERS[reader][0].split("/")[0]
    if reader in ("manifest", "member"):
        _checkpoint(folder / "manifest.json")
        return folder / READERS[reader][0].split("/")[1]
    if reader == "zarr":
        np.savez(folder / "unused.npz")
        from quorate._io.zarr_store import write_zarr

        write_zarr(folder / whole, {"labels": np.arange(12, dtype=np.int64).reshape(6, 2) % 3})
        return folder / whole / "labels" / ".zarray"
    return folder / whole


def _try(path: Path, read: Callable[[Path], object]) -> None:
    place = path.parent.parent if path.name == ".zarray" else path
    try:
        read(place)
    except EXPECTED as error:
        if "\n" in str(error):
            raise AssertionError(f"an error of several lines: {error}") from error


def main() -> None:
    """Fuzz one reader for some seconds."""
    warnings.simplefilter("ignore")
    reader, seconds = sys.argv[1], int((sys.argv[2:] or ["60"])[0])
    folder = Path(tempfile.mkdtemp(prefix="quorate-guided-"))
    path = _place(reader, folder)
    inputs = folder.with_name(f"{folder.name}-inputs")
    inputs.mkdir()
    good = fixtures.good_files() / READERS[reader][0]
    (inputs / "good").write_bytes(path.read_bytes() if path.exists() else good.read_bytes())
    (inputs / "object").write_bytes(json.dumps({"seed": 1}).encode())

    def one(content: bytes) -> None:
        path.write_bytes(content)
        for read in READERS[reader][1]:
            _try(path, read)

    limits = [f"-max_total_time={seconds}", "-seed=1", "-timeout=60", "-rss_limit_mb=8000"]
    limits.append(f"-artifact_prefix={inputs}/")
    atheris.Setup([sys.argv[0], str(inputs), *limits], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
