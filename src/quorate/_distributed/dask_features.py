"""Measurements in a Dask array: facts of columns and samples are computed on the workers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._check import no_mask
from quorate._data.blocks import code_block
from quorate._distributed.chunks import Leaf, need_dask
from quorate._io.feature_array import BlockArray
from quorate.generation.block_members import TrainedMembers
from quorate.ops.euclidean import column_facts

Array = NDArray[Any]


def chunks_of_features(X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Return a Dask array of measurements whose rows lie in one chunk and whose chunks have known sizes."""
    need_dask()
    names = None
    if hasattr(X, "divisions"):
        names = tuple(map(str, X.columns))
        X = X.to_dask_array(lengths=True)
    if not hasattr(X, "rechunk") or X.ndim != 2:
        raise TypeError(f"X must be a Dask array of shape (n_objects, n_columns), got {type(X).__name__}.")
    if np.isnan(X.shape[0]):
        X = X.compute_chunk_sizes()
    if X.dtype.kind not in "iuf":
        raise ValueError(f"X must hold numbers, got {X.dtype}; convert it first, e.g. X.astype(float).")
    return (X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})), names


class DaskRows(BlockArray):
    """A Dask array that hands out rows as arrays in memory; only these rows leave the workers."""

    def __init__(self, array: Any) -> None:
        super().__init__([], int(array.shape[1]), array.dtype)
        self._array = array
        self.edges = np.concatenate([[0], np.cumsum(array.chunks[0])]).astype(np.int64)
        self.shape = (int(self.edges[-1]), int(array.shape[1]))

    def rows(self, numbers: NDArray[np.int64]) -> Array:
        """Return rows by their numbers, which must increase."""
        dask = need_dask()
        take = dask.delayed(take_rows)
        cuts = np.searchsorted(numbers, self.edges)
        parts = self._array.to_delayed().ravel()
        tasks = [
            take(parts[place], numbers[cuts[place] : cuts[place + 1]] - self.edges[place])
            for place in np.flatnonzero(np.diff(cuts))
        ]
        found = dask.compute(*tasks)
        return np.concatenate(found) if found else np.empty((0, self.shape[1]), dtype=self.dtype)

    def _slice(self, start: int, stop: int) -> Array:
        values: Array = self._array[start:stop].compute()
        return values

    def column_facts(self, n_rows: int) -> list[tuple[Array, Array, Array]]:
        """Return sums, lows and highs of the columns of consecutive blocks of n_rows rows, as in memory."""
        dask = need_dask()
        blocks = self._array.rechunk({0: n_rows, 1: -1})
        facts: tuple[tuple[Array, Array, Array], ...] = dask.compute(
            *map(dask.delayed(facts_of_block), blocks.to_delayed().ravel())
        )
        return list(facts)


def take_rows(chunk: Any, numbers: Array) -> Array:
    """Return some rows of a chunk."""
    return np.asarray(chunk)[numbers]


def facts_of_block(block: Any) -> tuple[Array, Array, Array]:
    """Return sums, lows and highs of the columns of a block."""
    no_mask(block, "X")
    values = np.ascontiguousarray(np.asarray(block))
    found = np.zeros(values.shape[1]), np.full(values.shape[1], np.inf), np.full(values.shape[1], -np.inf)
    column_facts(values, *found)
    return found


def label_leaves(parts: list[Any], trained: TrainedMembers) -> list[Any]:
    """Return delayed leaves: the labels that the members give the objects of each chunk, compressed."""
    dask = need_dask()
    models = dask.delayed(trained, traverse=False)
    label = dask.delayed(label_chunk)
    return [label(part, number, models) for number, part in enumerate(parts)]


def label_chunk(chunk: Any, number: int, trained: TrainedMembers) -> Leaf:
    """Label the objects of a chunk by all members, and compress these labels; an error names the chunk."""
    try:
        labels = trained.labels(np.ascontiguousarray(np.asarray(chunk)))
        names = tuple(f"member {place}" for place in range(labels.shape[1]))
        block = code_block(list(labels.T), names)
    except Exception as error:
        raise RuntimeError(f"chunk {number}: {error}") from error
    return Leaf(block._replace(inverse=block.inverse.astype(np.uint32)), None, None)
