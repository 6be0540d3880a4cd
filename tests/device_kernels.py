"""The twin of every kernel in src/quorate/_device/cuda: the same arguments, NumPy arrays that are written in place.

A twin is slow and obvious, and gets the macros of its kernel first. Float additions are in the kernel's order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate.ops.landmarks import GRID

UNSEEN = 0xFFFFFFFF


def first_rows(types: Any, values: Any, n: int, width: int, low: int, span: int, in_shared: int, first: Any) -> None:
    for column in range(width):
        found, rows = np.unique(values[:, column], return_index=True)
        places = column * span + found.astype(np.int64) - low
        first[places] = np.minimum(first[places], rows.astype(np.uint32))


def recode(types: Any, values: Any, n: int, width: int, low: int, span: int, codes: Any, coded: Any) -> None:
    for column in range(width):
        coded[:, column] = codes[column * span + values[:, column].astype(np.int64) - low]


def insert_rows(
    types: Any, rows: Any, n: int, row_bytes: int, seed: int, mask: int, patience: int, *tables: Any
) -> None:
    """The hash is another one: which slot a row gets is the table's own affair."""
    keys, first, slots, failed = tables
    seen: dict[bytes, int] = {}
    for row in range(n):
        text = rows[row].tobytes()
        if text not in seen:
            slot = hash((seed, text)) & mask
            steps = 0
            while keys[slot] and steps < patience:
                slot, steps = (slot + 1) & mask, steps + 1
            if steps == patience:
                failed[0] = 1
                return
            keys[slot], first[slot], seen[text] = 1 + len(seen), row, slot
        slots[row] = seen[text]


def mark_firsts(types: Any, keys: Any, first: Any, n: int, is_first: Any) -> None:
    is_first[first[keys != 0]] = 1


def number_rows(
    types: Any, rows: Any, n: int, row_bytes: int, slots: Any, first: Any, rank: Any, counts: Any, *written: Any
) -> None:
    inverse, added, differs = written
    other = first[slots]
    inverse[:] = rank[other] - 1
    differs[0] = int((rows != rows[other]).any())
    np.add.at(added, inverse, np.uint64(1) if counts is None else counts.astype(np.uint64))


def _members(labels: Any, offsets: Any) -> Any:
    """For each member, the rows that it labels, and the places of their labels in a table over base clusters."""
    for member in range(labels.shape[1]):
        rows = np.flatnonzero(labels[:, member] >= 0)
        yield rows, offsets[member] + labels[rows, member].astype(np.int64)


def _sums(labels: Any, offsets: Any, table: Any) -> Any:
    total = np.zeros((len(labels), *table.shape[1:]), dtype=table.dtype)
    for rows, places in _members(labels, offsets):
        total[rows] += table[places]
    return total


def look_up(types: Any, labels: Any, n: int, h: int, offsets: Any, table: Any, width: int, *rest: Any) -> None:
    _, scale, bias, k, factor, _, nearest, score = rest
    total = _sums(labels, offsets, table)[:, :k].astype(np.float64)
    value = factor[:, None] * bias - scale * total
    nearest[:] = value.argmin(axis=1)
    score[:] = value.min(axis=1)


def move_rows(types: Any, labels: Any, n: int, h: int, offsets: Any, counts: Any, masses: Any, *rest: Any) -> None:
    old, fresh, _, table, mass, moved = rest
    count = np.ones(n, dtype=np.uint64) if counts is None else counts.astype(np.uint64)
    weight = count if masses is None else masses.astype(np.uint64)
    changed = old != fresh
    for assignment, sign in ((old, -1), (fresh, 1)):
        here = changed & (assignment >= 0)
        np.add.at(mass, assignment[here], weight[here] * np.array(sign).astype(np.uint64))
        for rows, places in _members(labels, offsets):
            part = here[rows]
            amount = count[rows][part] * np.array(sign).astype(np.uint64)
            np.add.at(table, (places[part], assignment[rows][part]), amount)
    moved[0] += np.uint64(changed.sum())


