"""place for tables in blocks: new objects by the labels that the same members give them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._check import brief
from quorate._consensus.confidence import kept_scale
from quorate._consensus.place import Places, cluster_profiles, match_rows, place_new, unplaced_words
from quorate._data.blocks import Settled
from quorate._data.coding import DEFAULT
from quorate._io.opening import members_alone, open_source
from quorate._io.paths import FilePath
from quorate._io.source import as_budget
from quorate._io.text import Choice
from quorate._stream.block_consensus import BlockConsensus
from quorate._stream.labels_out import LabelledBlock, RowLabels, labelled
from quorate._stream.running import Job, labelled_source, row_labels
from quorate._stream.store import Store, Workspace
from quorate._summaries import Placement
from quorate._types import Reading


@dataclass(frozen=True, eq=False, repr=False)
class BlockPlacement:
    """Clusters of new objects in blocks.

    Attributes
    ----------
    placed : Placement
        The clusters of the distinct rows of the new objects, and what could not be matched.
    counts : int64 array
        How many new objects have each of these rows.
    n_objects, n_known, n_unplaced : int
        How many new objects there are, how many have a row of labels that the table has, and how many have no label
        that it knows, and so no cluster.
    output : Path or None
        Where the labels were written.
    """

    placed: Placement
    counts: NDArray[np.int64]
    n_objects: int
    n_known: int
    n_unplaced: int
    output: Path | None
    _store: Store | None
    _row_of: NDArray[np.int64]
    _id_name: str | None

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of new objects in each cluster."""
        known = self.placed.labels >= 0
        sums = np.bincount(self.placed.labels[known], weights=self.counts[known], minlength=self.placed.n_clusters)
        return sums.astype(np.int64)

    def blocks(self) -> Iterator[LabelledBlock]:
        """Yield ids, labels (-1 for none) and confidence of the new objects, block by block."""
        if self._store is None:
            raise ValueError(f"the labels were written to {self.output} and are not kept; read them there.")
        return labelled(self._store, row_labels(self.placed, self._row_of, self._id_name))

    def __repr__(self) -> str:
        return f"BlockPlacement({self.n_objects:,} objects in {self.placed.n_clusters:,} clusters)"


def place(
    result: BlockConsensus,
    new: Any,
    *,
    out: FilePath | None = None,
    ids: str | None = None,
    missing: Any = DEFAULT,
    sep: str | None = None,
    encoding: str | None = None,
    memory: Any = None,
    overwrite: bool = False,
) -> BlockPlacement:
    """Put new objects, read block by block, into the clusters of a consensus, as `quorate.place` does.

    Parameters
    ----------
    result : BlockConsensus
        What `consensus` returned.
    new : as the source of `consensus`
        Labels of the new objects; columns are matched with the members by name, and other columns are left out.
    out, ids, missing, sep, encoding, memory, overwrite
        As for `consensus`.

    Returns
    -------
    BlockPlacement

    Examples
    --------
    >>> import numpy as np
    >>> from quorate.stream import consensus
    >>> result = consensus([np.array([[0, 1], [0, 1], [1, 0]])], 2, random_state=0)
    >>> placed = place(result, [np.array([[1, 0]]), np.array([[0, 7], [1, 0]])])
    >>> [block.labels.tolist() for block in placed.blocks()]
    [[1], [0, 1]]
    """
    if not isinstance(result, BlockConsensus):
        raise TypeError(f"result must be what quorate.stream.consensus returned, got {brief(result)}.")
    rows, labels = result.ensemble, result.solution.labels
    places = Places(rows, labels, cluster_profiles(rows, labels), kept_scale(result.solution))
    reading = {"ids": ids, "missing": missing, "sep": sep, "encoding": encoding, "memory": memory}
    return place_source(places, new, None, out=out, overwrite=overwrite, **reading)


def place_source(
    places: Places,
    new: Any,
    cluster_names: tuple[str, ...] | None,
    *,
    out: FilePath | None,
    ids: str | None,
    missing: Any,
    sep: str | None,
    encoding: str | None,
    memory: Any,
    overwrite: bool,
    label: str = "label",
) -> BlockPlacement:
    """Place the objects of a source; `cluster_names` are those of the labelling, `label` names the column of labels."""
    members = places.rows.member_names

    def choose(names: tuple[str, ...], title: str) -> Choice:
        return members_alone(names, members, ids, title, "the table")

    source = open_source(new, choose, sep, ids=ids, encoding=encoding)
    how = Reading(missing, check=False, takes_all=True, encoding=encoding)
    settings = {"place": repr([members, places.labels.tobytes()[:4096], int(places.labels.sum()), len(places.labels)])}
    job = Job(source, how, as_budget(memory), settings)

    def solve(settled: Settled, work: Workspace | None) -> tuple[Placement, RowLabels]:
        placed = place_new(places, match_rows(places.rows, settled.ensemble), cluster_names)
        return placed, row_labels(placed, settled.row_of, source.id_name, label)

    with labelled_source(job, solve, out, overwrite=overwrite) as (settled, placed, store):
        counts = settled.ensemble.counts
        found = BlockPlacement(
            placed=replace(placed, unknown_labels=_unknown(places, settled), object_ids=None),
            counts=counts,
            n_objects=settled.ensemble.n_objects,
            n_known=int(counts[placed.known].sum()),
            n_unplaced=int(counts[placed.labels < 0].sum()),
            output=None if out is None else Path(os.path.abspath(out)),
            _store=store if out is None else None,
            _row_of=settled.row_of,
            _id_name=source.id_name,
        )
    if found.n_unplaced:
        warnings.warn(
            unplaced_words(found.n_unplaced, found.n_objects),
            UserWarning,
            stacklevel=3,
        )
    return found


def _unknown(places: Places, settled: Settled) -> dict[str, int]:
    """Return for each member how many labels of new objects the table does not have."""
    rows = settled.ensemble
    found = match_rows(places.rows, rows).codes
    unknown = {}
    for member, name in enumerate(places.rows.member_names):
        if name in rows.member_names:
            given = rows.labels[:, rows.member_names.index(name)]
            lost = int(rows.counts[(found[:, member] < 0) & (given >= 0)].sum())
            if lost:
                unknown[name] = lost
    return unknown
