"""Reading the option that names several numbers of clusters."""

from __future__ import annotations

import numbers
from typing import Any

from quorate import _check


def numbers_asked(wanted: Any) -> tuple[int, ...]:
    """Return the numbers that an integer, a range, (lowest, highest) or a longer list stands for, in rising order."""
    if isinstance(wanted, numbers.Integral):
        wanted = [wanted]
    elif isinstance(wanted, list | tuple) and len(wanted) == 2:
        low = _check.integer(wanted[0], "the lowest n_clusters", low=2)
        wanted = range(low, _check.integer(wanted[1], "the highest n_clusters", low=low) + 1)
    if not isinstance(wanted, list | tuple | range) or not len(wanted):
        raise TypeError(
            f"n_clusters must be a number, a range, (lowest, highest) or a list of numbers, got {wanted!r}."
        )
    return tuple(sorted({_check.integer(k, "n_clusters", low=2, advice="one cluster has no rival.") for k in wanted}))
