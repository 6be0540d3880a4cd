"""A CUDA card: array functions, compiled kernels, memory, and copies between host and card through pinned buffers.

A plain copy of pageable memory uses one thread and waits for it. Here the host's side of the copy is done by several
threads, part by part, while the card copies the part before.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

PART_BYTES = 1 << 26
"""Bytes in a pinned buffer; there are two."""
N_THREADS = 16
_SMALL = 1 << 22


class _Buffers:
    """Two pinned buffers with a stream each, and threads that fill and empty them."""

    def __init__(self, xp: Any, n_bytes: int) -> None:
        self._xp = xp
        self.host = [self._pinned(n_bytes) for _ in range(2)]
        self.streams = [xp.cuda.Stream(non_blocking=True) for _ in range(2)]
        self._n_threads = max(1, min(N_THREADS, os.cpu_count() or 1))
        self._pool = ThreadPoolExecutor(self._n_threads)

    def _pinned(self, n_bytes: int) -> NDArray[np.uint8]:
        memory = self._xp.cuda.alloc_pinned_memory(n_bytes)
        return np.frombuffer(memory, np.uint8, n_bytes)

    def copy(self, target: NDArray[np.uint8], source: NDArray[np.uint8]) -> None:
        """Copy bytes of the host on several threads."""
        size = -(-len(source) // self._n_threads)
        starts = range(0, len(source), size)
        list(self._pool.map(lambda at: np.copyto(target[at : at + size], source[at : at + size]), starts))

    def close(self) -> None:
        self._pool.shutdown()


def _empty(buffers: _Buffers, waiting: tuple[int, int, int], target: NDArray[np.uint8]) -> None:
    place, start, stop = waiting
    buffers.streams[place].synchronize()
    buffers.copy(target[start:stop], buffers.host[place][: stop - start])


def _fill(xp: Any, source: NDArray[np.uint8], target: Any) -> None:
    """Copy bytes of the host to the card through the pinned buffers, part by part."""
    buffers = _Buffers(xp, min(PART_BYTES, len(source)))
    for number, start in enumerate(range(0, len(source), PART_BYTES)):
        stop, place = min(start + PART_BYTES, len(source)), number % 2
        stream = buffers.streams[place]
        stream.synchronize()
        buffers.copy(buffers.host[place][: stop - start], source[start:stop])
        xp.cuda.runtime.memcpyAsync(
            target[start:stop].data.ptr,
            buffers.host[place].ctypes.data,
            stop - start,
            1,
            stream.ptr,  # 1: to device
        )
    for stream in buffers.streams:
        stream.synchronize()
    buffers.close()


def _flat(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)


Macros = Mapping[str, DTypeLike | int]
"""What a kernel is compiled for: the names of macros, and for each a type, a number, or None for an empty macro."""
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
        xp = self.xp
        if array.nbytes < _SMALL:
            return xp.asarray(array)
        source = np.ascontiguousarray(array)
        target = xp.empty(source.shape, dtype=source.dtype)
        # the new array may lie where work that is still queued reads or writes
        xp.cuda.get_current_stream().synchronize()
        _fill(xp, _flat(source), target.reshape(-1).view(xp.uint8))
        return target

    def to_host(self, array: Any) -> NDArray[Any]:
        """Return a copy of an array on the card in host memory; a host array is returned as it is."""
        if isinstance(array, np.ndarray):
            return array
        xp = self.xp
        if array.nbytes < _SMALL:
            copied: NDArray[Any] = array.get()
            return copied
        source = xp.ascontiguousarray(array)
        result = np.empty(source.shape, dtype=source.dtype)
        target, flat = _flat(result), source.reshape(-1).view(xp.uint8)
        xp.cuda.get_current_stream().synchronize()
        buffers = _Buffers(xp, min(PART_BYTES, len(target)))
        waiting: tuple[int, int, int] | None = None
        for number, start in enumerate(range(0, len(target), PART_BYTES)):
            stop, place = min(start + PART_BYTES, len(target)), number % 2
            part = flat[start:stop]
            stream = buffers.streams[place]
            xp.cuda.runtime.memcpyAsync(
                buffers.host[place].ctypes.data,
                part.data.ptr,
                stop - start,
                2,
                stream.ptr,  # 2: device to host
            )
            if waiting is not None:
                _empty(buffers, waiting, target)
            waiting = place, start, stop
        if waiting is not None:
            _empty(buffers, waiting, target)
        buffers.close()
        return result

    def row_blocks(self, rows: NDArray[Any], n_rows: int) -> Iterator[tuple[int, int, Any]]:
        """Yield (start, stop, block on the card) for consecutive parts of host rows, each while the next is copied.

        There are two blocks on the card, so that a block must not be used after the next but one was asked for.
        """
        xp = self.xp
        row_bytes = int(rows[:1].nbytes)
        targets = [xp.empty((n_rows, *rows.shape[1:]), dtype=rows.dtype) for _ in range(2)]
        buffers = _Buffers(xp, n_rows * row_bytes)
        done = [xp.cuda.Event() for _ in range(2)]
        work = xp.cuda.get_current_stream()
        work.synchronize()

        def send(number: int) -> tuple[int, int, int] | None:
            start = number * n_rows
            if start >= len(rows):
                return None
            stop, place = min(start + n_rows, len(rows)), number % 2
            stream = buffers.streams[place]
            stream.synchronize()
            size = (stop - start) * row_bytes
            buffers.copy(buffers.host[place][:size], _flat(np.ascontiguousarray(rows[start:stop])))
            stream.wait_event(done[place])
            xp.cuda.runtime.memcpyAsync(targets[place].data.ptr, buffers.host[place].ctypes.data, size, 1, stream.ptr)
            return start, stop, place

        coming, number = send(0), 1
        while coming is not None:
            start, stop, place = coming
            arrived = xp.cuda.Event()
            arrived.record(buffers.streams[place])
            work.wait_event(arrived)
            yield start, stop, targets[place][: stop - start]
            done[place].record(work)
            coming, number = send(number), number + 1
        work.synchronize()
        buffers.close()

    def launch(
        self,
        kernel: str,
        arguments: tuple[Any, ...],
        *,
        source: str,
        types: Macros,
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


def _macros(types: Macros) -> dict[str, str]:
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
