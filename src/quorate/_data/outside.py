"""Objects that stay outside: members say that they belong to no cluster (noise), or no member labels them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import MissingRule, as_number, code_integers, missing_rule
from quorate._data.proof import vary
from quorate._types import Ensemble, read_only
from quorate.solvers.members import with_members

Array = NDArray[Any]
HALF = 0.5
"""An object stays outside if members of at least this share of the weight of those that know it say so."""
SKIP_EMPTY = (True, False, "keep")


def noise_values(noise: Any) -> tuple[Any, ...]:
    """Return the option `noise`, one value or several, as a tuple; empty if no value stands for noise."""
    return () if noise is None else missing_rule(noise if isinstance(noise, list | tuple) else [noise]).values


def rule_beside(missing: Any, noise: Any) -> MissingRule:
    """Return the rule for missing labels that leaves noise a label for the moment."""
    rule, values = missing_rule(missing), noise_values(noise)
    if not values:
        return rule
    return MissingRule(tuple(value for value in rule.values if not _is_noise(value, MissingRule(values))), values)


def _is_noise(value: Any, rule: MissingRule) -> bool:
    """Whether a label stands for noise; a text that is written as the number of noise does, too."""
    if not isinstance(value, str):
        return rule.covers(value)
    number = as_number(value)
    return value in rule.values or (number is not None and number == number and rule.covers(number))


def noise_taken_out(
    labels: Array, categories: tuple[Array, ...], names: tuple[str, ...], missing: Any, noise: Any
) -> tuple[Array, tuple[Array, ...], NDArray[np.bool_]]:
    """Make noise a missing label: the codes and categories without it, and which labels were noise."""
    rule, declared = MissingRule(noise_values(noise)), missing_rule(missing).values
    mask = np.zeros(labels.shape, dtype=np.bool_)
    for member, values in enumerate(categories):
        codes = [code for code, value in enumerate(values.tolist()) if _is_noise(value, rule)]
        mask[:, member] = np.isin(labels[:, member], codes)
    coded, kept = code_integers(np.where(mask, -1, labels).astype(np.int64), names, MissingRule((-1,)))
    known = tuple(values[codes] for values, codes in zip(categories, kept, strict=True))
    for name, values in zip(names, known, strict=True):
        MissingRule((*declared, *rule.values) if declared else ()).refuse_negative(values.tolist(), name)
    return coded, known, mask


def noise_of(ensemble: Ensemble, mask: NDArray[np.bool_], names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which labels were noise for the members that the ensemble has; some may have been left out."""
    return mask if ensemble.member_names == names else mask[:, _check.places(ensemble.member_names, names)]


def with_noise(ensemble: Ensemble, mask: NDArray[np.bool_] | None) -> Ensemble:
    """Remember which labels of the ensemble were noise."""
    if mask is not None:
        ensemble.remember(noise=read_only(mask))
    return ensemble


def unlabelled_rows(labels: Array) -> NDArray[np.intp]:
    """Return the numbers of the rows that have no label in any member."""
    return np.flatnonzero(labels.max(axis=1) < 0) if labels.min() < 0 else np.empty(0, dtype=np.intp)


def unknown_rows(ensemble: Ensemble) -> NDArray[np.intp]:
    """Return the numbers of the rows that no member says anything about, neither a label nor noise."""
    rows = unlabelled_rows(ensemble.labels)
    return rows if ensemble.noise is None else rows[~ensemble.noise[rows].any(axis=1)]


def refuse_unlabelled(labels: Array, rows: NDArray[np.intp] | None = None, ids: Array | None = None) -> None:
    """Raise if an object has no label in any member; `rows` are these objects if they are known already."""
    unlabelled = unlabelled_rows(labels) if rows is None else rows
    if len(unlabelled):
        first = (unlabelled if ids is None else ids[unlabelled])[:5].tolist()
        shown = ", ".join(_check.brief(name, quoted=False) for name in first) + (", ..." if len(unlabelled) > 5 else "")
        where = shown if ids is not None else f"row{'s' if len(unlabelled) > 1 else ''} {shown}, counted from 0"
        raise ValueError(
            f"{len(unlabelled):,} of {len(labels):,} objects {_check.has(len(unlabelled))} no label in any member "
            f"({where}); nothing is known about them. Leave them out, or keep them without a "
            f"cluster (load_labels: skip_empty=True or 'keep'; shell: --skip-empty or --keep-empty); if -1 "
            f"means noise, as in HDBSCAN, say so (noise=-1; shell: --noise -1)."
        )


