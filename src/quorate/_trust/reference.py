"""How well clusters are separated in the measurements, and the reference without clusters to compare that with.

Separation means valleys between clusters, links of neighbours across their borders, and borders that are sparse
(`separation`). The reference has the same covariance as the measurements, or as they would have if the cloud were
unrolled, and is clustered by the same procedure.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._choose_k.explore import How, Judge
from quorate._consensus.consensus import solve, solve_objects
from quorate._data.rows import compress
from quorate._solve.procedure import procedure_of, until_clear
from quorate._trust.separation import Separation, has_few_directions, separation, widths_along
from quorate._types import Ensemble, FloatArray
from quorate.generation.bases import BASES, is_auto
from quorate.generation.features import WHOLE, Features, as_features
from quorate.generation.generating import generate_with_models
from quorate.generation.k_rules import k_within
from quorate.generation.plans import Request, base_towards, k_towards
from quorate.generation.runner import Options
from quorate.generation.trial import method_towards

MOST_OBJECTS = 1_000
"""Objects on which the labelling and the reference are compared at most, so that the cost does not grow with them."""
BELOW, FEWEST, MOST = (-1.0, -0.5, 0.0), 5, 19
"""A comparison ends after one, two or three draws with a z below these: no further draws bring it beyond `BEYOND`.
Any clear answer ends it after the second number of draws, and any answer after the third."""
BEYOND = 3.0
"""From this z on, clusters are separated better than those of the reference."""
CLEAR = (1.0, 6.0)
"""Below the first or above the second z the answer is clear, and no further draws are made."""
LEAST_SPREAD = Separation(valley=0.3, cut=0.15, border=0.1)
"""The least standard deviations of valley, log-cut and border: few draws may be alike by chance."""
FLAT = Separation(valley=0.0, cut=0.7, border=0.5)
"""Allowance for valley, log-cut and border: densities without clusters differ by up to this much from the reference."""
FLAT_ALONG = FLAT._replace(valley=0.5)
"""The same for valleys along the cloud: ways through a wide curved cloud cut its corners."""
MOST_REPEATED = 0.5
"""A column has steps only if its different values are at most this share of the objects."""
OFF_STEP = 0.01
"""By so many steps a difference may miss a multiple of the step, because sums of decimal fractions are not exact."""
WIDER = 2.5
"""A space between values may be so many times as wide as the next one and still be a step: of roots of counts, 2.4."""
Scaling = Callable[[Any], Any]
LEAST_AT_END = 0.05
"""Many values are at one end of a column if they are at least this share of the objects."""
BESIDE = 0.2
"""The share of the other values whose density is taken for that beside an end."""
EXACT, MOST_COUNTED, MOST_ROWS = 1e-6, 1_000, 0.9
"""Values are counts divided by a number for each row if they are multiples of it up to the first part of the largest,
and at most so many times as large, in most rows."""
SCALES_OF_COUNTS: tuple[tuple[Scaling, Scaling], ...] = (
    (np.asarray, np.asarray),
    (np.sqrt, np.square),
    (np.sqrt, np.expm1),
    (np.sqrt, lambda x: np.exp2(x) - 1),
    (np.sqrt, lambda x: np.power(10.0, x) - 1),
)
"""How counts that were divided by the total of their row are looked at, and what undoes what was done to them. Roots
are looked at instead of logarithms: logarithms put a wide space between 0 and 1, and roots of counts err alike."""
FEW_LINKS = 0.001
"""Added to cuts before the logarithm is taken."""

Cluster = Callable[[FloatArray, int], NDArray[Any]]
"""The procedure: measurements and the number of the draw in, a label for each object out."""


class Reference(NamedTuple):
    """How well clusters are separated, compared with the clusters that the same procedure finds where there are none.

    Attributes
    ----------
    valley, expected : float
        The mean depth of the valleys around the clusters in standard errors, of the labelling and of the reference.
    cut, expected_cut : float
        The share of links between nearest neighbours that leave a cluster, of the labelling and of the reference.
    border, expected_border : float or None
        How much sparser objects are at the borders of clusters than within them, as a difference of logarithms of
        densities; None if no link leaves a cluster.
    z : float
        How many standard deviations the labelling is better separated than the reference, by the best of the three.
    p_value : float
        (1 + draws that were separated as well) / (1 + draws).
    n_draws, n_objects : int
        Draws of the reference, and objects of each draw.
    """

    valley: float
    expected: float
    cut: float
    expected_cut: float
    border: float | None
    expected_border: float | None
    z: float
    p_value: float
    n_draws: int
    n_objects: int

    @property
    def is_beyond(self) -> bool:
        """Whether the clusters are separated better than clusters of measurements without clusters."""
        return self.z >= BEYOND


def principal_sample(features: Features, labels: NDArray[Any], seed: int) -> tuple[FloatArray, NDArray[Any]]:
    """Draw labelled objects, and return their coordinates in the principal axes, and their clusters numbered anew."""
    known = np.flatnonzero(labels >= 0)
    if len(known) > MOST_OBJECTS:
        rng = np.random.default_rng((seed, 17))
        known = np.sort(rng.choice(known, MOST_OBJECTS, replace=False, shuffle=False))
    raw = np.asarray(features.raw(known, WHOLE), dtype=np.float64)
    block = without_steps(raw, np.random.default_rng((seed, 31)))
    # the scale, a power of two, brings values near 1, so that sums and squares neither overflow nor vanish
    block, raw = block * features.scale, raw * features.scale
    # a column in which nearly all values are 0 would outweigh all others by the width of its steps alone
    wider = np.maximum(block.std(axis=0), 1e-300) / np.maximum(raw.std(axis=0), 1e-300)
    block = (block - block.mean(axis=0)) / np.maximum(wider, 1.0)
    left, values, _ = np.linalg.svd(block, full_matrices=False)
    kept = values > 1e-9 * max(float(values[0]), 1e-300)
    return left[:, kept] * values[kept], np.unique(labels[known], return_inverse=True)[1].reshape(-1)


def without_steps(block: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Spread the values of columns that hold few values evenly over the space between them.

    Counts, answers and rounded numbers, and what was computed from them, have empty space between their values.
    Without this it would be taken for the valleys between clusters, because the reference, which is drawn from a
    density, has none. A space much wider than the next one is kept: it is between clusters rather than between steps.
    Counts that were divided by the total of their row have steps of another width in each row. Many values at one end
    of a column that is otherwise continuous, such as a limit of detection, are spread beyond this end.
    """
    of_rows = _spread_in_rows(block, rng)
    if of_rows is not None:
        return of_rows
    spread = block.copy()
    for place, column in enumerate(block.T):
        values, which, counts = np.unique(column, return_inverse=True, return_counts=True)
        if len(values) == 1:
            continue
        at_ends = (np.arange(len(values)) % (len(values) - 1) == 0) & (counts >= LEAST_AT_END * len(column))
        others = ~at_ends[which]
        if at_ends.any() and (~at_ends).sum() > MOST_REPEATED * others.sum():
            spread[:, place] += _beyond_ends(column, which, at_ends, rng)
        elif len(values) <= MOST_REPEATED * len(column):
            halves = _filled(np.diff(values)) / 2
            below, above = np.concatenate([halves[:1], halves]), np.concatenate([halves, halves[-1:]])
            spread[:, place] += rng.uniform(-below[which], above[which])
    return spread


