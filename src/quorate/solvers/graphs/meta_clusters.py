"""Meta-clusters: groups of base clusters that compete for the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._types import AnyEnsemble, Consensus
from quorate.ops.coding import canonical
from quorate.solvers.graphs.row_partition import fill_clusters, forced_partition
from quorate.solvers.label_rows import compete, winners_share
from quorate.solvers.member_order import by_member_name
from quorate.solvers.weights import cluster_weights


def meta_cluster_consensus(
    ensemble: AnyEnsemble,
    n_clusters: int,
    rng: np.random.Generator,
    method: str,
    group: Callable[[], tuple[NDArray[np.int32], float]],
) -> Consensus:
    """Let groups of base clusters compete for the rows, and describe the outcome.

    First an answer that needs no groups is looked for (see `forced_partition`). Otherwise `group` returns the group
    of each base cluster and the objective; each row goes to the group it is associated with most; groups that win no
    row are given one; and groups are numbered as the labels are. `method` is the name for error messages.

    Returns
    -------
    Consensus
        `confidence` is the share, by member weight, of a row's known labels that fall into its group.
        ``info["meta_clusters"]`` holds for each member, by name, the group of each of its clusters, or is None if the
        answer was forced (`objective` is 0 then); ``info["n_repaired"]`` is the number of groups that won no row.
    """
    forced = forced_partition(ensemble, n_clusters)
    if forced is not None:
        info = {"meta_clusters": None, "n_repaired": 0}
        return Consensus(labels=canonical(forced, n_clusters), objective=0.0, info=info)
    n_base = int(ensemble.offsets[-1])
    if n_clusters > n_base:
        raise ValueError(
            f"n_clusters = {n_clusters:,} is more than the {_check.counted(n_base, 'cluster')} of all members, which "
            f"{method} groups; ask for fewer, or use another method."
        )
    groups, objective = group()
    winner = winners(ensemble, groups, n_clusters, rng)
    n_repaired = fill_clusters(ensemble, winner, n_clusters)
    labels = canonical(winner, n_clusters)
    numbers = np.empty(n_clusters, dtype=np.int32)
    numbers[winner] = labels
    groups = numbers[groups]
    return Consensus(
        labels=labels,
        objective=objective,
        confidence=winners_share(ensemble, groups, labels),
        info={"meta_clusters": by_member_name(ensemble, groups), "n_repaired": n_repaired},
    )


def winners(
    ensemble: AnyEnsemble, groups: NDArray[np.int32], n_clusters: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """The group each row is associated with most; groups (d,) holds the group of each base cluster.

    Ties are broken by one random draw per row.
    """
    mass = np.bincount(groups, weights=cluster_weights(ensemble), minlength=n_clusters)
    return compete(ensemble, groups, mass.astype(np.float64), rng.random(ensemble.n_rows))
