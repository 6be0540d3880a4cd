"""Feature rows on a card: facts about columns, prepared samples, and the labels of k-means and spectral members.

Rows come as arrays on the card, or as host arrays that go through it in blocks while the next block is copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._device.card import Card, padded, rows_per_tile

Floats = NDArray[np.float32]

ROWS_EACH = 8192
"""Rows whose facts are added up by one block of threads: fixed, so that the sums depend on nothing else."""
MOST_DIMS = 64
"""Columns up to which a thread keeps its row in registers; wider rows are prepared first, in blocks."""
BLOCK_BYTES = 1 << 28
"""Bytes of a block of host rows on the card; there are two such blocks."""
WIDE_VALUES = 1 << 27
"""Values of a block of prepared wide rows."""
MOST_NEAR, MOST_VECTORS = 16, 128
"""Nearest landmarks and eigenvectors of a spectral member up to which the card labels its objects."""


@dataclass(frozen=True, eq=False)
class CardFeatures:
    """Features (n, d) on the card or in host memory, and how they are prepared: shift (d,) and scale."""

    card: Card
    data: Any
    shift: NDArray[np.float64]
    scale: float

    @property
    def is_resident(self) -> bool:
        """Whether the features live on the card."""
        return not isinstance(self.data, np.ndarray)

    def blocks(self) -> Iterator[tuple[int, int, Any]]:
        """Yield (start, stop, rows on the card): all at once if they live there, else block by block."""
        if self.is_resident:
            yield 0, len(self.data), self.data
            return
        size = max(1024, BLOCK_BYTES // max(1, self.data[:1].nbytes))
        yield from self.card.row_blocks(self.data, min(size, len(self.data)))


@dataclass(frozen=True, eq=False)
class Seen:
    """The columns that a member gets: numbers of columns (int32), or a projection (n_columns, n_dims) in float64."""

    columns: NDArray[np.int32]
    matrix: NDArray[np.float64] | None

    @property
    def width(self) -> int:
        return len(self.columns) if self.matrix is None else self.matrix.shape[1]


def column_facts_on_card(card: Card, data: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum, the lowest and the highest value of each column of rows on the card; NaN shows in the sum."""
    xp = card.xp
    n_rows, n_columns = data.shape
    grid = -(-n_rows // ROWS_EACH), -(-n_columns // 256)
    parts = [xp.empty((grid[0], n_columns)) for _ in range(3)]
    card.launch(
        "column_facts",
        (data, n_rows, n_columns, ROWS_EACH, *parts),
        source="features",
        types={"VALUE": data.dtype, "LABEL": np.int8},
        n=n_rows,
        grid=grid,
    )
    sums, lows, highs = (card.to_host(part) for part in parts)
    return sums.sum(axis=0), lows.min(axis=0), highs.max(axis=0)


def prepared_rows(
    rows: CardFeatures, data: Any, numbers: Any, span: tuple[int, int], seen: Seen, *, across: bool
) -> Any:
    """Return prepared rows of `data` on the card as float32: those with the given numbers, or those of the span.

    The result is (n, width), or (width, n) if `across`.
    """
    card, xp = rows.card, rows.card.xp
    start, n = (0, len(numbers)) if numbers is not None else (span[0], span[1] - span[0])
    out = xp.empty((seen.width, n) if across else (n, seen.width), dtype=xp.float32)
    card.launch(
        "prepare_rows",
        (
            *(data, int(data.shape[1]), None if numbers is None else xp.asarray(numbers, dtype=xp.int64), start, n),
            *(xp.asarray(seen.columns), seen.width, xp.asarray(rows.shift), float(rows.scale)),
            *(None if seen.matrix is None else xp.asarray(np.ascontiguousarray(seen.matrix)), int(across), out),
        ),
        source="features",
        types={"VALUE": data.dtype, "LABEL": np.int8},
        n=n * seen.width,
    )
    return out


def assign_on_card(rows: CardFeatures, seen: Seen, members: list[Floats], places: list[int], labels: Any) -> None:
    """Write the nearest centre of each member into the column places[q] of labels (n, H) on the card."""
    for start, stop, data in rows.blocks():
        part = labels[start:stop]
        if seen.matrix is None and seen.width <= MOST_DIMS:
            _assign_narrow(rows, data, seen, members, places, part)
        else:
            _assign_wide(rows, data, seen, members, places, part)


def _assign_narrow(
    rows: CardFeatures, data: Any, seen: Seen, members: list[Floats], places: list[int], labels: Any
) -> None:
    card, xp = rows.card, rows.card.xp
    dims = padded(seen.width, 4)
    each = max(1, min(4, MOST_DIMS // dims))
    centres, starts = _stacked(members, dims)
    per_tile = rows_per_tile(len(centres), 4 * dims)
    types: dict[str, Any] = {"VALUE": data.dtype, "LABEL": labels.dtype, "DIMS": dims, "ROWS": each}
    card.launch(
        "nearest_centres",
        (
            *_row_arguments(rows, data, seen),
            *(xp.asarray(centres), xp.asarray(starts), len(members), per_tile),
            *(xp.asarray(np.array(places, dtype=np.int32)), labels, int(labels.shape[1])),
        ),
        source="features",
        types=types | _whole_rows(data, seen),
        n=len(data),
        block=128,
        grid=(-(-len(data) // (128 * each)),),
        shared=4 * dims * per_tile,
    )


def _assign_wide(
    rows: CardFeatures, data: Any, seen: Seen, members: list[Floats], places: list[int], labels: Any
) -> None:
    card, xp = rows.card, rows.card.xp
    centres, starts = _stacked(members, seen.width)
    size = max(1024, WIDE_VALUES // seen.width)
    for start in range(0, len(data), size):
        stop = min(start + size, len(data))
        block = prepared_rows(rows, data, None, (start, stop), seen, across=True)
        card.launch(
            "nearest_centres_wide",
            (
                *(block, stop - start, seen.width, xp.asarray(centres), xp.asarray(starts), len(members)),
                *(xp.asarray(np.array(places, dtype=np.int32)), labels, int(labels.shape[1]), start),
            ),
            source="features",
            types={"VALUE": data.dtype, "LABEL": labels.dtype},
            n=stop - start,
        )


@dataclass(frozen=True, eq=False)
class LandmarkModel:
    """What labels objects by their nearest landmarks; see the kernel label_by_landmarks for shapes."""

    landmarks: Floats
    groups: Floats | None
    starts: NDArray[np.int64]
    around: NDArray[np.int32]
    neighbours: int
    width: float
    table: NDArray[np.float64]
    centres: Floats

    def fits(self, n_columns: int) -> bool:
        """Whether the card's kernel can keep a row, its links and its point in registers."""
        near, vectors = min(self.neighbours, len(self.landmarks)), self.table.shape[1]
        return n_columns <= MOST_DIMS and near <= MOST_NEAR and vectors <= MOST_VECTORS


def label_by_landmarks(rows: CardFeatures, seen: Seen, model: LandmarkModel, place: int, labels: Any) -> None:
    """Write the labels of a spectral member into the column `place` of labels (n, H) on the card."""
    card, xp = rows.card, rows.card.xp
    dims, vectors = padded(seen.width, 4), padded(model.table.shape[1], 16)
    near = min(model.neighbours, len(model.landmarks))
    n_groups = 0 if model.groups is None else len(model.groups)
    groups = model.landmarks[:1] if model.groups is None else model.groups
    factor = -0.5 / (model.width * model.width) if model.width > 0 else 0.0
    around = model.around if n_groups else np.zeros((1, 1), dtype=np.int32)
    fixed = (
        *(xp.asarray(_wide(model.landmarks, dims, np.float32)), len(model.landmarks)),
        *(xp.asarray(_wide(groups, dims, np.float32)), n_groups, xp.asarray(model.starts.astype(np.int32))),
        *(xp.asarray(np.ascontiguousarray(around)), int(around.shape[1]), factor),
        xp.asarray(_wide(model.table, vectors, np.float64)),
        *(xp.asarray(_wide(model.centres, vectors, np.float32)), len(model.centres)),
    )
    for start, stop, data in rows.blocks():
        types: dict[str, Any] = {"VALUE": data.dtype, "LABEL": labels.dtype, "DIMS": dims, "ROWS": 1}
        card.launch(
            "label_by_landmarks",
            (*_row_arguments(rows, data, seen), *fixed, labels[start:stop, place:], int(labels.shape[1])),
            source="features",
            types=types | {"NEAR": near, "VECTORS": vectors} | _whole_rows(data, seen),
            n=stop - start,
            block=128,
            shared=4 * vectors * len(model.centres),
        )


def _row_arguments(rows: CardFeatures, data: Any, seen: Seen) -> tuple[Any, ...]:
    xp = rows.card.xp
    shape = data, len(data), int(data.shape[1])
    return (*shape, xp.asarray(seen.columns), seen.width, xp.asarray(rows.shift), float(rows.scale))


def _whole_rows(data: Any, seen: Seen) -> dict[str, Any]:
    """Return the macro that lets the kernel read 16 bytes at a time, if rows allow that."""
    n_columns = int(data.shape[1])
    whole = seen.width == n_columns and np.array_equal(seen.columns, np.arange(n_columns))
    return {"WHOLE_ROWS": None} if whole and data.dtype == np.float32 and n_columns % 4 == 0 else {}


def _stacked(members: list[Floats], width: int) -> tuple[Floats, NDArray[np.int32]]:
    starts = np.concatenate([[0], np.cumsum([len(centres) for centres in members])]).astype(np.int32)
    return _wide(np.concatenate(members), width, np.float32), starts


def _wide(table: NDArray[Any], width: int, dtype: Any) -> NDArray[Any]:
    """Return a table with zero columns added up to this width."""
    wide = np.zeros((len(table), width), dtype=dtype)
    wide[:, : table.shape[1]] = table
    return wide
