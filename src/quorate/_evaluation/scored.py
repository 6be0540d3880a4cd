"""A labelling compared with the members of its ensemble.

The scores are computed from contingency tables, in linear time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.labelling import Labelling, code_beside
from quorate._data.pairing import Pairing, pair_rows
from quorate._types import Ensemble, FloatArray
from quorate.solvers import contingency as tables_of
from quorate.solvers.contingency import Contingency


class Scored(NamedTuple):
    """The labelled objects as pairs of row and cluster, and the table of the labelling with every member."""

    rows: Ensemble
    sizes: NDArray[Any]
    tables: list[Contingency]

    def anmi(self, average: tables_of.Average = "geometric") -> float:
        """Return the mean NMI with the members, each weighted by its weight times the number of objects it labels."""
        return tables_of.mean_nmi(self.tables, self.rows.weights, average)

    def member_nmi(self) -> FloatArray:
        """Return the NMI of each member with the labelling; NaN if they share no object."""
        return np.array([tables_of.nmi(table, "geometric") if table.total else np.nan for table in self.tables])


def score_labelling(labelling: Labelling, ensemble: Ensemble) -> Scored:
    """Count a labelling of the rows of an ensemble against every member."""
    if ensemble.card is not None:
        from quorate._device.card_tables import tally_and_sizes

        stacked, sizes = tally_and_sizes(ensemble, labelling.codes, labelling.n_clusters)
        tables = [tables_of.non_empty(table) for table in np.split(stacked, ensemble.offsets[1:-1])]
        return Scored(ensemble, tables_of.squarable(sizes), tables)
    return score_pairs(pair_rows(ensemble, labelling.codes, labelling.n_clusters))


def score_pairs(pairs: Pairing) -> Scored:
    """Do what `score_labelling` does for rows and clusters that are already paired."""
    tables = tables_of.member_contingencies(pairs.rows, pairs.labels, pairs.n_clusters)
    return Scored(pairs.rows, pairs.sizes, tables)


def densities_within(scored: Scored) -> FloatArray:
    """Return the mean co-association of the pairs of objects within each cluster; 0 for a cluster of one object."""
    pairs = np.zeros(len(scored.sizes))
    for table, weight in zip(scored.tables, scored.rows.weights, strict=True):
        together = np.zeros(len(pairs), dtype=table.counts.dtype)
        np.add.at(together, table.second, table.counts * (table.counts - 1))
        pairs += weight * together
    sizes = scored.sizes.astype(np.float64)
    every = scored.rows.weights.sum() * sizes * (sizes - 1)
    densities: FloatArray = np.divide(pairs, every, out=np.zeros(len(sizes)), where=sizes > 1)
    return densities


def mean_density_within(scored: Scored) -> float:
    """Return the mean of the densities within clusters, weighted by the sizes of the clusters."""
    return float(scored.sizes @ densities_within(scored) / scored.sizes.sum())


def densities_between(scored: Scored) -> FloatArray:
    """Return the (k, k) mean co-association of objects of each two clusters.

    The diagonal holds that within each cluster.
    """
    from scipy.sparse import csr_array

    n_clusters = len(scored.sizes)
    together = np.zeros((n_clusters, n_clusters))
    for table, weight in zip(scored.tables, scored.rows.weights, strict=True):
        shape = (n_clusters, int(table.first.max(initial=0)) + 1)
        shares = csr_array((table.counts, (table.second, table.first)), shape=shape)
        together += weight * (shares @ shares.T).toarray()
    sizes = scored.sizes.astype(np.float64)
    result: FloatArray = together / (scored.rows.weights.sum() * np.outer(sizes, sizes))
    np.fill_diagonal(result, densities_within(scored))
    return result


def mean_density_between(scored: Scored) -> float:
    """Return the mean co-association of two objects in different clusters; 0 if there is only one cluster.

    It is counted as the pairs within base clusters minus those of them that are within one cluster.
    """
    if len(scored.sizes) == 1:
        return 0.0
    # Integers are used because the difference may be tiny compared with the squares.
    every = int(scored.sizes.sum()) ** 2 - int((scored.sizes**2).sum())
    between = [int((table.first_sizes**2).sum()) - int((table.counts**2).sum()) for table in scored.tables]
    weights = scored.rows.weights
    return float(weights @ np.array(between, dtype=np.float64) / (weights.sum() * every))


def scores_of_truth(labelling: Labelling, truth: Any, ensemble: Ensemble) -> dict[str, float]:
    """Return NMI, ARI and accuracy of a labelling compared with the known classes of the objects."""
    classes = code_beside(truth, "truth", ensemble, advice="put None where the class is not known")
    table = shared_table(labelling, classes, ensemble.counts, "labels and truth")
    return {
        "nmi": tables_of.nmi(table, "geometric"),
        "nmi_arithmetic": tables_of.nmi(table, "arithmetic"),
        "ari": tables_of.ari(table),
        "accuracy": tables_of.accuracy(table),
    }


def shared_table(one: Labelling, other: Labelling, counts: NDArray[np.int64], names: str) -> Contingency:
    """Return the contingency table of two labellings over the objects that both label."""
    table = tables_of.contingency(one.codes, other.codes, one.n_clusters, other.n_clusters, counts)
    if not len(table.counts):
        raise ValueError(f"{names} have no labelled object in common; they cannot be compared.")
    return table
