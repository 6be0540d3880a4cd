"""Refusing columns of ids and of measurements, which would spoil a result silently if they became members."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check

Array = NDArray[Any]
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
    """
    where = f"{source}: " if source else ""
    n_objects = len(labels) if counts is None else int(counts.sum())
    measured = [place for place, values in enumerate(categories) if is_measurement(values)]
    if measured and n_objects >= MEASURED_FROM:
        raise ValueError(
            where + _measurement_message([names[place] for place in measured], categories[measured[0]], source)
        )
    if declared or n_objects < ALL_DIFFERENT_FROM:
        return
    for place, values in enumerate(categories):
        if len(values) >= ALL_DIFFERENT_FROM:
            _refuse_ids(_n_known(labels[:, place], counts, len(values)), names[place], len(values), where)


def is_measurement(categories: Array) -> bool:
    """Whether labels are numbers with digits after the decimal point, or after a decimal comma in texts."""
    if categories.dtype.kind == "f":
        return bool(np.any(categories != np.floor(categories)))
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


def _refuse_ids(n_known: int, name: str, n_labels: int, where: str) -> None:
    all_different = n_labels == n_known >= ALL_DIFFERENT_FROM
    if not (all_different or (n_known >= ALMOST_FROM and n_labels > ALMOST * n_known)):
        return
    how_many = (
        f"a label of its own for each of the {n_known:,}" if all_different else f"{n_labels:,} labels for {n_known:,}"
    )
    known, as_ids, left_out = _check.brief(name), _check.option("--id", name), _check.option("--drop", name)
    raise ValueError(
        f"{where}column {known} has {how_many} objects, so it looks like their ids or like a measurement; pass "
        f"ids={known} ({as_ids}) if it names the objects, leave it out ({left_out}) if it does not belong here, or "
        f"pass check=False (--no-check) if it is a clustering."
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
