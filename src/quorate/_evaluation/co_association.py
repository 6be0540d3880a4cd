"""co_association: the sparse matrix of how often two objects are put together, and how sparse it is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from quorate import _check
from quorate._data.ensemble import as_ensemble
from quorate._types import Ensemble
from quorate.solvers.linkage.co_association import NORMALIZATIONS, Normalization, estimated_pairs, shared_pairs

LINEAR_RULE = 50
"""A of the rule that draws the number of clusters of a member from n / A on."""
BYTES_A_PAIR = 32
"""Of a stored pair and what passes through memory with it while blocks are put together."""


@dataclass(frozen=True, eq=False, repr=False)
class CoAssociation:
    """Which share of the members puts two rows together, for the pairs that any member does.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array of shape (n_rows, n_rows)
        Co-association; the upper triangle without the diagonal, or both triangles and the diagonal.
    n_pairs : int
        Pairs of different rows stored.
    ensemble : Ensemble
        What it was made of.
    """

    matrix: Any
    n_pairs: int
    ensemble: Ensemble

    @property
    def density(self) -> float:
        """Share of the entries of the full matrix, diagonal included, that are not zero."""
        n = self.ensemble.n_rows
        return (2 * self.n_pairs + n) / n**2

    @cached_property
    def estimates(self) -> dict[str, float]:
        """How many entries of the full matrix one expects not to be zero [1]_, to be held against ``density * n**2``.

        "sqrt": 4 n sqrt(n), for members of sqrt(n) / 2 to sqrt(n) clusters; "linear": 2 A n, for n / A to n / B of
        them, A = 50; "members": 2 n^2 over the least number of clusters of a member, which both come from.

        .. [1] A. Lourenco, A. Fred and A. K. Jain, "On the scalability of evidence accumulation clustering", 2010.
        """
        n = self.ensemble.n_rows
        least = int(self.ensemble.n_clusters.min())
        return {"sqrt": 4 * n * float(np.sqrt(n)), "linear": 2.0 * LINEAR_RULE * n, "members": 2 * n**2 / least}

    def __repr__(self) -> str:
        n = self.ensemble.n_rows
        return f"CoAssociation({n:,} rows, {self.n_pairs:,} pairs, density {self.density:.3g})"


def co_association(
    labels: Any,
    threshold: float | None = None,
    *,
    normalization: Normalization = "ensemble",
    triangle: Literal["upper", "full"] = "upper",
    max_bytes: int = 4_000_000_000,
) -> CoAssociation:
    """The co-association of all pairs of rows that share a cluster of some member, as a sparse matrix.

    Parameters
    ----------
    labels : Ensemble, or anything `as_ensemble` takes
        One row an object; compress first for one row a distinct row.
    threshold : float, optional
        Keep only pairs above this share of the members.
    normalization : {"ensemble", "pairwise"}
        Where labels are missing: divide by the weight of all members, or of those that know both objects.
    triangle : {"upper", "full"}
        Each pair once, or both triangles and the diagonal of ones.
    max_bytes : int
        Refused above this; the number of pairs is estimated from a sample of rows first.

    Returns
    -------
    CoAssociation
        With the matrix, its density, and the number of pairs beside the estimates of the literature.

    Notes
    -----
    Pairs are met through the rows of each base cluster, in blocks of rows; beyond its result the work takes a few
    numbers a row. `eac` with ``threshold`` and `hne` agglomerate the same pairs.

    Examples
    --------
    >>> found = co_association([[0, 0, 1, 1], [0, 0, 0, 1]])
    >>> found, found.matrix.toarray().tolist()
    (CoAssociation(4 rows, 4 pairs, density 0.75),
     [[0.0, 1.0, 0.5, 0.0], [0.0, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0]])
    """
    from scipy.sparse import csr_array, eye_array

    if threshold is not None:
        threshold = _check.fraction(threshold, "threshold", advice="it is a share of the members.")
    normalization = _check.choice(normalization, "normalization", NORMALIZATIONS)
    triangle = _check.choice(triangle, "triangle", ("upper", "full"))
    ensemble = as_ensemble(labels)
    expected = estimated_pairs(ensemble, normalization, threshold)
    _check.memory(
        BYTES_A_PAIR * expected * (1 if triangle == "upper" else 2),
        _check.n_bytes(max_bytes),
        f"about {expected:,} pairs",
        "compress the ensemble, set or raise threshold, take members of more clusters",
    )
    pairs = shared_pairs(ensemble, normalization, threshold)
    shape = (ensemble.n_rows, ensemble.n_rows)
    matrix = csr_array((pairs.values / pairs.scale, pairs.columns, pairs.start), shape=shape)
    if triangle == "full":
        matrix = (matrix + matrix.T + eye_array(ensemble.n_rows)).tocsr()
    return CoAssociation(matrix, len(pairs.columns), ensemble)
