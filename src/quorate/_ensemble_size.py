"""The size of an ensemble, from which a method states the memory that it needs."""

from __future__ import annotations

from typing import NamedTuple


class Size(NamedTuple):
    """How large an ensemble is: its rows, its members, the clusters of all members and of the largest one.

    `wanted` is the number of clusters asked for.
    """

    rows: int
    members: int
    clusters: int
    largest: int
    wanted: int


def no_tables(_: Size) -> int:
    """What a method needs that has no tables between clusters; a method of the register states its own."""
    return 0
