"""generate and cluster for measurements that are larger than memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._choose_k.choose_k import Numbers
from quorate._data.blocks import Settled
from quorate._data.coding import narrowest
from quorate._data.proof import vary
from quorate._io.feature_array import BlockArray, feature_array
from quorate._io.load import choose_measurements
from quorate._io.opening import open_source
from quorate._io.paths import FilePath
from quorate._io.source import Source, as_budget
from quorate._io.text import Choice
from quorate._solve.run_method import DEFAULT_METHOD
from quorate._stream.block_consensus import BlockConsensus, solve_job
from quorate._stream.labels_out import SKIPPED, RowLabels
from quorate._stream.running import Job, labelled_source, read_source
from quorate._stream.store import MemoryStore, Store, Workspace, all_ids, all_numbers
from quorate._types import MAX_BYTES, Ensemble, Reading, Solving
from quorate.generation.block_members import LabelSource, TrainedMembers
from quorate.generation.plans import Request, entropy_of
from quorate.generation.trial import method_towards

SAMPLE = 20_000
"""The number of objects that the number of clusters is chosen on, if it is not given."""
_NUMBER = 2**32 - 5
"""The key of the random numbers that draw this sample; members have the keys from 0 on."""


@dataclass(frozen=True, eq=False, repr=False)
class BlockEnsemble:
    """Many clusterings of measurements in blocks.

    Attributes
    ----------
    ensemble : Ensemble
        The distinct rows of labels, with counts; its `info` says how the members were made.
    n_objects, n_blocks : int
        How many objects there are, and in how many blocks they were read.
    output : Path or None
        The file or folder that the labels were written to.
    """

    ensemble: Ensemble
    n_objects: int
    n_blocks: int
    output: Path | None
    _store: Store | None
    _row_of: NDArray[np.int64]

    def in_memory(self) -> Ensemble:
        """Return the labels of all objects, as `quorate.generate` returns them for the same measurements in memory."""
        if self._store is None:
            raise ValueError(f"the labels were written to {self.output} and are not kept; read them there.")
        rows = self._row_of[all_numbers(self._store)]
        ids = all_ids(self._store)
        counts = np.ones(len(rows), dtype=np.int64)
        return vary(self.ensemble, labels=self.ensemble.labels[rows], counts=counts, object_ids=ids)

    def __repr__(self) -> str:
        return (
            f"BlockEnsemble({self.n_objects:,} objects in {self.n_blocks:,} blocks, {self.ensemble.n_rows:,} distinct "
            f"rows, {self.ensemble.n_members} members)"
        )


def generate(
    source: Any,
    n_members: int = 20,
    *,
    out: FilePath | None = None,
    k: Any = None,
    base: Any = "auto",
    columns: Any = 1.0,
    random_state: int | None = None,
    ids: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    sep: str | None = None,
    encoding: str | None = None,
    memory: Any = None,
    overwrite: bool = False,
) -> BlockEnsemble:
    """Make many clusterings of measurements that are larger than memory, as `quorate.generate` does for an array.

    One pass finds the mean and the range of each column, one or two passes read the samples that all members are
    trained on, and one pass labels all objects.

    Parameters
    ----------
    source : as for `quorate.stream.consensus`
        Numbers, one row per object. A source that can only be read from front to back, such as a text table or an
        iterator, is first copied to a temporary file.
    n_members, k, base, columns, random_state
        As for `quorate.generate`; the base must be "kmeans", "spectral" or "auto", or settings of these.
    out : path, optional
        Where to write the labels of all members, as for `quorate.stream.consensus`.
    ids, features, drop, sep, encoding
        The column of ids, the columns of measurements (all others by default), columns to leave out, what separates
        the columns of a text table, and how it is encoded.
    memory, overwrite
        As for `quorate.stream.consensus`.

    Returns
    -------
    BlockEnsemble

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> blocks = [rng.normal(mean, 1, size=(100, 2)) for mean in (0, 6, 12)]
    >>> generate(blocks, 5, k=(3, 8), base="kmeans", random_state=0).in_memory()
    Ensemble(300 objects, 5 members, 3 to 5 clusters)
    """
    request = Request(n_members, k, base, 1.0, columns)
    job = _job(source, request, random_state, MeasuredTable(ids, features, drop, sep, encoding), memory)

    def solve(settled: Settled, work: Workspace | None) -> tuple[None, RowLabels]:
        return None, _member_labels(settled, job.source.id_name)

    with labelled_source(job, solve, out, overwrite=overwrite) as (settled, _, store):
        return BlockEnsemble(
            settled.ensemble,
            settled.ensemble.n_objects,
            len(store.facts),
            None if out is None else Path(os.path.abspath(out)),
            store if out is None else None,
            settled.row_of,
        )


def cluster(
    source: Any,
    n_clusters: Numbers = 2,
    *,
    out: FilePath | None = None,
    n_members: int = 20,
    k: Any = None,
    base: Any = "auto",
    columns: Any = 1.0,
    method: str = DEFAULT_METHOD,
    random_state: int | None = None,
    ids: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    sep: str | None = None,
    encoding: str | None = None,
    memory: Any = None,
    overwrite: bool = False,
    **options: Any,
) -> BlockConsensus:
    """Cluster measurements that are larger than memory many times, and find the consensus of these clusterings.

    It is `generate` followed by `quorate.stream.consensus`, without writing the clusterings, and gives the labels of
    the command `quorate cluster` on the same measurements in memory.

    Parameters
    ----------
    source, n_members, k, base, columns, ids, features, drop, sep, encoding
        As for `generate`; by default the numbers of clusters of the members are derived from n_clusters.
    n_clusters, method, **options
        As for `quorate.consensus`. Without a number it is chosen from the labels of the members alone; the command
        `quorate cluster` and `EnsembleClustering` choose it from the measurements of a sample of the objects.
    out, memory, overwrite
        As for `quorate.stream.consensus`.
    random_state : int, optional
        The seed of the clusterings and of the consensus.

    Returns
    -------
    BlockConsensus

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> blocks = [rng.normal(mean, 1, size=(100, 2)) for mean in (0, 6, 12)]
    >>> cluster(blocks, 3, random_state=0).sizes.tolist()
    [100, 100, 100]
    """
    if not (n_clusters is None or isinstance(n_clusters, str | tuple | list | range)):
        n_clusters = _check.integer(n_clusters, "n_clusters", low=1)
    number = n_clusters if isinstance(n_clusters, int) else None
    request = Request(n_members, k, base, columns=columns).towards(number)
    job = _job(source, request, random_state, MeasuredTable(ids, features, drop, sep, encoding), memory)
    solving = Solving(method, max_bytes=min(MAX_BYTES, job.budget.n_bytes)).with_options(options)
    plan = {**job.settings, "consensus": repr([n_clusters, solving])}

    def method_for(ensemble: Ensemble) -> str:
        return method if options else method_towards(method, ensemble, number)

    planned = job._replace(settings=plan)
    return solve_job(planned, n_clusters, solving, out, overwrite=overwrite, method_for=method_for)


class MeasuredTable(NamedTuple):
    """How a table of measurements is read: its columns, and the options of text files."""

    ids: str | None = None
    features: Sequence[str] | None = None
    drop: Sequence[str] = ()
    sep: str | None = None
    encoding: str | None = None

    def opened(self, source: Any) -> Source:
        """Open a source of measurements in blocks."""
        return open_source(source, self._choose, self.sep, ids=self.ids, encoding=self.encoding)

    def _choose(self, names: tuple[str, ...], title: str) -> Choice:
        return choose_measurements(names, self.ids, self.features, self.drop, title)


def holds_blocks(X: Any) -> bool:
    """Whether these are measurements that are read in blocks: a path, a pyarrow Dataset or a Zarr array."""
    is_zarr = type(X).__module__.split(".")[0] == "zarr" and hasattr(X, "shape")
    return isinstance(X, str | os.PathLike) or hasattr(X, "get_fragments") or is_zarr


def is_dask(X: Any) -> bool:
    """Whether this is a Dask array or data frame; Dask itself is not imported."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "dask")


