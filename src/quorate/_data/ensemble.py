"""as_ensemble, the one door for data: any table of labels becomes a checked and coded Ensemble."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import DEFAULT, code_integers, code_table
from quorate._data.ids import refuse_repeated
from quorate._data.outside import (
    noise_of,
    noise_taken_out,
    noise_values,
    refuse_unlabelled,
    rule_beside,
    settled,
    with_noise,
)
from quorate._data.proof import MOST_WEIGHT, prove_counts, proven, vary
from quorate._data.tables import as_table, holds_matrices
from quorate._types import NEEDS_LABELS, AnyEnsemble, E, Ensemble, Reading, SoftEnsemble, read_only
from quorate.solvers.label_rows import likeliest_labels, reweighted
from quorate.solvers.members import LEFT_OUT, LITTLE, evident_weights, learnt_weights, with_members


def as_ensemble(
    labels: Any,
    *,
    weights: Any = None,
    missing: Any = DEFAULT,
    orientation: str | None = None,
    ids: Any = None,
    counts: Any = None,
    check: bool = True,
    noise: Any = None,
    skip_empty: bool | str = False,
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
    weights : array of shape (n_members,), mapping or "auto", optional
        Positive member weights, by order or by name of the member; 1 each by default. Only their proportions count;
        weights above 1e100 or below 1e-100 are all multiplied by a power of two. With "auto" they are learnt from the
        members: those that agree with no other beyond chance are left out, those that agree with the others far less
        than is usual count less, and members that say the same (NMI of 0.99 or more) share the weight of one, unless
        their agreement is evidence (see `consensus`); ``info["weights"]`` has each member's weight and the reason.
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
    noise : value or list of values, optional
        The values with which a member says that an object belongs to no cluster, such as -1 of HDBSCAN. They are
        missing labels for all that compares members, but `consensus` leaves an object outside (label -1) if members
        of at least half of the weight of those that know it say so. Files do not keep this.
    skip_empty : bool or "keep", default False
        What to do with objects that have no label in any member: refuse the table, leave them out (True; they need
        ids), or keep them, which `consensus` gives the label -1.

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
    reading = Reading(missing, weights, skip_empty, check=check, orientation=orientation, ids=ids, noise=noise)
    return ensemble_as(labels, reading, counts)


def ensemble_as(labels: Any, reading: Reading, counts: Any = None) -> Ensemble:
    """Do what `as_ensemble` does, with its options in one."""
    if isinstance(labels, SoftEnsemble) or holds_matrices(labels):
        raise TypeError(NEEDS_LABELS)
    if isinstance(labels, Ensemble):
        if reading.missing != DEFAULT or reading.orientation is not None or reading.noise is not None:
            raise ValueError(
                "missing, noise and orientation say how to read a table, but labels are an Ensemble already."
            )
        return with_options(proven(labels), reading.weights, reading.ids, counts)
    return settled(read_ensemble(labels, reading, counts), reading.skip_empty)[0]


def read_ensemble(labels: Any, reading: Reading, counts: Any = None) -> Ensemble:
    """Make an ensemble from a table as `as_ensemble` does, but keep objects without any label.

    Functions that read several files check for such objects only after the files are joined.
    """
    rule, ids, mask = rule_beside(reading.missing, reading.noise), reading.ids, None
    table = as_table(labels, reading.orientation, ids if isinstance(ids, str) else None)
    if table.block is not None:
        matrix, categories = code_integers(table.block, table.names, rule)
    else:
        matrix, categories = code_table(table.columns, table.names, rule)
    if noise_values(reading.noise):
        matrix, categories, mask = noise_taken_out(matrix, categories, table.names, reading.missing, reading.noise)
    if reading.check and counts is None:
        refuse_suspects(matrix, table.names, categories)
    given_ids = table.ids if ids is None or isinstance(ids, str) else ids
    ensemble = build_ensemble(
        matrix,
        table.names,
        categories,
        weights=reading.weights,
        counts=counts,
        ids=given_ids,
        id_name=table.id_name,
        keep_unlabelled=True,
    )
    ensemble.remember(has_default_index=table.has_index and given_ids is None)
    return with_noise(ensemble, None if mask is None else noise_of(ensemble, mask, table.names))


def with_options(ensemble: E, weights: Any, ids: Any, counts: Any) -> E:
    """Return the ensemble with those weights, ids and counts replaced that are not None."""
    if weights is not None and not are_learnt(weights):
        ensemble = vary(ensemble, weights=as_weights(weights, ensemble.member_names))
    if ids is not None:
        ensemble = vary(ensemble, object_ids=as_ids(ids, ensemble.n_rows))
    if counts is not None:
        values = as_counts(counts, ensemble.n_rows)
        prove_counts(values, ensemble.n_members)
        ensemble = vary(ensemble, counts=values)
    return with_learnt_weights(ensemble) if are_learnt(weights) else ensemble


def are_learnt(weights: Any) -> bool:
    """Whether the weights are to be learnt from the members."""
    return isinstance(weights, str) and weights == "auto"


def with_learnt_weights(ensemble: E) -> E:
    """Return the ensemble with the weights of `learnt_weights`, without the members that should not count.

    These members stay, with little weight, if an object would have no label without them. ``info["weights"]`` has the
    weight and the reason of each member by name.
    """
    weights, reasons = learnt_weights(ensemble)
    known = likeliest_labels(ensemble) >= 0
    kept = weights > 0
    labelled, still = known.max(axis=1), known[:, kept].max(axis=1)
    if (labelled & ~still).any():
        weights, kept = np.maximum(weights, LITTLE), np.ones(len(weights), dtype=np.bool_)
        reasons = tuple(
            reason.replace(LEFT_OUT, "has little weight, as an object has no other label") for reason in reasons
        )
    facts = _weight_facts(ensemble, weights, reasons)
    chosen = vary(ensemble, weights=np.where(kept, weights, 1.0), info={**ensemble.info, "weights": facts})
    if kept.all():
        return chosen
    noise = getattr(ensemble, "noise", None)
    part = with_members(chosen, np.flatnonzero(kept))
    part.remember(noise=None if noise is None else noise[:, kept])
    return part


def with_evident_weights(ensemble: AnyEnsemble) -> AnyEnsemble:
    """Return the ensemble with the weights of `evident_weights` and ``info["weights"]``; as it is without evidence."""
    learnt = evident_weights(ensemble) if isinstance(ensemble, Ensemble) else None
    if learnt is None:
        return ensemble
    info = {**ensemble.info, "weights": _weight_facts(ensemble, *learnt)}
    # rows on a card or on workers stay there
    weighed = reweighted(ensemble, learnt.weights * ensemble.weights[0], info=info)
    weighed.remember(is_proven=ensemble.is_proven, is_distinct=ensemble.is_distinct, noise=ensemble.noise)
    return weighed


def _weight_facts(ensemble: AnyEnsemble, weights: Array, reasons: Sequence[str]) -> dict[str, dict[str, Any]]:
    return {
        name: {"weight": float(weight), "reason": reason}
        for name, weight, reason in zip(ensemble.member_names, weights, reasons, strict=True)
    }


Array = NDArray[Any]


class EmptyMemberError(ValueError):
    """Raised if members label no object at all; `members` are the names of these members."""

    def __init__(self, members: list[str]) -> None:
        verb, which = ("labels", "it") if len(members) == 1 else ("label", "them")
        super().__init__(f"{', '.join(map(repr, members))} {verb} no object at all; leave {which} out.")
        self.members = members


def build_ensemble(
    labels: Array,
    names: tuple[str, ...],
    categories: tuple[Array, ...],
    *,
    weights: Any = None,
    counts: Any = None,
    ids: Any = None,
    id_name: str = "id",
    info: Mapping[str, Any] | None = None,
    keep_unlabelled: bool = False,
) -> Ensemble:
    """Check coded labels and make an Ensemble of them.

    Parameters
    ----------
    labels : array of shape (n_rows, n_members)
        Codes in order of first appearance in each column, -1 for a missing label.
    names : tuple of str
        One name per member.
    categories : tuple of arrays
        For each member, the label that each code stands for.
    weights, counts, ids, id_name, info
        As in `Ensemble`; None stands for weights of 1, counts of 1, no ids and no information. Weights may be a
        mapping from names of members.
    keep_unlabelled : bool
        Whether rows without any label are accepted, because the caller checks or removes them later.

    Returns
    -------
    Ensemble
    """
    refuse_empty_members(names, categories)
    if not keep_unlabelled:
        refuse_unlabelled(labels, ids=None if ids is None else np.asarray(ids))
    values = as_counts(counts, len(labels))
    prove_counts(values, len(names))
    ensemble = Ensemble(
        labels=labels,
        counts=values,
        n_clusters=np.array([len(values) for values in categories], dtype=np.int64),
        weights=as_weights(None if are_learnt(weights) else weights, names),
        member_names=names,
        categories=categories,
        object_ids=None if ids is None else as_ids(ids, len(labels)),
        info=info or {},
        id_name=id_name,
    )
    ensemble.remember(is_proven=True)
    return with_learnt_weights(ensemble) if are_learnt(weights) else ensemble


def refuse_empty_members(names: tuple[str, ...], categories: tuple[Array, ...]) -> None:
    """Raise if a member labels no object."""
    empty = [name for name, values in zip(names, categories, strict=True) if len(values) == 0]
    if empty:
        raise EmptyMemberError(empty)


def _shown(names: tuple[str, ...]) -> str:
    return ", ".join(map(_check.brief, names[:5])) + (", ..." if len(names) > 5 else "")


def _number_of(values: Array) -> str:
    return f"{values.size:,}" if values.ndim == 1 else f"shape {values.shape}"


def as_weights(weights: Any, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Return one positive, finite weight per member.

    The weight is 1 if no weights are given, and for members that a mapping of weights does not name.
    """
    n_members = len(names)
    if weights is None:
        return np.ones(n_members)
    if isinstance(weights, Mapping) or _is_named_series(weights):
        weights = _weights_by_name(dict(weights.items()), names)
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        # where the members are not at hand, "auto" comes here, too
        wanted = "numbers, one per member" + ("" if are_learnt(weights) else ', or "auto"')
        raise TypeError(f"weights must be {wanted}, got {_check.brief(weights)}.") from None
    if values.shape != (n_members,):
        raise ValueError(
            f"weights must have one value per member, {n_members} in all ({_shown(names)}), got {_number_of(values)}."
        )
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError("weights must be positive and finite; leave out a member that should not count.")
    if values.max() > MOST_WEIGHT or values.min() < 1 / MOST_WEIGHT:
        # a power of two changes no proportion, and sums and products of weights then are finite numbers
        values = np.maximum(np.ldexp(values, -np.frexp(values.max())[1]), 1 / MOST_WEIGHT)
    return values


