"""The house rules: imports point one way, modules stay small, the register is whole."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import quorate
from quorate import METHODS

PACKAGE = Path(quorate.__file__).parent
REPOSITORY = PACKAGE.parents[1]
MODULES = sorted(PACKAGE.rglob("*.py"))

# A module may import modules of its own layer and of those before it. Order is the straight line of design.md.
LAYERS = [
    {"_types", "_check", "_html", "_result_table", "_summaries"},
    {"ops"},
    {"solvers"},
    {"_data"},
    {"methods"},
    {"_coarsening", "_consensus", "_evaluation", "_io", "datasets", "_choose"},
    {"generation"},
    {"_comparison"},
    {"plot"},
    {"reporting"},
    {"estimators", "anndata", "scoring"},
    {"cli", "__main__"},
]


def layer(module: str) -> int:
    for place, names in enumerate(LAYERS):
        if module in names:
            return place
    raise AssertionError(f"{module} has no place in LAYERS; give it one")


def imports(path: Path) -> set[str]:
    """Names of quorate's own top-level modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "quorate":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("quorate.")}
    return {name for name in found if (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists()}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if name == "__init__":
        return
    assert {other for other in imports(path) if layer(other) > layer(name)} == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
            if body:
                length = (body[-1].end_lineno or 0) - body[0].lineno + 1
                assert length <= 40, f"{node.name} has {length} lines"


@pytest.mark.parametrize("folder", ["tests", "benchmarks"])
def test_files_beside_the_package_stay_small(folder: str) -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (REPOSITORY / folder).rglob("*.py")}
    assert {path: length for path, length in lengths.items() if length > 400} == {}


def test_numba_lives_in_ops_alone() -> None:
    users = {
        path.relative_to(PACKAGE).parts[0]
        for path in MODULES
        if "numba" in path.read_text(encoding="utf-8")
        and any(
            isinstance(n, ast.Import | ast.ImportFrom) and "numba" in ast.unparse(n)
            for n in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
    }
    assert users <= {"ops"}


def test_no_method_imports_another() -> None:
    for path in (PACKAGE / "methods").glob("*.py"):
        if path.name != "__init__.py":
            assert "quorate.methods" not in path.read_text(encoding="utf-8").replace("quorate.methods.", "", 0) or all(
                not ast.unparse(node).startswith("from quorate.methods")
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.ImportFrom)
            )


@pytest.mark.parametrize("name", sorted(METHODS))
def test_register(name: str) -> None:
    method = METHODS[name]
    parameters = list(inspect.signature(method.solve).parameters.values())
    assert [p.name for p in parameters[:2]] == ["ensemble", "n_clusters"]
    options = [p for p in parameters[2:] if p.name != "rng"]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters[2:])
    assert len(options) <= 4
    assert method.title
    assert method.reference.startswith(("doi:", "arXiv:"))
    assert {"Parameters", "Returns", "Notes", "References", "Examples"} <= set((method.solve.__doc__ or "").split())
    assert method.solve.__module__ == f"quorate.methods.{name}"


def test_every_public_name_is_there_and_documented() -> None:
    for name in quorate.__all__:
        assert getattr(quorate, name).__doc__
    assert set(quorate.__all__) <= set(dir(quorate))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        quorate.nonsense  # noqa: B018


def test_the_package_tells_the_version_of_its_metadata() -> None:
    from importlib.metadata import version

    assert quorate.__version__ == version("quorate")


def test_import_loads_no_heavy_library() -> None:
    code = "import quorate, sys; sys.exit(any(m in sys.modules for m in ('sklearn', 'pandas', 'matplotlib', 'numba')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_using_labels_does_not_load_scikit_learn() -> None:
    code = "import quorate, sys; quorate.consensus([[0, 1], [0, 1]], 2); sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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


@pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="NUMBA_DISABLE_JIT: nothing is compiled at all")
def test_no_kernel_is_compiled_twice_for_one_job() -> None:
    done = subprocess.run([sys.executable, "-c", COMPILED_TWICE], check=True, capture_output=True, text=True)
    assert done.stdout == ""
