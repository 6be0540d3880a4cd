"""Supra-consensus: several methods run, the labelling of the highest ANMI kept."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quorate import _check
from quorate._types import Consensus, Ensemble, Method
from quorate.solvers.contingency import anmi
from quorate.solvers.sizes import few_tables

FEW_ROWS = 5_000
"""Distinct rows up to which methods of more than linear time belong to the default set."""

LINEAR = ("kmeans", "mcla", "hbgf", "greedy")
ON_FEW_ROWS = ("cspa", "eac")
PAPER = ("cspa", "hgpa", "mcla")


def supra(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    runs: Mapping[str, Callable[[int, np.random.Generator], Consensus]],
    methods: Sequence[str] | str | None = None,
) -> Consensus:
    """Run several methods and return the labelling of the highest ANMI.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int
    rng : numpy.random.Generator
        Each method gets a generator of its own, made from one draw and the method's name, so that the answer of a
        method does not depend on which others run.
    runs : mapping
        For each method of the register, a function of n_clusters and a generator that runs it on this ensemble;
        handed in by `quorate.solve`, because no method knows another.
    methods : list of names in METHODS, or text with commas between them, optional
        The methods to run; "paper" takes the three of the paper: cspa, hgpa and mcla. None takes kmeans, mcla, hbgf
        and greedy, and cspa and eac on up to 5,000 distinct rows; hgpa was the best on none of 40 planted ensembles.

    Returns
    -------
    Consensus
        The winner's labels, confidence and tree; `objective` is the ANMI (geometric), to be maximised.
        ``info["winner"]`` names the method; ``info["scores"]`` holds the ANMI of every method that answered,
        ``info["failed"]`` the error of every one that did not; ``info["winner_info"]`` the winner's own facts.

    Notes
    -----
    A method that fails or refuses is recorded and does not stop the others; if none answers, an error lists
    the reasons. A tie goes to the method named first. The cost is that of the methods, one after the other.

    References
    ----------
    .. [1] A. Strehl, J. Ghosh, "Cluster Ensembles", JMLR 3, 2002, doi:10.1162/153244303321897735, section 3.5.

    Examples
    --------
    >>> from quorate import consensus
    >>> members = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]]
    >>> result = consensus(members, 2, method="supra", methods=["best", "kmeans", "greedy"])
    >>> result.labels.tolist(), result.info["winner"], round(result.objective, 3)
    ([0, 0, 0, 1, 1, 1], 'best', 0.653)
    """
    names = _names(methods, ensemble, runs)
    seed = int(rng.integers(2**62))
    answers: dict[str, Consensus] = {}
    scores: dict[str, float] = {}
    failed: dict[str, str] = {}
    for name in names:
        own = np.random.default_rng([seed, zlib.crc32(name.encode())])
        try:
            answers[name] = runs[name](n_clusters, own)
        except Exception as error:  # whatever goes wrong in one method must not cost the others' answers
            failed[name] = f"{type(error).__name__}: {error}"
            continue
        scores[name] = anmi(ensemble, answers[name].labels, answers[name].n_clusters)
    if not scores:
        raise ValueError(f"no method answered. {'; '.join(f'{name}: {reason}' for name, reason in failed.items())}")
    winner = max(scores, key=lambda name: scores[name])
    info = {"winner": winner, "scores": scores, "failed": failed, "winner_info": dict(answers[winner].info)}
    return replace(answers[winner], objective=scores[winner], info=info)


def _names(methods: Any, ensemble: Ensemble, runs: Collection[str]) -> tuple[str, ...]:
    if methods is None:
        return LINEAR + (ON_FEW_ROWS if ensemble.n_rows <= FEW_ROWS else ())
    if methods == "paper":
        return PAPER
    if isinstance(methods, str):
        methods = [name.strip() for name in methods.split(",")]
    if not isinstance(methods, Sequence) or not methods:
        raise TypeError(f"methods must be a list of at least one name in METHODS, got {methods!r}.")
    return tuple(dict.fromkeys(_check.choice(name, "methods", tuple(runs)) for name in methods))


METHOD = Method(
    solve=supra,
    title="several methods, the highest ANMI kept",
    reference="doi:10.1162/153244303321897735",
    tables=few_tables,
    time="quadratic",
    stochastic=True,
    combines=True,
)
