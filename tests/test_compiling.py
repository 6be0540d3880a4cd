"""Kernels work without a cache of compiled code: nowhere to write, a full disk, damaged files; told once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import quorate

pytestmark = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="NUMBA_DISABLE_JIT: nothing is compiled at all")

PACKAGE = Path(quorate.__file__).parent
TOLD = "compiled code cannot be kept on disk"
# two kernels in two modules, one of which calls the other's kernel: little to compile
CODE = """
import numpy as np
from quorate.ops.coding import canonical
assert canonical(np.array([2, 0, 2], dtype=np.int32), 3).tolist() == [0, 1, 0]
from quorate.ops.tables import cluster_counts
"""
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))\n"


def run(code: str, path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    everything = {**known, "PYTHONPATH": str(path), **environment}
    return subprocess.run([sys.executable, "-c", code], env=everything, capture_output=True, text=True, check=False)


def test_nowhere_to_write(tmp_path: Path) -> None:
    """Files stand where folders would have to be made, which stops root as well."""
    shutil.copytree(PACKAGE, tmp_path / "quorate", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "quorate" / "ops" / "__pycache__").write_text("")
    home = tmp_path / "home"
    home.write_text("")
    nowhere = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = run(CODE, tmp_path, **nowhere)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(TOLD) == 1
    assert "no locator available" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on the size of files")
def test_a_full_disk(tmp_path: Path) -> None:
    done = run(LIMITED + CODE, PACKAGE.parent, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(TOLD) == 1
    again = run(CODE, PACKAGE.parent, NUMBA_CACHE_DIR=str(tmp_path))
    assert (again.returncode, again.stderr) == (0, "")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that a first process has filled."""
    made = tmp_path_factory.mktemp("cache")
    assert run(CODE, PACKAGE.parent, NUMBA_CACHE_DIR=str(made)).stderr == ""
    return made


@pytest.mark.parametrize(("suffix", "content"), [(".nbi", b""), (".nbi", b"no index"), (".nbc", b"cut"), (".nbc", b"")])
def test_damaged_files_are_mended(tmp_path: Path, cache: Path, suffix: str, content: bytes) -> None:
    shutil.copytree(cache, tmp_path, dirs_exist_ok=True)
    kept = list(tmp_path.rglob(f"*{suffix}"))
    assert kept
    for path in kept:
        path.write_bytes(content)
    done = run(CODE, PACKAGE.parent, NUMBA_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(TOLD) == 1
    again = run(CODE, PACKAGE.parent, NUMBA_CACHE_DIR=str(tmp_path))
    assert (again.returncode, again.stderr) == (0, "")


COMPILED_TWICE = """
import numpy as np, quorate, importlib, pkgutil, quorate.ops
labels = np.random.default_rng(0).integers(6, size=(40_000, 8))
for method in ("kmeans", "transfer"):
    quorate.evaluate(quorate.consensus(labels, 20, method=method, random_state=0, n_init=2), labels)
for found in pkgutil.iter_modules(quorate.ops.__path__):
    module = importlib.import_module(f"quorate.ops.{found.name}")
    for name, kernel in vars(module).items():
        if len(getattr(kernel, "signatures", ())) > 1:
            print(found.name, name, kernel.signatures)
"""


def test_no_kernel_is_compiled_twice_for_one_job() -> None:
    done = subprocess.run([sys.executable, "-c", COMPILED_TWICE], check=True, capture_output=True, text=True)
    assert done.stdout == ""


FIRST_FIT = """
import importlib, pkgutil
import numpy as np
import quorate.ops
from quorate import EnsembleClustering
X = np.random.default_rng(0).normal(size=(300, 4)) + 6 * np.arange(3).repeat(100)[:, None]
EnsembleClustering(3, random_state=0).fit(X)
modules = [importlib.import_module("quorate.ops." + entry.name) for entry in pkgutil.iter_modules(quorate.ops.__path__)]
kernels = {id(kernel): kernel for module in modules for kernel in vars(module).values()}
print(sum(len(getattr(kernel, "signatures", ())) for kernel in kernels.values()))
"""


def test_a_first_fit_compiles_few_kernels() -> None:
    """Each takes a fifth of a second after installing; helpers that are written into their kernel do not count."""
    cache = os.environ.get("NUMBA_CACHE_DIR")
    done = run(FIRST_FIT, PACKAGE.parent, **({} if cache is None else {"NUMBA_CACHE_DIR": cache}))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 20
