"""What methods ask of rows: the one place that knows whether they hold labels or memberships, and where they live.

They are in this process, on a card, or divided into parts (`parts`).

Memberships are kept as whole numbers of `unit` and returned as shares of one. So rows in which each member has one
membership of 1 give the same results as rows of labels, bit for bit.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import fields, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from quorate._types import AnyEnsemble, E, Ensemble, FloatArray, Info, IntArray, SoftEnsemble
from quorate.ops import soft, tables
from quorate.ops.bipartite import add_pairs
from quorate.ops.coding import canonical
from quorate.ops.distinct_rows import distinct_rows, taken_rows
from quorate.ops.threads import map_blocks
from quorate.solvers.parts import PartedArray, Pieces, added_up, arrays_of, by_part, from_each, row_by_row


def rows_of_drawn_objects(ensemble: AnyEnsemble, size: int, rng: np.random.Generator) -> tuple[NDArray[np.intp], Any]:
    """The rows of `size` objects drawn with replacement, each row once, and how often each was drawn."""
    if ensemble.card is None:
        return rows_drawn_by_count(ensemble.counts, size, rng)
    from quorate._device.card_rows import rows_of_objects_on_card

    drawn = rng.integers(ensemble.n_objects, size=size)
    rows, times = np.unique(rows_of_objects_on_card(ensemble, drawn), return_counts=True)
    return rows, times


def n_labelled(ensemble: AnyEnsemble, codes: Any) -> int:
    """The number of objects whose row has a code of 0 or more; on a card each row has one."""
    return int(ensemble.counts[codes >= 0].sum()) if isinstance(codes, np.ndarray) else int(ensemble.n_objects)


def rows_of_labelled(
    ensemble: AnyEnsemble, codes: Any, places: NDArray[np.int64] | None
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The rows of some labelled objects, each row once, and how many of these objects it stands for.

    places are numbers of labelled objects, which are counted in the order of the rows; None takes all of them.
    """
    if not isinstance(codes, np.ndarray):
        objects = np.arange(ensemble.n_objects) if places is None else places
        if ensemble.card is None:
            return np.unique(rows_of_objects(ensemble.counts, objects), return_counts=True)
        from quorate._device.card_rows import rows_of_objects_on_card

        return np.unique(rows_of_objects_on_card(ensemble, objects), return_counts=True)
    counts = np.where(codes >= 0, ensemble.counts, 0)
    if places is None:
        rows = np.flatnonzero(counts)
        return rows, counts[rows]
    return np.unique(np.searchsorted(np.cumsum(counts), places, side="right"), return_counts=True)


def in_host_memory(ensemble: AnyEnsemble, array: Any) -> NDArray[Any]:
    """An array that belongs to the ensemble, copied to host memory if it is on a card or in parts."""
    if isinstance(array, PartedArray):
        return array.whole()
    return array if isinstance(array, np.ndarray) else ensemble.card.to_host(array)


def shared_objects(ensemble: AnyEnsemble, most_clusters: float = np.inf) -> NDArray[np.int64] | None:
    """The number of objects that any two base clusters share, (d, d), if rows are on a card or in parts; else None.

    They are counted in one table. None also if there are more than `most_clusters` base clusters.
    """
    if (ensemble.card is None and ensemble.pieces is None) or int(ensemble.offsets[-1]) > most_clusters:
        return None
    if ensemble.card is None:
        counted: NDArray[np.int64] = _objects_together(cast(Ensemble, ensemble))
        return counted
    from quorate._device.card_points import shared_objects_on_card

    return shared_objects_on_card(ensemble)


@added_up
def _objects_together(ensemble: Ensemble) -> NDArray[np.int64]:
    """The number of objects that any two base clusters share, (d, d); floats hold it exactly up to 2^53 objects."""
    d, counts = int(ensemble.offsets[-1]), ensemble.counts.astype(np.float64)
    upper = np.zeros((d, d))
    add_pairs(ensemble.labels, ensemble.offsets, counts, 0, ensemble.n_rows, upper)
    both: NDArray[np.int64] = (upper + upper.T - np.diag(np.diag(upper))).astype(np.int64)
    return both


