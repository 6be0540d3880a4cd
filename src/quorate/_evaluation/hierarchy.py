"""`agreed_names`: labels of a hierarchy agree in part, and objects are named by the deepest ancestor agreed on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import code_beside
from quorate._data.rows import compress
from quorate._summaries import need_library
from quorate._types import Ensemble, FloatArray
from quorate.solvers.contingency import contingency

if TYPE_CHECKING:
    import pandas


class ClusterName(NamedTuple):
    """The name of one cluster, and the share of the weight of its labels that agrees with it; None if none is."""

    cluster: str
    name: str | None
    share: float
    size: int


@dataclass(frozen=True, eq=False, repr=False)
class AgreedNames:
    """Names from a hierarchy, as `agreed_names` returns them; prints one line per cluster, or the commonest names.

    Parameters
    ----------
    names : array of objects
        The name of each object; None if the members agree on no ancestor.
    shares : float64 array
        The share of the weight of the members that label the object which agrees with its name; 0 without a name.
    depths : int array
        How deep the name lies in the hierarchy: 1 for a root, 0 without a name.
    clusters : tuple of ClusterName
        The names of the clusters; empty if none were given.
    object_ids : array or None
        Names of the objects, if the data had them.
    """

    names: NDArray[Any]
    shares: FloatArray
    depths: NDArray[np.int64]
    clusters: tuple[ClusterName, ...] = ()
    object_ids: NDArray[Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the number of objects of each name, and the clusters, as plain types."""
        known, sizes = np.unique([name or "" for name in self.names.tolist()], return_counts=True)
        counts = {name: size for name, size in zip(known.tolist(), sizes.tolist(), strict=True) if name}
        unnamed = int((self.depths == 0).sum())
        return {"names": counts, "unnamed": unnamed, "clusters": [entry._asdict() for entry in self.clusters]}

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per object: its name, the share that agrees, and the depth."""
        library = need_library("pandas")
        columns = {"name": self.names, "share": self.shares, "depth": self.depths}
        frame: pandas.DataFrame = library.DataFrame(columns, index=self.object_ids)
        return frame

    def __str__(self) -> str:
        facts = self.as_dict()
        if self.clusters:
            return "\n".join(
                f"{one.cluster} ({one.size:,} objects): {one.name or 'no name agreed on'} ({one.share:.0%} agree)"
                for one in self.clusters
            )
        lines = [f"{name}: {size:,} objects" for name, size in sorted(facts["names"].items(), key=lambda e: -e[1])]
        return "\n".join([*lines, *([f"no name agreed on: {facts['unnamed']:,} objects"] if facts["unnamed"] else [])])

    __repr__ = __str__


def agreed_names(members: Any, parents: Mapping[Any, Any], *, clusters: Any = None, share: float = 0.5) -> AgreedNames:
    """Name objects, and clusters, by the deepest ancestor on which members agree.

    Parameters
    ----------
    members : Ensemble, or anything `as_ensemble` takes
        Labels that are nodes of a hierarchy, such as cell types: "T cell" and "CD4 T cell" agree in part.
    parents : mapping
        The parent of each node; nodes without a parent, or with None, are roots.
    clusters : Consensus or labels, optional
        Clusters to be named: all labels of their objects vote together.
    share : float, default 0.5
        The least share of the weight of the members that label the object (or of all labels of the cluster).

    Returns
    -------
    AgreedNames
        Names of the objects and of the clusters, each with the share that agrees.

    See Also
    --------
    profiles : The labels of each cluster, without a hierarchy.

    Notes
    -----
    A label votes for itself and for all its ancestors. Of the nodes with enough votes the deepest is taken. If nodes
    of two branches have enough, which takes exactly half each, or a share below a half, it is the deepest node that
    both branches have in common.

    Examples
    --------
    >>> parents = {"CD4": "T", "CD8": "T", "T": "immune", "B": "immune"}
    >>> found = agreed_names({"a": ["CD4", "CD4", "B"], "b": ["CD4", "CD8", "B"], "c": ["T", "T", "CD8"]}, parents)
    >>> found.names.tolist(), found.shares.round(2).tolist()
    (['CD4', 'T', 'B'], [0.67, 1.0, 0.67])
    """
    least = _check.fraction(share, "share")
    if not 0 < least <= 1:
        raise ValueError(f"share must be above 0, got {share!r}.")
    ensemble = as_ensemble(members)
    nodes, depths, paths = _tree_of(parents, ensemble)
    rows, inverse = compress(ensemble)
    votes, known = _votes(rows, paths, len(nodes))
    chosen, shares = _deepest(votes, known, depths, least)
    named = np.array([*nodes, None], dtype=object)
    found: tuple[ClusterName, ...] = ()
    if clusters is not None:
        found = _named_clusters(clusters, ensemble, (votes, known), (inverse, depths, named), least)
    deep = np.append(depths, 0)[chosen]
    return AgreedNames(named[chosen][inverse], shares[inverse], deep[inverse], found, ensemble.object_ids)


def _tree_of(
    parents: Mapping[Any, Any], ensemble: Ensemble
) -> tuple[list[str], NDArray[np.int64], list[list[list[int]]]]:
    """The nodes and their depths, and for each member and label the numbers of the node and its ancestors."""
    if not isinstance(parents, Mapping):
        raise TypeError(f"parents must be a mapping from nodes to their parents, got {type(parents).__name__}.")
    above = {str(node): None if parent is None or parent != parent else str(parent) for node, parent in parents.items()}
    above |= {parent: None for parent in above.values() if parent is not None and parent not in above}
    number, lines = {node: place for place, node in enumerate(above)}, {}
    for node in above:
        line, other = [node], above[node]
        while other is not None:
            if other in line:
                raise ValueError(f"parents form a circle: {' > '.join([*line, other][:6])}; a hierarchy has none.")
            line.append(other)
            other = above[other]
        lines[node] = [number[entry] for entry in line]
    for name, labels in zip(ensemble.member_names, ensemble.categories, strict=True):
        strange = [str(label) for label in labels.tolist() if str(label) not in number]
        if strange:
            raise ValueError(
                f"{name!r} has the label {_check.brief(strange[0])}, which is not in the hierarchy"
                f"{_check.did_you_mean(strange[0], list(number))}; add it to parents, with None if it is a root."
            )
    depths = np.array([len(lines[node]) for node in above], dtype=np.int64)
    return list(above), depths, [[lines[str(label)] for label in labels.tolist()] for labels in ensemble.categories]


def _votes(rows: Ensemble, paths: list[list[list[int]]], n_nodes: int) -> tuple[Any, FloatArray]:
    """The weight for each node in each row, a sparse matrix, and the weight of the members that label the row."""
    from scipy.sparse import csr_matrix

    whole, known = csr_matrix((rows.n_rows, n_nodes)), (rows.labels >= 0) @ rows.weights
    for member, lines in enumerate(paths):
        codes = rows.labels[:, member]
        labelled = np.flatnonzero(codes >= 0)
        places = np.array([place for line in lines for place in line])
        starts = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
        above = csr_matrix((np.ones(len(places)), places, starts), shape=(len(lines), n_nodes))
        shape = (rows.n_rows, len(lines))
        own = csr_matrix((np.full(len(labelled), rows.weights[member]), (labelled, codes[labelled])), shape=shape)
        whole = whole + own @ above
    return whole.tocsr(), known


def _deepest(
    votes: Any, known: FloatArray, depths: NDArray[np.int64], least: float
) -> tuple[NDArray[np.intp], FloatArray]:
    """For each row the deepest node with enough votes before they divide, -1 if there is none, and its share."""
    table = votes.tocoo()
    enough = table.data >= least * known[table.row] * (1 - 1e-12)
    row, node, weight = table.row[enough].astype(np.int64), table.col[enough], table.data[enough]
    _, group, size = np.unique(row * (depths.max() + 1) + depths[node], return_inverse=True, return_counts=True)
    divided = size[group.reshape(-1)] > 1
    # ancestors have at least as many votes, so that from the first depth with two nodes on there are two branches
    limit = np.full(len(known), depths.max() + 1)
    np.minimum.at(limit, row[divided], depths[node[divided]])
    below = depths[node] < limit[row]
    row, node, weight = row[below], node[below], weight[below]
    order = np.lexsort((depths[node], row))
    chosen, shares = np.full(len(known), -1, dtype=np.intp), np.zeros(len(known))
    # the deepest of each row comes last
    chosen[row[order]] = node[order]
    shares[row[order]] = weight[order] / np.maximum(known[row[order]], 1e-300)
    return chosen, shares


def _named_clusters(
    clusters: Any, ensemble: Ensemble, voted: tuple[Any, FloatArray], tree: tuple[Any, Any, Any], least: float
) -> tuple[ClusterName, ...]:
    """Name clusters by all labels of their objects together."""
    from scipy.sparse import csr_matrix

    votes, known = voted
    inverse, depths, named = tree
    coded = code_beside(clusters, "clusters", ensemble)
    pairs = contingency(coded.codes, inverse, coded.n_clusters, len(known), ensemble.counts)
    inside = csr_matrix((pairs.counts.astype(np.float64), (pairs.first, pairs.second)), (coded.n_clusters, len(known)))
    chosen, shares = _deepest(inside @ votes, np.asarray(inside @ known), depths, least)
    sizes = np.bincount(coded.codes[coded.codes >= 0], ensemble.counts[coded.codes >= 0], coded.n_clusters)
    called = [str(name) for name in coded.categories.tolist()]
    return tuple(map(ClusterName, called, named[chosen].tolist(), shares.tolist(), sizes.astype(np.int64).tolist()))
