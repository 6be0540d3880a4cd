"""Label rows on a card: codes by first appearance, distinct rows in order of first appearance, members in order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._device.card import PLAIN_SHARED, Card
from quorate._device.choose import find_card, need_memory

UNSEEN = 0xFFFFFFFF
MOST_ROWS = UNSEEN - 1
"""Row numbers on the card are 32 bits."""
MOST_CODES = 1 << 22
"""The largest table of values, over all columns, that are coded on the card."""
PATIENCE = 128
"""Steps in the hash table after which it is called too full."""
FIRST_ROWS = 4096
"""Rows by which members are put in order, unless two members are equal there."""
PART_VALUES = 1 << 30
SEEDS = 8
"""Hash functions that are tried; each fails once in 2^64 / n^2 times."""


class Firsts(NamedTuple):
    """Distinct rows: the first row of each, increasing; the number of each row's distinct row; and the counts."""

    first: Any
    inverse: Any
    counts: Any


def extent(values: Any) -> tuple[int, int]:
    """Return the least and the largest of integers on the card.

    They are read in parts, because CuPy is many times slower on arrays of 2^31 values or more.
    """
    flat = values.reshape(-1)
    parts = [flat[start : start + PART_VALUES] for start in range(0, len(flat), PART_VALUES)]
    return min(int(part.min()) for part in parts), max(int(part.max()) for part in parts)


def code_columns_on_card(card: Card, values: Any, dtype: Any = None) -> tuple[Any, list[NDArray[np.int64]]] | None:
    """Code every column of integers (n, H) by first appearance; -1 stays -1.

    Returns the codes, of the type `dtype` or of the narrowest, and the value of each code of each column. None if a
    value is below -1 or values are too far apart: the processor then knows what to do or to say.
    """
    xp = card.xp
    n_rows, width = values.shape
    low, high = extent(values)
    span = high + 2
    if low < -1 or span * width > MOST_CODES or n_rows > MOST_ROWS:
        return None
    first = xp.full(width * span, UNSEEN, dtype=xp.uint32)
    in_shared = 4 * width * span <= PLAIN_SHARED
    card.launch(
        "first_rows",
        (values, n_rows, width, -1, span, int(in_shared), first),
        source="rows",
        types={"VALUE": values.dtype, "LABEL": values.dtype},
        n=n_rows * width,
        shared=4 * width * span if in_shared else 0,
    )
    seen = card.to_host(first).reshape(width, span).astype(np.int64)
    codes, categories = np.full((width, span), -1, dtype=np.int32), []
    for column in range(width):
        known = 1 + np.flatnonzero(seen[column, 1:] != UNSEEN)
        order = known[np.argsort(seen[column, known], kind="stable")]
        codes[column, order] = np.arange(len(order))
        categories.append(order - 1)
    narrow = np.min_scalar_type(-max(1, *(len(known) for known in categories)))
    wanted = np.dtype(narrow if dtype is None else dtype)
    if wanted == values.dtype and all(np.array_equal(known, np.arange(len(known))) for known in categories):
        return values, categories
    coded = values if wanted == values.dtype and dtype is not None else xp.empty(values.shape, dtype=wanted)
    card.launch(
        "recode",
        (values, n_rows, width, -1, span, xp.asarray(codes.ravel()), coded),
        source="rows",
        types={"VALUE": values.dtype, "LABEL": wanted},
        n=n_rows * width,
    )
    return coded, categories


def canonical_on_card(labels: Any) -> Any:
    """Renumber int32 labels on the card, none of which is negative, by first appearance."""
    card = find_card()
    assert isinstance(card, Card), "labels on a card were made by one"
    coded = code_columns_on_card(card, labels.reshape(-1, 1), dtype=np.int32)
    assert coded is not None, "labels of clusters are small"
    return coded[0].reshape(-1)


