"""Figures over numbers of clusters: the consensus index, its area, tracking, and the criteria of choose_k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import _check
from quorate._evaluation.binning import matched_rows
from quorate._evaluation.consensus_index import IndexDistribution, by_size, index_distribution, relative_gains
from quorate._summaries import CRITERIA, Choice
from quorate._trust.over_k import BOUNDS, OverK
from quorate._types import Consensus
from quorate.plot import _axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {**CRITERIA, "pac": "PAC, upside down"}


def consensus_cdf(labels: Any, *, random_state: Any = 0, ax: Axes | None = None) -> Axes:
    """Draw the cumulative distribution of the consensus index over pairs of objects, for each number of clusters.

    Parameters
    ----------
    labels : OverK, Ensemble, anything `as_ensemble` takes, or a mapping of Ensembles
        For the result of `quorate.over_k` one curve is drawn for each number of clusters. Members of one ensemble are
        grouped by their number of clusters; groups of fewer than five members are left out, and if no group is left,
        all members make one curve. A mapping, such as
        ``{k: generate(X, 50, k=k, rows=0.8) for k in range(2, 7)}``, draws a curve for each entry.
    random_state : None, int, Generator or RandomState
        Seed for drawing pairs: above 1,500 distinct rows, a million pairs of objects are drawn instead of counting all.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The index of two objects is the share of members that put them together, among the members that label both. A flat
    curve with steps at 0 and 1 means that the members agree. Its rise between 0.1 and 0.9 (or the bounds of an OverK),
    which is shaded, is the
    proportion of ambiguous pairs.

    References
    ----------
    S. Monti et al., "Consensus clustering", Machine Learning 52, 2003, doi:10.1023/A:1023949509487.

    Examples
    --------
    >>> from quorate import plot
    >>> ax = plot.consensus_cdf([[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 0, 1]])
    """
    distributions = _distributions(labels, random_state)
    ax = _axes.axes(ax, (6.0, 4.0))
    ax.axvspan(*(labels.bounds if isinstance(labels, OverK) else BOUNDS), color=_axes.MISSING, alpha=0.35, linewidth=0)
    shades = _over_k_colours(len(distributions))
    for (name, part), shade in zip(distributions.items(), shades, strict=True):
        values = np.concatenate([[0.0], part.values, [1.0]])
        heights = np.concatenate([[0.0], np.cumsum(part.shares), [1.0]])
        ax.step(values, heights, where="post", color=shade, linewidth=1.8, label=str(name))
    if len(distributions) > 1:
        # a flat curve may run through the lower right corner
        ax.legend(title="clusters", frameon=False, fontsize=9, ncols=1 + len(distributions) // 9, loc="best")
    ax.set(xlim=(0, 1), ylim=(0, 1.01))
    title = (
        "Consensus index"
        if len(distributions) > 1
        else f"Consensus index, {next(iter(distributions))} {_unit(distributions)}".rstrip()
    )
    return _axes.finish(ax, title, "consensus index", "share of pairs of objects, cumulated")


def _unit(distributions: dict[Any, IndexDistribution]) -> str:
    return "clusters" if isinstance(next(iter(distributions)), int) else ""


def delta_area(labels: Any, *, random_state: Any = 0, ax: Axes | None = None) -> Axes:
    """Draw how much the area under the distribution of the consensus index grows with the number of clusters.

    Parameters
    ----------
    labels, random_state
        See `consensus_cdf`. There must be at least two numbers of clusters, which are the keys of a mapping.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The curve begins with the area at the lowest number of clusters; then it shows the growth of the area relative to
    the number before, as ConsensusClusterPlus draws it. The number after which the area grows little is a candidate.

    References
    ----------
    S. Monti et al., "Consensus clustering", Machine Learning 52, 2003, doi:10.1023/A:1023949509487.

    Examples
    --------
    >>> from quorate import as_ensemble, plot
    >>> parts = {2: as_ensemble([[0, 0, 1, 1], [0, 0, 0, 1]]), 3: as_ensemble([[0, 0, 1, 2], [0, 1, 1, 2]])}
    >>> ax = plot.delta_area(parts)
    """
    distributions = _distributions(labels, random_state)
    numbers = np.array(sorted(k for k in distributions if isinstance(k, int | np.integer)), dtype=np.int64)
    if len(numbers) < 2:
        raise ValueError(
            f"delta_area compares numbers of clusters and needs at least two, got {list(distributions)}; pass a "
            f"mapping {{k: ensemble}}, or an ensemble in which five members or more have each number."
        )
    gains = relative_gains([distributions[k].area for k in numbers.tolist()])
    ax = _axes.axes(ax, (5.6, 3.6))
    ax.plot(numbers, gains, color=_axes.PALETTE[0], marker="o")
    ax.set_xticks(numbers)
    ax.set(ylim=(min(0.0, float(gains.min())) * 1.1, None))
    ax.grid(axis="y", color=_axes.MISSING)
    ax.set_axisbelow(True)
    return _axes.finish(ax, "Growth of the area under the CDF", "number of clusters", "relative change of area")


def _distributions(labels: Any, random_state: Any) -> dict[Any, IndexDistribution]:
    if isinstance(labels, OverK):
        return dict(labels.distributions)
    rng = _check.generator(random_state)
    return {name: index_distribution(part, rng) for name, part in by_size(labels).items()}


def _over_k_colours(n: int) -> list[Any]:
    """Return the palette for a few curves, or an ordered colour map, dark to light, for more."""
    if n <= len(_axes.PALETTE) - 1:
        return list(_axes.PALETTE[:n])
    import matplotlib

    return list(matplotlib.colormaps["cividis"](np.linspace(0, 0.95, n)))


def tracking(results: OverK | Sequence[Consensus], *, max_bins: int = 800, ax: Axes | None = None) -> Axes:
    """Draw the cluster of each object as the number of clusters grows, with one row per result.

    Parameters
    ----------
    results : OverK, or list of Consensus
        The result of `quorate.over_k`, or results for the same objects; drawn by increasing number of clusters.
    max_bins : int
        The largest number of columns; each shows the object in the middle of its bin.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The clusters of each row are matched one to one with those of the row above, so that they share as many objects as
    possible, and get their colours. A new colour is a cluster that was split off. Where colours are mixed, objects
    change their cluster from row to row.

    Examples
    --------
    >>> from quorate import consensus, plot
    >>> members = [[0, 0, 1, 1, 2], [0, 0, 1, 2, 2]]
    >>> ax = plot.tracking([consensus(members, k) for k in (2, 3)])
    """
    n_bins = _check.integer(max_bins, "max_bins", low=1)
    ranked = _ranked(results)
    rows, counts = matched_rows(ranked)
    order = np.lexsort(rows.T[::-1])
    ends = np.cumsum(counts[order])
    edges = np.unique(np.linspace(0, ends[-1], min(n_bins, int(ends[-1])) + 1).astype(np.int64))
    middle = order[np.searchsorted(ends, (edges[1:] + edges[:-1]) // 2, side="right")]
    ax = _axes.axes(ax, (7.0, 1.4 + 0.32 * len(ranked)))
    _stripes(ax, rows[middle].T, edges)
    ax.set_yticks(range(len(ranked)), [str(result.n_clusters) for result in ranked])
    ax.set_xticks([])
    _axes.finish(ax, "Clusters of objects over k", f"{ends[-1]:,} objects", "number of clusters")
    _axes.bare(ax)
    return ax


def _ranked(results: Any) -> list[Consensus]:
    if isinstance(results, OverK):
        results = list(results.results.values())
    if not isinstance(results, Sequence) or not results or not all(isinstance(part, Consensus) for part in results):
        raise TypeError(
            "results must be a list of Consensus, such as [consensus(labels, k) for k in range(2, 7)], got "
            f"{type(results).__name__}."
        )
    lengths = {len(result.labels) for result in results}
    if len(lengths) > 1:
        raise ValueError(f"results must label the same objects, got results for {sorted(lengths)} objects.")
    return sorted(results, key=lambda result: result.n_clusters)


def _stripes(ax: Axes, picture: Any, edges: Any) -> None:
    from matplotlib.colors import ListedColormap

    n_colours = int(picture.max()) + 1
    ax.pcolormesh(
        edges,
        np.arange(len(picture) + 1) - 0.5,
        picture,
        cmap=ListedColormap(_axes.colours(n_colours)),
        vmin=-0.5,
        vmax=n_colours - 0.5,
        rasterized=True,
    )
    ax.hlines(np.arange(len(picture) - 1) + 0.5, edges[0], edges[-1], color="white", linewidth=1.5)
    ax.set(ylim=(len(picture) - 0.5, -0.5))


def k_choice(choice: Any, *, ax: Axes | None = None) -> Axes:
    """Draw each criterion over the number of clusters, and the number that is recommended.

    Parameters
    ----------
    choice : Choice, or Consensus
        The result of `choose_k`, or a consensus for which the number of clusters was chosen.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Each curve is scaled from its lowest to its highest value, and PAC is inverted, so that high is good for all. A
    filled circle is the number that a criterion recommends. The density gain recommends the number after which it falls
    most, which is not its highest point.

    Examples
    --------
    >>> from quorate import choose_k, plot
    >>> ax = plot.k_choice(choose_k([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1]], (2, 4)))
    """
    if isinstance(choice, Consensus):
        choice = choice.info.get("choice")
    if not isinstance(choice, Choice):
        raise TypeError("choice must be what choose_k returns, or a consensus made with n_clusters='auto' or a range.")
    ax = _axes.axes(ax, (6.4, 4.0))
    ax.axvline(choice.n_clusters, color=_axes.MISSING, linewidth=9, zorder=0)
    dashes = ("-", "--", "-.", ":")
    for place, (name, title) in enumerate(TITLES.items()):
        shade, dash = _axes.PALETTE[place % len(_axes.PALETTE)], dashes[place % len(dashes)]
        points = {e.n_clusters: getattr(e, name) for e in choice.table if getattr(e, name) is not None}
        if len(points) > 1:
            heights = _scaled(np.array(list(points.values()), dtype=np.float64), upside_down=name == "pac")
            ax.plot(list(points), heights, color=shade, linestyle=dash, linewidth=1.8, label=title)
            at = choice.votes.get(name)
            if at in points:
                ax.plot([at], [heights[list(points).index(at)]], "o", color=shade, markersize=9)
    numbers = [entry.n_clusters for entry in choice.table]
    ax.set_xticks(numbers[:: 1 + len(numbers) // 20])
    ax.set_yticks([0, 1], ["lowest", "highest"])
    ax.set(ylim=(-0.05, 1.08))
    # The legend is below the axes, because a curve may run through any corner.
    ax.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4)
    return _axes.finish(ax, f"Recommended: {choice.n_clusters} clusters", "number of clusters", "criterion")


def _scaled(values: Any, *, upside_down: bool) -> Any:
    """Scale values to the range from 0 to 1; a flat curve lies in the middle."""
    span = values.max() - values.min()
    scaled = (values - values.min()) / span if span > 0 else np.full(len(values), 0.5)
    return 1 - scaled if upside_down else scaled
