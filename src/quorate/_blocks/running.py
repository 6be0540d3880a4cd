"""What all work on tables in blocks has in common: read the source, label its distinct rows, write labels in blocks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._blocks.budget import Budget
from quorate._blocks.collecting import collect
from quorate._blocks.labels_out import SKIPPED, RowLabels, refuse_out, write_labels
from quorate._blocks.settling import Reading, Settled, merged_rows, settle
from quorate._blocks.source import Source
from quorate._blocks.store import FolderStore, MemoryStore, Store
from quorate._blocks.workspace import Workspace
from quorate._data.proof import vary
from quorate._io.paths import FilePath
from quorate._result_table import ResultTable

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
    told = vary(settled.ensemble, info=source.info())
    told.remember(is_distinct=True)
    return settled._replace(ensemble=told)


@contextmanager
def labelled_source(job: Job, solve: Solve, out: FilePath | None, *, overwrite: bool) -> Iterator[Done]:
    """Read a source, label its distinct rows and, if `out` is given, write the labels of all objects.

    With an output, each step is kept in a workspace beside it. After an early end the same call does only what is
    left. The workspace is removed when the context is left without an error, and after an error of the input, which
    the same call would meet again.
    """
    if out is None:
        kept = MemoryStore()
        settled = read_source(job.source, job.budget, kept, job.how)
        yield Done(settled, solve(settled, None)[0], kept)
        return
    target = Path(os.path.abspath(out))
    refuse_out(target, overwrite)
    work, done = Workspace(target, _plan(job)), False
    try:
        store, settled = _finished(job, work)
        result, rows = solve(settled, work)
        write_labels(store, rows, target, work.aside, job.source.file_name)
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
    store = FolderStore(work.folder)
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
