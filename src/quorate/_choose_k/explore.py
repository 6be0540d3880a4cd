"""The number of clusters of measurements: members of many clusters are made, and the criteria of choose_k compared.

Measurements tell more than labels: links between nearest neighbours, and whether there are any clusters at all. The
latter is what the caller hands in (`_trust.reference.judging`), because it repeats the consensus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate._choose_k.choose_k import Wanted, candidates, choose, limit_info
from quorate._data.rows import compress
from quorate._solve.run_method import AUTO, resolve
from quorate._summaries import Choice
from quorate._types import Ensemble, FloatArray, Solving
from quorate.generation.bases import is_auto
from quorate.generation.features import WHOLE, Features, as_features
from quorate.generation.generating import generate_with_models
from quorate.generation.kmeans import KMeans
from quorate.generation.landmarks import dimension_around, links_of, neighbours_of
from quorate.generation.plans import Request
from quorate.generation.runner import MadeMembers, Options
from quorate.methods import METHODS

EXPLORING = "spectral"
"""The members by which the number of clusters is chosen if the caller leaves the base to us."""


HOPELESS = 1.0
"""Clusters of members that are made without a trial are judged once more with it from this z on."""


class How(NamedTuple):
    """How objects are clustered: the members, the consensus function and its options, the seed, and how they are run.

    `ensembles` collects the ensembles of all objects that were made, with their models, by the number of clusters;
    `suited` the base and the method that suit the data: those of the exploring members, and after a trial its own; and
    `judged` the comparisons that were made, so that equal labels by equal members are not judged twice.
    """

    request: Request
    solving: Solving
    entropy: int
    options: Options
    ensembles: dict[int, tuple[Ensemble, list[Any]]]
    suited: dict[str, str]
    judged: dict[tuple[str, str, bytes], Any]

    def quick(self) -> How:
        """Return it without further trials of members: with the base and the method of the trial before."""
        if not is_auto(self.request.base):
            return self
        solving = self.solving
        if solving.method == AUTO and not solving.options and "method" in self.suited:
            solving = replace(solving, method=self.suited["method"])
        request = self.request._replace(base=self.suited["base"])
        return self._replace(request=request, solving=solving, ensembles={}, suited={})


class Contrast(Protocol):
    """A comparison of clusters with those of measurements without clusters, such as `_trust.reference.Reference`."""

    @property
    def valley(self) -> float: ...

    @property
    def expected(self) -> float: ...

    @property
    def z(self) -> float: ...

    @property
    def is_beyond(self) -> bool: ...

    def _asdict(self) -> dict[str, Any]: ...


Judge = Callable[[Features, How, int], Contrast | None]
"""What compares a number of clusters with measurements without clusters; None if there is nothing to compare."""


class Explored(NamedTuple):
    """A number of clusters, its reasons, the comparison with a reference, and the members that were made for it.

    `ensembles` holds those that were made of all objects to judge a number of clusters, with their models; `limit` says
    which numbers `max_clusters` left out.
    """

    choice: Choice
    reference: Contrast | None
    ensemble: Ensemble
    ensembles: Mapping[int, tuple[Ensemble, list[Any]]]
    limit: Mapping[str, Any] = {}

    def made(self) -> tuple[Ensemble, list[Any]] | None:
        """Return the ensemble, with its models, from which the answer follows, if it was made to judge the number."""
        # whether any members find one cluster is no question, so that those are taken that are there
        return self.ensembles.get(self.choice.n_clusters)

    def info(self) -> dict[str, Any]:
        """Return what the info of a result says about the choice."""
        found = {} if self.reference is None else {"reference_test": dict(self.reference._asdict())}
        return {"choice": self.choice, **self.limit, **found}


def chooses_number(n_clusters: Any, method: str) -> bool:
    """Whether the number of clusters is left to the library, and not to a method that was named and finds it itself."""
    if n_clusters is None:
        return method == AUTO or (method in METHODS and not METHODS[method].finds_k)
    return isinstance(n_clusters, str | tuple | list | range)


def explore(
    features: Features,
    request: Request,
    n_clusters: Any,
    *,
    entropy: int,
    solving: Solving,
    n_jobs: int | None,
    judge: Judge | None,
) -> Explored:
    """Choose the number of clusters of measurements.

    First members of many clusters are made: spectral ones, unless the request names another base. Then the numbers are
    compared, by the criteria of `choose_k` and by links between nearest neighbours. Last, the objects are divided into
    the chosen number of clusters, and these are compared with clusters of measurements without clusters. If they are
    separated no better, the next candidate is taken; if none is separated better, the answer is 1.

    Parameters
    ----------
    features : Features
    request : Request
        How members are made, as for `generate`.
    n_clusters : "auto", None, (low, high) or range
    entropy : int
        The seed.
    solving : Solving
        The consensus function and its options; the seed is that of `entropy`.
    n_jobs : int, optional
    judge : function or None
        What compares clusters with those of measurements without clusters; None leaves the comparison out.
    """
    exploring = request._replace(base=EXPLORING) if is_auto(request.base) else request
    options = Options(n_jobs, keep_models=True, made=MadeMembers(features))
    made = generate_with_models(features, exploring, entropy, options)
    rows, _ = compress(made[0])
    asked_for = AUTO if n_clusters is None else n_clusters
    wanted = candidates(asked_for, rows, solving.max_clusters)
    if wanted is None:
        raise ValueError(f"n_clusters must be a number, 'auto', None or (lowest, highest), got {n_clusters!r}.")
    limit = limit_info(asked_for, rows, solving.max_clusters)
    named, _ = resolve(rows, wanted, replace(solving, random_state=entropy % 2**62, refine=False))
    links, more_links = links_between_cells(features, entropy)
    is_open = isinstance(asked_for, str)
    # members of the same measurements always have something in common, so permuted labels can tell nothing
    choice, _ = choose(rows, Wanted(wanted, is_open, null=False, links=links, more_links=more_links), named)
    if judge is None:
        return Explored(choice, None, made[0], {}, limit)
    how = How(request, solving, entropy, options, {}, {"base": EXPLORING}, {})
    judged = _judged(choice, partial(judge, features), how, is_open)
    return Explored(*judged, made[0], {**how.ensembles, 1: made}, limit)


def _judged(
    choice: Choice, compare: Callable[[How, int], Contrast | None], how: How, is_open: bool
) -> tuple[Choice, Contrast | None]:
    """Take the first candidate whose clusters are separated better than those of measurements without clusters.

    If there is none, the answer is 1, or stays as it is if 1 is not among the numbers to choose from. Rivals are
    compared without a trial of members first. Those that may be separated better are compared once more with it,
    because that is how the answer is made.
    """
    first: Contrast | None = None
    for k in choice.candidates or (choice.n_clusters,):
        # a number without rivals is the answer on most data with clusters, so that it is judged at once
        quick = how.quick() if len(choice.candidates) > 1 else how
        found = compare(quick, k)
        if quick is not how and (found is None or found.z >= HOPELESS):
            found = compare(how, k)
        first = found if first is None else first
        if found is None or found.is_beyond:
            return _taken(choice, k), found
    if first is None:
        return choice, None
    told = (
        f"random measurements without clusters can be divided as clearly (gaps of {first.expected:.1f} standard "
        f"errors; here {first.valley:.1f})"
    )
    if not is_open:
        return replace(choice, reason=f"{choice.reason} But {told}, so there may be no clusters at all."), first
    likeliest = " or ".join(map(str, choice.candidates))
    instead = f", no number stands out: try {likeliest}." if choice.undecided else f": {choice.reason}"
    reason = f"1 cluster: {told}. If you need clusters nevertheless{instead}"
    return replace(choice, n_clusters=1, reason=reason, candidates=(), undecided=False), first


def _taken(choice: Choice, k: int) -> Choice:
    """Return the choice with another candidate in the first place; the same if it is there already."""
    if k == choice.n_clusters:
        return choice
    others = tuple(other for other in choice.candidates if other != k)
    reason = (
        f"{k} clusters: they are separated better than those of random measurements without clusters. Another number "
        f"has more support, but its clusters are not: {choice.reason}"
    )
    return replace(choice, n_clusters=k, reason=reason, candidates=(k, *others), undecided=True)


LINKED_OBJECTS = 3_000
"""Objects whose nearest neighbours are found at most."""
NEIGHBOURS = 10
"""The number of nearest neighbours that each object is linked with."""
CELLS = (60, 120, 200)
"""The numbers of cells into which the objects are divided."""
OBJECTS_PER_CELL = 5
"""The least number of objects per cell on average; of few objects there are fewer cells."""
FEWEST_CELLS = 3
"""Fewer cells than these tell nothing about the number of clusters."""
MORE_NEIGHBOURS = 30
"""The number of nearest neighbours for modularity: with fewer of them, groups that are random for want of objects have
few links with others, too."""
FEWEST_FOR_MORE = 4 * MORE_NEIGHBOURS
"""Of fewer objects each would be linked with a large part of all."""
LEAST_DIMENSION = 4.0
"""In fewer dimensions few links cross a cut through a cluster, so that modularity divides clusters too far."""


def links_between_cells(features: Features, entropy: int) -> tuple[list[FloatArray], list[FloatArray]]:
    """Divide objects into small cells by k-means, and count links between nearest neighbours of any two cells.

    Cells are so small that hardly any of them reaches from one cluster to another, whatever the shapes of clusters.
    They are made for several numbers of cells, because a single division depends on its random start. Links are counted
    for few neighbours and, where measurements extend in many dimensions around each object, also for more of them.
    Nothing is returned for sparse measurements, which have no such distances, and for very few objects.
    """
    if features.is_sparse or features.n_objects < FEWEST_CELLS * OBJECTS_PER_CELL:
        return [], []
    drawn = np.arange(features.n_objects)
    if len(drawn) > LINKED_OBJECTS:
        rng = np.random.default_rng((entropy % 2**32, 23))
        drawn = np.sort(rng.choice(len(drawn), LINKED_OBJECTS, replace=False, shuffle=False))
    points = features.prepared(drawn, WHOLE)
    near, squared = neighbours_of(points, NEIGHBOURS)
    divided = [_cells(as_features(points), number, entropy + place) for place, number in enumerate(CELLS)]
    links = [links_of(near, labels, int(labels.max()) + 1) for labels in divided]
    if len(points) < FEWEST_FOR_MORE or dimension_around(squared) < LEAST_DIMENSION:
        return links, []
    near, _ = neighbours_of(points, MORE_NEIGHBOURS)
    return links, [links_of(near, labels, int(labels.max()) + 1) for labels in divided]


def _cells(points: Features, number: int, entropy: int) -> NDArray[Any]:
    """Return the cell of each object: one member by k-means of that many clusters."""
    number = min(number, points.n_objects // OBJECTS_PER_CELL)
    request = Request(1, number, KMeans(init="k-means++", max_iter=20), 1.0, 1.0)
    options = Options(told="")
    labels: NDArray[Any] = generate_with_models(points, request, entropy, options)[0].labels[:, 0]
    return labels
