"""One labelling: coded where it comes in, and paired with the label rows of an ensemble."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import DEFAULT, code_values, missing_rule
from quorate._data.ids import aligned_result, numbered, order_of
from quorate._data.rows import compress
from quorate._data.tables import Table, as_table
from quorate._device.choose import labels_on_host, on_host
from quorate._types import AnyEnsemble, Consensus, Ensemble, IntArray
from quorate.solvers.contingency import contingency


class Labelling(NamedTuple):
    """One label per object, coded as a member of an ensemble is.

    `codes` are numbered by first appearance, and -1 if an object has no label. ``categories[code]`` is the label that
    a code stands for. `ids` are the names of the objects if the labels had them, otherwise None; `default_index` says
    that they had a default index of pandas instead.
    """

    codes: NDArray[np.int32]
    categories: NDArray[Any]
    ids: NDArray[Any] | None = None
    default_index: bool = False

    @property
    def n_clusters(self) -> int:
        return len(self.categories)


def code_labelling(
    labels: Any,
    name: str,
    n_rows: int | None = None,
    *,
    ids: NDArray[Any] | None = None,
    id_name: str = "id",
    default_index: bool = False,
    missing: Any = DEFAULT,
    advice: str = "",
) -> Labelling:
    """Code one label per object; if `ids` are given and the labels have ids too, in the order of `ids`.

    Parameters
    ----------
    labels : array of labels, Series, table of one column, or Consensus
        The clusters of a Consensus keep their numbers. A data frame may have its ids in a second column, named
        `id_name` or "id".
    name : str
        What error messages call the labels.
    n_rows : int, optional
        How many labels there must be: one for each row of an ensemble.
    ids : array, optional
        The names of these rows. Labels that have ids too are put in this order; they are refused if an id is missing
        on one side. Labels without ids are matched by their order.
    id_name : str
        The name of the column of ids in the ensemble's table.
    default_index : bool
        Whether the rows had a default index of pandas. Beside ids that are integers it is the ids 0..n-1.
    missing : value or list of values, default -1
        What stands for a missing label, beside nulls.
    advice : str
        What the error message about a wrong number of labels advises the user to do.

    Returns
    -------
    Labelling
    """
    if isinstance(labels, Consensus):
        coded = _aligned_consensus(labels_on_host(labels), ids, name)
    else:
        table = _one_column(on_host(labels), name, id_name)
        column = table.columns[0] if table.block is None else table.block[:, 0]
        # a plain array never has ids, so that it can only be matched by order
        order = None
        if table.ids is not None or table.has_index:
            wanted = numbered(ids, table.ids, n_rows or len(column), is_default=default_index)
            order = order_of(wanted, numbered(table.ids, ids, len(column), is_default=table.has_index), name)
        if order is not None:
            column = column[order]
        codes, categories = code_values(column, name, missing_rule(missing))
        own = table.ids if order is None else ids
        coded = Labelling(codes.astype(np.int32), categories, own, table.has_index and own is None)
    _refuse_number(coded, name, n_rows, advice)
    return coded


def code_beside(labels: Any, name: str, ensemble: AnyEnsemble, *, advice: str = "") -> Labelling:
    """Code one label per row of an ensemble, matched by id if both have ids; see `code_labelling`."""
    return code_labelling(
        labels,
        name,
        ensemble.n_rows,
        ids=ensemble.object_ids,
        id_name=ensemble.id_name,
        default_index=ensemble.has_default_index,
        advice=advice,
    )


def _aligned_consensus(result: Consensus, ids: NDArray[Any] | None, name: str) -> Labelling:
    aligned = aligned_result(result, ids, name)
    names = np.arange(result.n_clusters) if result.cluster_names is None else np.array(result.cluster_names)
    return Labelling(aligned.labels.astype(np.int32, copy=False), names, aligned.object_ids)


def _one_column(labels: Any, name: str, id_name: str) -> Table:
    columns = getattr(labels, "column_names", getattr(labels, "columns", ()))
    names = [column for column in columns if isinstance(column, str)]
    id_column = next((column for column in (id_name, "id") if len(names) == 2 and column in names), None)
    table = as_table(labels, "objects", id_column)
    if table.shape[1] != 1:
        raise ValueError(
            f"{name} must be one label per object, got a table of {table.shape[1]} columns; choose one of them."
        )
    return table


def _refuse_number(coded: Labelling, name: str, n_rows: int | None, advice: str) -> None:
    if n_rows is not None and len(coded.codes) != n_rows:
        then = advice or "pass the ensemble that the labels were made for"
        raise ValueError(
            f"{name} must have one label per row of the ensemble, {n_rows:,} in all, got {len(coded.codes):,}; {then}."
        )
    if not coded.n_clusters:
        raise ValueError(
            f"{name} must label at least one object, but all of its {len(coded.codes):,} labels are missing."
        )


class Pairing(NamedTuple):
    """Distinct pairs of a label row and a cluster, sorted by cluster and then by row.

    A row whose objects are in two clusters is in two pairs. Objects without a cluster are in no pair.

    Attributes
    ----------
    rows : Ensemble
        One row per pair; its counts are the numbers of objects in the pairs.
    labels : int32 array of shape (n_pairs,)
        The cluster of each pair.
    distinct : array of shape (n_pairs,)
        For each pair, the number of its row among the distinct rows of the ensemble.
    sizes : array of shape (n_clusters,)
        How many objects each cluster has; floats if their squares might not fit into 64 bits.
    """

    rows: Ensemble
    labels: NDArray[np.int32]
    distinct: NDArray[np.intp]
    sizes: IntArray

    @property
    def n_clusters(self) -> int:
        return len(self.sizes)


def pair_rows(ensemble: Ensemble, codes: IntArray, n_clusters: int) -> Pairing:
    """Pair the rows of an ensemble with a labelling of them; codes are below n_clusters, or -1 for no label."""
    rows, inverse = compress(ensemble)
    pairs = contingency(codes, inverse, n_clusters, rows.n_rows, ensemble.counts)
    paired = replace(rows, labels=rows.labels[pairs.second], counts=pairs.counts.astype(np.int64))
    return Pairing(paired, pairs.first.astype(np.int32), pairs.second, pairs.first_sizes)


def locate_pairs(ensemble: Ensemble, codes: IntArray) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Locate the pairs of `pair_rows` in the ensemble.

    Returns
    -------
    known : array
        The numbers of the rows of the ensemble that have a label, in increasing order.
    pair : array
        For each of these rows, the number of its pair.
    first : array
        For each pair, the first row of the ensemble that belongs to it.
    """
    rows, inverse = compress(ensemble)
    known = np.flatnonzero(codes >= 0)
    keys = codes[known].astype(np.int64) * rows.n_rows + inverse[known]
    _, first, pair = np.unique(keys, return_index=True, return_inverse=True)
    return known, pair.reshape(-1), known[first]
