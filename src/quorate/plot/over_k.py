"""Pictures over numbers of clusters: distribution of the consensus index, its area, tracking, criteria of choose_k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import _check
from quorate._comparison.over_k import BOUNDS, OverK
from quorate._consensus.choose_k import Choice
from quorate._evaluation.consensus_index import IndexDistribution, by_size, index_distribution, relative_gains
from quorate._evaluation.matching import matched_rows
from quorate._types import Consensus
from quorate.plot import _axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CRITERIA = {
    "anmi": "ANMI",
    "density_gain": "density gain",
    "lifetime": "lifetime",
    "pac": "PAC, upside down",
}


def consensus_cdf(labels: Any, *, random_state: Any = 0, ax: Axes | None = None) -> Axes:
    """Cumulative distribution of the consensus index over pairs of objects, a curve for each number of clusters.

    Parameters
    ----------
    labels : OverK, Ensemble, anything `as_ensemble` takes, or a mapping of Ensembles
        What `quorate.over_k` returned draws a curve for each number of clusters.
        Members of one ensemble are told apart by their number of clusters; numbers that fewer than five members
        have are left out, and where none is left all members make one curve. A mapping, such as
        ``{k: generate(X, 50, k=k, rows=0.8) for k in range(2, 7)}``, draws a curve for each entry.
    random_state : None, int, Generator or RandomState
        For the pairs drawn, above 1,500 distinct rows; a million.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The index of two objects is the share of the members that know both which put them together. A flat curve with
    steps at 0 and 1 means that members agree; its rise between 0.1 and 0.9 (the bounds of an OverK), shaded, is the
    proportion of ambiguous pairs.

    References
    ----------
    S. Monti et al., "Consensus clustering", Machine Learning 52, 2003, doi:10.1023/A:1023949509487.

    Examples
    --------
    >>> from quorate import plot
    >>> ax = plot.consensus_cdf([[0, 0, 1, 1], [0, 0, 1, 2], [0, 0, 0, 1]])
    """
    found = _distributions(labels, random_state)
    ax = _axes.axes(ax, (6.0, 4.0))
    ax.axvspan(*(labels.bounds if isinstance(labels, OverK) else BOUNDS), color=_axes.MISSING, alpha=0.35, linewidth=0)
    shades = _over_k_colours(len(found))
    for (name, part), shade in zip(found.items(), shades, strict=True):
        values = np.concatenate([[0.0], part.values, [1.0]])
        heights = np.concatenate([[0.0], np.cumsum(part.shares), [1.0]])
        ax.step(values, heights, where="post", color=shade, linewidth=1.8, label=str(name))
    if len(found) > 1:
        ax.legend(title="clusters", frameon=False, fontsize=9, ncols=1 + len(found) // 9, loc="lower right")
    ax.set(xlim=(0, 1), ylim=(0, 1.01))
    title = "Consensus index" if len(found) > 1 else f"Consensus index, {next(iter(found))} {_unit(found)}".rstrip()
    return _axes.finish(ax, title, "consensus index", "share of pairs of objects, cumulated")


def _unit(found: dict[Any, IndexDistribution]) -> str:
    return "clusters" if isinstance(next(iter(found)), int) else ""


def delta_area(labels: Any, *, random_state: Any = 0, ax: Axes | None = None) -> Axes:
    """How much the area under the distribution of the consensus index grows with the number of clusters.

    Parameters
    ----------
    labels, random_state
        As for `consensus_cdf`; two numbers of clusters at least, the keys of a mapping.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    At the lowest number the area itself, then its growth relative to the number before, as ConsensusClusterPlus
    draws it. The number after which little is gained is a candidate.

    References
    ----------
    S. Monti et al., "Consensus clustering", Machine Learning 52, 2003, doi:10.1023/A:1023949509487.

    Examples
    --------
    >>> from quorate import as_ensemble, plot
    >>> parts = {2: as_ensemble([[0, 0, 1, 1], [0, 0, 0, 1]]), 3: as_ensemble([[0, 0, 1, 2], [0, 1, 1, 2]])}
    >>> ax = plot.delta_area(parts)
    """
    found = _distributions(labels, random_state)
    numbers = np.array(sorted(k for k in found if isinstance(k, int | np.integer)), dtype=np.int64)
    if len(numbers) < 2:
        raise ValueError(
            f"delta_area compares numbers of clusters and needs two at least, got {list(found)}; pass a mapping "
            f"{{k: ensemble}}, or an ensemble in which five members or more have each number."
        )
    gains = relative_gains([found[k].area for k in numbers.tolist()])
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
    """The palette for a few curves; an ordered map, dark to light, where they are more."""
    if n <= len(_axes.PALETTE) - 1:
        return list(_axes.PALETTE[:n])
    import matplotlib

    return list(matplotlib.colormaps["cividis"](np.linspace(0, 0.95, n)))


def tracking(results: OverK | Sequence[Consensus], *, max_bins: int = 800, ax: Axes | None = None) -> Axes:
    """Which cluster each object is in as the number of clusters grows: a row for each result.

    Parameters
    ----------
    results : OverK, or list of Consensus
        What `quorate.over_k` returned, or results of the same objects; drawn by rising number of clusters.
    max_bins : int
        Columns drawn at most; each shows the object in the midst of its bin.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    A cluster takes the colour of the cluster of the row above that it shares most objects with in the best one-to-one
    matching; a new colour is a cluster that was split off. Colours that mingle are objects that wander.

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
        raise ValueError(f"results must speak of the same objects, got {sorted(lengths)} of them.")
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
    """What each criterion says about each number of clusters, and which number is recommended.

    Parameters
    ----------
    choice : Choice, or Consensus
        What `choose_k` returned, or a consensus that was asked to choose.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    Each curve runs from its lowest to its highest value, PAC upside down, so that high is good for all. A filled
    circle is the number a criterion speaks for. The density gain speaks for the number after which it falls most, which
    is not its highest point.

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
    for (name, title), shade, dash in zip(CRITERIA.items(), _axes.PALETTE, dashes, strict=False):
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
    # under the curves: there is no corner that none of them ever runs through
    ax.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4)
    return _axes.finish(ax, f"Recommended: {choice.n_clusters} clusters", "number of clusters", "criterion")


def _scaled(values: Any, *, upside_down: bool) -> Any:
    """From 0 to 1; a flat curve lies in the middle."""
    span = values.max() - values.min()
    scaled = (values - values.min()) / span if span > 0 else np.full(len(values), 0.5)
    return 1 - scaled if upside_down else scaled
