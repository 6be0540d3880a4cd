"""Figures of how certain the labels of objects and clusters are: item and cluster consensus, silhouette, confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import _check
from quorate._evaluation.binning import cluster_ranks, cut_into_bins, is_sampled, labelled_rows, runs
from quorate._evaluation.consensus_index import bin_item_consensus, closeness, silhouettes
from quorate._evaluation.consensus_index import cluster_consensus as cluster_consensus_index
from quorate._evaluation.scores import cluster_density
from quorate._summaries import AMBIGUOUS
from quorate._trust.over_k import OverK
from quorate._types import Consensus, FloatArray
from quorate.plot import _axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STACKED = 7
"""Up to this many clusters a histogram is stacked by cluster; it is the number of colours in the palette."""


def item_consensus(result: Any, ensemble: Any, *, max_bins: int = 200, ax: Axes | None = None) -> Axes:
    """Draw the mean co-association of objects with every cluster as stacked bars.

    A bar of one colour is an object whose cluster is certain.

    Parameters
    ----------
    result : Consensus, or labels of the objects
    ensemble : Ensemble, or anything `as_ensemble` takes
    max_bins : int
        The approximate number of bars; a bar of several objects shows their mean.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    This is the item consensus of Monti et al. (2003). An object is not compared with itself. Missing labels share
    nothing, but if members are samples (of `generate` or `over_k`), a pair counts by the members that label both.
    Within a cluster, the objects are sorted by decreasing consensus with it. The cost is
    O(rows x members x clusters).

    References
    ----------
    S. Monti et al., "Consensus clustering", Machine Learning 52, 2003, doi:10.1023/A:1023949509487.

    Examples
    --------
    >>> from quorate import consensus, plot
    >>> members = [[0, 0, 1, 1], [0, 0, 1, 0]]
    >>> ax = plot.item_consensus(consensus(members, 2), members)
    """
    n_bins = _check.integer(max_bins, "max_bins", low=1)
    labelled = labelled_rows(result, ensemble)
    order = np.lexsort((-closeness(labelled).own, cluster_ranks(labelled)[labelled.labels]))
    bins = cut_into_bins(labelled, order, n_bins)
    heights = bin_item_consensus(labelled, bins)
    ax = _axes.axes(ax, (7.0, 3.8))
    _stack(ax, bins.edges, bins.clusters, heights)
    clusters, borders = runs(bins.clusters, bins.edges)
    _axes.cluster_ticks(ax, "x", clusters, borders)
    for border in borders[1:-1]:
        ax.axvline(border, color="white", linewidth=1.5)
    ax.set(xlim=(0, borders[-1]), ylim=(0, None))
    ax.tick_params(axis="x", length=0)
    return _axes.finish(
        ax, "Item consensus", f"cluster ({borders[-1]:,} objects)", "mean co-association\nwith each cluster"
    )


def _stack(ax: Axes, edges: Any, clusters: Any, heights: FloatArray) -> None:
    """Draw the bars of all clusters on top of each other.

    The bar of the bin's own cluster is lowest, because it is easiest to read there.
    """
    shade = _axes.colours(heights.shape[1])
    own = heights[np.arange(len(clusters)), clusters]
    for cluster in range(heights.shape[1]):
        part = np.where(clusters == cluster, own, 0.0)
        ax.stairs(part, edges, fill=True, color=shade[cluster], linewidth=0)
    base = own
    for cluster in range(heights.shape[1]):
        part = np.where(clusters == cluster, 0.0, heights[:, cluster])
        ax.stairs(base + part, edges, baseline=base, fill=True, color=shade[cluster], linewidth=0)
        base = base + part


def cluster_consensus(results: Any, ensemble: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the mean co-association within every cluster as bars; several results are drawn side by side.

    Parameters
    ----------
    results : Consensus, labels of the objects, a list of Consensus, or OverK
        A list draws a group of bars for each result, named by its number of clusters, and so does what
        `quorate.over_k` returned.
    ensemble : Ensemble, or anything `as_ensemble` takes
        The members; left out with an OverK, which has them.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The cluster consensus of Monti et al. (2003) is the density of the cluster; 0 for a cluster of one object. If
    members are samples (of `generate` or `over_k`), a pair counts by the members that label both objects.

    Examples
    --------
    >>> from quorate import consensus, plot
    >>> members = [[0, 0, 1, 1], [0, 0, 1, 2]]
    >>> ax = plot.cluster_consensus([consensus(members, k) for k in (2, 3)], members)
    """
    several, groups = _cluster_groups(results, ensemble)
    ax = _axes.axes(ax, (min(9.0, max(4.5, 2.2 + 0.28 * sum(len(group) + 1 for group in groups))), 3.6))
    start, places = 0.0, []
    for group in groups:
        ax.bar(start + np.arange(len(group)), group, width=0.85, color=_axes.colours(len(group)))
        places.append(start + (len(group) - 1) / 2)
        start += len(group) + 1
    if several:
        ax.set_xticks(places, [str(len(group)) for group in groups])
    else:
        step = 1 + len(groups[0]) // 25
        ax.set_xticks(range(0, len(groups[0]), step))
    ax.set(xlim=(-1, start - 1), ylim=(0, 1))
    ax.tick_params(axis="x", length=0)
    return _axes.finish(ax, "Cluster consensus", "number of clusters" if several else "cluster", "mean co-association")


