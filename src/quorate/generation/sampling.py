"""The part of the measurements that each member sees: columns, projections or views, and shares of the objects."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate.generation.features import WHOLE, Features, View


@dataclass(frozen=True)
class Projection:
    """Each member sees the columns through its own Gaussian random projection to `n_dims` dimensions; 1 is allowed."""

    n_dims: int = 1

    def __post_init__(self) -> None:
        _check.integer(self.n_dims, "n_dims", low=1)


@dataclass(frozen=True)
class Views:
    """Groups of columns, named by number or by name, which the members get in turn.

    Parameters
    ----------
    groups : sequence of sequences of int or str
        Member i sees the columns of group ``i % len(groups)``.
    """

    groups: Sequence[Sequence[int | str]]

    def __post_init__(self) -> None:
        if isinstance(self.groups, str) or not len(self.groups) or any(len(group) == 0 for group in self.groups):
            raise ValueError(f"Views needs at least one group of columns, none of them empty, got {self.groups!r}.")
        object.__setattr__(self, "groups", tuple(tuple(group) for group in self.groups))


def draw_views(columns: Any, features: Features, rngs: list[np.random.Generator]) -> list[View]:
    """Draw the view of the columns that each member sees."""
    n_columns = features.n_columns
    if isinstance(columns, Views):
        groups = [View(_numbers(group, features)) for group in columns.groups]
        return [groups[place % len(groups)] for place in range(len(rngs))]
    if isinstance(columns, Projection):
        shape = n_columns, columns.n_dims
        return [View(matrix=rng.standard_normal(shape) / math.sqrt(columns.n_dims)) for rng in rngs]
    if isinstance(columns, numbers.Integral):
        size = _check.integer(columns, "columns", low=1, high=n_columns, advice="how many columns a member sees.")
    else:
        share = _check.fraction(
            columns, "columns", advice="a share, a number of columns (an integer), Projection(...) or Views(...)."
        )
        if share == 0:
            raise ValueError("columns must be above 0, got 0: the share of the columns that each member sees.")
        size = math.ceil(share * n_columns)
    if size == n_columns:
        return [WHOLE] * len(rngs)
    return [View(np.sort(rng.choice(n_columns, size, replace=False)).astype(np.intp)) for rng in rngs]


def _numbers(group: Sequence[int | str], features: Features) -> NDArray[np.intp]:
    return np.array([_number(column, features) for column in group], dtype=np.intp)


def _number(column: Any, features: Features) -> int:
    if isinstance(column, str):
        if features.names is None:
            raise ValueError(f"the view names column {column!r}, but X has no column names; give its number instead.")
        if column not in features.names:
            raise ValueError(
                f"the view names column {column!r}, which X does not have; it has {', '.join(features.names)}."
            )
        return features.names.index(column)
    return _check.integer(column, "a column of a view", low=0, high=features.n_columns - 1)


Packed = NDArray[np.uint8] | None
"""One bit per object, set if the member sees it; None means that it sees all objects."""


@dataclass(frozen=True)
class Share:
    """Each member sees a random share of the objects; ``rows=0.8`` is short for ``rows=Share(0.8)``.

    Parameters
    ----------
    share : float
        In (0, 1].
    fill : bool
        Whether the objects that a member did not see are labelled by its nearest centre instead of left missing.
    shuffle : bool
        Whether each member is given its objects in a random order of its own. Clusterers that have nothing random but
        depend on the order of the objects, such as Birch, then give members that differ. The built-in k-means and
        spectral members draw their own starts, and are not shuffled.

    Notes
    -----
    Objects that no member drew are given to the members in turn, so that every object has a label.
    """

    share: float
    fill: bool = False
    shuffle: bool = False

    def __post_init__(self) -> None:
        _check.choice(self.shuffle, "shuffle", (True, False))
        if _check.fraction(self.share, "share") == 0:
            raise ValueError("rows must be a share above 0, got 0; 1 shows every object to every member.")


@dataclass(frozen=True)
class Parts:
    """The coordinated overlapping partition: every object is in one part by construction, and in others by chance.

    Parameters
    ----------
    n_parts : int, optional
        Number of parts, by default the number of members. The number of members must be a multiple of it. With more
        members than parts the partition is drawn again for every round of members.
    repetition : float
        How many times each object occurs on average: a part contains ``repetition * n / n_parts`` objects, of
        which n / n_parts are its own and the others are drawn.
    fill : bool
        See `Share`.

    References
    ----------
    .. [1] A. Strehl and J. Ghosh, "Cluster ensembles", JMLR 3 (2002), section 5.2.
    """

    n_parts: int | None = None
    repetition: float = 2.0
    fill: bool = False

    def __post_init__(self) -> None:
        if self.n_parts is not None:
            _check.integer(self.n_parts, "n_parts", low=1)
        _check.fraction(self.repetition, "repetition", low=1.0, high=math.inf)


def as_rows(rows: Any) -> Share | Parts:
    """Return the option `rows` as a `Share` or `Parts`."""
    if isinstance(rows, Share | Parts):
        return rows
    return Share(_check.fraction(rows, "rows", advice="a share of the objects, Share(...) or Parts(...)."))


def draw_rows(rows: Share | Parts, n_objects: int, rngs: list[np.random.Generator]) -> list[Packed]:
    """Draw the objects that each member sees; together they see every object."""
    if isinstance(rows, Parts):
        return _draw_parts(rows, n_objects, rngs)
    size = math.ceil(rows.share * n_objects)
    if size == n_objects:
        return [None] * len(rngs)
    unseen = np.ones(n_objects, dtype=bool)
    drawn = []
    for rng in rngs:
        chosen = rng.choice(n_objects, size, replace=False, shuffle=False)
        unseen[chosen] = False
        drawn.append(_pack(n_objects, chosen))
    left = np.flatnonzero(unseen)
    return [_add(bits, n_objects, left[place :: len(rngs)]) for place, bits in enumerate(drawn)]


def _draw_parts(rows: Parts, n_objects: int, rngs: list[np.random.Generator]) -> list[Packed]:
    n_parts = rows.n_parts or len(rngs)
    if len(rngs) % n_parts:
        raise ValueError(
            f"n_members = {len(rngs)} must be a multiple of n_parts = {n_parts}, so that every round is complete."
        )
    if n_parts > n_objects:
        raise ValueError(
            f"n_parts = {n_parts} is more than the {_check.counted(n_objects, 'object')}; ask for fewer parts."
        )
    size = min(n_objects, math.ceil(rows.repetition * n_objects / n_parts))
    drawn: list[Packed] = []
    for first in range(0, len(rngs), n_parts):
        order = rngs[first].permutation(n_objects)
        edges = [n_objects * part // n_parts for part in range(n_parts + 1)]
        for part, rng in enumerate(rngs[first : first + n_parts]):
            own, others = order[edges[part] : edges[part + 1]], np.delete(order, np.s_[edges[part] : edges[part + 1]])
            extra = rng.choice(others, max(0, size - len(own)), replace=False, shuffle=False)
            drawn.append(_pack(n_objects, np.concatenate([own, extra])))
    return drawn


def _pack(n_objects: int, chosen: NDArray[np.intp]) -> NDArray[np.uint8]:
    seen = np.zeros(n_objects, dtype=bool)
    seen[chosen] = True
    return np.packbits(seen)


def _add(bits: NDArray[np.uint8], n_objects: int, extra: NDArray[np.intp]) -> NDArray[np.uint8]:
    return _pack(n_objects, np.concatenate([unpack(bits, n_objects), extra])) if len(extra) else bits


def unpack(bits: NDArray[np.uint8], n_objects: int) -> NDArray[np.intp]:
    """Return the numbers of the objects seen, in increasing order."""
    return np.flatnonzero(np.unpackbits(bits, count=n_objects))
