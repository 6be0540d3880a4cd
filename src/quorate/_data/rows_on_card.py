"""Ensembles whose labels go to a card, or live there: coding, and compression to distinct rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import DEFAULT
from quorate._data.ensemble import as_weights, ensemble_as, refuse_empty_members
from quorate._data.proof import prove_counts
from quorate._device.card import Card
from quorate._device.card_rows import code_columns_on_card, distinct_rows_on_card
from quorate._device.choose import Kind, card_for, in_kind, is_array, kind_of, need_memory, on_card, on_host
from quorate._device.device_ensemble import DeviceEnsemble, resident, upload, varied
from quorate._types import AnyEnsemble, Ensemble, FieldsBesideRows, Reading, SoftEnsemble, read_only

INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)} - {"uint64"}
"""The types of labels, as NumPy, CuPy and PyTorch name them, that a card codes."""


def ensemble_on_card(card: Card, labels: Any, reading: Reading) -> DeviceEnsemble:
    """Read labels as `as_ensemble` does, into an ensemble on the card.

    A table of integers, in host memory or on a card, is coded on the card. Anything else, or a table that needs one of
    the options, is read by `as_ensemble` and then copied.
    """
    if isinstance(labels, DeviceEnsemble):
        return _with_options(labels, reading)
    if not is_plain_table(labels, reading):
        return upload(card, ensemble_as(on_host(labels), reading), kind_of(labels))
    kind = kind_of(labels)
    if kind == "numpy":
        need_memory(card, 2 * labels.nbytes, f"a table of {labels.shape[0]:,} x {labels.shape[1]} labels")
    values = card.to_card(labels) if kind == "numpy" else on_card(labels, card.xp)
    found = coded_ensemble(card, values, reading, kind)
    return found if found is not None else upload(card, ensemble_as(card.to_host(values), reading), kind)


def is_plain_table(labels: Any, reading: Reading) -> bool:
    """Whether labels are a table of integers, one row per object, that needs none of the options of reading."""
    if not is_array(labels):
        return False
    if reading.missing != DEFAULT or reading.orientation not in (None, "objects") or reading.ids is not None:
        return False
    shape = labels.shape
    integers = str(labels.dtype).rpartition(".")[2] in INTEGERS
    return len(shape) == 2 and shape[0] >= shape[1] > 0 and integers


def coded_ensemble(
    card: Card, values: Any, reading: Reading, kind: Kind, n_objects: int | None = None
) -> DeviceEnsemble | None:
    """Return the ensemble of an integer table on the card; None if the processor must code it or refuse it.

    If the rows stand for more objects, n_objects is their number.
    """
    coded = code_columns_on_card(card, values)
    if coded is None:
        return None
    labels, categories = coded
    if int(labels.min()) < 0 and int(labels.max(axis=1).min()) < 0:
        return None
    names = tuple(f"member {place}" for place in range(labels.shape[1]))
    refuse_empty_members(names, tuple(categories))
    if reading.check and any(2 * len(known) > (n_objects or len(labels)) for known in categories):
        # a column of ids has nearly as many labels as objects; the processor knows what to say about it
        return None
    like: FieldsBesideRows = {
        "n_clusters": np.array([len(values) for values in categories], dtype=np.int64),
        "weights": as_weights(reading.weights, names),
        "member_names": names,
        "categories": tuple(categories),
    }
    return resident(card, labels, None, like, kind)


def _with_options(ensemble: DeviceEnsemble, reading: Reading) -> DeviceEnsemble:
    if reading.missing != DEFAULT or reading.orientation is not None:
        raise ValueError("missing and orientation say how to read a table, but labels are an Ensemble already.")
    if reading.weights is None and reading.ids is None:
        return ensemble
    changes: FieldsBesideRows = {}
    if reading.weights is not None:
        changes["weights"] = as_weights(reading.weights, ensemble.member_names)
    if reading.ids is not None:
        changes["object_ids"] = ensemble_as(ensemble, Reading(ids=reading.ids)).object_ids
    return varied(ensemble, labels=ensemble.card_labels, counts=ensemble.card_counts, **changes)


def compressed_by_device(ensemble: AnyEnsemble, device: str | None) -> Any:
    """Return the result of `compress` as the option `device` wants it; None if the processor is to do it."""
    card = card_for(device, ensemble)
    if isinstance(ensemble, SoftEnsemble):
        if card is not None and device == "cuda":
            raise ValueError("device must be 'cpu' with soft members: a card compresses labels alone.")
        return None
    if card is None:
        return None
    moved = upload(card, ensemble)
    rows, inverse = compress_on_card(moved)
    if device is None or moved.kind == "numpy":
        return rows if moved is ensemble else _plain(rows), _host_inverse(moved, inverse)
    return rows, in_kind(inverse, moved.kind)


def _plain(rows: DeviceEnsemble) -> Ensemble:
    plain: Ensemble = rows.on_host()
    plain.remember(is_distinct=True)
    return plain


def _host_inverse(ensemble: DeviceEnsemble, inverse: Any) -> Any:
    """Return the inverse in host memory; it is copied once."""
    if ensemble.__dict__.get("host_inverse") is None:
        ensemble.remember(host_inverse=read_only(ensemble.card.to_host(inverse).astype(np.intp)))
    return ensemble.__dict__["host_inverse"]


def compress_on_card(ensemble: DeviceEnsemble) -> tuple[DeviceEnsemble, Any]:
    """Return the distinct rows on the card, with counts, and the row of each object, an int32 array on the card."""
    xp = ensemble.card.xp
    if ensemble.is_distinct:
        return ensemble, xp.arange(ensemble.n_rows, dtype=xp.int32)
    if ensemble.compressed is None:
        found = distinct_rows_on_card(ensemble.card, ensemble.card_labels, ensemble.card_counts)
        labels = xp.ascontiguousarray(ensemble.card_labels[found.first])
        rows = varied(ensemble, labels=labels, counts=found.counts, object_ids=None)
        prove_counts(np.array([ensemble.n_objects]), ensemble.n_members)
        rows.remember(is_distinct=True)
        ensemble.remember(compressed=(rows, found.inverse))
    remembered: tuple[DeviceEnsemble, Any] = ensemble.compressed
    return remembered


BLOCK_SHARE = 0.05
"""The share of the card's free memory that a block of labels takes; compressing it takes several times as much."""
ROOM = 0.2
"""The share of the card's free memory up to which a table goes to the card as a whole."""


def is_too_large(card: Card, table: NDArray[Any]) -> bool:
    """Whether a table has to go through the card in blocks."""
    return table.nbytes > ROOM * card.free_bytes()


def compress_in_blocks(
    card: Card, table: NDArray[Any], reading: Reading
) -> tuple[DeviceEnsemble, NDArray[np.int32]] | None:
    """Return the distinct rows of an integer table on the card, and the row of each object in host memory.

    Rows are compared by their values. The distinct rows, in order of first appearance, are coded at the end, which
    gives the codes of the whole table. None if the processor has to code the table or to refuse it.
    """
    size = max(1024, int(BLOCK_SHARE * card.free_bytes()) // max(1, table[:1].nbytes))
    inverse, parts = np.empty(len(table), dtype=np.int32), []
    for start, stop, block in card.row_blocks(table, min(size, len(table))):
        found = distinct_rows_on_card(card, block, None)
        parts.append((start, stop, block[found.first], found.counts))
        inverse[start:stop] = card.to_host(found.inverse)
    xp = card.xp
    rows = xp.ascontiguousarray(xp.concatenate([part for _, _, part, _ in parts]))
    merged = distinct_rows_on_card(card, rows, xp.concatenate([counts for *_, counts in parts]))
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
