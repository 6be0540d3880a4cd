"""The pass over a source: blocks are read and compressed in threads, and their rows join one table in order."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np

from quorate._blocks.budget import Budget
from quorate._blocks.coding import CodedBlock, code_block
from quorate._blocks.ids import IdLedger
from quorate._blocks.row_table import RowTable
from quorate._blocks.source import Part, Source
from quorate._blocks.store import BlockFacts, Store
from quorate.ops.threads import n_threads

logger = logging.getLogger("quorate")
MOST_WORKERS = 4
"""Blocks that are read and coded at once, at most; two more may wait for their turn."""
T = TypeVar("T")
S = TypeVar("S")


class Collected(NamedTuple):
    """The distinct rows of all blocks, and how many objects there are."""

    table: RowTable
    n_objects: int


class _Read(NamedTuple):
    part: Part
    block: CodedBlock
    ids: Any


def collect(source: Source, budget: Budget, store: Store) -> Collected:
    """Read all blocks, add their rows to one table, and store the row of each object and its id.

    Ids that are repeated are refused at the end. The table is refused as soon as it leaves its share of the budget.
    """
    table, n_objects = RowTable(len(source.names)), 0
    ledger = None if source.id_name is None else IdLedger(store.ids, store.name_of)
    # not by the number of threads: the blocks of the result should not depend on the machine
    most_rows = budget.block_rows(source.row_bytes, MOST_WORKERS + 2)
    n_workers = min(n_threads(), MOST_WORKERS)
    with ordered(lambda part: _coded(part, source.names), source.parts(most_rows), n_workers) as results:
        for part, block, ids in results:
            needed = table.nbytes_with(len(block.labels))
            budget.refuse_rows(needed, table.n_rows + len(block.labels), n_objects)
            numbers = table.add(block).astype(np.uint32)[block.inverse]
            store.put(BlockFacts(part.name, part.file, len(numbers)), numbers, ids)
            if ledger is not None:
                ledger.add(ids)
            n_objects += len(numbers)
            _tell(n_objects, table.n_rows, source.n_rows)
    if ledger is not None:
        ledger.refuse_repeated()
    return Collected(table, n_objects)


def _coded(part: Part, names: tuple[str, ...]) -> _Read:
    columns, ids = part.read()
    return _Read(part, code_block(columns, names), ids)


def _tell(n_objects: int, n_rows: int, n_all: int | None) -> None:
    share = {} if not n_all else {"share": n_objects / n_all}
    logger.info("read %s objects, %s distinct rows", f"{n_objects:,}", f"{n_rows:,}", extra=share)


@contextmanager
def ordered(function: Callable[[S], T], items: Iterator[S], n_workers: int) -> Iterator[Iterator[T]]:
    """Map a function over items in threads; results come in the order of the items, a few of them ahead.

    Items are taken in a thread of their own, because taking the next part of a text file means to read it. An error
    in the function or in the items is raised where the result was due, and nothing further is started.
    """
    results: queue.Queue[Future[T] | BaseException | None] = queue.Queue(n_workers)
    stopped = threading.Event()
    with ThreadPoolExecutor(n_workers) as pool:

        def take() -> None:
            try:
                for item in items:
                    if stopped.is_set():
                        return
                    results.put(pool.submit(function, item))
                results.put(None)
            except BaseException as error:  # handed to the thread that waits for results
                results.put(error)

        taker = threading.Thread(target=take, daemon=True)
        taker.start()
        try:
            yield _results(results)
        finally:
            stopped.set()
            while taker.is_alive():
                with suppress(queue.Empty):
                    results.get(timeout=0.05)
            pool.shutdown(wait=True, cancel_futures=True)


def _results(results: queue.Queue[Future[T] | BaseException | None]) -> Iterator[T]:
    while (result := results.get()) is not None:
        if isinstance(result, BaseException):
            raise result
        yield result.result()
