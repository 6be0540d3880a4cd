"""The house rules: imports point one way, modules stay small, the register is whole."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from imports import Import, cycles, imports_of, modules_of

import quorate
from quorate import METHODS

PACKAGE = Path(quorate.__file__).parent
REPOSITORY = PACKAGE.parents[1]
MODULES = modules_of(PACKAGE)
SOURCES = {module: path.read_text(encoding="utf-8") for module, path in MODULES.items()}
EACH = pytest.mark.parametrize("module", MODULES)

# A module may import modules of its own layer and of those before it. Order is the straight line of design.md.
LAYERS = [
    {"_old_homes"},
    {"_types", "_check", "_summaries", "_verdict", "_progress"},
    {"ops"},
    {"_device"},
    {"solvers"},
    {"_data"},
    {"methods"},
    {"_coarsening", "datasets"},
    {"_io"},
    {"_solve"},
    {"generation"},
    {"_evaluation"},
    {"_choose_k"},
    {"_consensus"},
    {"_trust"},
    {"plot"},
    {"reporting"},
    {"_stream"},
    {"_distributed"},
    {"estimators", "dask", "anndata", "scoring", "stream"},
    {"cli", "__main__"},
]

# Modules of one name hold the same thing at two levels.
SAME_NAME = {
    "average_link": "the tree of average link, and its kernels",
    "camps": "the public function, and the search that the verdict uses, too",
    "co_association": "the matrix a user asks for, and the pairs that linkages work on",
    "coding": "codes by first appearance: of columns of any type, and of integers in a kernel",
    "kmeans": "k-means, as a consensus function on label rows and as a clusterer of features",
    "landmarks": "landmarks of a sample of objects, and the kernels that search and link them",
    "members": "the members that generation makes, and how members of an ensemble agree",
    "mixture": "the mixture of multinomials: the method, and its steps",
    "over_k": "numbers of clusters one after another: what is computed, and its pictures",
    "spectral": "the method, the clusterer of features, and the family of solvers that is named after them",
    "trees": "linkage trees, and pictures of them",
}

# What breaks a rule and is being mended. The tests compare exactly, so a line must go when its fault is mended.
KNOWN = {
    "private: quorate.reporting.figures takes quorate.plot._axes": "colours need a home that reports may use",
    "same name: tables": "_data.tables reads tables of labels, ops.tables holds kernels of count tables",
}

# Public classes and functions that share a name, and why. The test compares exactly: what is renamed must go from here.
DOOR = "the same verb for data of another kind: in memory, in blocks, on Dask"
SCORE = "the public score compares two labellings; the other one works on tables that were counted already"
OPTION = "the library checks a value, the shell reads a text"
KNOWN_NAMES = {
    "Choice": "the columns of a text that are read; the other one, of a number of clusters, is pickled",
    "Labelling": "a labelling given by the user, and one that a file held",
    "accuracy": SCORE,
    "anmi": SCORE,
    "ari": SCORE,
    "by_columns": "the least or largest value of each column, and the columns that a user named",
    "cluster_consensus": "the public picture, and the numbers that it shows",
    "compress": DOOR,
    "consensus": DOOR,
    "evaluate": DOOR,
    "generate": DOOR,
    "integer": OPTION,
    "member_anmi": SCORE,
    "n_bytes": OPTION,
    "names": "the public names of data sets, and a list of names in the shell",
    "nmi": SCORE,
    "place": DOOR,
    "refine": "the public one moves objects; that of the CA-tree carries nodes to rows that were split",
    "refuse_shape": "of a matrix of measurements, and of a table of labels",
}


@cache
def imports(module: str) -> set[Import]:
    """Everything that a module imports from the package."""
    return imports_of(SOURCES[module], module, MODULES, quorate._HOMES)


def known(rule: str) -> list[str]:
    """The lines of KNOWN about one rule."""
    return sorted(line for line in KNOWN if line.startswith(f"{rule}: "))


def layer(module: str) -> int:
    """The place in LAYERS of a module's top-level package."""
    name = module.split(".")[1]
    for place, names in enumerate(LAYERS):
        if name in names:
            return place
    raise AssertionError(f"{name} has no place in LAYERS; give it one")


def private(user: str, imported: Import) -> str | None:
    """What a module takes although its name begins with an underscore and belongs to another package; None if nothing.

    A private module belongs to the package it lies in, a private name to the package of its module.
    """
    parts = imported.module.split(".")
    for place in range(1, len(parts)):
        if parts[place].startswith("_") and not f"{user}.".startswith(".".join(parts[:place]) + "."):
            return f"private: {user} takes {'.'.join(parts[: place + 1])}"
    package = imported.module if MODULES[imported.module].name == "__init__.py" else ".".join(parts[:-1])
    is_private = imported.name.startswith("_") and not imported.name.startswith("__")
    if is_private and not f"{user}.".startswith(f"{package}."):
        return f"private: {user} takes {imported.name} of {imported.module}"
    return None


