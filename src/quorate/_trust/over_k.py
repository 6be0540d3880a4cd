"""over_k: consensus clustering for several numbers of clusters, as proposed by Monti et al. (2003)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._consensus.consensus import consensus
from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import locate_pairs
from quorate._data.rows import compress
from quorate._evaluation.binning import is_sampled, labelled_rows
from quorate._evaluation.consensus_index import (
    IndexDistribution,
    by_size,
    cluster_consensus,
    index_distribution,
    relative_gains,
    row_consensus,
)
from quorate._evaluation.scores import anmi
from quorate._progress import steps
from quorate._solve.run_method import DEFAULT_METHOD
from quorate._summaries import need_library
from quorate._trust.compare import numbers_asked
from quorate._types import MAX_BYTES, Consensus, Ensemble, FloatArray
from quorate.generation.generating import checked_once, generate
from quorate.generation.kmeans import KMeans
from quorate.methods import METHODS
from quorate.ops.pairs import pair_shares

if TYPE_CHECKING:
    import pandas


logger = logging.getLogger("quorate")
BOUNDS = (0.1, 0.9)
"""A pair of objects is ambiguous if its consensus index lies between these values."""
USUAL = (2, 9)
MOST_LABELS = 100
"""Different integers in each column of a table up to which it is taken for a table of labels."""


class AtK(NamedTuple):
    """The criteria for one number of clusters.

    `pac` is the proportion of ambiguous pairs, `area` is the area under the cumulative distribution of the consensus
    index, and `delta_area` is its relative growth since the number of clusters before (the area itself for the first).
    `anmi` is the ANMI of the consensus with the members, and `least_consensus` is the smallest mean consensus
    index within one of its clusters.
    """

    n_clusters: int
    pac: float
    area: float
    delta_area: float
    anmi: float
    least_consensus: float | None


@dataclass(frozen=True, eq=False, repr=False)
class OverK:
    """The result of `over_k`: members, consensus and consensus index for each number of clusters; prints as a table.

    Parameters
    ----------
    ensembles : mapping of numbers to Ensembles
        The members for each number of clusters.
    results : mapping of numbers to Consensus
        Their consensus.
    distributions : mapping of numbers to distributions of the consensus index
        The ``values`` of the index in rising order, and the ``shares`` of pairs of objects with each value.
    bounds : (low, high)
        A pair is ambiguous if its consensus index lies between these values.
    """

    ensembles: Mapping[int, Ensemble]
    results: Mapping[int, Consensus]
    distributions: Mapping[int, IndexDistribution]
    bounds: tuple[float, float]

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(self.results)

    @property
    def labels(self) -> NDArray[np.int32]:
        """The labels for each number of clusters, an array of shape (n_objects, numbers)."""
        return np.column_stack([result.labels for result in self.results.values()])

    @cached_property
    def table(self) -> tuple[AtK, ...]:
        """One line per number of clusters."""
        gains = relative_gains([part.area for part in self.distributions.values()])
        lines = []
        for place, k in enumerate(self.numbers):
            within = self._cluster_values(k)
            known = within[~np.isnan(within)]
            lines.append(
                AtK(
                    n_clusters=k,
                    pac=self.pac(k),
                    area=self.distributions[k].area,
                    delta_area=float(gains[place]),
                    anmi=anmi(self.results[k], self.ensembles[k]),
                    least_consensus=float(known.min()) if len(known) else None,
                )
            )
        return tuple(lines)

    def pac(self, n_clusters: int, *, low: float | None = None, high: float | None = None) -> float:
        """Return the proportion of ambiguous pairs of objects: those whose consensus index lies between the bounds."""
        at = self.distributions[self._known(n_clusters)]
        first, last = _bounds((self.bounds[0] if low is None else low, self.bounds[1] if high is None else high))
        return float(at.shares[(at.values > first) & (at.values < last)].sum())

    def cdf(self, n_clusters: int) -> tuple[FloatArray, FloatArray]:
        """Return the values of the consensus index in rising order, and the shares of pairs with that index or less."""
        at = self.distributions[self._known(n_clusters)]
        return at.values, np.cumsum(at.shares)

    def matrix(self, n_clusters: int, *, max_bytes: int = MAX_BYTES) -> FloatArray:
        """Return the consensus matrix, an array of shape (n_objects, n_objects).

        An entry is the share of members that put the two objects together, among the members that label both. It is NaN
        if no member labels both, and 1 on the diagonal.
        """
        rows, inverse = compress(self.ensembles[self._known(n_clusters)])
        n = len(inverse)
        advice = "draw plot.consensus_heatmap, which gathers objects in bins,"
        _check.memory(8 * n * n, max_bytes, f"the consensus matrix of {n:,} objects", advice)
        first, second = np.triu_indices(rows.n_rows, 1)
        shares = np.empty(len(first))
        pair_shares(rows.labels, rows.weights, first, second, shares)
        small = np.eye(rows.n_rows)
        small[first, second] = small[second, first] = np.where(shares < 0, np.nan, shares)
        return small[np.ix_(inverse, inverse)]

    def cluster_consensus(self, n_clusters: int | None = None) -> pandas.DataFrame:
        """Return a table of the mean consensus index within each cluster, for one number of clusters or for all.

        Its columns are n_clusters, cluster, objects and consensus.
        """
        numbers = self.numbers if n_clusters is None else (self._known(n_clusters),)
        library = need_library("pandas")
        rows = [
            (k, cluster, int(size), value)
            for k in numbers
            for cluster, (size, value) in enumerate(zip(self.results[k].sizes, self._cluster_values(k), strict=True))
        ]
        frame: pandas.DataFrame = library.DataFrame(rows, columns=["n_clusters", "cluster", "objects", "consensus"])
        return frame

    def item_consensus(self, n_clusters: int) -> pandas.DataFrame:
        """Return the consensus of each object with each cluster: one row per object, one column per cluster.

        The object itself does not count as one of the objects of its cluster. The index of the frame is that of the
        input if it has one.
        """
        library = need_library("pandas")
        result = self.results[self._known(n_clusters)]
        frame: pandas.DataFrame = library.DataFrame(self._item_values(n_clusters), index=result.object_ids)
        frame.columns.name = "cluster"
        return frame

    def labels_frame(self) -> pandas.DataFrame:
        """Return the labels for each number of clusters: one row per object, one column per number."""
        library = need_library("pandas")
        ids = next(iter(self.results.values())).object_ids
        frame: pandas.DataFrame = library.DataFrame(self.labels, index=ids, columns=list(self.numbers))
        return frame

    def as_dict(self) -> dict[str, Any]:
        return {"bounds": list(self.bounds), "over_k": [row._asdict() for row in self.table]}

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with one row per number of clusters."""
        library = need_library("pandas")
        frame: pandas.DataFrame = library.DataFrame(list(self.table), columns=list(AtK._fields))
        return frame.set_index("n_clusters")

    def __str__(self) -> str:
        lines = ["   k     pac    area  delta area    anmi  least consensus"]
        for row in self.table:
            least = f"{'-':>15}" if row.least_consensus is None else f"{row.least_consensus:>15.4f}"
            lines.append(
                f"{row.n_clusters:>4}  {row.pac:>6.4f}  {row.area:>6.4f}  {row.delta_area:>10.4f}  "
                f"{row.anmi:>6.4f}  {least}"
            )
        return "\n".join(lines)

    __repr__ = __str__

    def _cluster_values(self, k: int) -> FloatArray:
        return cluster_consensus(labelled_rows(self.results[k], self.ensembles[k]))

    def _item_values(self, k: int) -> FloatArray:
        result, ensemble = self.results[k], self.ensembles[k]
        _, pair, _ = locate_pairs(ensemble, result.labels)
        return row_consensus(labelled_rows(result, ensemble))[pair]

    def _known(self, n_clusters: int) -> int:
        return _check.choice(n_clusters, "n_clusters", self.numbers)


