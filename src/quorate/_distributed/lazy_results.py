"""Results whose labels are Dask collections with the chunks of the input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._distributed.chunks import Chunks, Leaf, need_dask
from quorate._distributed.merge_tree import Tree, sent, values_of_leaves, values_of_objects
from quorate._types import Consensus, Ensemble
from quorate.solvers.label_rows import cluster_sizes

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Spread:
    """Carries values of distinct rows to the objects, chunk by chunk."""

    chunks: Chunks
    tree: Tree
    row_of: NDArray[np.int64]

    def leaf_values(self, values: Array) -> list[Any]:
        """Return, delayed, the values of the distinct rows of each chunk."""
        return values_of_leaves(self.tree, [sent(values[self.row_of])])

    def array(self, values: Array) -> Any:
        """Return a Dask array of the values of all objects, with the chunks of the input."""
        dask = need_dask()
        da = dask.array
        expand = dask.delayed(values_of_objects)
        leaves = zip(self.tree.leaves, self.leaf_values(values), self.chunks.sizes, strict=True)
        parts = [
            da.from_delayed(expand(leaf, part), (np.nan if size is None else size, *values.shape[1:]), values.dtype)
            for leaf, part, size in leaves
        ]
        return da.concatenate(parts, axis=0, allow_unknown_chunksizes=True)

    def frame(self, columns: dict[str, Array]) -> Any:
        """Return a Dask data frame of values of all objects, with the index and the divisions of the input."""
        import dask.dataframe as dd
        import pandas as pd

        dask = need_dask()
        build = dask.delayed(_frame)
        raw = [self.leaf_values(values) for values in columns.values()]
        ids = self.chunks.ids
        parts = [
            build(leaf, ids, tuple(columns), *(values[place] for values in raw))
            for place, leaf in enumerate(self.tree.leaves)
        ]
        meta = pd.DataFrame({name: np.empty(0, dtype=values.dtype) for name, values in columns.items()})
        if ids is not None:
            meta.insert(0, ids, np.empty(0, dtype=dask.compute(dask.delayed(_id_type)(self.tree.leaves[0]))[0]))
        divisions = self.chunks.divisions or ()
        known = divisions if divisions and divisions[0] is not None else None
        return dd.from_delayed(parts, meta=meta, divisions=known, verify_meta=False)


def _frame(leaf: Leaf, ids: str | None, names: tuple[str, ...], *values: Array) -> Any:
    import pandas as pd

    columns = {name: part[leaf.block.inverse] for name, part in zip(names, values, strict=True)}
    frame = pd.DataFrame(columns, index=leaf.index)
    if ids is not None:
        frame.insert(0, ids, leaf.ids)
    return frame


def _id_type(leaf: Leaf) -> Any:
    return leaf.ids.dtype


@dataclass(frozen=True, eq=False, repr=False)
class DaskConsensus:
    """A consensus of a Dask collection.

    Attributes
    ----------
    ensemble : Ensemble
        The distinct rows of all chunks, with counts. If they stayed on the workers, it has no `labels`, but `on_host`.
    solution : Consensus
        The consensus of these rows; its arrays are where the rows are.
    n_objects : int
        How many objects there are.
    """

    ensemble: Ensemble
    solution: Consensus
    spread: Spread = field(repr=False)

    @property
    def n_objects(self) -> int:
        return self.ensemble.n_objects

    @property
    def n_clusters(self) -> int:
        return self.solution.n_clusters

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of objects in each cluster."""
        found: NDArray[np.int64] = cluster_sizes(self.solution.labels, self.ensemble.counts, self.n_clusters)
        return found

    @property
    def labels(self) -> Any:
        """The cluster of each object, lazily: a Dask array, or a Series if the input was a data frame."""
        return self._values("label", self.solution.labels)

    @property
    def confidence(self) -> Any:
        """The confidence of each label, lazily; None if the method has none."""
        values = self.solution.confidence
        return None if values is None else self._values("confidence", values)

    @property
    def runner_up(self) -> Any:
        """The best other cluster of each object, lazily; None if the method has none."""
        values = self.solution.runner_up
        return None if values is None else self._values("runner_up", values)

    def to_frame(self) -> Any:
        """Return a Dask data frame with the ids, if there are any, the labels and the confidence."""
        columns: dict[str, Array] = {"label": self.solution.labels}
        if self.solution.confidence is not None:
            columns["confidence"] = self.solution.confidence
        return self.spread.frame(columns)

    def _values(self, name: str, values: Array) -> Any:
        if self.spread.chunks.is_frame:
            return self.spread.frame({name: values})[name]
        return self.spread.array(values)

    def __repr__(self) -> str:
        return (
            f"DaskConsensus({self.n_objects:,} objects in {len(self.spread.tree.leaves):,} chunks, "
            f"{self.ensemble.n_rows:,} distinct rows, {self.n_clusters:,} clusters by {self.solution.method})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class DaskEnsemble:
    """Many clusterings of a Dask array: their distinct rows, and lazily the labels of all objects."""

    ensemble: Ensemble
    spread: Spread = field(repr=False)

    @property
    def n_objects(self) -> int:
        return self.ensemble.n_objects

    @property
    def labels(self) -> Any:
        """Codes of all members, lazily: a Dask array of shape (n_objects, n_members) with the chunks of the input."""
        return self.spread.array(np.asarray(self.ensemble.labels))

    def __repr__(self) -> str:
        return f"DaskEnsemble({self.n_objects:,} objects, {self.ensemble.n_rows:,} distinct rows)"
