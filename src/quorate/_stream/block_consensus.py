"""consensus and compress of a table in blocks: one pass over the source, one solution, labels in the same blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._choose_k.choose_k import Numbers
from quorate._consensus.consensus import solve_objects
from quorate._data.blocks import Settled
from quorate._data.coding import DEFAULT
from quorate._data.outside import SKIP_EMPTY
from quorate._data.rows import expand
from quorate._io.opening import Columns, by_columns, open_source
from quorate._io.paths import FilePath
from quorate._io.source import Budget, as_budget, peak_bytes
from quorate._solve.procedure import drawn_places, procedure_of
from quorate._solve.run_method import DEFAULT_METHOD
from quorate._stream.labels_out import LabelledBlock, RowLabels, labelled
from quorate._stream.running import Done, Job, labelled_source, read_source, row_labels, rows_at
from quorate._stream.store import MemoryStore, Store, Workspace, all_ids, all_numbers
from quorate._types import MAX_BYTES, Consensus, Ensemble, Reading, Solving


@dataclass(frozen=True, eq=False, repr=False)
class BlockConsensus:
    """A consensus of a table in blocks, with one label for each distinct row.

    Attributes
    ----------
    ensemble : Ensemble
        The distinct rows of the table, in order of first appearance, with counts.
    solution : Consensus
        The consensus of these rows. ``solution.info["memory"]`` gives the budget, the memory of the distinct rows and
        the peak of the whole process, in bytes.
    n_objects, n_blocks : int
        How many objects were labelled, and in how many blocks they were read.
    n_skipped : int
        How many objects were left out because no member labels them.
    output : Path or None
        The file or folder that the labels were written to.
    sample : int64 array
        The rows of at most 2,000 objects, which `evaluate` repeats the consensus on.
    """

    ensemble: Ensemble
    solution: Consensus
    n_objects: int
    n_blocks: int
    n_skipped: int
    output: Path | None
    sample: NDArray[np.int64]
    _store: Store | None
    _row_of: NDArray[np.int64]
    _id_name: str | None

    @property
    def n_clusters(self) -> int:
        return self.solution.n_clusters

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of objects in each cluster."""
        inside = self.solution.labels >= 0
        labels, counts = self.solution.labels[inside], self.ensemble.counts[inside]
        return np.bincount(labels, weights=counts, minlength=self.n_clusters).astype(np.int64)

    def blocks(self) -> Iterator[LabelledBlock]:
        """Yield ids, labels and confidence of the objects of each block, in the order of the source."""
        return labelled(self._kept(), row_labels(self.solution, self._row_of, self._id_name))

    def in_memory(self) -> Consensus:
        """Return the consensus of all objects, as `quorate.consensus` returns it for the same table in memory."""
        store = self._kept()
        rows, ids = self._row_of[all_numbers(store)], all_ids(store)
        if self.n_skipped:
            kept = rows >= 0
            rows, ids = rows[kept], None if ids is None else ids[kept]
        whole = expand(self.solution, rows.astype(np.intp), ids)
        return whole if self._id_name is None else replace(whole, id_name=self._id_name)

    def _kept(self) -> Store:
        if self._store is None:
            raise ValueError(
                f"the labels of the objects were written to {self.output} and are not kept; read them there."
            )
        return self._store

    def __repr__(self) -> str:
        return (
            f"BlockConsensus({self.n_objects:,} objects in {self.n_blocks:,} blocks, {self.ensemble.n_rows:,} distinct "
            f"rows, {self.n_clusters:,} clusters by {self.solution.method})"
        )


def compress(
    source: Any,
    *,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: Any = DEFAULT,
    weights: Any = None,
    sep: str | None = None,
    encoding: str | None = None,
    noise: Any = None,
    skip_empty: bool | str = False,
    check: bool = True,
    memory: Any = None,
) -> Ensemble:
    """Reduce a table in blocks to its distinct rows with counts, in order of first appearance.

    Parameters
    ----------
    source, ids, columns, drop, missing, weights, sep, encoding, noise, skip_empty, check, memory
        As for `consensus`.

    Returns
    -------
    Ensemble
        The same as ``quorate.compress(quorate.load_labels(...))[0]``. Every function of the library takes it.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = [np.array([[0, 1], [1, 1]]), np.array([[1, 1], [0, 1], [1, 0]])]
    >>> rows = compress(blocks)
    >>> rows.labels.tolist(), rows.counts.tolist()
    ([[0, 0], [1, 0], [1, 1]], [2, 2, 1])
    """
    opened = open_source(source, by_columns(Columns(ids, columns, tuple(drop))), sep, ids=ids, encoding=encoding)
    _check.choice(skip_empty, "skip_empty", SKIP_EMPTY)
    declared = columns is not None
    reading = Reading(missing, weights, skip_empty, check, declared=declared, encoding=encoding, noise=noise)
    budget = as_budget(memory)
    return read_source(opened, budget, MemoryStore(budget.for_ids), reading).ensemble