def own_and_rival(types: Any, labels: Any, n: int, h: int, offsets: Any, table: Any, width: int, *rest: Any) -> None:
    _, k, assignment, own, rival, runner_up = rest
    total = _sums(labels, offsets, table)[:, :k]
    own[:] = total[np.arange(n), assignment]
    total[np.arange(n), assignment] = 0.0
    rival[:] = total.max(axis=1)
    runner_up[:] = np.where(rival > 0, total.argmax(axis=1), -1)


def row_sums(types: Any, labels: Any, n: int, h: int, offsets: Any, weights: Any, sums: Any) -> None:
    sums[:] = _sums(labels, offsets, weights)


def add_pairs(types: Any, labels: Any, n: int, h: int, offsets: Any, mass: Any, d: int, table: Any) -> None:
    columns = [np.where(labels[:, m] >= 0, offsets[m] + labels[:, m].astype(np.int64), -1) for m in range(h)]
    for one in range(h):
        for two in range(one, h):
            known = (columns[one] >= 0) & (columns[two] >= 0)
            np.add.at(table, (columns[one][known], columns[two][known]), mass[known].astype(np.uint64))


def unit_sums(types: Any, labels: Any, n: int, h: int, offsets: Any, table: Any, *rest: Any) -> None:
    _, _, k, out = rest
    total = _sums(labels, offsets, table)[:, :k]
    length = np.zeros(n)
    for column in total.T:
        length += column * column
    out[:] = (total * np.where(length > 0, 1 / np.sqrt(np.where(length > 0, length, 1)), 0)[:, None]).T


def nearest_points(types: Any, points: Any, n: int, d: int, centres: Any, k: int, nearest: Any, distance: Any) -> None:
    squared = np.zeros((k, n))
    for column in range(d):
        squared += (points[column] - centres[:, column, None]) ** 2
    nearest[:] = squared.argmin(axis=0)
    distance[:] = squared.min(axis=0)


def move_points(types: Any, points: Any, n: int, d: int, counts: Any, unit: float, *rest: Any) -> None:
    old, fresh, sums, sizes, moved = rest
    whole = np.rint(points * counts.astype(np.float64) * unit).astype(np.int64)
    changed = old != fresh
    for assignment, sign in ((old, -1), (fresh, 1)):
        here = changed & (assignment >= 0)
        np.add.at(sizes, assignment[here], (sign * counts[here]).astype(np.uint64))
        for column in range(d):
            np.add.at(sums, (assignment[here], column), (sign * whole[column, here]).astype(np.uint64))
    moved[0] += np.uint64(changed.sum())


def add_all_points(types: Any, points: Any, n: int, d: int, counts: Any, unit: float, labels: Any, *rest: Any) -> None:
    _, _, sums, sizes = rest
    whole = np.rint(points * counts.astype(np.float64) * unit).astype(np.int64)
    np.add.at(sizes, labels, counts.astype(np.uint64))
    for column in range(d):
        np.add.at(sums, (labels, column), whole[column].astype(np.uint64))


def own_distances(types: Any, points: Any, n: int, d: int, counts: Any, centres: Any, labels: Any, out: Any) -> None:
    squared = np.zeros(n)
    for column in range(d):
        squared += (points[column] - centres[labels, column]) ** 2
    out[:] = counts * squared


def column_facts(types: Any, rows: Any, n: int, d: int, each: int, sums: Any, lows: Any, highs: Any) -> None:
    for block in range(len(sums)):
        part = rows[block * each : (block + 1) * each].astype(np.float64)
        sums[block], lows[block], highs[block] = part.sum(axis=0), part.min(axis=0), part.max(axis=0)


def _prepared(rows: Any, columns: Any, shift: Any, scale: float) -> Any:
    return ((rows[:, columns].astype(np.float64) - shift[columns]) * scale).astype(np.float32)