def over_k(
    source: Any,
    n_clusters: Any = None,
    *,
    method: str = DEFAULT_METHOD,
    bounds: tuple[float, float] = BOUNDS,
    n_members: int = 50,
    rows: Any = 0.8,
    random_state: Any = None,
    progress: bool = False,
    **options: Any,
) -> OverK:
    """Run consensus clustering for several numbers of clusters, with the usual criteria to choose between them.

    For each number k there are members of k clusters each: those given, or clusterings of random parts of the
    objects. First their consensus with k clusters is computed, then the distribution of the consensus index over all
    pairs of objects.

    Parameters
    ----------
    source : features X, Ensemble, or mapping {k: Ensemble}
        Features are clustered by `generate`. The members of a single Ensemble are grouped by their number of clusters;
        numbers that fewer than five members have are left out. A table of labels must be made an Ensemble first, by
        `as_ensemble`; texts and columns of few integers are refused, because they look like one.
    n_clusters : int, range, (lowest, highest) or list of numbers, optional
        By default 2 to 9 for features, otherwise all numbers for which there are members.
    method : str
        The consensus function, a name in METHODS, or "auto". ConsensusClusterPlus uses average link, which is "eac".
    bounds : (low, high)
        A pair of objects is ambiguous if its consensus index lies between these values.
    n_members, rows
        For features: the number of members for each k, and the share of the objects that each member gets, as for
        `generate`.
    random_state : None, int, Generator or RandomState
        The same seed gives the same result.
    progress : bool
        Whether to show the finished numbers and the time left on standard error, as `progress` does.
    **options
        For features: further options of `generate`, such as base, columns and n_jobs. The default base is k-means with
        a k-means++ start, so that members differ by the objects they get and not by bad starts.

    Returns
    -------
    OverK
        Prints the criteria as a table. ``results[k]`` is the consensus for k and ``ensembles[k]`` its members;
        ``labels`` holds the labels for every k. ``matrix(k)``, ``cdf(k)``, ``pac(k)``, ``cluster_consensus()`` and
        ``item_consensus(k)`` are computed when they are called. The functions `consensus_cdf`, `delta_area`,
        `tracking` and `cluster_consensus` of `quorate.plot` draw the result.

    See Also
    --------
    choose_k : Recommends a number of clusters for one ensemble by several criteria.
    compare : Compares several methods.

    Notes
    -----
    The consensus index of two objects is the share of members that put them together, among the members that label
    both [1]_. Its distribution is counted over all pairs if there are up to 1,500 distinct rows, and over a million
    drawn pairs if there are more. The consensus of an object with a cluster is the mean index of its pairs with the
    objects of the cluster, in which each pair counts by the number of members that label both objects;
    ConsensusClusterPlus [2]_ weighs all pairs equally, which is the same if no label is missing.
    ``method="eac"`` is average link on the consensus matrix as long as that fits into 4 GB, and divides by all members
    beyond. The proportion of ambiguous pairs (PAC) [3]_ falls with k even on data without clusters, so the lowest is
    not always the best.

    References
    ----------
    .. [1] S. Monti et al., "Consensus clustering", Machine Learning 52, 2003, doi:10.1023/A:1023949509487.
    .. [2] M. D. Wilkerson, D. N. Hayes, "ConsensusClusterPlus", Bioinformatics 26, 2010,
       doi:10.1093/bioinformatics/btq170.
    .. [3] Y. Senbabaoglu, G. Michailidis, J. Z. Li, "Critical limitations of consensus clustering in class
       discovery", Scientific Reports 4, 2014, doi:10.1038/srep06207.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1, size=(30, 2)) for m in (0, 8, 16)])
    >>> by_number = over_k(X, (2, 4), n_members=20, random_state=0)
    >>> by_number.numbers, by_number.results[3].sizes.tolist(), by_number.pac(3)
    ((2, 3, 4), [30, 30, 30], 0.0)
    """
    low, high = _bounds(bounds)
    rng = _check.generator(random_state)
    make = partial(generate, **{"base": KMeans(init="k-means++"), "n_members": n_members, "rows": rows, **options})
    with steps(is_shown=progress)("clustering for several numbers of clusters"):
        ensembles = _ensembles(source, n_clusters, make, rng)
        results, distributions = {}, {}
        for done, (k, ensemble) in enumerate(ensembles.items(), start=1):
            of_pairs = _of_known_pairs(ensemble, method)
            results[k] = consensus(ensemble, k, method=method, random_state=int(rng.integers(2**62)), **of_pairs)
            distributions[k] = index_distribution(ensemble, rng)
            text = "consensus and its index: %d of %d numbers of clusters"
            logger.info(text, done, len(ensembles), extra={"share": done / len(ensembles)})
        return OverK(ensembles, results, distributions, (low, high))


