"""Results as tables of pandas, polars or Arrow with one row per object, and the objects with uncertain labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate import _check

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Self = TypeVar("Self", bound="ResultTable")

AMBIGUOUS = 0.6
"""The confidence below which an object is ambiguous: more than four of ten fresh ensembles would place it elsewhere."""


class ResultTable:
    """A cluster for each object, with its confidence and runner-up; the base class of `Consensus` and `Placement`."""

    labels: NDArray[np.int32]
    confidence: NDArray[np.float64] | None
    runner_up: NDArray[np.int32] | None
    object_ids: NDArray[Any] | None
    id_name: str
    cluster_names: tuple[str, ...] | None

    if TYPE_CHECKING:

        @property
        def n_clusters(self) -> int: ...

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of objects in each cluster; objects without a cluster are not counted."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters)

    def ambiguous(self, below: float = AMBIGUOUS) -> NDArray[np.intp]:
        """Return the places of the objects whose confidence lies below a threshold, the least certain first.

        Parameters
        ----------
        below : float
            The threshold, from 0 to 1. Confidence is the estimated probability that the same procedure would place the
            object in the same cluster on a fresh ensemble.

        Returns
        -------
        array of places
            Equally certain objects stay in their order. ``result.to_frame().iloc[result.ambiguous()]`` shows them as a
            table.

        Examples
        --------
        >>> from quorate import consensus
        >>> consensus([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]], 2, method="eac").ambiguous(below=0.95)
        array([2])
        """
        threshold = _check.fraction(below, "below")
        if self.confidence is None:
            raise ValueError("the result has no confidence, so that no object can be called ambiguous.")
        low = np.flatnonzero(self.confidence < threshold)
        return low[np.argsort(self.confidence[low], kind="stable")]

    def renamed(self: Self, names: Mapping[int, str]) -> Self:
        """Return the same result with names for its clusters, which tables, files and the report then show.

        Parameters
        ----------
        names : mapping of cluster numbers to names
            Clusters that are not in the mapping keep their name, which is their number at first. `labels` stay numbers.

        Examples
        --------
        >>> from quorate import consensus, save_labels
        >>> result = consensus([["a", "a", "b"], [1, 1, 2]], 2).renamed({0: "bargain hunters"})
        >>> result.cluster_names
        ('bargain hunters', '1')
        """
        if not isinstance(names, Mapping):
            raise TypeError(f"names must be a mapping such as {{0: 'bargain hunters'}}, got {type(names).__name__}.")
        full = list(self.shown_names)
        for cluster, name in names.items():
            number = _check.integer(cluster, "a cluster to rename", low=0, high=self.n_clusters - 1)
            if not isinstance(name, str) or not name.strip():
                raise TypeError(f"the name of cluster {number} must be a text that is not empty, got {name!r}.")
            full[number] = name
        twice = sorted(name for name, times in Counter(full).items() if times > 1)
        if twice:
            raise ValueError(f"two clusters cannot have one name, got {', '.join(map(repr, twice))} more than once.")
        # only the subclasses, Consensus and Placement, are dataclasses, and mypy looks at the bound of Self
        return replace(self, cluster_names=tuple(full))  # type: ignore[type-var]

    @property
    def shown_names(self) -> tuple[str, ...]:
        """The names of the clusters that `renamed` gave, or their numbers."""
        return tuple(map(str, range(self.n_clusters))) if self.cluster_names is None else self.cluster_names

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per object: label, confidence and runner-up.

        Its index is that of the input. Columns without known values are left out. `runner_up` is the best other
        cluster; it is missing if no other cluster shares a label with the object. If clusters were renamed, both
        columns are categorical.

        Examples
        --------
        >>> import pandas as pd
        >>> from quorate import consensus
        >>> people = pd.DataFrame({"a": [1, 1, 2], "b": ["x", "x", "y"]}, index=["ann", "bob", "cid"])
        >>> consensus(people, 2).to_frame().round(2)
             label  confidence  runner_up
        ann      0         1.0       <NA>
        bob      0         1.0       <NA>
        cid      1         1.0       <NA>
        """
        library: Any = need_library("pandas")
        columns = {}
        for name, values in _columns(self).items():
            if name in ("label", "runner_up") and self.cluster_names is not None:
                columns[name] = library.Categorical.from_codes(values, list(self.cluster_names))
            elif name == "runner_up" or (name == "label" and values.min() < 0):
                columns[name] = library.arrays.IntegerArray(np.maximum(values, 0), values < 0)
            else:
                columns[name] = values
        # ids that had no name are named "id"
        id_name = None if self.id_name == "id" else self.id_name
        index = None if self.object_ids is None else library.Index(self.object_ids, name=id_name)
        frame: pandas.DataFrame = library.DataFrame(columns, index=index)
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Return a polars DataFrame with one row per object: id if objects have one, label, confidence, runner-up.

        Examples
        --------
        >>> from quorate import consensus
        >>> consensus([[0, 0, 1], [0, 0, 1]], 2).to_polars().columns
        ['label', 'confidence', 'runner_up']
        """
        library = need_library("polars")
        frame: polars.DataFrame = library.DataFrame(_listed(self))
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table with one row per object: id if objects have one, label, confidence, runner-up.

        Examples
        --------
        >>> from quorate import consensus
        >>> consensus([[0, 0, 1], [0, 0, 1]], 2).renamed({1: "late"}).to_arrow()["label"].to_pylist()
        ['0', '0', 'late']
        """
        library = need_library("pyarrow")
        table: pyarrow.Table = library.table(_listed(self))
        return table


def _columns(result: ResultTable) -> dict[str, NDArray[Any]]:
    columns = {"label": result.labels, "confidence": result.confidence, "runner_up": result.runner_up}
    return {name: values for name, values in columns.items() if values is not None}


def _listed(result: ResultTable) -> dict[str, Any]:
    """Return the columns by name: as arrays if all values are known, otherwise as lists with None for missing ones."""
    known_columns = _columns(result)
    id_name = "id" if result.id_name in ("", *known_columns) else result.id_name
    ids = {} if result.object_ids is None else {id_name: result.object_ids}
    columns: dict[str, Any] = {}
    for name, values in {**ids, **known_columns}.items():
        if name in ("label", "runner_up") and (result.cluster_names is not None or values.min() < 0):
            shown = result.cluster_names or range(result.n_clusters)
            # -1, an unknown cluster, reads the last place
            known = [*shown, None]
            columns[name] = [known[value] for value in values.tolist()]
        else:
            columns[name] = values.tolist() if values.dtype.kind in "UO" else values
    return columns


def need_library(library: str) -> Any:
    """Import the library that makes a table, or raise an error that says how to install it."""
    from importlib import import_module

    try:
        return import_module(library)
    except ImportError as error:
        verb = {"pandas": "to_frame", "polars": "to_polars", "pyarrow": "to_arrow"}[library]
        package = '"quorate[parquet]"' if library == "pyarrow" else library
        raise ImportError(f"{verb} needs {library}; install it with: pip install {package}") from error
