"""How large the house may be, and how far a call walks through it: rules of test_house.py that are bounds."""

from __future__ import annotations

from collections import Counter

import pytest
from test_house import MODULES, REPOSITORY, SOURCES, imports
from walks import walk

# ---- ratchets: a change may lower these bounds; raising one needs its reason as a comment in the same line

MOST_MODULES = 236  # Gaussians (30); rows on workers (33); trees (31), labels (27), Parquet (28), rules (32)
MOST_LINES = 58_100  # rows on workers (33); kinds (34); copies (27); splits (31); noise, ids (32); Gaussians (30)
MOST_IN_A_PACKAGE = 15
MORE_IN_A_PACKAGE = {
    "quorate._io": 16,  # the end of Parquet files (28)
    "quorate.methods": 26,  # one file for each method, flat, so that the name is the path
    "quorate.ops": 18,  # all kernels, flat
    "quorate.generation": 19,  # its clusterers are a package of their own; prototypes (29), judge, Gaussians (30)
}
MOST_WALKED = {
    "quorate consensus": 54,  # rows in parts (33); drawn labels (27); objects outside, own methods (32); soft members
    "EnsembleClustering('auto')": 74,  # rows in parts (33); separation (31); copies (27); profiles_ (32); judge (30)
    "stream.consensus": 49,  # rows in parts (33); drawn labels (27); objects outside, own methods (32)
    "report": 56,  # rows in parts (33); drawn labels (27); trees (31); outside (32); camps
}
"""The files that calls of tests/walks.py walk through; a fit with a number walks through a part of that with "auto"."""
MOST_IMPORTED = (
    136  # rows in parts (33); drawn labels (27); Parquet (28); objects outside (32); soft members, progress (29)
)
"""The modules that the first of these calls imports."""
MOST_ASKING_FOR_A_CARD = 6
"""The modules outside `_device` that ask whether data live on a card: the doors, and one place of the solvers."""


def test_the_package_does_not_grow() -> None:
    assert len(MODULES) <= MOST_MODULES
    assert sum(len(source.splitlines()) for source in SOURCES.values()) <= MOST_LINES


def test_packages_do_not_grow() -> None:
    sizes = Counter(
        module if path.name == "__init__.py" else module.rpartition(".")[0] for module, path in MODULES.items()
    )
    large = {package: size for package, size in sizes.items() if size > MOST_IN_A_PACKAGE}
    assert {package: size for package, size in large.items() if size > MORE_IN_A_PACKAGE.get(package, 0)} == {}
    assert set(MORE_IN_A_PACKAGE) <= set(large), "a package of MORE_IN_A_PACKAGE is small enough now"


def test_no_pair_of_packages_imports_each_other() -> None:
    pairs = {
        (module.split(".")[1], other.module.split(".")[1])
        for module in MODULES
        if "." in module
        for other in imports(module)
        if "." in other.module
    }
    assert sorted((a, b) for a, b in pairs if a < b and (b, a) in pairs) == []


def test_few_modules_ask_whether_data_live_on_a_card() -> None:
    """All others use helpers that take arrays of either side, or are handed what lives on a card."""
    marks = ("lives_on_card(", ".card is None", ".card is not None", "is_on_card(")
    asking = {
        module
        for module, source in SOURCES.items()
        if not module.startswith("quorate._device.") and any(mark in source for mark in marks)
    }
    assert len(asking) <= MOST_ASKING_FOR_A_CARD, sorted(asking)


@pytest.mark.parametrize("name", MOST_WALKED)
def test_a_call_walks_through_few_files(name: str) -> None:
    walked = walk(name)
    assert walked.files <= MOST_WALKED[name]
    assert name != "quorate consensus" or walked.imported <= MOST_IMPORTED


@pytest.mark.parametrize("folder", ["tests", "benchmarks"])
def test_files_beside_the_package_stay_small(folder: str) -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (REPOSITORY / folder).rglob("*.py")}
    assert {path: length for path, length in lengths.items() if length > 400} == {}
