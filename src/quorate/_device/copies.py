"""Copies between host and card, through pinned buffers so that the copy overlaps with other work.

A plain copy of pageable memory uses one thread and waits for it. Here the host's side of the copy is done by several
threads, part by part, while the card copies the part before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def to_card(xp: Any, array: NDArray[Any]) -> Any:
    """Return a copy of a host array on the card."""
    if array.nbytes < _SMALL:
        return xp.asarray(array)
    source = np.ascontiguousarray(array)
    target = xp.empty(source.shape, dtype=source.dtype)
    # the new array may lie where work that is still queued reads or writes
    xp.cuda.get_current_stream().synchronize()
    _fill(xp, _flat(source), target.reshape(-1).view(xp.uint8))
    return target


def to_host(xp: Any, array: Any) -> NDArray[Any]:
    """Return a copy of a card's array in host memory."""
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


def _empty(buffers: _Buffers, waiting: tuple[int, int, int], target: NDArray[np.uint8]) -> None:
    place, start, stop = waiting
    buffers.streams[place].synchronize()
    buffers.copy(target[start:stop], buffers.host[place][: stop - start])


def row_blocks(xp: Any, rows: NDArray[Any], n_rows: int) -> Iterator[tuple[int, int, Any]]:
    """Yield (start, stop, block on the card) for consecutive parts of host rows, each while the next is copied.

    There are two blocks on the card, so that a block must not be used after the next but one was asked for.
    """
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