def _cluster_groups(results: Any, ensemble: Any) -> tuple[bool, list[FloatArray]]:
    """Return whether these are several results, and the mean co-association within the clusters of each."""
    if isinstance(results, OverK):
        if ensemble is not None:
            raise ValueError("ensemble must be left out if results come from over_k, which keeps the members.")
        indices = [
            cluster_consensus_index(labelled_rows(results.results[k], results.ensembles[k])) for k in results.numbers
        ]
        return True, [np.nan_to_num(group) for group in indices]
    if ensemble is None:
        raise TypeError("ensemble must be the members that the results were made from, got None.")
    several = isinstance(results, Sequence) and len(results) and all(isinstance(part, Consensus) for part in results)
    return bool(several), [_within(part, ensemble) for part in (results if several else [results])]


def _within(result: Any, ensemble: Any) -> FloatArray:
    labelled = labelled_rows(result, ensemble)
    if is_sampled(labelled.rows):
        return np.nan_to_num(cluster_consensus_index(labelled))
    return cluster_density(result, ensemble)


def silhouette(result: Any, ensemble: Any, *, max_bins: int = 400, ax: Axes | None = None) -> Axes:
    """Draw the silhouette of every object by co-association, sorted within clusters.

    If the silhouette of an object is below 0, another cluster is closer to it than its own.

    Parameters
    ----------
    result : Consensus, or labels of the objects
        A labelling with two clusters or more.
    ensemble : Ensemble, or anything `as_ensemble` takes
    max_bins : int
        The approximate number of steps; a step of several objects shows their mean.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The silhouette is (b - a) / max(a, b), where a is the mean distance to the other objects of the cluster and b the
    mean distance to the objects of the closest other cluster; the distance of two objects is 1 minus their
    co-association, among the members that label both if members are samples. It is 0 for a cluster of one object. The
    means are computed from count tables in O(rows x members x clusters).

    References
    ----------
    P. J. Rousseeuw, "Silhouettes", 1987, doi:10.1016/0377-0427(87)90125-7.

    Examples
    --------
    >>> from quorate import consensus, plot
    >>> members = [[0, 0, 1, 1], [0, 0, 1, 0]]
    >>> ax = plot.silhouette(consensus(members, 2), members)
    """
    n_bins = _check.integer(max_bins, "max_bins", low=1)
    labelled = labelled_rows(result, ensemble)
    if labelled.n_clusters < 2:
        raise ValueError("a silhouette compares clusters and needs at least two, but the result has one.")
    values = silhouettes(labelled)
    bins = cut_into_bins(labelled, np.lexsort((-values, cluster_ranks(labelled)[labelled.labels])), n_bins)
    steps = bins.mean(values)
    ax = _axes.axes(ax, (5.6, 4.6))
    clusters, borders = runs(bins.clusters, bins.edges)
    for cluster, shade in enumerate(_axes.colours(labelled.n_clusters)):
        part = np.where(bins.clusters == cluster, steps, 0.0)
        ax.stairs(part, bins.edges, orientation="horizontal", fill=True, color=shade, linewidth=0)
    ax.hlines(borders[1:-1], min(0.0, float(steps.min())), 1, color="white", linewidth=2)
    mean = float(values @ labelled.rows.counts / labelled.rows.n_objects)
    ax.axvline(mean, color=_axes.DARK, linestyle="--", linewidth=1)
    ax.axvline(0, color=_axes.DARK, linewidth=0.8)
    ax.set(ylim=(borders[-1], 0), xlim=(min(0.0, float(steps.min())) * 1.05, 1))
    _axes.cluster_ticks(ax, "y", clusters, borders)
    ax.tick_params(axis="y", length=0)
    return _axes.finish(
        ax,
        f"Silhouette, mean {mean:.2f} (dashed)",
        "silhouette by co-association",
        f"cluster ({borders[-1]:,} objects)",
    )


def confidence_histogram(
    result: Consensus, *, bins: int = 40, ambiguous: float = AMBIGUOUS, ax: Axes | None = None
) -> Axes:
    """Draw a histogram of the confidence of the objects, stacked by cluster if there are few clusters.

    Confidence is the estimated probability that the same procedure would place the object in the same cluster on a
    fresh ensemble.

    Parameters
    ----------
    result : Consensus
        A result that has a confidence.
    bins : int
        Number of bars from 0 to 1.
    ambiguous : float
        The title gives the share of objects whose confidence is below this.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from quorate import consensus, plot
    >>> ax = plot.confidence_histogram(consensus([[0, 0, 1, 1], [0, 0, 1, 0]], 2))
    """
    n_bins, threshold = _check.integer(bins, "bins", low=1), _check.fraction(ambiguous, "ambiguous")
    if not isinstance(result, Consensus) or result.confidence is None:
        raise ValueError(
            "result must be a Consensus that has a confidence; this one has none, draw `silhouette` instead."
        )
    edges = np.linspace(0, 1, n_bins + 1)
    ax = _axes.axes(ax, (6.0, 3.6))
    if result.n_clusters <= STACKED:
        groups = [result.confidence[result.labels == cluster] for cluster in range(result.n_clusters)]
        names = [f"cluster {cluster}" for cluster in range(result.n_clusters)]
        shades = _axes.colours(result.n_clusters)
    else:
        groups, names, shades = [result.confidence], ["all clusters"], [_axes.PALETTE[0]]
    below = np.zeros(n_bins)
    for group, name, shade in zip(groups, names, shades, strict=True):
        above = below + np.histogram(group, edges)[0]
        ax.stairs(above, edges, baseline=below, fill=True, color=shade, label=name)
        below = above
    if len(groups) > 1:
        ax.legend(frameon=False, fontsize=9, loc="upper left")
    ax.set(xlim=(0, 1), ylim=(0, None))
    ax.yaxis.set_major_formatter("{x:,.0f}")
    doubtful = float((result.confidence < threshold).mean())
    title = f"Confidence of {len(result.labels):,} objects; {doubtful:.0%} below {threshold:g}"
    return _axes.finish(ax, title, "confidence", "objects")
