"""camps: groups of members that disagree about what the clusters are, and the consensus of each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quorate._consensus.consensus import camp_consensus
from quorate._data.soft_members import harden, soft_or_labels
from quorate._solve.run_method import DEFAULT_METHOD
from quorate._types import Consensus, Ensemble, Solving
from quorate.solvers.camps import between, camps_within, within
from quorate.solvers.members import MOST_MEMBERS, information_beyond_chance


class Camp(NamedTuple):
    """Members that agree with one another, and their consensus.

    Attributes
    ----------
    members : tuple of str
        Their names.
    agreement : float
        Their mean agreement with one another: what the coarser of two members says and the other one says, too,
        beyond chance, from 0 to 1.
    others : float or None
        Their mean agreement with the members of other camps; None if there is one camp.
    consensus : Consensus
        What they say. Objects that none of them knows, or that they call noise, have the label -1.
    """

    members: tuple[str, ...]
    agreement: float
    others: float | None
    consensus: Consensus


def camps(
    labels: Any, n_clusters: int | None = None, *, method: str = DEFAULT_METHOD, random_state: Any = None
) -> tuple[Camp, ...]:
    """Find groups of members that disagree about what the clusters are, and the consensus of each group.

    Members that see the same clusters, each with errors of its own, are one camp, however large the errors are; so are
    members with finer and coarser clusters. Two groups are camps if they agree less than half as much as they would if
    they saw the same clusters with errors as large as theirs. Members that agree with nobody belong to no camp.

    Parameters
    ----------
    labels : Ensemble, SoftEnsemble, or anything `as_ensemble` takes
        One row per object, one column per member; of soft members the likeliest labels are taken. At most 500 members.
    n_clusters : int, optional
        Number of clusters of each consensus; None chooses it for each camp.
    method, random_state
        As for `consensus`.

    Returns
    -------
    tuple of Camp
        The largest camp first. If there are no camps, the only one holds all members.

    See Also
    --------
    consensus : One answer of all members; with `features`, the best camp may give it.
    members : Compares each member with a result.

    Notes
    -----
    Agreement of two members is their mutual information beyond chance, divided by the lower one of their entropies.
    Average linkage makes a tree of the members from it. The mean agreement between two branches is compared with the
    geometric mean of the agreements within them, which is what members that err independently would have [1]_. With a
    hundred objects or more, planted camps of two to seven members that share no structure were found in 77 of 80
    tables, and none in 120 tables with one truth and up to 70% errors.

    References
    ----------
    .. [1] C. Spearman, "The proof and measurement of association between two things", American Journal of Psychology
       15, 1904, doi:10.2307/1412159.

    Examples
    --------
    >>> sales, web = [0] * 20 + [1] * 20, [0, 1] * 20
    >>> found = camps({"sales 1": sales, "web 1": web, "sales 2": sales, "web 2": web}, 2, random_state=0)
    >>> [camp.members for camp in found]
    [('sales 1', 'sales 2'), ('web 1', 'web 2')]
    """
    ensemble = harden(soft_or_labels(labels)) if not isinstance(labels, Ensemble) else labels
    if ensemble.n_members > MOST_MEMBERS:
        raise ValueError(
            f"labels must have at most {MOST_MEMBERS} members to be compared in pairs, got {ensemble.n_members:,}; "
            f"pass some of them."
        )
    solving = Solving(method, random_state=random_state, confidence=False)
    agreement = np.nan_to_num(information_beyond_chance(ensemble)[0])
    groups = camps_within(ensemble)
    found = []
    for place, group in enumerate(groups):
        others = [other for number, other in enumerate(groups) if number != place]
        names = tuple(ensemble.member_names[member] for member in group)
        with_others = between(group, np.concatenate(others), agreement) if others else None
        result = camp_consensus(ensemble, group, n_clusters, solving)
        found.append(Camp(names, within(group, agreement), with_others, result))
    return tuple(found)
