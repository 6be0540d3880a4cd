"""How often a procedure is repeated to compare it with chance, and how long that may take."""

from __future__ import annotations

from typing import Any

from quorate import _check
from quorate._consensus.auto import AUTO

AFFORDABLE_SECONDS = 5.0
"""Seconds above which the shell and a report leave the comparison with chance out if nobody asked for it."""


def checked_permutations(null: Any) -> int | None:
    """Return the number of permutations asked for, 0 for "as many as are needed", or None for no test."""
    if null is None or null is False:
        return None
    if null is True or (isinstance(null, str) and null == AUTO):
        return 0
    return _check.integer(null, "null", low=1, high=100_000)