def settled(ensemble: Ensemble, skip_empty: Any) -> tuple[Ensemble, NDArray[np.intp] | None]:
    """Raise if an object has no label at all, leave such objects out if `skip_empty` is true, or keep them.

    Returns the ensemble and the numbers of the rows that were kept, or None if all were.
    """
    _check.choice(skip_empty, "skip_empty", SKIP_EMPTY)
    if skip_empty is True:
        return without_unlabelled(ensemble)
    if skip_empty is False:
        refuse_unlabelled(ensemble.labels, unknown_rows(ensemble), ensemble.object_ids)
    if ensemble.labels.max() < 0:
        raise ValueError("no member labels any object; at least one label was expected.")
    return ensemble, None


def without_unlabelled(ensemble: Ensemble) -> tuple[Ensemble, NDArray[np.intp]]:
    """Return the ensemble without the objects that no member says anything about, and the numbers of the rows kept."""
    empty = unknown_rows(ensemble)
    kept = np.setdiff1d(np.arange(ensemble.n_rows), empty, assume_unique=True)
    if not len(empty):
        return ensemble, kept
    if ensemble.object_ids is None:
        raise ValueError(
            f"skip_empty (--skip-empty) would leave {_check.counted(len(empty), 'object')} out, and without names it "
            f"would be unknown which; name the objects with ids= (--id)."
        )
    left_out = {"n": len(empty), "first": [str(name) for name in ensemble.object_ids[empty[:5]].tolist()]}
    chosen = vary(
        ensemble,
        labels=ensemble.labels[kept],
        counts=ensemble.counts[kept],
        object_ids=ensemble.object_ids[kept],
        info={**ensemble.info, "skipped": left_out},
    )
    return with_noise(chosen, None if ensemble.noise is None else ensemble.noise[kept]), kept


def noise_shares(ensemble: Ensemble) -> NDArray[np.float64]:
    """For each row, the share of the weight of the members that know it which say that it is noise; NaN if none do."""
    labelled = (ensemble.labels >= 0) @ ensemble.weights
    noisy = np.zeros(ensemble.n_rows) if ensemble.noise is None else ensemble.noise @ ensemble.weights
    known = labelled + noisy
    return np.where(known > 0, noisy / np.where(known > 0, known, 1.0), np.nan)


def inside_rows(ensemble: Ensemble) -> NDArray[np.intp] | None:
    """Return the rows that belong to some cluster, or None if all do.

    Outside are rows that members of at least half of the weight call noise, and rows that no member labels.
    """
    if ensemble.noise is None and not len(unlabelled_rows(ensemble.labels)):
        return None
    shares = noise_shares(ensemble)
    inside = np.flatnonzero(shares < HALF - 1e-12)
    if not len(inside):
        raise ValueError(
            "members of at least half of the weight call every object noise, so that no object is left to cluster; "
            "leave noise= (--noise) out, and these labels are missing labels."
        )
    return None if len(inside) == ensemble.n_rows else inside


def part_inside(ensemble: Ensemble, inside: NDArray[np.intp]) -> Ensemble:
    """Return the rows inside, coded anew, without members that label none of them."""
    labels = ensemble.labels[inside]
    members = np.flatnonzero(labels.max(axis=0) >= 0)
    chosen = with_members(ensemble, members)
    codes, kept = code_integers(labels[:, members].astype(np.int64), chosen.member_names, MissingRule((-1,)))
    ids = ensemble.object_ids
    return vary(
        chosen,
        labels=codes,
        counts=ensemble.counts[inside],
        n_clusters=np.array([len(values) for values in kept], dtype=np.int64),
        categories=tuple(values[order] for values, order in zip(chosen.categories, kept, strict=True)),
        object_ids=None if ids is None else ids[inside],
    )