def test_layers_name_what_exists() -> None:
    assert set().union(*LAYERS) == {module.split(".")[1] for module in MODULES if "." in module}


@EACH
def test_imports_point_one_way(module: str) -> None:
    if module == "quorate":
        return  # it fetches the public names of all layers when they are first used
    above = {
        other.module for other in imports(module) if other.module != "quorate" and layer(other.module) > layer(module)
    }
    assert above == set()


def test_no_import_of_private_names_of_another_package() -> None:
    lines = {private(module, other) for module in MODULES for other in imports(module)} - {None}
    assert sorted(lines) == known("private")


def test_no_import_cycles() -> None:
    graph = {module: {other.module for other in imports(module) if not other.for_types} for module in MODULES}
    assert [f"cycle: {', '.join(group)}" for group in cycles(graph)] == known("cycle")


def test_modules_of_one_name_hold_the_same_thing() -> None:
    homes = defaultdict(list)
    for module in MODULES:
        homes[module.rpartition(".")[2]].append(module)
    shared = {name for name, modules in homes.items() if len(modules) > 1}
    assert sorted(f"same name: {name}" for name in shared - set(SAME_NAME)) == known("same name")
    assert set(SAME_NAME) <= shared, "SAME_NAME lists a name that only one module has"


def test_one_name_stands_for_one_thing() -> None:
    """No two public classes, and no two public functions, of one name; methods of classes do not count."""
    homes = defaultdict(list)
    for module, source in SOURCES.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_":
                homes[node.name].append(module)
    assert sorted(name for name, modules in homes.items() if len(modules) > 1) == sorted(KNOWN_NAMES)


def test_imports_are_found_wherever_they_stand() -> None:
    """The reading of imports itself, on a made-up module of the package."""
    source = """
from typing import TYPE_CHECKING
import numpy as np
import quorate.methods.kmeans
from quorate import _check, consensus
from . import over_k
from .._evaluation.scores import _scored as scored
if TYPE_CHECKING:
    from quorate.reporting import report
def draw():
    from quorate.cli import main
    import quorate._evaluation.scores as scores
    return scores._labelling, np.abs
"""
    imported = imports_of(source, "quorate.plot.matrices", MODULES, {"consensus": "_consensus.consensus"})
    assert imported == {
        Import("quorate.methods.kmeans", "", False),
        Import("quorate._check", "", False),
        Import("quorate._consensus.consensus", "consensus", False),
        Import("quorate.plot.over_k", "", False),
        Import("quorate._evaluation.scores", "_scored", False),
        Import("quorate.reporting", "report", True),
        Import("quorate.cli", "main", False),
        Import("quorate._evaluation.scores", "", False),
        Import("quorate._evaluation.scores", "_labelling", False),
    }
    lines = [private("quorate.plot.matrices", other) for other in imported]
    assert sorted(filter(None, lines)) == [
        "private: quorate.plot.matrices takes _labelling of quorate._evaluation.scores",
        "private: quorate.plot.matrices takes _scored of quorate._evaluation.scores",
    ]
    assert private("quorate._evaluation.binning", Import("quorate._evaluation.scores", "_scored", False)) is None
    assert private("quorate.reporting.page", Import("quorate.plot._axes", "colours", False)) is not None


def test_cycles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"a"}, "f": {"f"}}
    assert cycles(graph) == [["a", "b", "c"], ["f"]]


