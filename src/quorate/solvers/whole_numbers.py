"""Real numbers kept as integers of a fixed unit: their sums do not depend on any order, so ties stay ties."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate._types import FloatArray

TABLE_UNIT = 2.0**36
"""Tables of logarithms, shares and gains that rows are looked up in are kept as integers in units of 2^-36."""


def whole(values: FloatArray) -> NDArray[np.int64]:
    """The values as integers in units of 2^-36."""
    return np.rint(values * TABLE_UNIT).astype(np.int64)
