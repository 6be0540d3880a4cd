"""Rows that move between clusters, and the sums of the clusters that follow them: here, on a card, or in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, FloatArray, IntArray
from quorate.solvers.label_rows import cluster_sizes, fill_empty, look_up, move, moving_on_card
from quorate.solvers.parts import Pieces, added_up, arrays_of, by_part, from_each, row_by_row


class Moving:
    """Rows in host memory that move between clusters, and the sums over each cluster, which follow the rows.

    `old` is the assignment that the sums belong to, -1 for a row in no cluster.
    """

    def __init__(self, ensemble: AnyEnsemble, sums: tuple[IntArray, IntArray], masses: IntArray) -> None:
        self._ensemble, self._sums, self._masses = ensemble, sums, masses
        self.old = np.full(ensemble.n_rows, -1, dtype=np.int32)
        self._new, self._score = np.empty(ensemble.n_rows, dtype=np.int32), np.empty(ensemble.n_rows)

    def assign(self, rule: tuple[Any, Any, Any], factor: FloatArray, norms: FloatArray) -> tuple[int, int]:
        """Move all rows as a rule says, and fill the clusters that it leaves empty with the rows that cost most.

        norms (m,) is what a row costs before it is looked up. Returns how many rows moved, and how many clusters were
        filled.
        """
        look_up(self._ensemble, rule, factor, self._new, self._score)
        mass, filled = self._sums[1], 0
        if not cluster_sizes(self._new, self._ensemble.counts, len(mass)).all():
            filled = fill_empty(self._new, self._ensemble.counts * (norms + self._score), len(mass))
        moved = move(self._ensemble, self._masses, self.old, self._new, self._sums)
        if mass.dtype.kind == "f":
            # anew, for what is taken out of a sum of floats may leave a trace
            mass[:] = np.bincount(self.old, self._masses, len(mass))
        return moved, filled

    def sums(self) -> tuple[IntArray, IntArray]:
        """The table (d, width) and the mass (K,) of the clusters."""
        return self._sums


class MovingInParts:
    """Rows in parts that move between clusters; what travels is a rule to the parts, and sums back from them.

    Each assignment follows from the rows and the rule alone, so that one that is lost can be made again without those
    before it.
    """

    def __init__(self, ensemble: Any, sums: tuple[IntArray, IntArray], masses: Any) -> None:
        self._ensemble, self._sums, self._masses = ensemble, sums, masses
        self.old: Any = None

    def assign(self, rule: tuple[Any, Any, Any], factor: Any, norms: Any) -> tuple[int, int]:
        """Do what `Moving.assign` does."""
        (table, mass), filled = self._sums, 0
        new, score, sizes = _looked_up(self._ensemble, rule, factor, len(mass))
        if not sizes.all():
            new, filled = refilled(new, lambda: _costs(self._ensemble.counts, norms, score), len(mass))
        like = table.shape[1], table.dtype, len(mass), mass.dtype
        moved, more, mass_more = _moved(self._ensemble, self._masses, self.old, new, like)
        table += more
        if mass.dtype.kind == "f":
            mass[:] = 0
        mass += mass_more
        self.old = new
        return moved, filled

    def sums(self) -> tuple[IntArray, IntArray]:
        """The table (d, width) and the mass (K,) of the clusters."""
        return self._sums


@row_by_row(2, and_sums=True)
def _looked_up(
    ensemble: Any, rule: tuple[Any, Any, Any], factor: FloatArray, n_clusters: int
) -> tuple[NDArray[np.int32], FloatArray, NDArray[np.int64]]:
    nearest, score = np.empty(ensemble.n_rows, dtype=np.int32), np.empty(ensemble.n_rows)
    look_up(ensemble, rule, factor, nearest, score)
    return nearest, score, cluster_sizes(nearest, ensemble.counts, n_clusters)


@row_by_row()
def _costs(counts: NDArray[np.int64], norms: FloatArray, score: FloatArray) -> FloatArray:
    costs: FloatArray = counts * (norms + score)
    return costs


@added_up
def _moved(
    ensemble: Any, masses: IntArray, old: NDArray[np.int32] | None, new: NDArray[np.int32], like: tuple[Any, ...]
) -> tuple[int, IntArray, IntArray]:
    """How many rows moved, and by what they change the sums; a mass in floats is that of all rows."""
    width, table_type, n_clusters, mass_type = like
    table = np.zeros((int(ensemble.offsets[-1]), width), dtype=table_type)
    mass = np.zeros(n_clusters, dtype=mass_type)
    before = np.full(ensemble.n_rows, -1, dtype=np.int32) if old is None else old.copy()
    moved = move(ensemble, masses, before, new, (table, mass))
    if mass.dtype.kind == "f":
        mass = np.bincount(new, masses, n_clusters)
    return moved, table, mass


def refilled(labels: Any, cost: Callable[[], Any], n_clusters: int) -> tuple[Any, int]:
    """Do what `fill_empty` does for labels that may be in parts: return them without empty clusters, and their number.

    `cost` returns what each row costs; it is called only if a cluster is empty.

    A part sends its costliest rows. As many as there are clusters may be passed over, each the last one of its cluster,
    so that twice this number is enough.
    """
    sizes = _rows_of_clusters(labels, n_clusters)
    if sizes.all():
        return labels, 0
    if isinstance(labels, np.ndarray):
        return labels, fill_empty(labels, cost(), n_clusters)
    found = from_each(_costliest, labels, cost(), 2 * n_clusters)
    rows = np.concatenate([own + start for (own, _, _), start in zip(found, labels.starts, strict=False)])
    chosen, costs = (np.concatenate([part[place] for part in found]) for place in (1, 2))
    before = chosen.copy()
    n_empty = fill_empty(chosen, costs, n_clusters, sizes=sizes)
    changed = np.flatnonzero(chosen != before)
    local = by_part(labels.starts, rows[changed])
    holder = labels.holder
    values = Pieces(holder, [chosen[changed][places] for places in local.places])
    return arrays_of(labels, _with_changes, [labels, Pieces(holder, local.rows), values]), n_empty


@added_up
def _rows_of_clusters(labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.intp]:
    return np.bincount(labels, minlength=n_clusters)


def _costliest(
    labels: NDArray[np.int32], cost: FloatArray, most: int
) -> tuple[NDArray[np.intp], NDArray[np.int32], FloatArray]:
    rows = np.sort(np.argsort(-cost, kind="stable")[:most])
    return rows, labels[rows], cost[rows]


def _with_changes(labels: NDArray[np.int32], rows: NDArray[np.intp], values: NDArray[np.int32]) -> NDArray[np.int32]:
    changed = labels.copy()
    changed[rows] = values
    return changed


def moving(ensemble: AnyEnsemble, sums: tuple[IntArray, IntArray], masses: IntArray) -> Any:
    """Rows that move between clusters: where they live, on a card only if masses are whole numbers.

    All sums on a card are of integers, so that the answer is the same bit for bit.
    """
    if ensemble.pieces is not None:
        return MovingInParts(ensemble, sums, masses)
    on_card = moving_on_card(ensemble, len(sums[1]), masses)
    return Moving(ensemble, sums, masses) if on_card is None else on_card