def distinct_rows_on_card(card: Card, labels: Any, counts: Any) -> Firsts:
    """Find the distinct rows of labels (n, H); counts (n,) may be None for ones.

    A hash table in the card's memory maps the hash of a row to its first row. Every row is then compared with that
    first row; if two different rows have the same hash, all is done again with another hash function. The answer does
    not depend on the hash function, nor on the order in which threads run.
    """
    n_rows = int(labels.shape[0])
    if n_rows > MOST_ROWS:
        raise ValueError(f"at most {MOST_ROWS:,} rows can be compressed on a card at once, got {n_rows:,}.")
    size = 1 << max(10, int(n_rows * 1.25).bit_length())
    while size > 1 << 20 and 12 * size + 16 * n_rows > card.free_bytes():
        size >>= 1
    need_memory(card, 12 * size + 13 * n_rows, f"compressing {n_rows:,} rows")
    seed = 0
    while seed < SEEDS:
        slots = _inserted(card, labels, size, seed)
        if slots is None:
            size *= 2
            need_memory(card, 12 * size + 13 * n_rows, f"compressing {n_rows:,} rows")
            continue
        found = _numbered(card, labels, counts, *slots)
        if found is not None:
            return found
        seed += 1
    raise RuntimeError(f"{SEEDS} hash functions in turn gave two different label rows the same hash.")


def _inserted(card: Card, labels: Any, size: int, seed: int) -> tuple[Any, Any, Any] | None:
    """Return the keys and first rows of the hash table, and the slot of each row; None if the table is too full."""
    xp = card.xp
    n_rows, row_bytes = int(labels.shape[0]), int(labels.shape[1]) * labels.dtype.itemsize
    keys, first = xp.zeros(size, dtype=xp.uint64), xp.full(size, UNSEEN, dtype=xp.uint32)
    slots, failed = xp.empty(n_rows, dtype=xp.uint32), xp.zeros(1, dtype=xp.uint32)
    card.launch(
        "insert_rows",
        (labels, n_rows, row_bytes, seed * 0x632BE59BD9B4E019 % 2**63, size - 1, PATIENCE, keys, first, slots, failed),
        source="rows",
        types={"VALUE": np.int8, "LABEL": np.int8},
        n=n_rows,
    )
    return None if int(failed[0]) else (keys, first, slots)


def _numbered(card: Card, labels: Any, counts: Any, keys: Any, first: Any, slots: Any) -> Firsts | None:
    """Return the distinct rows in order of first appearance; None if two different rows share a slot."""
    xp = card.xp
    n_rows, row_bytes = int(labels.shape[0]), int(labels.shape[1]) * labels.dtype.itemsize
    is_first = xp.zeros(n_rows, dtype=xp.int8)
    types = {"VALUE": np.int8, "LABEL": np.int8}
    card.launch("mark_firsts", (keys, first, len(keys), is_first), source="rows", types=types, n=len(keys))
    rank = xp.cumsum(is_first, dtype=xp.int32)
    firsts = xp.flatnonzero(is_first)
    del keys, is_first
    inverse, added = xp.empty(n_rows, dtype=xp.int32), xp.zeros(len(firsts), dtype=xp.uint64)
    differs = xp.zeros(1, dtype=xp.uint32)
    card.launch(
        "number_rows",
        (labels, n_rows, row_bytes, slots, first, rank, counts, inverse, added, differs),
        source="rows",
        types=types,
        n=n_rows,
    )
    return None if int(differs[0]) else Firsts(firsts, inverse, added.view(xp.int64))


def rows_of_objects_on_card(ensemble: Any, objects: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the row that each object is in, if the objects are numbered row after row; in host memory."""
    if ensemble.card_counts is None:
        return objects.astype(np.intp)
    xp = ensemble.card.xp
    edges = xp.cumsum(ensemble.card_counts)
    found: NDArray[np.intp] = ensemble.card.to_host(xp.searchsorted(edges, xp.asarray(objects), side="right"))
    return found.astype(np.intp)


def content_order(ensemble: Any) -> list[int]:
    """Return the members sorted by their labels as bytes, then by their weights.

    Nearly always the first rows tell all members apart; only members that are equal there are compared whole.
    """
    card, labels = ensemble.card, ensemble.card_labels
    start = np.ascontiguousarray(card.to_host(labels[:FIRST_ROWS]).T)
    texts = [column.tobytes() for column in start]
    if len(set(texts)) < len(texts) and len(labels) > FIRST_ROWS:
        repeated = {text for text in texts if texts.count(text) > 1}
        texts = [
            card.to_host(card.xp.ascontiguousarray(labels[:, place])).tobytes() if text in repeated else text
            for place, text in enumerate(texts)
        ]
    return sorted(range(len(texts)), key=lambda place: (texts[place], ensemble.weights[place]))
