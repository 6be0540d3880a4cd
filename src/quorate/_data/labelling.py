"""One labelling: coded where it comes in, and paired with the label rows of an ensemble."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import (
    DEFAULT,
    code_integers,
    code_table,
    code_values,
    in_one_type,
    missing_rule,
    narrowest,
)
from quorate._data.ids import aligned_result, numbered, order_of, places_among
from quorate._data.rows import compress
from quorate._data.tables import Table, as_table
from quorate._device.choose import labels_on_host, on_host
from quorate._types import AnyEnsemble, Consensus, Ensemble, IntArray, read_only
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


def matched_labels(labels: Any, name: str, ensemble: AnyEnsemble) -> tuple[NDArray[np.int32], int]:
    """Code labels of some of the objects: one for each row, -1 for rows that have none, and the number of clusters.

    Rows are matched by id if both have ids. Otherwise the labels are those of the first rows.
    """
    coded = code_labelling(labels, name)
    codes, n_rows = np.full(ensemble.n_rows, -1, dtype=np.int32), len(coded.codes)
    if coded.ids is not None and ensemble.object_ids is not None:
        places = places_among(ensemble.object_ids, coded.ids)
        codes = np.where(places >= 0, coded.codes[places], -1).astype(np.int32)
    elif n_rows <= ensemble.n_rows:
        codes[:n_rows] = coded.codes
    else:
        raise ValueError(
            f"{name} must have at most one label per row of the ensemble, {ensemble.n_rows:,} in all, got {n_rows:,}; "
            f"give both of them ids if objects were taken away."
        )
    if codes.max() < 0:
        raise ValueError(f"{name} must label at least one of the objects; none of its ids is one of theirs.")
    return codes, coded.n_clusters


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


def read_rows(
    labels: Any, missing: Any
) -> tuple[IntArray, tuple[NDArray[Any], ...], tuple[str, ...], NDArray[Any] | None, str]:
    """Codes, categories, names, ids and the name of the ids of a table.

    Members without any label are allowed, unlike in `as_ensemble`.
    """
    if isinstance(labels, Ensemble):
        return labels.labels, labels.categories, labels.member_names, labels.object_ids, labels.id_name
    # a list holds one label vector per member, as everywhere; more members than new objects are nothing unusual
    table = as_table(labels, "members" if isinstance(labels, list | tuple) else "objects", None)
    rule = missing_rule(missing)
    if table.block is not None:
        return (*code_integers(table.block, table.names, rule), table.names, table.ids, table.id_name)
    return (*code_table(table.columns, table.names, rule), table.names, table.ids, table.id_name)


NAMES_SHOWN = 5


def matched_columns(members: tuple[str, ...], names: tuple[str, ...]) -> dict[int, int]:
    """For each member that the new table has, its column there."""
    numbered = tuple(f"member {place}" for place in range(len(names)))
    if names == numbered and members != numbered:
        if len(names) != len(members):
            raise ValueError(
                f"new_labels must have one column per member, {len(members)} in all, got {len(names)} without names; "
                f"name them, so that they can be matched."
            )
        return {member: member for member in range(len(members))}
    known = set(members)
    strange = [name for name in names if name not in known]
    if strange:
        unknown = ", ".join(map(repr, strange[:NAMES_SHOWN])) + (", ..." if len(strange) > NAMES_SHOWN else "")
        wanted = ", ".join(map(repr, members[:NAMES_SHOWN])) + (", ..." if len(members) > NAMES_SHOWN else "")
        are_none = "is no member" if len(strange) == 1 else "are no members"
        raise ValueError(
            f"new_labels has {_check.counted(len(strange), 'column')} that {are_none} ({unknown}); the members are "
            f"{wanted}. Leave them out, or rename them."
        )
    return {member: column for column, member in enumerate(_check.places(names, members))}


def translation(known: NDArray[Any], new: NDArray[Any]) -> NDArray[np.int64]:
    """The ensemble's code of each new label, -1 where it has none; the last entry serves code -1.

    A column that holds numbers here may hold texts there, where a file has other labels beside them, so that labels
    of different types are compared as texts.
    """
    codes = {label: code for code, label in enumerate(known.tolist())}
    texts = {str(label): code for label, code in codes.items()}
    own = [codes[label] if label in codes else texts.get(str(label), -1) for label in new.tolist()]
    return np.array([*own, -1], dtype=np.int64)


class AddedRows(NamedTuple):
    """Rows of labels that join an ensemble: codes and counts, and the ensemble, whose members know the new labels."""

    codes: IntArray
    counts: NDArray[np.int64]
    ensemble: Ensemble


def added_rows(ensemble: Ensemble, labels: Any, missing: Any) -> AddedRows:
    """Code new rows as the ensemble is coded; columns are matched by name, and labels that it lacks get new codes."""
    codes, categories, names, _, _ = read_rows(labels, missing)
    places = matched_columns(ensemble.member_names, names)
    columns = np.full((len(codes), ensemble.n_members), -1, dtype=np.int64)
    known = list(ensemble.categories)
    for member, column in places.items():
        own = translation(known[member], categories[column])
        strange = np.flatnonzero(own[:-1] < 0)
        own[strange] = len(known[member]) + np.arange(len(strange))
        known[member] = in_one_type([known[member], categories[column][strange]])
        columns[:, member] = own[codes[:, column]]
    n_clusters = np.array([len(values) for values in known], dtype=np.int64)
    counts = labels.counts if isinstance(labels, Ensemble) else np.ones(len(codes), dtype=np.int64)
    wide = np.promote_types(narrowest(int(n_clusters.max())), ensemble.labels.dtype)
    grown = replace(ensemble, n_clusters=n_clusters, categories=tuple(known), object_ids=None)
    return AddedRows(read_only(columns.astype(wide)), counts, grown)
