"""Features that live on a card: samples are prepared there and copied to host memory, where members are trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._device.card import C_TYPES, Card
from quorate._device.card_features import Rows, Seen, column_facts, prepared_rows
from quorate._device.device_arrays import Kind, on_card
from quorate.generation.features import Features, Numbers, View, as_real, hole_message, refuse_empty, shift_and_scale

ROOM = 0.6
"""The share of the card's free memory that features may take; the rest is for labels and work."""


@dataclass(frozen=True, eq=False)
class DeviceFeatures(Features):
    """Checked features whose `data` lie on a card; made by `features_on_card`."""

    card: Any = None
    kind: Kind = "numpy"

    @property
    def is_sparse(self) -> bool:
        return False

    def prepared(self, rows: slice | NDArray[np.intp], view: View) -> Any:
        """Return rows as float32 in host memory, shifted and scaled on the card."""
        seen, numbers, span = seen_by(self, view), None, (0, 0)
        if isinstance(rows, slice):
            span = rows.indices(self.n_objects)[:2]
        else:
            numbers = rows
        prepared = prepared_rows(device_rows(self, self.card), self.data, numbers, span, seen, across=False)
        return self.card.to_host(prepared)

    def raw(self, rows: Numbers, view: View) -> Any:
        """Return rows and columns in the user's units, copied to host memory."""
        return self.taken(rows).raw(None, view)

    def taken(self, rows: Numbers) -> Features:
        """Return some of the objects, or all, as features in host memory, shifted and scaled as all objects are."""
        if rows is None:
            return self.on_host()
        data = self.card.to_host(self.data[self.card.xp.asarray(rows)])
        return Features(data, self.shift, self.scale, self.names, None)

    def on_host(self) -> Features:
        """Return the same features in host memory."""
        return Features(self.card.to_host(self.data), self.shift, self.scale, self.names, self.ids)


def features_on_card(card: Card, X: Any, kind: Kind) -> DeviceFeatures:
    """Check features that live on the card: two dimensions, real and finite values."""
    data = on_card(X, card.xp)
    if data.ndim == 2 and data.dtype.name not in C_TYPES and data.dtype.kind in "fb":
        data = data.astype(np.float32 if data.dtype.kind == "f" else np.uint8)
    if data.ndim != 2 or data.dtype.name not in C_TYPES:
        as_real(np.empty(data.shape[:1] + (0,) * (data.ndim - 1), dtype=data.dtype))
        raise ValueError(f"X must hold real numbers, (n_objects, n_columns), got {data.dtype} of shape {data.shape}.")
    refuse_empty(data.shape)
    total, low, high = column_facts(card, data)
    if not np.isfinite(total).all():
        _refuse_holes(card, data)
        total = len(data) * (low / 2 + high / 2)
    shift, scale = shift_and_scale(total, low, high, len(data))
    return DeviceFeatures(data, shift, scale, card=card, kind=kind)


def _refuse_holes(card: Card, data: Any) -> None:
    if data.dtype.kind != "f":
        return
    xp = card.xp
    for start in range(0, len(data), 1 << 22):
        wrong = card.to_host(xp.argwhere(~xp.isfinite(data[start : start + (1 << 22)])))
        if len(wrong):
            row, column = start + int(wrong[0, 0]), int(wrong[0, 1])
            what = "NaN" if np.isnan(float(data[row, column])) else "infinity"
            raise ValueError(hole_message(what, str(column), row))


def moved_to_card(card: Card, features: Features) -> Features:
    """Return features with their data copied to the card if they fit there beside the labels.

    Otherwise they are returned as they are, and go through the card in blocks.
    """
    if features.is_sparse or isinstance(features, DeviceFeatures):
        return features
    if features.data.nbytes > ROOM * card.free_bytes():
        return features
    data = card.to_card(np.ascontiguousarray(features.data).view(np.ndarray))
    return DeviceFeatures(data, features.shift, features.scale, features.names, features.ids, card=card)


def device_rows(features: Features, card: Card) -> Rows:
    """Return features as the card's kernels take them."""
    return Rows(card, features.data, features.shift, features.scale)


def seen_by(features: Features, view: View) -> Seen:
    """Return a view of the columns as the card's kernels take it."""
    columns = np.arange(features.n_columns) if view.columns is None else view.columns
    return Seen(columns.astype(np.int32), view.matrix)
