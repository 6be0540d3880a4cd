"""Ensembles whose labels go to a card, or live there: coding, and compression to distinct rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from quorate import _check
from quorate._data.building import as_weights, refuse_empty_members
from quorate._data.ensemble import as_ensemble
from quorate._data.missing import DEFAULT
from quorate._data.proof import prove_counts
from quorate._data.suspects import refuse_suspects
from quorate._device.card import Card
from quorate._device.card_rows import code_columns, distinct_rows
from quorate._device.choose import card_for, need_memory
from quorate._device.device_arrays import Kind, in_kind, kind_of, on_card
from quorate._device.device_ensemble import DeviceEnsemble, resident, upload, varied
from quorate._types import AnyEnsemble, Ensemble, SoftEnsemble, read_only


def ensemble_on_card(card: Card, labels: Any, reading: dict[str, Any]) -> DeviceEnsemble:
    """Read labels as `as_ensemble` does, into an ensemble on the card.

    A table of integers, in host memory or on a card, is coded on the card. Anything else, or a table that needs one of
    the options, is read by `as_ensemble` and then copied.
    """
    if isinstance(labels, DeviceEnsemble):
        return _with_options(labels, reading)
    kind = kind_of(labels)
    if kind == "numpy" and not (isinstance(labels, np.ndarray) and labels.dtype.kind in "iu"):
        return upload(card, as_ensemble(labels, **reading))
    plain = reading["missing"] == DEFAULT and reading["orientation"] in (None, "objects") and reading["ids"] is None
    values = on_card(labels, card.xp) if kind != "numpy" else None
    shape = labels.shape
    if (
        plain
        and len(shape) == 2
        and shape[0] >= shape[1] > 0
        and labels_are_integers(labels if values is None else values)
    ):
        if values is None:
            need_memory(card, 2 * labels.nbytes, f"a table of {shape[0]:,} x {shape[1]} labels")
            values = card.to_card(labels)
        found = _coded(card, values, reading, kind)
        if found is not None:
            return found
    host = labels if values is None else card.to_host(values)
    return upload(card, as_ensemble(host, **reading), kind)


def labels_are_integers(values: Any) -> bool:
    """Whether labels are integers of a type that the card can code."""
    return np.dtype(values.dtype).kind in "iu" and np.dtype(values.dtype).itemsize <= 8


def _coded(card: Card, values: Any, reading: dict[str, Any], kind: Kind) -> DeviceEnsemble | None:
    """Return the ensemble of an integer table on the card; None if the processor must code it or refuse it."""
    coded = code_columns(card, values)
    if coded is None:
        return None
    labels, categories = coded
    if int(labels.min()) < 0 and int(labels.max(axis=1).min()) < 0:
        return None
    names = tuple(f"member {place}" for place in range(labels.shape[1]))
    refuse_empty_members(names, tuple(categories))
    if reading.get("check", True) and any(2 * len(values) > len(labels) for values in categories):
        # a column of ids has nearly as many labels as objects; it takes labels in host memory to say so
        refuse_suspects(card.to_host(labels), names, tuple(categories))
    like = {
        "n_clusters": np.array([len(values) for values in categories], dtype=np.int64),
        "weights": as_weights(reading.get("weights"), names),
        "member_names": names,
        "categories": tuple(categories),
    }
    return resident(card, labels, None, like, kind)


def _with_options(ensemble: DeviceEnsemble, reading: dict[str, Any]) -> DeviceEnsemble:
    if reading["missing"] != DEFAULT or reading["orientation"] is not None:
        raise ValueError("missing and orientation say how to read a table, but labels are an Ensemble already.")
    if reading["weights"] is None and reading["ids"] is None:
        return ensemble
    changes: dict[str, Any] = {}
    if reading["weights"] is not None:
        changes["weights"] = as_weights(reading["weights"], ensemble.member_names)
    if reading["ids"] is not None:
        changes["object_ids"] = as_ensemble(ensemble, ids=reading["ids"]).object_ids
    return varied(ensemble, labels=ensemble.card_labels, counts=ensemble.card_counts, **changes)


def compressed_by_device(ensemble: AnyEnsemble, device: str | None) -> Any:
    """Return the result of `compress` as the option `device` wants it; None if the processor is to do it."""
    card = ensemble.card if ensemble.card is not None and device != "cpu" else card_for(device)
    if isinstance(ensemble, SoftEnsemble):
        if card is not None and device == "cuda":
            raise ValueError("device must be 'cpu' with soft members: a card compresses labels alone.")
        return None
    if card is None:
        _check.choice(device, "device", (None, "auto", "cpu"))
        return None
    moved = upload(card, ensemble)
    rows, inverse = compress_on_card(moved)
    if device is None or moved.kind == "numpy":
        return rows if moved is ensemble else _plain(rows), _host_inverse(moved, inverse)
    return rows, in_kind(inverse, moved.kind)


def _plain(rows: DeviceEnsemble) -> Ensemble:
    plain = rows.on_host()
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
        found = distinct_rows(ensemble.card, ensemble.card_labels, ensemble.card_counts)
        labels = xp.ascontiguousarray(ensemble.card_labels[found.first])
        rows = varied(ensemble, labels=labels, counts=found.counts, object_ids=None)
        prove_counts(np.array([ensemble.n_objects]), ensemble.n_members)
        rows.remember(is_distinct=True)
        ensemble.remember(compressed=(rows, found.inverse))
    remembered: tuple[DeviceEnsemble, Any] = ensemble.compressed
    return remembered
