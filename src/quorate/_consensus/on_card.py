"""consensus on a card: the same line, with labels that stay on the card from coding to the labels of all objects."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._consensus.choose_k import Numbers
from quorate._consensus.run_method import MAX_BYTES
from quorate._consensus.solve import solve
from quorate._consensus.solved import Solved, coarsened
from quorate._data.rows_in_blocks import compress_in_blocks, is_too_large
from quorate._data.rows_on_card import compress_on_card, ensemble_on_card, is_plain_table
from quorate._data.tables import holds_matrices
from quorate._device.choose import card_for, is_out_of_memory
from quorate._device.device_arrays import Kind, in_kind, kind_of, lives_on_card
from quorate._device.device_ensemble import DeviceEnsemble
from quorate._types import Consensus, SoftEnsemble

ARRAYS = ("labels", "confidence", "runner_up")
"""The arrays of a Consensus with one entry per object."""

logger = logging.getLogger("quorate")


def consensus_on_card(
    labels: Any, n_clusters: Numbers, reading: dict[str, Any], settings: dict[str, Any], device: str | None
) -> Consensus | None:
    """Return the consensus of labels that live on a card or are to go there; None if the processor is to make it."""
    if device == "cpu":
        raise ValueError("device must not be 'cpu' for labels on a card; copy them to host memory first.")
    if isinstance(labels, SoftEnsemble) or (kind_of(labels) == "numpy" and holds_matrices(labels)):
        if device == "cuda":
            raise ValueError("device must be 'cpu' with soft members: a card works on labels alone.")
        return None
    card = card_for(device, labels)
    if card is None:
        return None
    try:
        if isinstance(labels, np.ndarray) and is_plain_table(labels, reading) and is_too_large(card, labels):
            found = compress_in_blocks(card, labels, reading)
            if found is not None:
                return _solved_in_blocks(*found, n_clusters, settings)
        return solve_objects_on_card(ensemble_on_card(card, labels, reading), n_clusters, **settings).objects
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        if device != "auto" or lives_on_card(labels):
            raise
        logger.info("device: the processor, because the card's memory does not suffice (%s)", error)
        return None


def _solved_in_blocks(
    rows: DeviceEnsemble, inverse: NDArray[np.int32], n_clusters: Numbers, settings: dict[str, Any]
) -> Consensus:
    """Solve rows on the card, and carry the result to objects whose rows are known in host memory, in blocks."""
    result = solve_objects_on_card(rows, n_clusters, **settings).rows
    card, size = rows.card, max(1024, int(0.02 * rows.card.free_bytes()) // 8)
    arrays: dict[str, Any] = {}
    for name in ARRAYS:
        array = getattr(result, name)
        if array is None:
            continue
        source = card.to_card(array) if isinstance(array, np.ndarray) else array
        arrays[name] = np.empty(len(inverse), dtype=source.dtype)
        for start, stop, block in card.row_blocks(inverse, min(size, len(inverse))):
            arrays[name][start:stop] = card.to_host(source[block])
    return replace(result, **arrays, rows=inverse.astype(np.intp))


def solve_objects_on_card(
    ensemble: Any, n_clusters: Numbers, *, coarsen: Any = None, max_bytes: int = MAX_BYTES, **settings: Any
) -> Solved:
    """Do what `solve_objects` does; rows are coarsened in host memory. Too little memory on the card is one line."""
    try:
        return _solved(ensemble, n_clusters, coarsen, max_bytes, settings)
    except Exception as error:
        if not is_out_of_memory(error) or isinstance(error, MemoryError):
            raise
        raise MemoryError(f"the card's memory does not suffice: {' '.join(str(error).split())}") from error


def _solved(ensemble: Any, n_clusters: Numbers, coarsen: Any, max_bytes: int, settings: dict[str, Any]) -> Solved:
    rows: Any
    rows, inverse = compress_on_card(ensemble)
    told = {}
    if coarsen is not None:
        rows, joined, told["coarsen"] = coarsened(rows.on_host(), coarsen, n_clusters, max_bytes)
        inverse = ensemble.card.to_card(joined.astype(np.int32))[inverse]
        told["device"] = "the processor: rows were merged first, which a card cannot do"
    result = solve(rows, n_clusters, max_bytes=max_bytes, **settings)
    result = replace(result, info={**result.info, **told})
    objects = expand_on_card(result, inverse, ensemble)
    return Solved(rows, result, replace(objects, id_name=ensemble.id_name))


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
