"""The columns that each member sees: random subsets, random projections, or views given by the user."""

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
