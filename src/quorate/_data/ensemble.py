"""as_ensemble, the one door for data: any table of labels becomes a checked and coded Ensemble."""

from __future__ import annotations

from typing import Any

from quorate._data.building import as_counts, as_ids, as_weights, build_ensemble, refuse_unlabelled
from quorate._data.coding import code_integers, code_table
from quorate._data.missing import DEFAULT, missing_rule
from quorate._data.proof import prove_counts, proven, vary
from quorate._data.suspects import refuse_suspects
from quorate._data.tables import as_table, holds_matrices
from quorate._types import NEEDS_LABELS, E, Ensemble, SoftEnsemble


def as_ensemble(
    labels: Any,
    *,
    weights: Any = None,
    missing: Any = DEFAULT,
    orientation: str | None = None,
    ids: Any = None,
    counts: Any = None,
    check: bool = True,
) -> Ensemble:
    """Check and code a table of labels: one row per object, one column per member.

    First the labels are read as columns. Then each column is coded: its labels are numbered by first appearance, and
    missing labels become -1. Last, the table is checked; columns that cannot be clusterings and objects without any
    label raise a ValueError that gives the reason.

    Parameters
    ----------
    labels : array, data frame, list of label vectors, mapping of label vectors, or Ensemble
        Labels of any type: integers, floats, texts, categories. A list holds one label vector per member; in
        arrays and data frames rows are objects. A vector alone is an ensemble of one member. Series with an index are
        put in the order of the first of them, and must label the same objects.
    weights : array of shape (n_members,) or mapping, optional
        Positive member weights, by order or by name of the member; 1 each by default.
    missing : value or list of values, default -1
        The values that stand for a missing label. None, NaN, NaT and nulls of data frames are always missing. If other
        values are given, -1 is missing only if it is among them; negative integers that are not are an error.
        With an empty list every value that is not null is a label.
    orientation : {"objects", "members"}, optional
        What one row (of an array or data frame) or one item (of a list) stands for. A table with more
        members than objects is refused without it. If the rows of a data frame are members, its header names the
        objects, and its index, or the column that `ids` names, names the members.
    ids : str or array of shape (n_objects,), optional
        Names of the objects, or the name of the column of a data frame that holds them. By default they are the
        pandas index, unless that is 0..n-1. No two objects may have the same name.
    counts : array of shape (n_objects,), optional
        How many objects each row stands for, if the table is aggregated already.
    check : bool, default True
        Refuse columns that cannot be clusterings: numbers with digits after the decimal point (of 5 objects or
        more), which are measurements, and columns with a label of its own for each object (of more than 20) or for
        more than 90% of them (of 50 or more), which are ids. False takes every column as it is.

    Returns
    -------
    Ensemble
        One row per object and one column of codes per member.

    See Also
    --------
    load_labels : Reads the table from a file.
    as_soft_ensemble : Does the same for matrices of memberships.
    compress : Reduces an ensemble to its distinct rows.
    join : Combines several tables by the names of the objects.

    Examples
    --------
    >>> ensemble = as_ensemble([["a", "a", "b", None], [1, 1, 2, 2]])
    >>> ensemble
    Ensemble(4 objects, 2 members, 2 clusters, labels missing)
    >>> ensemble.labels
    array([[ 0,  0],
           [ 0,  0],
           [ 1,  1],
           [-1,  1]], dtype=int8)
    """
    if isinstance(labels, SoftEnsemble) or holds_matrices(labels):
        raise TypeError(NEEDS_LABELS)
    if isinstance(labels, Ensemble):
        if missing != DEFAULT or orientation is not None:
            raise ValueError("missing and orientation say how to read a table, but labels are an Ensemble already.")
        return with_options(proven(labels), weights, ids, counts)
    ensemble = read_ensemble(
        labels, weights=weights, missing=missing, orientation=orientation, ids=ids, counts=counts, check=check
    )
    refuse_unlabelled(ensemble.labels)
    return ensemble


def read_ensemble(
    labels: Any,
    *,
    weights: Any = None,
    missing: Any = DEFAULT,
    orientation: str | None = None,
    ids: Any = None,
    counts: Any = None,
    check: bool = True,
) -> Ensemble:
    """Make an ensemble from a table as `as_ensemble` does, but keep objects without any label.

    Functions that read several files check for such objects only after the files are joined.
    """
    rule = missing_rule(missing)
    table = as_table(labels, orientation, ids if isinstance(ids, str) else None)
    if table.block is not None:
        matrix, categories = code_integers(table.block, table.names, rule)
    else:
        matrix, categories = code_table(table.columns, table.names, rule)
    if check and counts is None:
        refuse_suspects(matrix, table.names, categories)
    given_ids = table.ids if ids is None or isinstance(ids, str) else ids
    return build_ensemble(
        matrix,
        table.names,
        categories,
        weights=weights,
        counts=counts,
        ids=given_ids,
        id_name=table.id_name,
        keep_unlabelled=True,
    )


def with_options(ensemble: E, weights: Any, ids: Any, counts: Any) -> E:
    """Return the ensemble with those weights, ids and counts replaced that are not None."""
    if weights is not None:
        ensemble = vary(ensemble, weights=as_weights(weights, ensemble.member_names))
    if ids is not None:
        ensemble = vary(ensemble, object_ids=as_ids(ids, ensemble.n_rows))
    if counts is not None:
        values = as_counts(counts, ensemble.n_rows)
        prove_counts(values, ensemble.n_members)
        ensemble = vary(ensemble, counts=values)
    return ensemble