def _beyond_ends(
    column: FloatArray, which: NDArray[np.intp], at_ends: NDArray[np.bool_], rng: np.random.Generator
) -> FloatArray:
    """Return what brings many equal values at an end of a column beyond it, as densely as the others are beside it.

    Where hardly any others are beside it, which is a space between clusters, they are brought less far, and never
    farther than the others reach: where all but a few values are equal, as in a pixel at the edge of images, the
    density of those few says nothing, and the column would outweigh all others.
    """
    others = column[~at_ends[which]]
    low, high = np.quantile(others, (0.25, 0.75))
    moved = np.zeros(len(column))
    for end, sign in ((0, -1.0), (len(at_ends) - 1, 1.0)):
        own = which == end
        if at_ends[end]:
            beside = abs(float(np.quantile(others, BESIDE if end == 0 else 1 - BESIDE)) - column[own][0])
            each = min(beside / BESIDE, WIDER * 2 * (high - low))
            farthest = min(each * own.sum() / len(others), float(np.abs(others - column[own][0]).max()))
            moved[own] = sign * rng.uniform(0.0, farthest, own.sum())
    return moved


def _spread_in_rows(block: FloatArray, rng: np.random.Generator) -> FloatArray | None:
    """Spread counts that were divided by a number for each row, or logarithms or roots of these, over their steps.

    None is returned if the values are nothing of this kind, or if all rows were divided by the same number.
    """
    if block.shape[1] < 2 or block.min() < 0:
        return None
    for seen_as, back in SCALES_OF_COUNTS:
        with np.errstate(over="ignore"):
            values = back(block)
        units = _units(values) if np.isfinite(values).all() else None
        if units is None:
            continue
        units = units[:, None]
        counts = np.round(values / units)
        own, above = seen_as(counts * units), seen_as((counts + 1) * units)
        half_above = (above - own) / 2
        half_below = np.where(counts > 0, (own - seen_as(np.maximum(counts - 1, 0) * units)) / 2, half_above)
        return np.asarray(own + rng.uniform(-half_below, half_above))
    return None