def _is_named_series(weights: Any) -> bool:
    """Whether this is a pandas Series whose index holds texts, which are names of members."""
    index: Any = getattr(weights, "index", None)
    return hasattr(index, "tolist") and all(isinstance(name, str) for name in index.tolist())


def _weights_by_name(weights: dict[Any, Any], names: tuple[str, ...]) -> list[Any]:
    for name in weights:
        if name not in names:
            meant = _check.did_you_mean(name, names)
            raise ValueError(
                f"weights name {name!r}, which is no member{meant}; the members are {', '.join(map(repr, names[:20]))}"
                f"{', ...' if len(names) > 20 else '.'}"
            )
    return [weights.get(name, 1.0) for name in names]


def as_counts(counts: Any, n_rows: int) -> NDArray[np.int64]:
    """Return one count of at least 1 per row; all are 1 if none are given."""
    if counts is None:
        return np.ones(n_rows, dtype=np.int64)
    values = np.asarray(counts)
    if values.shape != (n_rows,):
        raise ValueError(f"counts must have one value per row, {n_rows:,} in all, got shape {values.shape}.")
    if values.dtype.kind not in "iu" or values.min() < 1 or values.max() > np.iinfo(np.int64).max:
        raise ValueError("counts must be integers of at least 1: how many objects each row stands for.")
    return values.astype(np.int64)