def prepare_rows(types: Any, rows: Any, d: int, numbers: Any, start: int, n: int, columns: Any, *rest: Any) -> None:
    width, shift, scale, matrix, across, out = rest
    part = rows[start : start + n] if numbers is None else rows[numbers]
    if matrix is not None:
        total = np.zeros((n, width))
        for column in range(d):
            value = (part[:, column].astype(np.float64) - shift[column]) * scale
            total += value[:, None] * matrix[column]
        result = total.astype(np.float32)
    else:
        result = _prepared(part, columns, shift, scale)
    out[:] = result.T if across else result


def _distances(rows: Any, centres: Any) -> Any:
    """Squared distances (n, k) in float32, added up by fused operations: each sum is rounded once."""
    total = np.zeros((len(rows), len(centres)), dtype=np.float32)
    for column in range(rows.shape[1]):
        difference = (rows[:, column, None] - centres[:, column]).astype(np.float64)
        total = (difference * difference + total).astype(np.float32)
    return total


def _assign(rows: Any, centres: Any, starts: Any, places: Any, labels: Any) -> None:
    distance = _distances(rows, centres[:, : rows.shape[1]])
    for member, place in enumerate(places):
        labels[: len(rows), place] = distance[:, starts[member] : starts[member + 1]].argmin(axis=1)


def nearest_centres(types: Any, rows: Any, n: int, d: int, columns: Any, used: int, *rest: Any) -> None:
    shift, scale, centres, starts, _, _, places, labels, _ = rest
    _assign(_prepared(rows, columns, shift, scale), centres, starts, places, labels)


def nearest_centres_wide(types: Any, rows: Any, n: int, d: int, centres: Any, starts: Any, *rest: Any) -> None:
    _, places, labels, _, start = rest
    _assign(np.ascontiguousarray(rows.T), centres, starts, places, labels[start:])


def label_by_landmarks(types: Any, rows: Any, n: int, d: int, columns: Any, used: int, *rest: Any) -> None:
    shift, scale, landmarks, p, groups, n_groups, starts, around, _, factor, table, centres, _, labels, _ = rest
    x = _prepared(rows, columns, shift, scale)
    distance = _distances(x, landmarks[:, :used])
    near, squared = np.empty((n, types["NEAR"]), dtype=int), np.empty((n, types["NEAR"]), dtype=np.float32)
    group = _distances(x, groups[:, :used]).argmin(axis=1)
    for row in range(n):
        candidates = np.arange(p)
        if n_groups:
            start = starts[group[row]]
            candidates = around[start + distance[row, start : starts[group[row] + 1]].argmin()]
        order = np.argsort(distance[row, candidates], kind="stable")[: types["NEAR"]]
        near[row], squared[row] = candidates[order], distance[row, candidates[order]]
    weight = np.maximum(np.exp(factor * squared.astype(np.float64)), 1e-8).astype(np.float32)
    total = np.zeros((n, table.shape[1]))
    for place in range(types["NEAR"]):
        total += weight[:, place, None].astype(np.float64) * table[near[:, place]]
    length = np.sqrt((total * total).sum(axis=1, keepdims=True))
    unit = np.where(length > 0, 1 / np.where(length > 0, length, 1), 0)
    points = (np.floor(total * unit * GRID + 0.5) / GRID).astype(np.float32)
    labels[:, 0] = _distances(points, centres).argmin(axis=1)


TWINS = {
    twin.__name__: twin
    for twin in (
        *(first_rows, recode, insert_rows, mark_firsts, number_rows),
        *(look_up, move_rows, own_and_rival, row_sums, add_pairs, unit_sums),
        *(nearest_points, move_points, add_all_points, own_distances),
        *(column_facts, prepare_rows, nearest_centres, nearest_centres_wide, label_by_landmarks),
    )
}
