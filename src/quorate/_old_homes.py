"""Where the classes are now that pickles of earlier versions look for in modules that have been joined to others."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {
    "_blocks": "_stream",
    "_blocks.consensus": "_stream.block_consensus",
    "_blocks.placing": "_stream.block_places",
    "_blocks.settling": "_data.blocks",
    "_blocks.store": "_stream.store",
    "_choose": "_summaries",
    "_comparison": "_trust",
    "_comparison.compare": "_trust.compare",
    "_comparison.over_k": "_trust.over_k",
    "_consensus.choice": "_summaries",
    "_consensus.placing": "_consensus.place",
    "_consensus.procedure": "_solve.procedure",
    "_evaluation.ambiguity": "_evaluation.consensus_index",
    "_io.choosing": "_io.opening",
    "_structure": "_trust",
    "_structure.reference": "_trust.reference",
    "generation.bagging": "generation.clusterers.bagging",
    "generation.boosting": "generation.clusterers.bagging",
    "generation.columns": "generation.sampling",
    "generation.in_blocks": "_stream.measurements",
    "generation.portfolio": "generation.clusterers.portfolio",
    "generation.row_samples": "generation.sampling",
    "generation.similarity": "generation.clusterers.similarity",
    "solvers.draws": "solvers.label_rows",
    "solvers.spectral.eigen": "solvers.spectral.embedding",
    "solvers.spectral.euclidean_kmeans": "solvers.spectral.embedding",
}
"""Modules of versions 0.1 and 0.2 that a pickle may name, and the modules that hold their classes now."""


class OldHomes(MetaPathFinder):
    """A finder of modules for the import system that answers for the modules in MOVED, and for no other."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how to make a module of an earlier version; None for any other name."""
        is_old = name.startswith("quorate.") and name.removeprefix("quorate.") in MOVED
        return ModuleSpec(name, _Names(), is_package="." not in name.removeprefix("quorate.")) if is_old else None


class _Names(Loader):
    """Fill a module with the names of the module that took its place."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        now = import_module(f"quorate.{MOVED[module.__name__.removeprefix('quorate.')]}")
        vars(module).update({name: value for name, value in vars(now).items() if not name.startswith("__")})


def install() -> None:
    """Let the import system ask this module last, after all other ways to find a module have failed."""
    if not any(isinstance(finder, OldHomes) for finder in sys.meta_path):
        sys.meta_path.append(OldHomes())
