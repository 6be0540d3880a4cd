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


def launch_with_table(ensemble: Any, kernel: str, table: Any, *arguments: Any) -> None:
    """Run a kernel that looks every row up in a table on the card, which is kept in shared memory if it fits there.

    Its blocks fill the card once or twice over, because each of them first copies the table.
    """
    kept, shared = in_shared(table)
    ensemble.card.launch(
        kernel,
        (*start_of(ensemble), table, table.shape[1], kept, *arguments),
        source="tables",
        types={"LABEL": ensemble.card_labels.dtype, "TABLE": table.dtype},
        n=ensemble.n_rows,
        grid=(max(1, min(LOOPING_BLOCKS, -(-ensemble.n_rows // 256))),),
        shared=shared,
    )


def launch_on_rows(ensemble: Any, kernel: str, *arguments: Any, table: Any = np.int64) -> None:
    """Run a kernel over all rows; `table` is the type of the table that it adds to or reads."""
    ensemble.card.launch(
        kernel,
        (*start_of(ensemble), *arguments),
        source="tables",
        types={"LABEL": ensemble.card_labels.dtype, "TABLE": table},
        n=ensemble.n_rows,
    )


def look_up_on_card(ensemble: Any, rule: tuple[Any, Any, Any], factor: Any, nearest: Any, score: Any) -> None:
    """Write each row's best cluster under a rule, and its value there; `factor` lies on either side."""
    xp = ensemble.card.xp
    table, scale, bias = rule
    factors = xp.asarray(factor)
    bounds = xp.asarray(scale), xp.asarray(bias), len(bias)
    each = int(len(factors) > 1)
    launch_with_table(ensemble, "look_up", widened(ensemble, table, len(bias)), *bounds, factors, each, nearest, score)


class MovingOnCard:
    """Sums over the rows of each cluster, kept on the card while rows move between clusters.

    `old` is the assignment that the sums belong to, -1 for a row in no cluster. `repair(labels, cost, k)` fills empty
    clusters of host labels in place, and returns how many there were.
    """

    def __init__(self, ensemble: Any, n_clusters: int, masses: Any = None, repair: Any = None) -> None:
        xp = ensemble.card.xp
        self._repair, self._factor = repair, None
        self._spare, self._score = xp.empty(ensemble.n_rows, dtype=xp.int32), xp.empty(ensemble.n_rows)
        self._ensemble, self._n_clusters = ensemble, n_clusters
        self._counts = ensemble.card_counts
        self._masses = None if masses is None else xp.asarray(masses)
        self._table = xp.zeros((int(ensemble.offsets[-1]), n_clusters), dtype=xp.uint64)
        self._mass = xp.zeros(n_clusters, dtype=xp.uint64)
        self.old = xp.full(ensemble.n_rows, -1, dtype=xp.int32)

    def assign(self, rule: tuple[Any, Any, Any], factor: FloatArray, norms: FloatArray) -> tuple[int, int]:
        """Move all rows as a rule says and fill empty clusters; return how many moved, and how many were filled.

        norms (n_rows,) in host memory is what a row costs before it is looked up.
        """
        fresh, before, filled = self._spare, self.old, 0
        if len(factor) > 1 and self._factor is None:
            # one and the same for all rules but the first, which has a single factor
            self._factor = self._ensemble.card.xp.asarray(factor)
        look_up_on_card(self._ensemble, rule, factor if len(factor) == 1 else self._factor, fresh, self._score)
        moved = self.move(fresh)
        if not self.sums()[1].all():
            card = self._ensemble.card
            # in host memory, because it happens rarely
            labels = card.to_host(fresh).copy()
            cost = self._ensemble.counts * (norms + card.to_host(self._score))
            filled = self._repair(labels, cost, self._n_clusters)
            self.move(card.to_card(labels))
            moved = int((self.old != before).sum())
        self._spare = before
        return moved, filled

    def move(self, fresh: Any) -> int:
        """Make `fresh` the assignment, without a copy, and return how many rows moved."""
        xp = self._ensemble.card.xp
        moved = xp.zeros(1, dtype=xp.uint64)
        sums = self._table, self._mass, moved
        fixed = self._counts, self._masses, self.old, fresh, self._n_clusters
        launch_on_rows(self._ensemble, "move_rows", *fixed, *sums)
        self.old = fresh
        return int(moved[0])

    def sums(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the table (d, K) and the mass (K,) in host memory."""
        card = self._ensemble.card
        return card.to_host(self._table).view(np.int64), card.to_host(self._mass).view(np.int64)


def tally_on_card(ensemble: Any, assignment: Any, n_clusters: int) -> NDArray[np.int64]:
    """Return the number of objects of each base cluster in each cluster, (d, K); rows with -1 are left out."""
    return tally_and_sizes_on_card(ensemble, assignment, n_clusters)[0]


def tally_and_sizes_on_card(
    ensemble: Any, assignment: Any, n_clusters: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return `tally_on_card`, and the number of objects in each cluster."""
    moving = MovingOnCard(ensemble, n_clusters)
    moving.move(on_the_card(ensemble, assignment))
    return moving.sums()


def own_and_rival_on_card(ensemble: Any, means: FloatArray, assignment: Any) -> tuple[Any, Any, Any]:
    """Return what each row shares with its own cluster and with the best other one, and which that is."""
    xp = ensemble.card.xp
    wide = widened(ensemble, means, means.shape[1])
    own, rival = xp.empty(ensemble.n_rows), xp.empty(ensemble.n_rows)
    other = xp.empty(ensemble.n_rows, dtype=xp.int32)
    labels = on_the_card(ensemble, assignment)
    launch_with_table(ensemble, "own_and_rival", wide, means.shape[1], labels, own, rival, other)
    return own, rival, other


def known_weight_on_card(ensemble: Any, weights: NDArray[np.int64]) -> Any:
    """Return the sum of the weights of the members that label each row."""
    return (ensemble.card_labels >= 0).astype(np.int64) @ ensemble.card.xp.asarray(weights)


def row_sums_on_card(ensemble: Any, weights: NDArray[Any]) -> Any:
    """Return the sum of weights (d,), integers or floats, over the base clusters of each row, in member order."""
    xp = ensemble.card.xp
    weights = np.ascontiguousarray(weights, dtype=np.int64 if weights.dtype.kind in "iu" else np.float64)
    sums = xp.empty(ensemble.n_rows, dtype=weights.dtype)
    launch_on_rows(ensemble, "row_sums", xp.asarray(weights), sums, table=weights.dtype)
    return sums


def on_the_card(ensemble: Any, labels: Any) -> Any:
    """Return int32 labels of either side on the card."""
    if isinstance(labels, np.ndarray):
        labels = ensemble.card.to_card(labels.astype(np.int32, copy=False))
    return labels