def _units(values: FloatArray) -> FloatArray | None:
    """Return the largest number of each row of which all its values are multiples; None if there is none for most rows.

    None is returned, too, if it is the same for nearly all rows: then each column has steps of its own.
    """
    largest = values.max(axis=1)
    positive = values > 0
    lost = positive & (values <= EXACT * largest[:, None])
    if np.mean(lost.any(axis=1)) > 1 - MOST_ROWS or np.mean(positive.sum(axis=1) > 1) < 0.5:
        return None  # nothing can be told of rows of one count, or of powers, beside the largest of which others vanish
    units = np.zeros(len(values))
    for column in values.T:
        units = _common_divisor(units, column, EXACT * largest)
        # rows of zeros so far have no unit yet
        if np.mean((units == 0) | (units * MOST_COUNTED >= largest)) < MOST_ROWS:
            return None
    # multiples of one number for all rows are steps of columns; a row of zeros has any unit
    units = np.where(units > 0, units, units[units > 0].min())
    multiples = units / units.min()
    is_one = np.mean(np.abs(multiples - np.round(multiples)) < OFF_STEP) >= MOST_ROWS
    return None if is_one else units


def _common_divisor(one: FloatArray, other: FloatArray, nothing: FloatArray) -> FloatArray:
    """Return the greatest common divisor of each pair of numbers; what is less than `nothing` counts as 0."""
    large, small = np.maximum(one, other), np.minimum(one, other)
    while (left := small > nothing).any():
        divisor = np.where(left, small, 1.0)
        rest = np.abs(large - divisor * np.round(large / divisor))
        large, small = np.where(left, small, large), np.where(left, rest, small)
    return large


def _filled(gaps: FloatArray) -> FloatArray:
    """Return how much of the space between two values belongs to steps, for all pairs of neighbouring values.

    Where all values are multiples of a step, it is one step; otherwise at most WIDER times the narrower one beside it.
    """
    step = float(gaps.min())
    if np.abs(gaps / step - np.round(gaps / step)).max() < OFF_STEP:
        return np.full(len(gaps), step)
    beside = np.concatenate([gaps[1:2], np.minimum(gaps[:-2], gaps[2:]), gaps[-2:-1]])
    return np.asarray(np.minimum(gaps, WIDER * beside))