def consensus(
    source: Any,
    n_clusters: Numbers = None,
    *,
    out: FilePath | None = None,
    method: str = DEFAULT_METHOD,
    coarsen: Any = None,
    random_state: int | None = None,
    max_bytes: int | None = None,
    refine: bool = False,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: Any = DEFAULT,
    weights: Any = None,
    sep: str | None = None,
    encoding: str | None = None,
    noise: Any = None,
    skip_empty: bool | str = False,
    check: bool = True,
    memory: Any = None,
    overwrite: bool = False,
    **options: Any,
) -> BlockConsensus:
    """Find the consensus of a table that is larger than memory, and write its labels in the same blocks.

    The source is read once. Each block is coded and compressed to its distinct rows, and these join one table. When all
    blocks are read, the values are given their meaning, the method runs once on the distinct rows, and the labels go
    out block by block. The result is that of `quorate.consensus` on the whole table, bit for bit.

    Parameters
    ----------
    source : path, list of paths, pyarrow Dataset, Zarr array or group, memory map, or iterable of blocks
        A path may be a folder of Parquet files, a pattern such as ``"labels/*.parquet"``, or a .parquet, .npy, .zarr,
        .csv, .tsv or .txt file. Blocks are arrays, data frames or Arrow tables. Columns are matched by name, in any
        order.
    n_clusters, method, coarsen, refine, **options
        As for `quorate.consensus`.
    out : path, optional
        Where to write the labels: a folder, which gets one Parquet file for each file of the source, under the same
        name; or a .parquet, .npy, .zarr or .csv file. It is written aside and renamed. If the call ends early, by an
        error, a signal or a power cut, the same call continues where it was. It may be none of the files that are
        read. Without `out` the result keeps 4 bytes per object in memory, and the ids.
    random_state : int, optional
        The seed. With `out` and no seed, a call that continues uses the seed of the first one.
    max_bytes : int, optional
        As for `quorate.consensus`; by default the smaller one of its default and the budget.
    ids, columns, drop, missing, weights, sep, encoding, noise, skip_empty, check
        How to read the table, as for `quorate.load_labels`. No two objects may have the same id, in any blocks.
    memory : int or str, optional
        How much memory to use, such as "2GB", beside the program itself; half of the machine's memory, but at most
        8 GB, by default. It decides how large blocks are. If the distinct rows need more than half of it, the call ends
        with a MemoryError that says what to do.
    overwrite : bool, default False
        Whether `out` may be replaced. A folder is replaced only if all that it holds are labels that this function
        wrote there; versions before 0.3 have not marked them, so remove their folders, or name another one.

    Returns
    -------
    BlockConsensus
        The distinct rows, their consensus, and the labels of the objects block by block.

    See Also
    --------
    quorate.consensus : The same for a table in memory.
    quorate.dask.consensus : The same on a cluster.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = [np.array([[0, 1], [0, 1], [1, 0]]), np.array([[1, 0], [0, 1]])]
    >>> result = consensus(blocks, 2, random_state=0)
    >>> result
    BlockConsensus(5 objects in 2 blocks, 2 distinct rows, 2 clusters by lwgp)
    >>> [block.labels.tolist() for block in result.blocks()]
    [[0, 0, 1], [1, 0]]
    """
    budget = as_budget(memory)
    max_bytes = min(MAX_BYTES, budget.n_bytes) if max_bytes is None else max_bytes
    solving = Solving(method, coarsen=coarsen, max_bytes=max_bytes, refine=refine).with_options(options)
    seed = None if random_state is None else _check.integer(random_state, "random_state", low=0)
    opened = open_source(source, by_columns(Columns(ids, columns, tuple(drop))), sep, ids=ids, encoding=encoding)
    _check.choice(skip_empty, "skip_empty", SKIP_EMPTY)
    declared = columns is not None
    reading = Reading(missing, weights, skip_empty, check, declared=declared, encoding=encoding, noise=noise)
    plan = {"consensus": repr([n_clusters, solving]), "random_state": seed, "seed": _check.known_seed(seed)}
    return solve_job(Job(opened, reading, budget, plan), n_clusters, solving, out, overwrite=overwrite)


def solve_job(
    job: Job,
    n_clusters: Numbers,
    solving: Solving,
    out: FilePath | None,
    *,
    overwrite: bool,
    method_for: Callable[[Ensemble], str] | None = None,
) -> BlockConsensus:
    """Read a source, find the consensus of its distinct rows and, if `out` is given, write the labels of all objects.

    The seed is that of the job, or of the run that is continued. `method_for` may choose the method when the distinct
    rows are known.
    """

    def solve(settled: Settled, work: Workspace | None) -> tuple[Consensus, RowLabels]:
        result = None if work is None else work.solution()
        if result is None:
            seed = (job.settings if work is None else work.plan)["seed"]
            method = solving.method if method_for is None else method_for(settled.ensemble)
            seeded = replace(solving, method=method, random_state=seed)
            result = solve_objects(settled.ensemble, n_clusters, seeded).objects
            if work is not None:
                work.save_solution(result)
        return result, row_labels(result, settled.row_of, job.source.id_name)

    with labelled_source(job, solve, out, overwrite=overwrite) as done:
        return _block_consensus(done, job, None if out is None else Path(os.path.abspath(out)))


def _block_consensus(done: Done, job: Job, out: Path | None) -> BlockConsensus:
    """Return the result of a job, with what is known about its memory."""
    (rows, row_of, n_skipped), result, store = done
    memory = {**_memory(rows, job.budget), "peak": peak_bytes()}
    solution: Consensus = replace(result, info={**result.info, "memory": memory})
    seed = procedure_of(solution, solution.n_clusters).seed
    places = drawn_places(rows.n_objects, rows.n_members, solution.n_clusters, seed)
    return BlockConsensus(
        ensemble=rows,
        solution=solution,
        n_objects=rows.n_objects,
        n_blocks=len(store.facts),
        n_skipped=n_skipped,
        output=out,
        sample=rows_at(store, row_of, places),
        _store=store if out is None else None,
        _row_of=row_of,
        _id_name=job.source.id_name,
    )


def _memory(rows: Ensemble, budget: Budget) -> dict[str, Any]:
    return {"budget": budget.n_bytes, "distinct_rows": rows.labels.nbytes + rows.counts.nbytes}