def _ensembles(source: Any, n_clusters: Any, make: partial[Ensemble], rng: np.random.Generator) -> dict[int, Ensemble]:
    """Return the members for each number of clusters, in rising order of the numbers."""
    if isinstance(source, Ensemble | Mapping):
        parts = _given(source)
        if n_clusters is None:
            return parts
        asked = numbers_asked(n_clusters)
        absent = [k for k in asked if k not in parts]
        if absent:
            raise ValueError(
                f"there are no members for n_clusters {', '.join(map(str, absent))}; there are for "
                f"{', '.join(map(str, parts))}."
            )
        return {k: parts[k] for k in asked}
    _refuse_labels(source)
    asked = numbers_asked(USUAL if n_clusters is None else n_clusters)
    source = checked_once(source, make.keywords.get("scale"))
    return {k: make(source, k=k, random_state=int(rng.integers(2**62))) for k in asked}


def _of_known_pairs(ensemble: Ensemble, method: str) -> dict[str, Any]:
    """Return the option of average link that makes its tree one of the consensus matrix, if that fits into memory."""
    n_bytes = METHODS["eac"].memory_for
    options = {"normalization": "pairwise"}
    if method != "eac" or not is_sampled(ensemble) or n_bytes is None:
        return {}
    return options if n_bytes(compress(ensemble)[0], options) <= MAX_BYTES else {}


