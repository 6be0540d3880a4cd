"""From rows to objects: the labels of distinct rows, or of some rows, carried to all that they stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._device.choose import Kind, in_kind
from quorate._types import Consensus
from quorate.ops.distinct_rows import taken_rows


def expand(result: Consensus, inverse: NDArray[Any], object_ids: NDArray[Any] | None = None) -> Consensus:
    """From rows to objects: rows are in order of first appearance, so canonical labels stay canonical."""
    return replace(
        result,
        labels=taken_rows(result.labels, inverse),
        confidence=None if result.confidence is None else taken_rows(result.confidence, inverse),
        runner_up=None if result.runner_up is None else taken_rows(result.runner_up, inverse),
        rows=inverse,
        object_ids=object_ids,
    )


ARRAYS = ("labels", "confidence", "runner_up")
"""The arrays of a Consensus with one entry per object."""


def spread(values: Any, places: NDArray[np.intp], n_rows: int, fill: float) -> Any:
    """Return an array of n_rows values that has these values at these places."""
    if values is None:
        return None
    whole = np.full(n_rows, fill, dtype=values.dtype)
    whole[places] = values
    return whole


def expand_on_card(result: Consensus, inverse: Any, ensemble: Any) -> Consensus:
    """From rows to objects, as `expand` does; the arrays come back as the caller's library has them."""
    card = ensemble.card
    arrays = {name: returned(card, _of_objects(card, getattr(result, name), inverse), ensemble.kind) for name in ARRAYS}
    rows = returned(card, inverse, ensemble.kind)
    rows = rows.astype(np.intp) if isinstance(rows, np.ndarray) else rows
    return replace(result, **arrays, rows=rows, object_ids=ensemble.object_ids)


def _of_objects(card: Any, array: Any, inverse: Any) -> Any:
    if array is None:
        return None
    return (card.to_card(array) if isinstance(array, np.ndarray) else array)[inverse]


def returned(card: Any, array: Any, kind: Kind) -> Any:
    """Return an array on the card in the caller's library: NumPy, CuPy or PyTorch."""
    if array is None:
        return None
    return card.to_host(array) if kind == "numpy" else in_kind(array, kind)
