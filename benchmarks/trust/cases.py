"""Results that are good, and results that are bad in many ways, and what the verdict says about each of them.

A result is bad if it has an ARI with the planted clusters below `BAD_BELOW`, or if there are none; it is good from
`GOOD_FROM` on. The aim: no bad result ends in "use the clusters", and every good one does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.tables import table_text
from quorate import EnsembleClustering, ari, as_ensemble, consensus, evaluate

BAD_BELOW, GOOD_FROM = 0.5, 0.9
Labels = NDArray[np.int64]


class Case(NamedTuple):
    """A result, what it was made from, and the planted clusters; `measurements` if it was made from any."""

    result: Any
    table: Any
    truth: Labels | None
    measurements: NDArray[np.float64] | None = None


def truth_of(rng: np.random.Generator, n: int, k: int) -> Labels:
    return rng.permutation(np.arange(n) % k)


def seen(rng: np.random.Generator, truth: Labels, n_members: int, errors: float, k: int = 0) -> Labels:
    """Labels of members with this share of errors; a member of 100% errors is random."""
    k = k or int(truth.max()) + 1
    columns = [
        np.where(rng.random(len(truth)) < errors, rng.integers(k, size=len(truth)), truth) for _ in range(n_members)
    ]
    return np.stack(columns, axis=1)


def _solved(n: int, k: int, n_members: int, errors: float, wanted: int = 0, random: int = 0, **options: Any) -> Case:
    """A consensus of members with errors and of random members, by a method with options."""
    rng = np.random.default_rng(n + k)
    truth = truth_of(rng, n, k)
    table = (
        np.hstack([seen(rng, truth, n_members, errors), seen(rng, truth, random, 1.0)])
        if random
        else seen(rng, truth, n_members, errors)
    )
    return Case(consensus(table, wanted or k, random_state=0, **options), table, truth)


def _half_random(**options: Any) -> Case:
    return _solved(2_000, 5, 10, 0.3, random=10, method="hne", **options)


def _changed(change: Callable[[np.random.Generator, Labels], Labels]) -> Case:
    """A labelling that somebody changed, beside the members of the one that it was."""
    rng = np.random.default_rng(5)
    truth = truth_of(rng, 1_500, 5)
    return Case(change(rng, truth), seen(rng, truth, 15, 0.25), truth)


def _shuffled(rng: np.random.Generator, truth: Labels, share: float) -> Labels:
    moved = rng.random(len(truth)) < share
    return np.where(moved, rng.permutation(truth), truth)


def _made(table: Labels, truth: Labels | None, k: int, **options: Any) -> Case:
    return Case(consensus(table, k, random_state=0, **options), table, truth)


def _copies(errors: float) -> Case:
    rng = np.random.default_rng(11)
    truth = truth_of(rng, 1_200, 4)
    return _made(np.repeat(seen(rng, truth, 4, errors), 5, axis=1), truth if errors < 1 else None, 4)


def _near_copies() -> Case:
    rng = np.random.default_rng(12)
    random = np.repeat(seen(rng, truth_of(rng, 1_200, 4), 4, 1.0), 5, axis=1)
    return _made(np.where(rng.random(random.shape) < 0.03, rng.integers(4, size=random.shape), random), None, 4)


def _parts(overlap: float) -> Case:
    """Each member labels a part of the objects; without an overlap nothing links the clusters of different parts."""
    rng = np.random.default_rng(13)
    truth = truth_of(rng, 1_600, 4)
    place = rng.permutation(1_600)[:, None] / 1_600
    labels = np.stack([rng.permutation(4)[truth] for _ in range(8)], axis=1)
    known = (place - np.arange(8) / 8) % 1 < 1 / 8 + overlap
    return _made(np.where(known, labels, -1), truth, 4)


def _giant() -> Case:
    rng = np.random.default_rng(14)
    truth = rng.choice(4, size=2_000, p=(0.94, 0.02, 0.02, 0.02))
    return _made(seen(rng, truth, 20, 0.1), truth, 4)


def _camps() -> Case:
    rng = np.random.default_rng(15)
    one, other = truth_of(rng, 1_500, 4), truth_of(rng, 1_500, 4)
    return _made(np.hstack([seen(rng, one, 10, 0.2), seen(rng, other, 10, 0.2)]), one, 4)


def _constant() -> Case:
    rng = np.random.default_rng(16)
    truth = truth_of(rng, 1_200, 4)
    return _made(np.hstack([seen(rng, truth, 6, 0.2), np.zeros((1_200, 14), dtype=np.int64)]), truth, 4)


def _gaps(errors: float, missing: float) -> Case:
    rng = np.random.default_rng(17)
    truth = truth_of(rng, 2_000, 4)
    table = np.where(rng.random((2_000, 12)) < missing, -1, seen(rng, truth, 12, errors))
    table[np.arange(2_000), rng.integers(12, size=2_000)] = truth
    return _made(table, truth, 4)


def _clustered(X: NDArray[np.float64], truth: Labels | None, k: int, **options: Any) -> Case:
    model = EnsembleClustering(k, random_state=0, **options).fit(X)
    return Case(model.consensus_, model.ensemble_, truth, X)


def _blobs(columns: int = 4) -> tuple[NDArray[np.float64], Labels]:
    rng = np.random.default_rng(18)
    truth = truth_of(rng, 800, 4)
    return rng.normal(scale=6.0, size=(4, columns))[truth] + rng.normal(size=(800, columns)), truth


def _unscaled() -> Case:
    X, truth = _blobs()
    noise = np.random.default_rng(19).normal(scale=300.0, size=(len(X), 1))
    return _clustered(np.hstack([X, noise]), truth, 4)


CASES: dict[str, Callable[[], Case]] = {
    "average link": lambda: _solved(6_500, 20, 20, 0.3, method="eac"),
    "average link, coarsened to theta .9": lambda: _solved(6_500, 20, 20, 0.3, method="eac", coarsen=0.9),
    "single link, 40% errors": lambda: _solved(2_000, 5, 20, 0.4, method="eac", linkage="single"),
    "complete link, 60% errors": lambda: _solved(1_500, 5, 20, 0.6, method="eac", linkage="complete"),
    "20,000 objects, coarsened by itself": lambda: _solved(20_000, 20, 20, 0.3, method="kmeans", coarsen="auto"),
    "cspa, coarsened by itself": lambda: _solved(12_000, 20, 20, 0.5, method="cspa", coarsen="auto"),
    "hne at theta .3, half of the members random": lambda: _solved(
        2_000, 5, 10, 0.3, random=10, method="hne", theta=0.3
    ),
    "hne at theta .6, half of the members random": lambda: _solved(
        2_000, 5, 10, 0.3, random=10, method="hne", theta=0.6
    ),
    "hne, half of the members random": _half_random,
    "lwgp, 6 good and 30 random members": lambda: _solved(1_500, 4, 6, 0.15, random=30, method="lwgp"),
    "random members": lambda: _solved(1_500, 4, 20, 1.0)._replace(truth=None),
    "random members, each five times": lambda: _copies(1.0),
    "random members, each five times with 3% changed": _near_copies,
    "good members, each five times": lambda: _copies(0.15),
    "2 clusters asked for, 8 planted": lambda: _solved(1_600, 8, 20, 0.25, wanted=2),
    "20 clusters asked for, 4 planted": lambda: _solved(1_600, 4, 20, 0.25, wanted=20),
    "70% errors, 6 members": lambda: _solved(1_500, 6, 6, 0.7),
    "members that each label another eighth": lambda: _parts(0.0),
    "members that each label three eighths": lambda: _parts(0.25),
    "one cluster of 94% of the objects": _giant,
    "two camps of members": _camps,
    "14 of 20 members with a single cluster": _constant,
    "55% of the labels missing": lambda: _gaps(0.2, 0.55),
    "labels as planted": lambda: _changed(lambda rng, truth: truth),
    "a third of the labels shuffled": lambda: _changed(lambda rng, truth: _shuffled(rng, truth, 0.33)),
    "two thirds of the labels shuffled": lambda: _changed(lambda rng, truth: _shuffled(rng, truth, 0.67)),
    "all labels shuffled": lambda: _changed(lambda rng, truth: _shuffled(rng, truth, 1.0)),
    "labels shifted by a row": lambda: _changed(lambda rng, truth: np.roll(truth, 1)),
    "nearly all in one cluster by hand": lambda: _changed(
        lambda rng, truth: np.where(np.arange(len(truth)) < 4, np.arange(len(truth)) + 1, 0)
    ),
    "measurements with clusters": lambda: _clustered(*_blobs(), 4),
    "measurements without clusters": lambda: _clustered(np.random.default_rng(20).random((800, 4)), None, 4),
    "a column of noise 100 times as wide": _unscaled,
}


def names() -> list[str]:
    return list(CASES)


def measure_case(name: str) -> dict[str, Any]:
    """Make a result and judge it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = CASES[name]()
        scores = evaluate(case.result, as_ensemble(case.table), null="auto", features=case.measurements)
    labels = np.asarray(getattr(case.result, "labels", case.result))
    found = None if case.truth is None else round(float(ari(labels, case.truth)), 2)
    sizes = np.sort(np.bincount(labels[labels >= 0]))[::-1].tolist()
    told = scores.verdict
    return {"ari": found, "sizes": sizes, "grade": told.grade, "text": told.text, "next": told.next_step}