def as_ids(ids: Any, n_rows: int) -> Array:
    """Return one id per object, as an array that cannot be written to."""
    values = np.asarray(ids)
    if values.shape != (n_rows,):
        raise ValueError(f"ids must have one value per object, {n_rows:,} in all, got shape {values.shape}.")
    refuse_repeated(values, "ids")
    return read_only(values)


MEASURED_FROM = 5
"""The number of objects from which on a column of numbers with decimals counts as measurements."""
ALL_DIFFERENT_FROM = 21
"""The number of objects from which on a column in which all labels differ counts as ids."""
ALMOST_FROM = 50
"""The number of objects from which on a column in which almost all labels differ counts as ids."""
ALMOST = 0.9
"""Almost all labels differ if there are more labels than this fraction of the objects."""
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*")
DIGITS = re.compile(r"\s*[+-]?\d+\s*")


def refuse_suspects(
    labels: Array,
    names: tuple[str, ...],
    categories: tuple[Array, ...],
    *,
    source: str = "",
    declared: bool = False,
    counts: Array | None = None,
    has_ids: bool = False,
) -> None:
    """Raise if a column cannot be a clustering.

    Parameters
    ----------
    labels : array of shape (n_rows, n_members)
        Codes, -1 for a missing label.
    names, categories : tuples
        The names of the members, and for each member the labels that its codes stand for.
    source : str
        The name of the file that holds the columns; empty if there is none.
    declared : bool
        Whether the user named the columns as clusterings: then they may have as many labels as objects.
    counts : array of shape (n_rows,), optional
        How many objects each row stands for; 1 each by default.
    has_ids : bool
        Whether another column names the objects, so that none is advised as their ids.
    """
    n_objects = len(labels) if counts is None else int(counts.sum())

    def n_known(place: int) -> int:
        return _n_known(labels[:, place], counts, len(categories[place]))

    refuse_suspect_columns(names, categories, n_objects, n_known, source=source, declared=declared, has_ids=has_ids)


