"""Consensus clustering: many labellings of the same objects in, one you can trust out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quorate import _old_homes

if TYPE_CHECKING:
    from quorate._choose_k.choose_k import choose_k
    from quorate._coarsening.coarsen import coarsen
    from quorate._coarsening.tree import CATree, ca_tree
    from quorate._consensus.camps import Camp, camps
    from quorate._consensus.confidence import memberships
    from quorate._consensus.consensus import consensus, solve
    from quorate._consensus.place import place
    from quorate._consensus.refine import refine
    from quorate._consensus.update import update
    from quorate._data.ensemble import as_ensemble
    from quorate._data.joining import join
    from quorate._data.rows import compress, merge
    from quorate._data.soft_members import as_soft_ensemble, harden
    from quorate._evaluation.cluster_rules import rules
    from quorate._evaluation.co_association import CoAssociation, TreeSplit, co_association, linkage, recut, splits
    from quorate._evaluation.explanation import explain
    from quorate._evaluation.hierarchy import agreed_names
    from quorate._evaluation.member_table import members, profiles
    from quorate._evaluation.scores import (
        accuracy,
        ami,
        anmi,
        ari,
        density,
        element_similarities,
        element_similarity,
        fowlkes_mallows,
        jaccard,
        nmi,
        variation_of_information,
    )
    from quorate._io import load_labels, save_ensemble, save_labels
    from quorate._io.consensus_file import load_consensus, save_consensus
    from quorate._progress import progress
    from quorate._trust.agreement import evaluate
    from quorate._trust.compare import compare
    from quorate._trust.divide import divide
    from quorate._trust.over_k import over_k
    from quorate._trust.resolutions import resolutions
    from quorate._trust.split_tests import SplitTree, significant_splits
    from quorate._types import Consensus, Ensemble, Method, Scores, SoftEnsemble
    from quorate.estimators import ConsensusClustering, EnsembleClustering
    from quorate.estimators.saved_model import load_model, save_model
    from quorate.generation import generate
    from quorate.generation.prototypes import prototypes
    from quorate.methods import METHODS
    from quorate.reporting import report
    from quorate.scoring import scorer

__version__ = "0.3.0"

__all__ = [
    "METHODS",
    "CATree",
    "Camp",
    "CoAssociation",
    "Consensus",
    "ConsensusClustering",
    "Ensemble",
    "EnsembleClustering",
    "Method",
    "Scores",
    "SoftEnsemble",
    "SplitTree",
    "TreeSplit",
    "accuracy",
    "agreed_names",
    "ami",
    "anmi",
    "ari",
    "as_ensemble",
    "as_soft_ensemble",
    "ca_tree",
    "camps",
    "choose_k",
    "co_association",
    "coarsen",
    "compare",
    "compress",
    "consensus",
    "density",
    "divide",
    "element_similarities",
    "element_similarity",
    "evaluate",
    "explain",
    "fowlkes_mallows",
    "generate",
    "harden",
    "jaccard",
    "join",
    "linkage",
    "load_consensus",
    "load_labels",
    "load_model",
    "members",
    "memberships",
    "merge",
    "nmi",
    "over_k",
    "place",
    "profiles",
    "progress",
    "prototypes",
    "recut",
    "refine",
    "report",
    "resolutions",
    "rules",
    "save_consensus",
    "save_ensemble",
    "save_labels",
    "save_model",
    "scorer",
    "significant_splits",
    "solve",
    "splits",
    "update",
    "variation_of_information",
]

# Names are fetched when first used, so that `quorate --help` does not wait for numba, nor labels for scikit-learn.
_HOMES = {
    "METHODS": "methods",
    "CATree": "_coarsening.tree",
    "Camp": "_consensus.camps",
    "CoAssociation": "_evaluation.co_association",
    "Consensus": "_types",
    "ConsensusClustering": "estimators",
    "Ensemble": "_types",
    "EnsembleClustering": "estimators",
    "Method": "_types",
    "Scores": "_types",
    "SoftEnsemble": "_types",
    "SplitTree": "_trust.split_tests",
    "agreed_names": "_evaluation.hierarchy",
    "accuracy": "_evaluation.scores",
    "ami": "_evaluation.scores",
    "anmi": "_evaluation.scores",
    "ari": "_evaluation.scores",
    "as_ensemble": "_data.ensemble",
    "as_soft_ensemble": "_data.soft_members",
    "ca_tree": "_coarsening.tree",
    "camps": "_consensus.camps",
    "choose_k": "_choose_k.choose_k",
    "co_association": "_evaluation.co_association",
    "coarsen": "_coarsening.coarsen",
    "compare": "_trust.compare",
    "compress": "_data.rows",
    "consensus": "_consensus.consensus",
    "density": "_evaluation.scores",
    "divide": "_trust.divide",
    "element_similarities": "_evaluation.scores",
    "element_similarity": "_evaluation.scores",
    "evaluate": "_trust.agreement",
    "explain": "_evaluation.explanation",
    "fowlkes_mallows": "_evaluation.scores",
    "generate": "generation",
    "harden": "_data.soft_members",
    "jaccard": "_evaluation.scores",
    "join": "_data.joining",
    "linkage": "_evaluation.co_association",
    "progress": "_progress",
    "recut": "_evaluation.co_association",
    "splits": "_evaluation.co_association",
    "TreeSplit": "_evaluation.co_association",
    "load_consensus": "_io.consensus_file",
    "load_labels": "_io",
    "load_model": "estimators.saved_model",
    "members": "_evaluation.member_table",
    "memberships": "_consensus.confidence",
    "merge": "_data.rows",
    "nmi": "_evaluation.scores",
    "over_k": "_trust.over_k",
    "place": "_consensus.place",
    "profiles": "_evaluation.member_table",
    "prototypes": "generation.prototypes",
    "refine": "_consensus.refine",
    "report": "reporting",
    "resolutions": "_trust.resolutions",
    "rules": "_evaluation.cluster_rules",
    "save_consensus": "_io.consensus_file",
    "save_ensemble": "_io",
    "save_labels": "_io",
    "save_model": "estimators.saved_model",
    "scorer": "scoring",
    "significant_splits": "_trust.split_tests",
    "solve": "_consensus.consensus",
    "update": "_consensus.update",
    "variation_of_information": "_evaluation.scores",
}


_old_homes.install()

# Pictures are drawn by quorate.plot.<name>, which loads matplotlib only then; quorate.stream is for tables in blocks,
# and quorate.dask for Dask collections.
_MODULES = {"dask", "plot", "stream"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"quorate.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'quorate' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"quorate.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