def shared_masses(ensemble: AnyEnsemble, weights: FloatArray, most_clusters: int) -> FloatArray | None:
    """The mass of the rows that any two base clusters share, (d, d), if the rows live on a card; else None.

    The mass of a row is its count divided by the sum of the weights (d,) of its base clusters. None also if there are
    more than `most_clusters` base clusters.
    """
    if ensemble.card is None or int(ensemble.offsets[-1]) > most_clusters:
        return None
    from quorate._device.card_points import fold_on_card

    return fold_on_card(ensemble, weights)


def reweighted(ensemble: E, weights: FloatArray, info: Info | None = None) -> E:
    """The ensemble with other member weights, and other `info` if that is given."""
    info = ensemble.info if info is None else info
    if ensemble.pieces is not None:
        return cast(E, cast(Any, ensemble).changed(reweighted, weights, info, weights=weights, info=info))
    if ensemble.card is None:
        return replace(ensemble, weights=weights, info=info)
    from quorate._device.device_ensemble import reweighted_on_card

    lighter: E = reweighted_on_card(ensemble, weights, info)
    return lighter


def divided(ensemble: E, divisor: int) -> E:
    """The ensemble with all counts divided by a number that divides them, without ids."""
    if ensemble.pieces is not None:
        return cast(E, cast(Any, ensemble).changed(divided, divisor, object_ids=None))
    if ensemble.card is None:
        return replace(ensemble, counts=ensemble.counts // divisor, object_ids=None)
    from quorate._device.device_ensemble import divided_on_card

    lighter: E = divided_on_card(ensemble, divisor)
    return lighter


def counts_divisor(ensemble: AnyEnsemble) -> int:
    """The greatest common divisor of all counts."""
    if ensemble.pieces is not None:
        return int(np.gcd.reduce(from_each(np.gcd.reduce, ensemble.counts)))
    if ensemble.card is None:
        return int(np.gcd.reduce(ensemble.counts))
    from quorate._device.card_points import common_factor_of_counts

    return common_factor_of_counts(ensemble)


def with_sorted_members(ensemble: E) -> E | None:
    """The ensemble with its members in the order of their labels if it lives on a card; else None."""
    if ensemble.card is None:
        return None
    from quorate._device.device_ensemble import in_content_order_on_card

    ordered: E = in_content_order_on_card(ensemble)
    return ordered


def entries_of(ensemble: AnyEnsemble, array: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
    """The entries of some rows in an array with one entry per row, wherever it lives; in host memory."""
    if isinstance(array, PartedArray):
        return array.at(rows)
    return in_host_memory(ensemble, array[rows if isinstance(array, np.ndarray) else ensemble.card.xp.asarray(rows)])


def canonical_labels(labels: Any, n_labels: int) -> Any:
    """Labels 0..n_labels-1 renumbered by first appearance, as int32; where they are: on a card, in parts."""
    if isinstance(labels, np.ndarray):
        return canonical(labels.astype(np.int32, copy=False), n_labels)
    if isinstance(labels, PartedArray):
        return with_numbers(numbers_by_appearance(labels, n_labels), labels)
    from quorate._device.card_rows import canonical_on_card

    return canonical_on_card(labels)


def numbers_by_appearance(labels: Any, n_labels: int) -> NDArray[np.int32]:
    """For each label 0..n_labels-1 its number in the order in which labels appear first; -1 if it does not appear."""
    number = np.full(n_labels, -1, dtype=np.int32)
    if isinstance(labels, np.ndarray):
        number[labels] = canonical(labels, n_labels)
        return number
    seen = np.concatenate(from_each(_order_of_appearance, labels))
    order = seen[np.sort(np.unique(seen, return_index=True)[1])]
    number[order] = np.arange(len(order))
    return number


def _order_of_appearance(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """The different labels, in the order in which they appear first."""
    return labels[np.sort(np.unique(labels, return_index=True)[1])]


@row_by_row()
def with_numbers(number: NDArray[np.int32], labels: Any) -> Any:
    """The number of each label."""
    return number[labels]


def take(ensemble: E, rows: NDArray[np.intp], counts: NDArray[np.int64]) -> E:
    """Some of the rows, with these counts. Ids are dropped, because a row no longer stands for one object.

    Of an ensemble on a card or in parts, these rows are copied to this process.
    """
    if ensemble.pieces is not None:
        return cast(E, _taken_from_parts(cast(Any, ensemble), rows, counts))
    if ensemble.card is not None:
        from quorate._device.device_ensemble import taken

        part: E = taken(ensemble, rows, counts)
        return part
    if isinstance(ensemble, Ensemble):
        return replace(ensemble, labels=taken_rows(ensemble.labels, rows), counts=counts, object_ids=None)
    length = np.diff(ensemble.starts)[rows]
    starts = np.concatenate([[0], np.cumsum(length)])
    places = np.repeat(ensemble.starts[rows] - starts[:-1], length) + np.arange(starts[-1])
    return replace(
        ensemble,
        starts=starts,
        columns=ensemble.columns[places],
        memberships=ensemble.memberships[places],
        counts=counts,
        object_ids=None,
    )


def _taken_from_parts(ensemble: Any, rows: NDArray[np.intp], counts: NDArray[np.int64]) -> Any:
    local = by_part(ensemble.starts, rows)
    parts = from_each(_labels_at, ensemble, Pieces(ensemble.holder, local.rows))
    labels = np.empty((len(rows), ensemble.n_members), dtype=parts[0].dtype)
    for places, part in zip(local.places, parts, strict=True):
        labels[places] = part
    named = {entry.name: getattr(ensemble, entry.name) for entry in fields(Ensemble)[2:]}
    taken = Ensemble(labels, counts, **{**named, "object_ids": None})
    taken.remember(is_proven=True)
    return taken


def _labels_at(part: Ensemble, rows: NDArray[np.intp]) -> NDArray[Any]:
    return taken_rows(part.labels, rows)


def distinct(ensemble: AnyEnsemble) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first place of each distinct row, increasing, and for each row its number among the distinct rows."""
    inverse = np.empty(ensemble.n_rows, dtype=np.intp)
    if isinstance(ensemble, Ensemble):
        return distinct_rows(ensemble.labels, inverse), inverse
    # rows of one length are a table, whose rows the kernel for labels tells apart
    length = np.diff(ensemble.starts)
    by_length = np.argsort(length, kind="stable")
    edges = np.flatnonzero(np.diff(length[by_length])) + 1
    equal_to = np.empty(ensemble.n_rows, dtype=np.intp)
    for rows in np.split(by_length, edges):
        places = ensemble.starts[rows][:, None] + np.arange(length[rows[0]])
        table = np.hstack([ensemble.columns[places], ensemble.memberships[places]])
        within = np.empty(len(rows), dtype=np.intp)
        first = distinct_rows(table, within)
        equal_to[rows] = rows[first[within]]
    firsts, inverse[:] = np.unique(equal_to, return_inverse=True)
    return firsts, inverse


def likeliest_labels(ensemble: AnyEnsemble) -> IntArray:
    """The labels, or each member's cluster of the largest membership (ties to the lowest), -1 where missing."""
    if isinstance(ensemble, Ensemble):
        return ensemble.labels
    labels = np.full((ensemble.n_rows, ensemble.n_members), -1, dtype=np.int32)
    soft.likeliest(*_cells(ensemble), ensemble.column_members, ensemble.offsets, labels)
    return labels


def known_shares(ensemble: AnyEnsemble) -> Any:
    """The share of the members, by weight, that label each row; None if all members label all rows."""
    if isinstance(ensemble, SoftEnsemble) or not ensemble.has_missing:
        return None
    if ensemble.card is None:
        return _known_of_rows(ensemble)
    from quorate._device.card_tables import known_weight_on_card

    weights = _whole(ensemble.weights)
    return known_weight_on_card(ensemble, weights) / int(weights.sum())


@row_by_row()
def _known_of_rows(ensemble: Ensemble) -> FloatArray:
    return known_of_codes(ensemble.labels, ensemble.weights)


def known_of_codes(codes: IntArray, weights: FloatArray) -> FloatArray:
    """The share of the members, by weight, that label each row of a table of codes; -1 is no label."""
    whole = _whole(weights)
    known = np.zeros(len(codes), dtype=np.int64)
    for member, weight in enumerate(whole):
        known += weight * (codes[:, member] >= 0)
    return known / int(whole.sum())


def _whole(weights: FloatArray) -> NDArray[np.int64]:
    """Weights as whole numbers, so that the order of the members changes no bit of their sums."""
    whole: NDArray[np.int64] = np.rint(weights / weights.max() * 2**40).astype(np.int64)
    return whole


def one_hot(ensemble: AnyEnsemble) -> Any:
    """The sparse indicator matrix (n_rows, d), of integer ones or of memberships; clusters numbered by `offsets`."""
    from scipy.sparse import csr_array

    shape = (ensemble.n_rows, int(ensemble.offsets[-1]))
    if isinstance(ensemble, SoftEnsemble):
        return csr_array((ensemble.memberships / ensemble.unit, ensemble.columns, ensemble.starts), shape=shape)
    known = ensemble.labels >= 0
    columns = (ensemble.labels + ensemble.offsets[:-1])[known].astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(known.sum(axis=1))]).astype(np.int64)
    return csr_array((np.ones(len(columns), dtype=np.int64), columns, starts), shape=shape)


@added_up
def tally(ensemble: AnyEnsemble, assignment: NDArray[np.int32], n_clusters: int) -> NDArray[Any]:
    """The number of objects of each base cluster in each cluster of an assignment, (d, n_clusters).

    Rows with assignment -1 are left out. The result is int64 for labels, and float64 for memberships; these are exact,
    too, because they are added up in units.
    """
    if ensemble.card is not None:
        from quorate._device import card_tables

        return card_tables.tally_on_card(ensemble, assignment, n_clusters)
    if isinstance(ensemble, Ensemble):
        counted: NDArray[np.int64] = tables.cluster_counts(
            ensemble.labels, ensemble.offsets, ensemble.counts, assignment, n_clusters
        )
        return counted
    table = np.zeros((int(ensemble.offsets[-1]), n_clusters), dtype=np.int64)
    soft.soft_counts(*_cells(ensemble), ensemble.counts, assignment, table)
    return table / ensemble.unit


def tally_if_small(
    ensemble: AnyEnsemble, assignment: NDArray[np.int32], n_clusters: int, *, is_small: bool
) -> NDArray[Any] | None:
    """The result of `tally`, also of a large table if rows live elsewhere; otherwise None for a large one."""
    is_here = ensemble.card is None and ensemble.pieces is None
    return tally(ensemble, assignment, n_clusters) if is_small or not is_here else None


@added_up
def tally_and_sizes(
    ensemble: AnyEnsemble, assignment: NDArray[np.int32], n_clusters: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """The result of `tally`, and the number of objects in each cluster of the assignment, (n_clusters,)."""
    counted = counted_on_card(ensemble, assignment, n_clusters)
    if counted is not None:
        return counted
    return tally(ensemble, assignment, n_clusters), cluster_sizes(assignment, ensemble.counts, n_clusters)


@added_up
def cluster_sizes(
    assignment: NDArray[np.int32], counts: NDArray[np.int64], n_clusters: int, block: int = 65_536
) -> NDArray[np.int64]:
    """The number of objects in each cluster of an assignment of rows, (n_clusters,); -1 is no cluster."""
    sizes = np.zeros(n_clusters, dtype=np.int64)
    # in blocks, because copies of all rows would take more than the assignment itself
    for start in range(0, len(assignment), block):
        part = assignment[start : start + block]
        known = part >= 0
        sizes += np.bincount(part[known], counts[start : start + block][known], n_clusters).astype(np.int64)
    return sizes


def counted_on_card(
    ensemble: AnyEnsemble, assignment: Any, n_clusters: int
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """The result of `tally_and_sizes` if the rows live on a card; else None."""
    if ensemble.card is None:
        return None
    from quorate._device import card_tables

    return card_tables.tally_and_sizes_on_card(ensemble, assignment, n_clusters)


@row_by_row(3)
def own_and_rival(
    ensemble: AnyEnsemble, means: FloatArray, assignment: NDArray[np.int32]
) -> tuple[FloatArray, FloatArray, NDArray[np.int32]]:
    """What each row shares with its own cluster and with the best other one, and which that is (-1: none shares).

    means (d, K) are the clusters' own. For rows on a card the results are on the card.
    """
    if ensemble.card is not None:
        from quorate._device import card_tables

        return card_tables.own_and_rival_on_card(ensemble, means, assignment)
    own, rival = np.empty(ensemble.n_rows), np.empty(ensemble.n_rows)
    other = np.empty(ensemble.n_rows, dtype=np.int32)
    if isinstance(ensemble, Ensemble):
        labels, offsets = ensemble.labels, ensemble.offsets
        map_blocks(
            lambda start, stop: tables.label_own_and_rival(
                labels, offsets, means, assignment, start, stop, own, rival, other
            ),
            ensemble.n_rows,
        )
        return own, rival, other
    cells, scaled = _cells(ensemble), means / ensemble.unit
    map_blocks(
        lambda start, stop: soft.soft_own_and_rival(*cells, scaled, assignment, start, stop, own, rival, other),
        ensemble.n_rows,
        work=_work(ensemble),
    )
    return own, rival, other


def look_up(
    ensemble: AnyEnsemble, rule: tuple[Any, Any, Any], factor: FloatArray, nearest: NDArray[np.int32], score: FloatArray
) -> None:
    """Write each row's best cluster under a rule (see `lookup.Rule`), and its value there."""
    if isinstance(ensemble, Ensemble):
        labels, offsets = ensemble.labels, ensemble.offsets
        map_blocks(
            lambda start, stop: tables.nearest_clusters(labels, offsets, *rule, factor, start, stop, nearest, score),
            ensemble.n_rows,
        )
        return
    cells = _cells(ensemble)
    map_blocks(
        lambda start, stop: soft.soft_nearest_clusters(*cells, *rule, factor, start, stop, nearest, score),
        ensemble.n_rows,
        work=_work(ensemble),
    )


def move(
    ensemble: AnyEnsemble,
    masses: IntArray,
    old: NDArray[np.int32],
    new: NDArray[np.int32],
    sums: tuple[IntArray, IntArray],
) -> int:
    """Change sums (in units) and `old` to the assignment `new`; returns how many rows moved."""
    if isinstance(ensemble, Ensemble):
        moved = tables.move_rows(ensemble.labels, ensemble.offsets, ensemble.counts, masses, old, new, *sums)
    else:
        moved = soft.soft_move_rows(*_cells(ensemble), ensemble.counts, masses, old, new, *sums)
    return int(moved)


def moving_on_card(ensemble: AnyEnsemble, n_clusters: int, masses: Any) -> Any:
    """Rows that move between clusters on a card; None if they do not live there, or if masses are no whole numbers."""
    if ensemble.card is None or masses.dtype.kind != "i":
        return None
    from quorate._device.card_tables import MovingOnCard

    # masses in host memory are those of a model of its own; others are the counts, which are on the card already
    return MovingOnCard(ensemble, n_clusters, masses if isinstance(masses, np.ndarray) else None, fill_empty)


def shared_with(ensemble: AnyEnsemble, row: int) -> FloatArray:
    """What every row shares with one row: the weight of the members that join the two, or are expected to."""
    shared = np.empty(ensemble.n_rows)
    if isinstance(ensemble, Ensemble):
        labels, weights = ensemble.labels, ensemble.weights
        map_blocks(
            lambda start, stop: tables.agreement(labels, weights, row, start, stop, shared),
            ensemble.n_rows,
        )
        return shared
    cells, pull = _cells(ensemble), np.zeros(int(ensemble.offsets[-1]))
    own = slice(ensemble.starts[row], ensemble.starts[row + 1])
    members = ensemble.column_members[ensemble.columns[own]]
    pull[ensemble.columns[own]] = ensemble.weights[members] * ensemble.memberships[own] / ensemble.unit**2
    map_blocks(
        lambda start, stop: soft.soft_agreement(*cells, pull, start, stop, shared),
        ensemble.n_rows,
        work=_work(ensemble),
    )
    return shared


def row_norms(ensemble: AnyEnsemble) -> FloatArray:
    """The squared length of each row; for labels this is the weight of the members that know it."""
    if ensemble.card is not None and not ensemble.has_missing:
        # a view of one number: host memory need not hold it for every row on the card
        return np.broadcast_to(ensemble.weights.sum(), ensemble.n_rows)
    return _norms(ensemble, ensemble.has_missing)


@row_by_row()
def _norms(ensemble: AnyEnsemble, has_missing: bool) -> FloatArray:
    if isinstance(ensemble, Ensemble):
        squares: NDArray[Any] | None = (ensemble.labels >= 0) if has_missing else None
    else:
        squares = np.zeros((ensemble.n_rows, ensemble.n_members))
        soft.squares_by_member(*_cells(ensemble), ensemble.column_members, ensemble.unit, squares)
    if squares is None or np.all(squares == 1):
        return np.full(ensemble.n_rows, ensemble.weights.sum())
    norms: FloatArray = squares @ ensemble.weights
    return norms


@added_up
def objects_in(ensemble: AnyEnsemble) -> NDArray[Any]:
    """The number of objects in each base cluster, (d,)."""
    return tally(ensemble, one_cluster(ensemble), 1)[:, 0]


def summed_sizes(ensemble: Ensemble, member_weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of the sizes, in objects times the weight of the member, of each row's base clusters; in host memory."""
    if ensemble.card is not None:
        from quorate._device import card_tables

        weighted = objects_in(ensemble) * np.repeat(member_weights, ensemble.n_clusters)
        summed: NDArray[np.int64] = ensemble.card.to_host(card_tables.row_sums_on_card(ensemble, weighted))
        return summed
    return _sums_of_clusters(ensemble, objects_in(ensemble) * np.repeat(member_weights, ensemble.n_clusters))


@row_by_row()
def _sums_of_clusters(ensemble: Ensemble, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of whole numbers (d,) over the base clusters of each row."""
    sums = np.zeros(ensemble.n_rows, dtype=np.int64)
    for member, start in enumerate(ensemble.offsets[:-1]):
        known = np.flatnonzero(ensemble.labels[:, member] >= 0)
        sums[known] += values[start + ensemble.labels[known, member].astype(np.int64)]
    return sums


@row_by_row()
def one_cluster(ensemble: AnyEnsemble) -> Any:
    """The assignment of all rows to cluster 0."""
    xp = np if ensemble.card is None else ensemble.card.xp
    return xp.zeros(ensemble.n_rows, dtype=xp.int32)


def rows_in(ensemble: AnyEnsemble) -> NDArray[np.int64]:
    """The number of rows in each base cluster, (d,)."""
    if isinstance(ensemble, SoftEnsemble):
        return np.bincount(ensemble.columns, minlength=int(ensemble.offsets[-1])).astype(np.int64)
    once = np.ones(ensemble.n_rows, dtype=np.int64)
    together = np.zeros(ensemble.n_rows, dtype=np.int32)
    counted: NDArray[np.int64] = tables.cluster_counts(ensemble.labels, ensemble.offsets, once, together, 1)[:, 0]
    return counted


@row_by_row()
def compete(ensemble: AnyEnsemble, groups: NDArray[np.int32], mass: FloatArray, draws: FloatArray) -> NDArray[np.int32]:
    """The group of base clusters that each row belongs to most; mass (K,) of the groups, ties are broken by `draws`."""
    winner = np.empty(ensemble.n_rows, dtype=np.int32)
    if isinstance(ensemble, Ensemble):
        labels, offsets, weights = ensemble.labels, ensemble.offsets, ensemble.weights
        map_blocks(
            lambda start, stop: tables.label_compete(
                labels, offsets, groups, weights, mass, draws, start, stop, winner
            ),
            ensemble.n_rows,
        )
        return winner
    cells, scaled = _cells(ensemble), ensemble.weights[ensemble.column_members] / ensemble.unit
    map_blocks(
        lambda start, stop: soft.soft_compete(*cells, scaled, groups, mass, draws, start, stop, winner),
        ensemble.n_rows,
        work=_work(ensemble),
    )
    return winner


@row_by_row()
def winners_share(ensemble: AnyEnsemble, groups: NDArray[np.int32], winner: NDArray[np.int32]) -> FloatArray:
    """The share (by member weight) of each row's known labels or memberships that are in its winning group."""
    share = np.empty(ensemble.n_rows)
    if isinstance(ensemble, Ensemble):
        labels, offsets, weights = ensemble.labels, ensemble.offsets, ensemble.weights
        map_blocks(
            lambda start, stop: tables.label_winners_share(
                labels, offsets, groups, weights, winner, start, stop, share
            ),
            ensemble.n_rows,
        )
        return share
    cells, scaled = _cells(ensemble), ensemble.weights[ensemble.column_members] / ensemble.unit
    map_blocks(
        lambda start, stop: soft.soft_winners_share(*cells, scaled, groups, winner, start, stop, share),
        ensemble.n_rows,
        work=_work(ensemble),
    )
    return share


def _cells(ensemble: SoftEnsemble) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    return ensemble.starts, ensemble.columns, ensemble.memberships


def _work(ensemble: SoftEnsemble) -> int:
    """A row costs as much as this many plain rows of about 16 labels."""
    return max(1, len(ensemble.columns) // (16 * ensemble.n_rows))


def total_of(ensemble: AnyEnsemble, values: FloatArray) -> float:
    """The sum over all objects of a value that each row has."""
    if ensemble.card is not None and values.strides == (0,):
        return float(ensemble.n_objects * values[0])
    return weighted_total(ensemble.counts, values)


@added_up
def weighted_total(counts: NDArray[Any], values: FloatArray) -> float:
    """The sum of counts times values. BLAS would spread it over threads and wait for them on a busy machine."""
    return float(np.add.reduce(counts * values))


def drawn_by_weight(weights: NDArray[Any], uniform: FloatArray) -> NDArray[np.intp]:
    """Places drawn with probability proportional to their weights, one for each number of `uniform` in [0, 1).

    At least one weight must be above 0; a place of weight 0 is never drawn.
    """
    edges = np.cumsum(weights)
    places = np.searchsorted(edges, uniform * edges[-1], side="right")
    drawn: NDArray[np.intp] = np.minimum(places, np.flatnonzero(weights)[-1])
    return drawn


def rows_of_objects(counts: Any, objects: NDArray[np.int64]) -> NDArray[np.intp]:
    """The row each object is in, if the objects are numbered row after row."""
    if isinstance(counts, PartedArray):
        edges = np.cumsum([0, *from_each(np.sum, counts)])
        local = by_part(edges, objects)
        rows: NDArray[np.intp] = np.empty(len(objects), dtype=np.intp)
        found = from_each(rows_of_objects, counts, Pieces(counts.holder, local.rows))
        for places, part, start in zip(local.places, found, counts.starts, strict=False):
            rows[places] = start + part
        return rows
    return np.searchsorted(np.cumsum(counts), objects, side="right")


def a_draw_for_each_row(ensemble: AnyEnsemble, rng: np.random.Generator) -> Any:
    """A number in [0, 1) for each row, in the order of the rows; those of a part are drawn where it is."""
    if ensemble.pieces is None:
        return rng.random(ensemble.n_rows)
    parted = cast(Any, ensemble)
    streams = []
    for n_rows in np.diff(parted.starts):
        streams.append(deepcopy(rng))
        _pass_over(rng, int(n_rows))
    return arrays_of(parted, _drawn, [Pieces(parted.holder, streams), parted])


def _drawn(stream: np.random.Generator, part: Ensemble) -> FloatArray:
    # a copy, because a part may be made again
    return deepcopy(stream).random(part.n_rows)


def _pass_over(rng: np.random.Generator, n_draws: int, block: int = 1 << 20) -> None:
    """Leave a generator as it is after so many numbers in [0, 1)."""
    bits = rng.bit_generator
    if isinstance(bits, (np.random.PCG64, np.random.PCG64DXSM)):
        before = bits.state
        bits.advance(n_draws)
        # `advance` forgets the half of a number that is left of a draw of 32 bits
        bits.state = {**before, "state": bits.state["state"]}
        return
    for start in range(0, n_draws, block):
        rng.random(min(block, n_draws - start))


def rows_drawn_by_count(counts: NDArray[np.int64], size: int, rng: np.random.Generator) -> tuple[NDArray[np.intp], Any]:
    """The rows of `size` objects drawn with replacement, each row once, and how often each was drawn."""
    drawn = rng.integers(int(counts.sum()), size=size)
    rows, times = np.unique(rows_of_objects(counts, drawn), return_counts=True)
    return rows, times


def fill_empty(
    labels: NDArray[Any],
    cost: FloatArray,
    n_clusters: int,
    *,
    least: float | None = None,
    sizes: NDArray[Any] | None = None,
) -> int:
    """Give each empty cluster the row that costs most where it is, as long as its cluster keeps another row.

    Labels are changed in place; ties go to the lowest row. With `least`, rows that cost no more than that stay where
    they are, so that clusters may remain empty. `sizes` are the rows of each cluster if these are not all rows. Returns
    the number of clusters that were empty.
    """
    if sizes is None:
        sizes = np.bincount(labels, minlength=n_clusters)
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return 0
    costly = iter(np.argsort(-cost, kind="stable"))
    for cluster in empty:
        row = next((row for row in costly if sizes[labels[row]] > 1 and (least is None or cost[row] > least)), None)
        if row is None:
            break
        sizes[labels[row]] -= 1
        labels[row] = cluster
        sizes[cluster] = 1
    return len(empty)
