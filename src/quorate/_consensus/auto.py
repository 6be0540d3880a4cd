"""method="auto": which method suits an ensemble, and why. The figures behind it are in docs/default-method.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from quorate import _check
from quorate._types import AnyEnsemble, SoftEnsemble
from quorate.methods import METHODS
from quorate.solvers.member_agreement import missing_shares

AUTO = "auto"
DEFAULT_METHOD = AUTO
TREE_ROWS = 20_000
"""Distinct rows up to which a tree over all of them is grown, whose time grows with the pairs of rows."""
MANY_GAPS = 0.75
"""Share of missing labels above which the best of several methods is worth its time."""


class Pick(NamedTuple):
    """A method's name and the reason it was taken."""

    method: str
    reason: str


def resolve(method: str, ensemble: AnyEnsemble, n_clusters: object, max_bytes: int, options: Mapping[str, Any]) -> Pick:
    """The method that "auto" stands for here, and why; a method's own name comes back without a reason."""
    if method != AUTO:
        return Pick(_check.choice(method, "method", (AUTO, *METHODS)), "")
    if options:
        given = ", ".join(map(repr, options))
        raise TypeError(f"method 'auto' has no option {given}: options belong to a method; name the one you mean.")
    return pick(ensemble, n_clusters, max_bytes)


def pick(ensemble: AnyEnsemble, n_clusters: object, max_bytes: int) -> Pick:
    """The method that suits these rows and the number of clusters asked for; None is a number still to be found."""
    rows = f"{ensemble.n_rows:,} distinct rows"
    if isinstance(ensemble, SoftEnsemble):
        return Pick("kmeans", "members are soft, and of the methods that take memberships it is the fastest")
    if n_clusters is None:
        if ensemble.n_rows <= TREE_ROWS:
            return Pick("eac", f"no number of clusters was asked for, and {rows} are few enough for a tree to find it")
        return Pick("bisecting", f"no number of clusters was asked for, and {rows} are too many for a tree of them all")
    wanted = n_clusters if isinstance(n_clusters, int | np.integer) else 20
    # a transfer cut holds a vector of one number a cluster for each row, a copy of it, and its scratch space
    needed = 3 * 8 * ensemble.n_rows * int(wanted)
    if needed > max_bytes:
        return Pick("kmeans", f"{rows} are too many for the vectors of a transfer cut: {needed:,} bytes")
    missing = float(missing_shares(ensemble).mean())
    if missing > MANY_GAPS and ensemble.n_rows <= TREE_ROWS:
        return Pick("supra", f"{missing:.0%} of the labels are missing: several methods ran, the best ANMI was kept")
    return Pick(
        "transfer", "the number of clusters is given: linear in rows, among the best by NMI and ANMI on 31 data sets"
    )