def _refuse_labels(source: Any) -> None:
    """Raise if measurements look like a table of labels: texts, or whole numbers of which each column has few."""
    values = source.to_numpy() if hasattr(source, "to_numpy") else source
    if isinstance(values, list | tuple | np.ndarray):
        table = np.asarray(values, dtype=None if isinstance(values, np.ndarray) else object)
        if table.ndim == 2 and table.size and all(_is_like_labels(column) for column in table.T):
            raise ValueError(
                "over_k got a table of labels (each column has texts, or few different integers), and would cluster "
                "its codes as if they were measurements. For members of your own pass {k: members with k clusters} or "
                "as_ensemble(table); for one consensus of them call consensus, for several methods compare. If these "
                "are measurements, pass them as floats: X.astype(float)."
            )


def _is_like_labels(column: NDArray[Any]) -> bool:
    values = {value for value in column.tolist() if value is not None and value == value}
    if any(isinstance(value, str) for value in values):
        return True
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    return whole and len(values) <= min(MOST_LABELS, max(2, len(column) // 3))


def _given(source: Any) -> dict[int, Ensemble]:
    if isinstance(source, Ensemble):
        parts = {k: _as_samples(part) for k, part in by_size(source).items() if isinstance(k, int) and k >= 2}
        if not parts:
            raise ValueError(
                "an Ensemble must have at least five members with one number of clusters; pass the features, or a "
                "mapping {k: members} such as {k: generate(X, 50, k=k, rows=0.8) for k in range(2, 10)}."
            )
        return parts
    if not source:
        raise ValueError("a mapping {k: members} must have at least one number of clusters, got none.")
    keys = {k: _check.integer(k, "a key of the mapping, a number of clusters,", low=2) for k in source}
    parts = {keys[k]: _as_samples(as_ensemble(source[k])) for k in sorted(source)}
    lengths = {k: part.n_rows for k, part in parts.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"members must have the same number of objects for every number of clusters, got {lengths}.")
    return parts


def _as_samples(ensemble: Ensemble) -> Ensemble:
    """Note that missing labels are those of objects that a member did not get, for the pictures."""
    return replace(ensemble, info={**ensemble.info, "samples": True}) if ensemble.has_missing else ensemble


def _bounds(bounds: Any) -> tuple[float, float]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise TypeError(f"bounds must be a pair such as (0.1, 0.9), got {bounds!r}.")
    low = _check.fraction(bounds[0], "the lower bound")
    return low, _check.fraction(bounds[1], "the upper bound", low=low)