def drawn_reference(n_objects: int, widths: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw objects uniformly from the ellipsoid that has these standard deviations in its principal axes.

    Of all densities without a valley the flat one is the least favourable: samples of it show the deepest valleys by
    chance.
    """
    d = len(widths)
    direction = rng.standard_normal((n_objects, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    radius = rng.random((n_objects, 1)) ** (1 / d) * np.sqrt(d + 2)
    return np.asarray(direction * radius * widths)


def compare_with_reference(
    features: Features, labels: NDArray[Any], cluster: Cluster, *, seed: int, n_draws: int = 0
) -> Reference | None:
    """Compare the clusters of a labelling with those that the same procedure finds in a reference without clusters.

    First objects are drawn and rotated to their principal axes. Then the separation of their clusters is measured.
    Last, the reference is drawn and clustered again and again, until the answer is clear.

    Parameters
    ----------
    features : Features
    labels : integer array of shape (n_objects,)
        -1 for objects without a label.
    cluster : callable
        The procedure, which takes measurements and the number of a draw, and returns labels.
    seed : int
    n_draws : int
        How often to draw; 0 for 1 to 19 times, until the answer is clear.

    Returns
    -------
    Reference or None
        None if there are not two clusters, fewer than 20 objects, no spread, or if the measurements are sparse.
    """
    if features.is_sparse:
        return None
    points, codes = principal_sample(features, np.asarray(labels), seed)
    n_clusters = int(codes.max(initial=-1)) + 1
    if n_clusters < 2 or len(points) < 20 or points.shape[1] == 0:
        return None
    along, widths = has_few_directions(points), widths_along(points)
    observed = separation(points, codes, along=along)

    def draw(number: int) -> Separation:
        drawn = drawn_reference(len(points), widths, np.random.default_rng((seed, number)))
        made = np.unique(cluster(drawn, number), return_inverse=True)[1].reshape(-1)
        return separation(drawn, made, along=along) if made.max() else Separation(0.0, 0.0, float("nan"))

    allowance = FLAT_ALONG if along else FLAT
    is_clear = partial(_is_clear, observed, allowance=allowance)
    step = "drawing measurements without clusters"
    found = until_clear(draw, is_clear, limits=(1, MOST), wanted=n_draws, step=step)
    return _compared(observed, found, len(points), allowance)


def _is_clear(observed: Separation, found: list[Separation], allowance: Separation = FLAT) -> bool:
    z = float(_scores([observed], found, allowance)[0])
    below = BELOW[min(len(found), len(BELOW)) - 1]
    return z < below or (len(found) >= FEWEST and not CLEAR[0] < z < CLEAR[1])


def _scores(judged: list[Separation], found: list[Separation], allowance: Separation) -> FloatArray:
    """Return the z of each separation: the best of valley, cut and border, in standard deviations of those found."""
    own, drawn = compared_values(judged), compared_values(found)
    each = [
        _z(values - allowed, others, least)
        for values, others, allowed, least in zip(own, drawn, allowance, LEAST_SPREAD, strict=True)
    ]
    # the border is not known if no link leaves a cluster, but then the other two are
    return np.asarray(np.fmax.reduce(each))


def compared_values(parts: list[Separation]) -> FloatArray:
    """Return valleys, logarithms of cuts, and borders, one row each; more means better separated."""
    values = np.array(parts, dtype=np.float64).T
    values[1] = -np.log(values[1] + FEW_LINKS)
    return values


def _z(own: FloatArray, drawn: FloatArray, least: float) -> FloatArray:
    """Return how many standard deviations values lie above those of the reference; NaN if there is no such value."""
    known = drawn[np.isfinite(drawn)]
    if not len(known) or (len(known) < 2 and len(drawn) > 1):
        return np.full(len(own), np.nan)
    # the spread of a single draw is not known
    spread = float(known.std(ddof=1)) if len(known) > 1 else 0.0
    return np.asarray((own - known.mean()) / max(spread, least))


def _compared(observed: Separation, found: list[Separation], n_objects: int, allowance: Separation) -> Reference:
    z, *others = _scores([observed, *found], found, allowance).tolist()
    borders = [part.border for part in found if np.isfinite(part.border)]
    return Reference(
        valley=observed.valley,
        expected=float(np.mean([part.valley for part in found])),
        cut=observed.cut,
        expected_cut=float(np.mean([part.cut for part in found])),
        border=observed.border if np.isfinite(observed.border) else None,
        expected_border=float(np.mean(borders)) if borders else None,
        z=z,
        p_value=(1 + sum(other >= z for other in others)) / (1 + len(others)),
        n_draws=len(found),
        n_objects=n_objects,
    )


JUDGED_OBJECTS = 5_000
"""Objects that are divided into clusters to judge a number of clusters, at most."""
REFERENCE_MEMBERS = 8
"""The number of members from which each draw of the reference is clustered."""
UNKNOWN_BASE = "kmeans"
"""The members of the reference if nobody knows how those of the ensemble were made."""


def judged_clusters(features: Features, how: How, n_clusters: int, *, draws: int) -> Reference | None:
    """Divide the objects into a number of clusters, as is done if the number is given, and judge the clusters.

    Of many objects a part is drawn and divided. None is returned if there is nothing to compare.
    """
    if features.is_sparse:
        return None
    part = _drawn(features, how.entropy)
    k = k_towards(how.request.k, how.request.base, n_clusters)
    request = how.request._replace(k=k, base=base_towards(how.request.base, n_clusters))
    ensemble, models = generate_with_models(part, request, how.entropy, how.options)
    if part is features:
        how.ensembles[n_clusters] = ensemble, models
    # options belong to the method that was named
    named = how.solving.method
    method = named if how.solving.options else method_towards(named, ensemble, n_clusters)
    base = str(ensemble.info["base"]).partition(":")[0]
    if is_auto(how.request.base):
        how.suited.update(base=base, method=method)
    solving = replace(how.solving, method=method, random_state=how.entropy % 2**62, confidence=False)
    with _without_warnings():
        result = solve_objects(ensemble, n_clusters, solving).objects
    key = base, result.method, result.labels.tobytes()
    if key not in how.judged:
        how.judged[key] = reference_of(result, result.labels, ensemble, part, draws)
    found: Reference | None = how.judged[key]
    return found


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep warnings about clusters back that are made for a comparison: nobody gets them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def judging(draws: int | None) -> Judge | None:
    """Return `judged_clusters` with a number of draws, 0 for as many as are needed; None for None."""
    return None if draws is None else partial(judged_clusters, draws=draws)


def _drawn(features: Features, entropy: int) -> Features:
    if features.n_objects <= JUDGED_OBJECTS:
        return features
    rng = np.random.default_rng((entropy % 2**32, 29))
    rows = np.sort(rng.choice(features.n_objects, JUDGED_OBJECTS, replace=False, shuffle=False))
    return as_features(np.asarray(features.data[rows]))


def reference_of(result: Any, codes: Any, ensemble: Ensemble, features: Features, draws: int) -> Reference | None:
    """Compare the clusters of a result with those that the same procedure finds in measurements without clusters.

    Members of the reference are made as `generate` made those of the ensemble, as far as this is known.
    """
    how = procedure_of(result, int(codes.max()) + 1)
    base = str(ensemble.info.get("base", UNKNOWN_BASE)).partition(":")[0]
    request = Request(0, None, base if base in BASES else UNKNOWN_BASE, 1.0, 1.0)
    cluster = procedure(request, how.method, {}, how.n_clusters)
    return compare_with_reference(features, codes, cluster, seed=how.seed % 2**32, n_draws=draws)


def procedure(request: Request, method: str, method_options: dict[str, Any], n_clusters: int) -> Cluster:
    """Return the function that clusters measurements as the request and the method say, with fewer members."""

    def cluster(points: FloatArray, number: int) -> NDArray[Any]:
        k = k_towards(request.k, request.base, n_clusters)
        k = None if k is None else k_within(k, len(points))
        few = Request(REFERENCE_MEMBERS, k, request.base, 1.0, 1.0)
        options = Options(told="")
        ensemble, _ = generate_with_models(as_features(points), few, number, options)
        rows, inverse = compress(ensemble)
        wanted = min(n_clusters, rows.n_rows)
        with _without_warnings():
            result = solve(rows, wanted, method=method, random_state=number, confidence=False, **method_options)
        labels: NDArray[Any] = result.labels[inverse]
        return labels

    return cluster