def sample_blocks(
    source: Any,
    entropy: int,
    reading: MeasuredTable | None = None,
    memory: Any = None,
) -> NDArray[Any]:
    """Read the measurements of `SAMPLE` objects that are drawn at random, in their order; all if there are fewer.

    The source is opened for this alone, so it must be one that can be read again.
    """
    measurements = (reading or MeasuredTable()).opened(source)
    return drawn_rows(feature_array(measurements, as_budget(memory)), entropy)


def drawn_rows(array: BlockArray, entropy: int) -> NDArray[Any]:
    """Return `SAMPLE` rows of an array in blocks, drawn at random and in their order."""
    return array.rows(drawn_numbers(len(array), entropy))


def drawn_numbers(n_objects: int, entropy: int) -> NDArray[np.int64]:
    """Return the numbers of `SAMPLE` objects that are drawn at random, in their order; all if there are fewer."""
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_NUMBER,)))
    few = min(SAMPLE, n_objects)
    return np.sort(rng.choice(n_objects, few, replace=False, shuffle=False)).astype(np.int64)


class FittedBlocks(NamedTuple):
    """Measurements in blocks, labelled by trained members: distinct rows, the row of each object, and the members."""

    ensemble: Ensemble
    rows: NDArray[np.intp]
    members: TrainedMembers


def fit_blocks(source: Any, request: Request, entropy: int) -> FittedBlocks:
    """Train members on measurements in blocks and label all objects; used by `EnsembleClustering`."""
    measurements = MeasuredTable().opened(source)
    budget = as_budget(None)
    labels = LabelSource(feature_array(measurements, budget), measurements, request, entropy)
    store = MemoryStore(budget.for_ids)
    settled = read_source(labels.source(), budget, store, Reading(check=False))
    return FittedBlocks(settled.ensemble, settled.row_of[all_numbers(store)], labels.trained)


def _job(
    source: Any,
    request: Request,
    random_state: Any,
    reading: MeasuredTable,
    memory: Any,
) -> Job:
    """Return the job of labelling measurements by members."""
    if random_state is not None:
        _check.integer(random_state, "random_state", low=0)
    seed = entropy_of(random_state)
    budget = as_budget(memory)
    measurements = reading.opened(source)
    labels = LabelSource(feature_array(measurements, budget), measurements, request, seed)
    settings = {"generate": repr(request), "random_state": random_state, "seed": seed}
    return Job(labels.source(), Reading(check=False, encoding=reading.encoding), budget, settings)


def _member_labels(settled: Settled, id_name: str | None) -> RowLabels:
    """Return the labels of all members for each row, as the members gave them."""
    rows = settled.ensemble
    highest = max(int(values.max()) for values in rows.categories) + 1
    labels = np.empty((rows.n_rows + 1, rows.n_members), dtype=narrowest(highest + 1))
    for member, values in enumerate(rows.categories):
        labels[:-1, member] = np.append(values, -1)[rows.labels[:, member]]
    labels[-1] = SKIPPED
    return RowLabels(labels[settled.row_of], None, id_name, rows.member_names)
