"""Zarr arrays for tests, written alike by zarr 2, which Python 3.10 has, and zarr 3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import zarr


def zarr_array(path: Path, values: np.ndarray[Any, Any], chunks: tuple[int, ...]) -> Any:
    """Write values in chunks, and return the array opened."""
    array = zarr.open_array(str(path), mode="w", shape=values.shape, dtype=values.dtype, chunks=chunks)
    array[...] = values
    return array