def kind_of(found: dict[str, Any]) -> str:
    """Whether a result is good, bad, or neither."""
    if found["ari"] is None or found["ari"] < BAD_BELOW:
        return "bad"
    return "good" if found["ari"] >= GOOD_FROM else "between"


def is_used(found: dict[str, Any]) -> bool:
    """Whether the verdict ends in advice to use the clusters."""
    return bool(found["next"].startswith("Use the clusters") and "hint" not in found["next"])


def cases_section(found: dict[str, dict[str, Any]]) -> str:
    """The table of the cases, and how many of them end as they should."""
    if not found:
        return "Not measured yet."
    rows = [
        [name, "none" if case["ari"] is None else f"{case['ari']:.2f}", kind_of(case), f"{case['text']} {case['next']}"]
        for name, case in ((name, found[name]) for name in CASES if name in found)
    ]
    head = ["result", "ARI", "", "verdict"]
    return "\n".join([used_text(found), "", table_text(head, rows)])


def used_text(found: dict[str, dict[str, Any]]) -> str:
    """How many bad and good results end in advice to use the clusters."""
    bad, good = ([case for case in found.values() if kind_of(case) == kind] for kind in ("bad", "good"))
    return (
        f"{sum(map(is_used, bad))} of {len(bad)} bad results end in advice to use the clusters, and "
        f"{sum(map(is_used, good))} of {len(good)} good ones do."
    )
