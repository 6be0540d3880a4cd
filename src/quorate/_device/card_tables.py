"""Look-ups of the rows of a `DeviceEnsemble` in tables over base clusters, and integer sums over its rows.

These are the operations of `quorate.solvers.label_rows` for rows on a card; `ensemble` is always a `DeviceEnsemble`.
Tables over base clusters and clusters are small: they come from and go to host memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._device.card import padded

TABLE_BYTES = 96 * 1024
"""Bytes of a table up to which kernels keep it in shared memory."""
LOOPING_BLOCKS = 132 * 8
PART = 8
"""Columns of a table that a kernel adds up together; tables are padded to a multiple of it."""

FloatArray = NDArray[np.float64]


def start_of(ensemble: Any) -> tuple[Any, ...]:
    """Return the arguments with which every kernel over label rows begins."""
    return ensemble.card_labels, ensemble.n_rows, ensemble.n_members, ensemble.offsets_on_card


def widened(ensemble: Any, table: NDArray[Any], n_columns: int) -> Any:
    """Return the first columns of a host table on the card, int64 or float64, padded with zero columns."""
    dtype = np.int64 if table.dtype.kind in "iu" else np.float64
    wide = np.zeros((len(table), padded(n_columns, PART)), dtype=dtype)
    wide[:, :n_columns] = table[:, :n_columns]
    return ensemble.card.xp.asarray(wide)


def in_shared(table: Any) -> tuple[int, int]:
    """Return how many entries of a table a kernel keeps in shared memory, all or 0, and the bytes that takes."""
    n_bytes = len(table) * (int(table.shape[1]) + 1) * table.dtype.itemsize
    return (len(table), n_bytes) if n_bytes <= TABLE_BYTES else (0, 0)


def looping(ensemble: Any) -> tuple[int]:
    """Return the number of blocks that fill the card once or twice over, for kernels that first copy a table."""
    return (max(1, min(LOOPING_BLOCKS, -(-ensemble.n_rows // 256))),)


def look_up(ensemble: Any, rule: tuple[Any, Any, Any], factor: Any, nearest: Any, score: Any) -> None:
    """Write each row's best cluster under a rule, and its value there; `factor` lies on either side."""
    xp = ensemble.card.xp
    table, scale, bias = rule
    wide = widened(ensemble, table, len(bias))
    factors = xp.asarray(factor)
    kept, shared = in_shared(wide)
    ensemble.card.launch(
        "look_up",
        (
            *start_of(ensemble),
            *(wide, wide.shape[1], kept, xp.asarray(scale), xp.asarray(bias), len(bias)),
            *(factors, int(len(factors) > 1), nearest, score),
        ),
        source="tables",
        types={"LABEL": ensemble.card_labels.dtype, "TABLE": wide.dtype},
        n=ensemble.n_rows,
        grid=looping(ensemble),
        shared=shared,
    )


class Moving:
    """Sums over the rows of each cluster, kept on the card while rows move between clusters.

    `old` is the assignment that the sums belong to, -1 for a row in no cluster.
    """

    def __init__(self, ensemble: Any, n_clusters: int, masses: Any = None) -> None:
        xp = ensemble.card.xp
        self._ensemble, self._n_clusters = ensemble, n_clusters
        self._counts = ensemble.card_counts
        self._masses = None if masses is None else xp.asarray(masses)
        self._table = xp.zeros((int(ensemble.offsets[-1]), n_clusters), dtype=xp.uint64)
        self._mass = xp.zeros(n_clusters, dtype=xp.uint64)
        self.old = xp.full(ensemble.n_rows, -1, dtype=xp.int32)

    def move(self, fresh: Any) -> int:
        """Make `fresh` the assignment, without a copy, and return how many rows moved."""
        xp = self._ensemble.card.xp
        moved = xp.zeros(1, dtype=xp.uint64)
        self._ensemble.card.launch(
            "move_rows",
            (
                *start_of(self._ensemble),
                *(self._counts, self._masses, self.old, fresh, self._n_clusters, self._table, self._mass, moved),
            ),
            source="tables",
            types={"LABEL": self._ensemble.card_labels.dtype, "TABLE": np.int64},
            n=self._ensemble.n_rows,
        )
        self.old = fresh
        return int(moved[0])

    def sums(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the table (d, K) and the mass (K,) in host memory."""
        card = self._ensemble.card
        return card.to_host(self._table).view(np.int64), card.to_host(self._mass).view(np.int64)


def tally(ensemble: Any, assignment: Any, n_clusters: int) -> NDArray[np.int64]:
    """Return the number of objects of each base cluster in each cluster, (d, K); rows with -1 are left out."""
    return tally_and_sizes(ensemble, assignment, n_clusters)[0]


def tally_and_sizes(ensemble: Any, assignment: Any, n_clusters: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return `tally`, and the number of objects in each cluster."""
    moving = Moving(ensemble, n_clusters)
    moving.move(on_the_card(ensemble, assignment))
    return moving.sums()


def own_and_rival(ensemble: Any, means: FloatArray, assignment: Any) -> tuple[Any, Any, Any]:
    """Return what each row shares with its own cluster and with the best other one, and which that is."""
    xp = ensemble.card.xp
    wide = widened(ensemble, means, means.shape[1])
    own, rival = xp.empty(ensemble.n_rows), xp.empty(ensemble.n_rows)
    other = xp.empty(ensemble.n_rows, dtype=xp.int32)
    kept, shared = in_shared(wide)
    ensemble.card.launch(
        "own_and_rival",
        (
            *start_of(ensemble),
            *(wide, wide.shape[1], kept, means.shape[1], on_the_card(ensemble, assignment), own, rival, other),
        ),
        source="tables",
        types={"LABEL": ensemble.card_labels.dtype, "TABLE": np.float64},
        n=ensemble.n_rows,
        grid=looping(ensemble),
        shared=shared,
    )
    return own, rival, other


def known_shares(ensemble: Any, weights: NDArray[Any]) -> Any:
    """Return the sum of the weights of the members that label each row."""
    return (ensemble.card_labels >= 0).astype(np.float64) @ ensemble.card.xp.asarray(weights)


def row_sums(ensemble: Any, weights: NDArray[Any]) -> Any:
    """Return the sum of weights (d,), integers or floats, over the base clusters of each row, in member order."""
    xp = ensemble.card.xp
    weights = np.ascontiguousarray(weights, dtype=np.int64 if weights.dtype.kind in "iu" else np.float64)
    sums = xp.empty(ensemble.n_rows, dtype=weights.dtype)
    ensemble.card.launch(
        "row_sums",
        (*start_of(ensemble), xp.asarray(weights), sums),
        source="tables",
        types={"LABEL": ensemble.card_labels.dtype, "TABLE": weights.dtype},
        n=ensemble.n_rows,
    )
    return sums


def on_the_card(ensemble: Any, labels: Any) -> Any:
    """Return int32 labels of either side on the card."""
    if isinstance(labels, np.ndarray):
        labels = ensemble.card.to_card(labels.astype(np.int32, copy=False))
    return labels