@EACH
def test_modules_stay_small(module: str) -> None:
    assert len(SOURCES[module].splitlines()) <= 700
    for node in ast.walk(ast.parse(SOURCES[module])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
            if body:
                length = (body[-1].end_lineno or 0) - body[0].lineno + 1
                assert length <= 40, f"{node.name} has {length} lines"


# Parameters of names and values of any type, and why they are no options that should have a type of their own.
UNTYPED = {
    "info": "the facts about a result or an ensemble, which each method chooses",
    "facts": "the JSON object that a command of the shell writes",
    "arrays": "the arrays of a file by their names",
    "state": "what pickle hands to __setstate__",
    "__": "what a callback is handed and leaves alone",
    "method_options": "a parameter of an estimator, which keeps what it is given",
}
# Public functions take the options of a method by name: consensus(labels, 3, method="kmeans", n_init=5).
DOORS = {
    "_choose_k.choose_k.choose_k",
    "_consensus.consensus.consensus",
    "_consensus.consensus.solve",
    "_stream.block_consensus.consensus",
    "_stream.measurements.cluster",
    "_trust.over_k.over_k",
    "anndata.consensus_anndata",
    "dask.consensus",
    "dask.evaluate",
}


def untyped(source: str) -> list[tuple[str, str]]:
    """Each function with a parameter of names and values of any type, and the name of the parameter."""
    pairs = []
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            own = function.args
            each = [*own.posonlyargs, *own.args, *own.kwonlyargs]
            written = {entry.arg: ast.unparse(entry.annotation) for entry in each if entry.annotation}
            pairs += [
                (function.name, name) for name, text in written.items() if re.search(r"(dict|Mapping)\[str, Any", text)
            ]
            if own.kwarg and own.kwarg.annotation and ast.unparse(own.kwarg.annotation) in ("Any", "object"):
                pairs.append((function.name, own.kwarg.arg))
    return pairs


def test_options_have_types() -> None:
    """`Reading`, `Solving`, `Request` and the like; a method's own options are `MethodOptions`."""
    strange = [
        f"{home}.{function} takes {name}"
        for home, source in ((module.removeprefix("quorate."), source) for module, source in SOURCES.items())
        for function, name in untyped(source)
        if name not in UNTYPED and f"{home}.{function}" not in DOORS
    ]
    assert strange == []


def test_untyped_options_are_found() -> None:
    assert untyped("def f(a: int, how: dict[str, Any] | None, *, b: Mapping[str, Any], **c: Any): ...") == [
        ("f", "how"),
        ("f", "b"),
        ("f", "c"),
    ]


def test_numba_lives_in_ops_alone() -> None:
    users = set()
    for module, source in SOURCES.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import | ast.ImportFrom) and "numba" in ast.unparse(node):
                users.add(module.split(".")[1])
    assert users == {"ops"}


def test_kernels_are_compiled_in_one_place() -> None:
    """A kernel made by numba's own decorator would fail without a cache; see ops/compiling.py."""
    own = [module for module, source in SOURCES.items() if "import njit" in source.replace("compiling import njit", "")]
    assert own == []


def test_no_kernel_returns_a_named_tuple() -> None:
    """To return one, numba calls Python, which may raise KeyboardInterrupt there; that ends in a segmentation fault."""
    ops = [ast.parse(source) for module, source in SOURCES.items() if module.startswith("quorate.ops.")]
    nodes = [node for tree in ops for node in ast.walk(tree)]
    named = {c.name for c in nodes if isinstance(c, ast.ClassDef) and "NamedTuple" in map(ast.unparse, c.bases)}
    kernels = [f for f in nodes if isinstance(f, ast.FunctionDef) and "njit" in ast.unparse(f).split("def ")[0]]
    assert named
    assert kernels
    assert [kernel.name for kernel in kernels if _returned(kernel) & named] == []


def _returned(function: ast.FunctionDef) -> set[str]:
    """What a function calls for its result, also where the result has a name first."""
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
    names = {found.id for value in returned for found in ast.walk(value) if isinstance(found, ast.Name)}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and names & {ast.unparse(target) for target in node.targets}:
            returned.append(node.value)
    return {ast.unparse(call.func) for value in returned for call in ast.walk(value) if isinstance(call, ast.Call)}


def test_no_method_imports_another() -> None:
    methods = [module for module in MODULES if module.startswith("quorate.methods.")]
    assert len(methods) == len(METHODS)
    for module in methods:
        assert {other.module for other in imports(module) if other.module.startswith("quorate.methods")} == set()


@pytest.mark.parametrize("name", sorted(METHODS))
def test_register(name: str) -> None:
    method = METHODS[name]
    parameters = list(inspect.signature(method.solve).parameters.values())
    assert [p.name for p in parameters[:2]] == ["ensemble", "n_clusters"]
    options = [p for p in parameters[2:] if p.name not in ("rng", "start")]
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


FLAT = ("quorate.ops", "quorate.methods", "quorate.datasets")
"""Packages of which each module is one thing that its name says."""
PACKAGES = sorted({module for module, path in MODULES.items() if path.name == "__init__.py"} - {"quorate", *FLAT})


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_lists_its_modules(package: str) -> None:
    words = set(re.findall(r"\w+", ast.get_docstring(ast.parse(SOURCES[package])) or ""))
    inside = {module.rpartition(".")[2] for module in MODULES if module.rpartition(".")[0] == package}
    assert sorted(inside - words) == []
