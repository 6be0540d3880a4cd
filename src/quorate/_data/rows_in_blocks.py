"""Tables of labels that are larger than a card's memory: compressed block by block, each while the next is copied."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.rows_on_card import coded_ensemble
from quorate._device.card import Card
from quorate._device.card_rows import distinct_rows
from quorate._device.device_ensemble import DeviceEnsemble, varied

BLOCK_SHARE = 0.05
"""The share of the card's free memory that a block of labels takes; compressing it takes several times as much."""
ROOM = 0.2
"""The share of the card's free memory up to which a table goes to the card as a whole."""


def is_too_large(card: Card, table: NDArray[Any]) -> bool:
    """Whether a table has to go through the card in blocks."""
    return table.nbytes > ROOM * card.free_bytes()


def compress_in_blocks(
    card: Card, table: NDArray[Any], reading: dict[str, Any]
) -> tuple[DeviceEnsemble, NDArray[np.int32]] | None:
    """Return the distinct rows of an integer table on the card, and the row of each object in host memory.

    Rows are compared by their values. The distinct rows, in order of first appearance, are coded at the end, which
    gives the codes of the whole table. None if the processor has to code the table or to refuse it.
    """
    size = max(1024, int(BLOCK_SHARE * card.free_bytes()) // max(1, table[:1].nbytes))
    inverse, parts = np.empty(len(table), dtype=np.int32), []
    for start, stop, block in card.row_blocks(table, min(size, len(table))):
        found = distinct_rows(card, block, None)
        parts.append((start, stop, block[found.first], found.counts))
        inverse[start:stop] = card.to_host(found.inverse)
    xp = card.xp
    rows = xp.ascontiguousarray(xp.concatenate([part for _, _, part, _ in parts]))
    merged = distinct_rows(card, rows, xp.concatenate([counts for *_, counts in parts]))
    place = 0
    for start, stop, part, _ in parts:
        where = merged.inverse[place : place + len(part)]
        inverse[start:stop] = card.to_host(where[card.to_card(inverse[start:stop])])
        place += len(part)
    ensemble = coded_ensemble(card, xp.ascontiguousarray(rows[merged.first]), reading, "numpy", n_objects=len(table))
    if ensemble is None:
        return None
    compressed = varied(ensemble, labels=ensemble.card_labels, counts=merged.counts)
    compressed.remember(is_distinct=True)
    return compressed, inverse
