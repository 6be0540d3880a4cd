"""method="auto": which method suits an ensemble, and why. The figures behind it are in docs/default-method.md."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorate._types import AnyEnsemble, Ensemble, SoftEnsemble
from quorate.solvers.members import missing_shares

AUTO = "auto"
DEFAULT_METHOD = AUTO
TREE_ROWS = 20_000
"""Distinct rows up to which methods whose time grows with pairs of rows are taken."""
MANY_GAPS = 0.78
"""Share of missing labels above which small clusters fall apart into pieces that no member joins."""
FEW_LABELS = 6
"""Known labels per cluster of a member below which this happens."""
FOLDED_CLUSTERS = 2_000
"""Clusters of all members up to which a spectral cut is solved by a dense matrix over them, whatever it holds."""
MANY_CLUSTERS = 20_000
"""Clusters of all members above which Lanczos iterations may need minutes."""
GRAPH_BYTES = 240
"""Bytes that a balanced cut of the graph of rows and clusters takes for each label."""


class Pick(NamedTuple):
    """A method's name and the reason it was taken."""

    method: str
    reason: str


def pick(ensemble: AnyEnsemble, n_clusters: object, max_bytes: int) -> Pick:
    """The method that suits these rows and the number of clusters asked for, which may be still to be chosen."""
    rows = f"{ensemble.n_rows:,} distinct rows"
    if isinstance(ensemble, SoftEnsemble):
        return Pick("kmeans", "members are soft, and of the methods that take memberships it is the fastest")
    wanted = n_clusters if isinstance(n_clusters, int | np.integer) else 20
    # a spectral cut holds a vector of one number for each cluster for each row, a copy of it, and its scratch space
    needed = 3 * 8 * ensemble.n_rows * int(wanted)
    if needed > max_bytes:
        return Pick("kmeans", f"{rows} are too many for the vectors of a spectral cut: {needed:,} bytes")
    n_clusters_of_members = int(ensemble.offsets[-1])
    if n_clusters_of_members > FOLDED_CLUSTERS:
        return _for_many_clusters(ensemble, n_clusters_of_members, max_bytes)
    missing = float(missing_shares(ensemble).mean())
    known = (1 - missing) * ensemble.n_objects * ensemble.n_members / n_clusters_of_members
    if missing > MANY_GAPS and known < FEW_LABELS and ensemble.n_rows <= TREE_ROWS:
        return Pick(
            "supra",
            f"{missing:.0%} of the labels are missing and {known:.1f} are left per cluster: "
            f"several methods ran, the best ANMI was kept",
        )
    return Pick("lwgp", "linear in rows, the best mean NMI on 60 data sets")


def _for_many_clusters(ensemble: Ensemble, n_clusters: int, max_bytes: int) -> Pick:
    """Members of very many clusters: what still finishes, and does not break as k-means does there."""
    clusters = f"the members have {n_clusters:,} clusters in all"
    if n_clusters <= MANY_CLUSTERS:
        return Pick("transfer", f"{clusters}: a spectral cut without learnt weights is as good there, and quicker")
    most = ensemble.n_members - ensemble.n_members // 4
    if np.sort(ensemble.n_clusters)[:most].sum() <= FOLDED_CLUSTERS:
        # clusters of three objects say little against the large ones, whose eigenvalues then stand apart
        return Pick("transfer", f"{clusters}, nearly all of them in a few members: a spectral cut follows the others")
    needed = GRAPH_BYTES * ensemble.n_rows * ensemble.n_members
    if needed > max_bytes:
        return Pick("kmeans", f"{clusters}, too many for a spectral cut, and their graph would take {needed:,} bytes")
    return Pick("hbgf", f"{clusters}, too many for a spectral cut: their graph is cut into parts of about equal size")
