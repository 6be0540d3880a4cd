"""What the look-up loop passes around: sums over clusters, rules that rows are looked up in, models, partitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray, IntArray


class Sums(NamedTuple):
    """Sums over the rows of each cluster: `table` (d, width) counts base clusters, `mass` (K,) adds up the rows.

    For soft members the table adds up memberships, in units of the ensemble.
    """

    table: IntArray
    mass: IntArray


class Rule(NamedTuple):
    """What rows are looked up in: a row takes the c with the least factor * bias[c] - scale[c] * sum of table[., c]."""

    table: IntArray | FloatArray
    scale: FloatArray
    bias: FloatArray


@dataclass(frozen=True)
class Model:
    """How a method turns sums into a rule, and what it minimises.

    `rule` maps sums to the next rule; `cost` maps sums to the objective, to be minimised. `norms` (m,) is the cost of a
    row before anything is looked up, `factor` (m,) or (1,) multiplies the bias for a row, and `masses` (m,) is what a
    row adds to the mass of its cluster: integers, or floats if their sum would not fit into 64 bits.
    """

    rule: Callable[[Sums], Rule]
    cost: Callable[[Sums], float]
    norms: FloatArray
    factor: FloatArray
    masses: IntArray


class Partition(NamedTuple):
    """Where a run ended."""

    labels: NDArray[np.int32]
    sums: Sums
    cost: float
    n_iter: int
    converged: bool


def width(n_clusters: int) -> int:
    """The number of columns of a table for so many clusters, which fills whole vector registers from 12 clusters on."""
    return n_clusters if n_clusters < 12 else -(-n_clusters // 32) * 32
