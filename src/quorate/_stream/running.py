"""What all work on blocks has in common: the pass over a source, the job, and labels in the same blocks."""

from __future__ import annotations

import logging
import queue
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate._data.blocks import CodedBlock, RowTable, Settled, code_block, merged_rows, settle
from quorate._data.ids import IdLedger
from quorate._data.proof import vary
from quorate._io.paths import FilePath
from quorate._io.source import Budget, Part, Source, refuse_changed
from quorate._stream.labels_out import SKIPPED, RowLabels, output_of, refuse_out, write_labels
from quorate._stream.store import BlockFacts, FolderStore, MemoryStore, Store, Workspace, restore_old
from quorate._summaries import ResultTable
from quorate._types import Reading
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
    most = budget.block(source.row_bytes, MOST_WORKERS + 2)
    n_workers = min(n_threads(), MOST_WORKERS)
    with ordered(lambda part: _coded(part, source.names), source.parts(most), n_workers) as results:
        for part, block, ids in results:
            needed = table.nbytes_with(len(block.labels))
            budget.refuse_rows(needed, table.n_rows + len(block.labels), n_objects)
            numbers = table.add(block).astype(np.uint32)[block.inverse]
            budget.refuse_labels(table.text_bytes, n_objects + len(numbers))
            store.put(BlockFacts(part.name, part.file, len(numbers)), numbers, ids)
            if ledger is not None:
                ledger.add(ids)
            n_objects += len(numbers)
            _tell(n_objects, table.n_rows, source.n_rows)
    refuse_changed(source.fingerprint)
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


Solve = Callable[[Settled, Workspace | None], tuple[Any, RowLabels]]
"""Returns a result, such as a Consensus, and the labels to write for the distinct rows."""


class Job(NamedTuple):
    """A source, how to read it, the memory to do so, and what the output depends on beside these."""

    source: Source
    how: Reading
    budget: Budget
    settings: dict[str, Any]


class Done(NamedTuple):
    """Distinct rows, their labels, and where the rows of the objects are kept."""

    settled: Settled
    result: Any
    store: Store


def read_source(source: Source, budget: Budget, store: Store, how: Reading) -> Settled:
    """Make the pass over a source, and return its distinct rows."""
    table, _ = collect(source, budget, store)
    settled = settle(merged_rows(table), source.names, source.kinds, how, source.title)
    if source.info is None:
        return settled
    told = vary(settled.ensemble, info={**settled.ensemble.info, **source.info()})
    told.remember(is_distinct=settled.ensemble.noise is None)
    return settled._replace(ensemble=told)


@contextmanager
def labelled_source(job: Job, solve: Solve, out: FilePath | None, *, overwrite: bool) -> Iterator[Done]:
    """Read a source, label its distinct rows and, if `out` is given, write the labels of all objects.

    With an output, each step is kept in a workspace beside it. After an early end the same call does only what is
    left. The workspace is removed when the context is left without an error, and after an error of the input, which
    the same call would meet again.
    """
    if out is None:
        kept = MemoryStore(job.budget.for_ids)
        settled = read_source(job.source, job.budget, kept, job.how)
        yield Done(settled, solve(settled, None)[0], kept)
        return
    output = output_of(out)
    restore_old(output.path)
    refuse_out(out, overwrite, job.source.paths)
    work, done = Workspace(output.path, _plan(job)), False
    try:
        store, settled = _finished(job, work)
        result, rows = solve(settled, work)
        write_labels(store, rows, output, work.aside, job.source.file_name, work.checks)
        yield Done(settled, result, store)
        done = True
    except (ValueError, TypeError):
        done = True
        raise
    finally:
        work.close(remove=done)


def _finished(job: Job, work: Workspace) -> tuple[FolderStore, Settled]:
    """Return the rows of all objects and the distinct rows: those of an earlier run, or from the source."""
    if job.source.fingerprint is None:
        # it is not known whether an iterator yields the same blocks again
        work.clear()
    finished = work.finished()
    if finished is not None:
        return finished
    store = FolderStore(work.folder, checks=work.checks)
    settled = read_source(job.source, job.budget, store, job.how)
    work.save_finished(store, settled)
    return store, settled


def _plan(job: Job) -> dict[str, Any]:
    """Return everything that the output depends on, as plain values."""
    return {
        "source": job.source.fingerprint,
        "columns": [*job.source.names, job.source.id_name],
        "reading": repr(job.how),
        "memory": job.budget.n_bytes,
        **job.settings,
    }


def row_labels(result: ResultTable, row_of: NDArray[np.int64], id_name: str | None, name: str = "label") -> RowLabels:
    """Return the label and confidence of each row that blocks were compressed to; row -1 is left out."""
    labels = np.append(result.labels, np.int32(SKIPPED))[row_of]
    confidence = None if result.confidence is None else np.append(result.confidence, np.nan)[row_of]
    return RowLabels(labels, confidence, id_name, (name,))


def rows_at(store: Store, row_of: NDArray[np.int64], places: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return the rows of some objects in increasing order of their numbers, or of all objects if places is None.

    Objects that are left out have no number.
    """
    wanted = None if places is None else np.sort(places)
    found, start = [], 0
    for block in range(len(store.facts)):
        rows = row_of[store.numbers(block)]
        rows = rows[rows >= 0]
        if wanted is None:
            found.append(rows)
        else:
            low, high = np.searchsorted(wanted, [start, start + len(rows)])
            found.append(rows[wanted[low:high] - start])
        start += len(rows)
    return np.concatenate(found)


@contextmanager
def temporary_store() -> Iterator[FolderStore]:
    """Keep the rows of objects in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="quorate-") as folder:
        yield FolderStore(Path(folder))