def refuse_suspect_columns(
    names: tuple[str, ...],
    categories: tuple[Array, ...],
    n_objects: int,
    n_known: Callable[[int], int],
    *,
    source: str = "",
    declared: bool = False,
    has_ids: bool = False,
) -> None:
    """Do what `refuse_suspects` does; `n_known` says how many objects the member at a place labels."""
    where = f"{source}: " if source else ""
    measured = [place for place, values in enumerate(categories) if is_measurement(values)]
    if measured and n_objects >= MEASURED_FROM:
        raise ValueError(
            where + _measurement_message([names[place] for place in measured], categories[measured[0]], source)
        )
    if declared or n_objects < ALL_DIFFERENT_FROM:
        return
    for place, values in enumerate(categories):
        if len(values) >= ALL_DIFFERENT_FROM:
            _refuse_ids(n_known(place), names[place], len(values), where, has_ids=has_ids)


def is_measurement(categories: Array) -> bool:
    """Whether labels are numbers with digits after the decimal point, or after a decimal comma in texts."""
    if categories.dtype.kind == "f":
        return bool(np.any(categories != np.floor(categories)))
    if categories.dtype.kind == "O":  # cells of Excel are Python objects
        numbers = [value for value in categories.tolist() if isinstance(value, Real | Decimal)]
        return len(numbers) == len(categories) and any(value % 1 != 0 for value in numbers)
    if categories.dtype.kind != "U" or not len(categories) or not DECIMAL_COMMA.fullmatch(str(categories[-1])):
        return False
    return all(DECIMAL_COMMA.fullmatch(text) or DIGITS.fullmatch(text) for text in categories.tolist())


def _n_known(labels: Array, counts: Array | None, n_labels: int) -> int:
    """Return how many objects are labelled, or how many of the first ones if these show that labels repeat."""
    n_known = 0
    for rows in (slice(0, 4 * n_labels), slice(4 * n_labels, None)):
        known = labels[rows] >= 0
        n_known += int(known.sum() if counts is None else counts[rows][known].sum())
        if n_known >= max(ALMOST_FROM, 2 * n_labels):
            break
    return n_known


def _refuse_ids(n_known: int, name: str, n_labels: int, where: str, *, has_ids: bool) -> None:
    all_different = n_labels == n_known >= ALL_DIFFERENT_FROM
    if not (all_different or (n_known >= ALMOST_FROM and n_labels > ALMOST * n_known)):
        return
    how_many = (
        f"a label of its own for each of the {n_known:,}" if all_different else f"{n_labels:,} labels for {n_known:,}"
    )
    known, as_ids, left_out = _check.brief(name), _check.option("--id", name), _check.option("--drop", name)
    looks = "remarks or" if has_ids else "their ids or like"
    naming = "" if has_ids else f"pass ids={known} ({as_ids}) if it names the objects, "
    raise ValueError(
        f"{where}column {known} has {how_many} objects, so it looks like {looks} a measurement; {naming}leave it out "
        f"({left_out}) if it does not belong here, or pass check=False (--no-check) if it is a clustering."
    )


def _measurement_message(names: list[str], categories: Array, source: str) -> str:
    several = f"columns {', '.join(map(_check.brief, names[:5]))}{', ...' if len(names) > 5 else ''} hold"
    which = several if len(names) > 1 else f"column {_check.brief(names[0])} holds"
    examples = ", ".join(_check.brief(value, quoted=False) for value in categories[:3].tolist())
    file = source if source and source != "standard input" else "FILE"
    command = _check.option("quorate cluster", file)
    drop = _check.option("--drop", *names) if len(names) <= 20 else "--drop"
    return (
        f"{which} numbers such as {examples}, which are measurements and not labels; cluster measurements with "
        f"quorate.generate ({command}), leave such columns out ({drop}), or pass "
        f"check=False (--no-check) if they are labels."
    )
