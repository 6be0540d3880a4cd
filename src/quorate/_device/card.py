"""A CUDA card: array functions, compiled kernels, and its memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._device import copies

C_TYPES = {
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}
"""The name in CUDA C++ of each type that kernels can read."""

PLAIN_SHARED = 48 * 1024
"""Bytes of shared memory that every block may use; a kernel has to ask for more."""
MOST_SHARED = 96 * 1024
"""Bytes of shared memory that blocks are given at most, so that two blocks fit into a multiprocessor."""
MOST_BLOCKS = 132 * 64
"""The number of blocks of a kernel that loops over its rows."""


class Card:
    """A CUDA card as CuPy sees it.

    Parameters
    ----------
    xp : module
        The namespace of array functions: CuPy, or NumPy in the tests.
    """

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    @property
    def name(self) -> str:
        """The name of the card, for messages."""
        return str(self.xp.cuda.runtime.getDeviceProperties(self.xp.cuda.Device().id)["name"].decode())

    def free_bytes(self) -> int:
        """Return how many bytes can still be allocated: free ones, and those that CuPy's pool holds unused."""
        pool = self.xp.get_default_memory_pool()
        return int(self.xp.cuda.Device().mem_info[0]) + int(pool.free_bytes())

    def release(self) -> None:
        """Return memory that CuPy's pool holds unused to the card, for other libraries in this process."""
        self.xp.get_default_memory_pool().free_all_blocks()

    def synchronise(self) -> None:
        """Wait until the card has done all work it was given."""
        self.xp.cuda.Device().synchronize()

    def to_card(self, array: NDArray[Any]) -> Any:
        """Return a copy of a host array on the card."""
        return copies.to_card(self.xp, array)

    def to_host(self, array: Any) -> NDArray[Any]:
        """Return a copy of an array on the card in host memory; a host array is returned as it is."""
        return array if isinstance(array, np.ndarray) else copies.to_host(self.xp, array)

    def row_blocks(self, rows: NDArray[Any], n_rows: int) -> Iterator[tuple[int, int, Any]]:
        """Yield (start, stop, block on the card) for parts of n_rows host rows; see `copies.row_blocks`."""
        return copies.row_blocks(self.xp, rows, n_rows)

    def launch(
        self,
        kernel: str,
        arguments: tuple[Any, ...],
        *,
        source: str,
        types: Mapping[str, Any],
        n: int,
        block: int = 256,
        grid: tuple[int, ...] | None = None,
        shared: int = 0,
    ) -> None:
        """Run a kernel of the file cuda/<source>.cu.

        Parameters
        ----------
        kernel : str
            The name of the kernel.
        arguments : tuple
            Arrays on the card; whole numbers, which are passed as 64 bits; floats; or None for a null pointer.
        source : str
            The name of the file, without its ending.
        types : mapping
            What each macro of the file stands for: a type of arrays or a number. None only defines the macro.
        n : int
            Number of rows; nothing is run for 0.
        block : int
            Number of threads in a block.
        grid : tuple of int, optional
            Number of blocks; by default one thread per row, but at most MOST_BLOCKS blocks.
        shared : int
            Bytes of shared memory for each block.
        """
        if n == 0:
            return
        function = _compiled(self.xp, source, tuple(sorted(_macros(types).items())), kernel)
        if shared > PLAIN_SHARED:
            function.max_dynamic_shared_size_bytes = shared
        blocks = grid or (max(1, min(MOST_BLOCKS, -(-n // block))),)
        function(blocks, (block,), tuple(map(_argument, arguments)), shared_mem=shared)


def rows_per_tile(n_centres: int, row_bytes: int) -> int:
    """Return how many centres of row_bytes bytes are kept in shared memory at a time."""
    return max(1, min(n_centres, MOST_SHARED // row_bytes))


def padded(width: int, multiple: int) -> int:
    """Return the next multiple of `multiple`."""
    return math.ceil(width / multiple) * multiple


def _macros(types: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: "" if value is None else str(value) if isinstance(value, int) else C_TYPES[np.dtype(value).name]
        for name, value in types.items()
    }


@cache
def _compiled(xp: Any, source: str, macros: tuple[tuple[str, str], ...], kernel: str) -> Any:
    return _module(xp, source, macros).get_function(kernel)


@cache
def _module(xp: Any, source: str, macros: tuple[tuple[str, str], ...]) -> Any:
    text = resources.files("quorate._device").joinpath("cuda", f"{source}.cu").read_text(encoding="utf-8")
    lines = "".join(f"#define {name} {value}\n" for name, value in macros)
    # without fused operations, unless a kernel asks for one: the processor's kernels have none either
    return xp.RawModule(code=lines + text, options=("--std=c++17", "--fmad=false"))


def _argument(value: Any) -> Any:
    if value is None:
        return np.intp(0)
    if isinstance(value, int | np.integer):
        return np.int64(value)
    return np.float64(value) if isinstance(value, float) else value
