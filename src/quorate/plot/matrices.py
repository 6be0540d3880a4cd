"""Figures of matrices: co-association, densities, NMI of members, the members' labels, and traits of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quorate import _check
from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import code_beside
from quorate._data.rows import add_member, compress
from quorate._evaluation.binning import cluster_ranks, cut_into_bins, heatmap, labelled_rows, runs, translated
from quorate._evaluation.explanation import Explanation
from quorate._evaluation.scores import inter_density, member_nmi_matrix
from quorate._types import Ensemble, FloatArray
from quorate.plot import _axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def consensus_heatmap(result: Any, ensemble: Any, *, max_bins: int = 400, ax: Axes | None = None) -> Axes:
    """Draw the co-association of objects, ordered by the tree of the result.

    Dark blocks on the diagonal are clusters on which the members agree.

    Parameters
    ----------
    result : Consensus, or labels of the objects
        The order is that of its tree if it has one; otherwise the bins of a cluster are ordered by a tree over them.
    ensemble : Ensemble, or anything `as_ensemble` takes
        The ensemble that the consensus was made from.
    max_bins : int
        The approximate number of bins in which objects are gathered; with fewer objects each has a bin of its own.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    A cell is the mean co-association of two different objects, one from each bin. All objects of a bin are in one
    cluster. If members are samples (of `generate` or `over_k`), a pair of objects counts by the members that label
    both, otherwise by all members. The means are computed from count tables in
    O(rows x members + base clusters x bins^2), without a matrix over pairs of objects.

    Examples
    --------
    >>> from quorate import consensus, plot
    >>> members = [[0, 0, 1, 1], [0, 0, 1, 2]]
    >>> ax = plot.consensus_heatmap(consensus(members, 2), members)
    """
    bins = _check.integer(max_bins, "max_bins", low=1)
    picture = heatmap(labelled_rows(result, ensemble), bins)
    edges = picture.edges
    ax = _axes.axes(ax, (6.0, 5.0))
    image = ax.pcolormesh(edges, edges, picture.matrix, cmap=_axes.SHADES, vmin=0, vmax=1, rasterized=True)
    total = int(edges[-1])
    clusters, borders = runs(picture.clusters, edges)
    _axes.cluster_bars(ax, clusters, borders, sides="left top")
    ax.set(xlim=(-0.05 * total, total), ylim=(total, -0.05 * total), aspect="equal")
    _axes.cluster_ticks(ax, "y", clusters, borders)
    ax.set_xticks([])
    _axes.shades_legend(ax, image, "co-association")
    _axes.finish(ax, "Consensus matrix", f"{total:,} objects in {len(clusters)} clusters", "cluster")
    _axes.bare(ax)
    return ax


def densities(result: Any, ensemble: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the mean co-association within each cluster, on the diagonal, and between each two clusters.

    Parameters
    ----------
    result : Consensus, or labels of the objects
    ensemble : Ensemble, or anything `as_ensemble` takes
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from quorate import consensus, plot
    >>> members = [[0, 0, 1, 1], [0, 0, 1, 2]]
    >>> ax = plot.densities(consensus(members, 2), members)
    """
    matrix = inter_density(result, ensemble)
    ax = _axes.axes(ax, (5.2, 4.2))
    _shaded(ax, matrix, "mean co-association")
    if len(matrix) <= _axes.NAMES_SHOWN:
        ax.set_xticks(range(len(matrix)))
        ax.set_yticks(range(len(matrix)))
    return _axes.finish(ax, "Density within and between clusters", "cluster", "cluster")


def member_nmi(ensemble: Any, result: Any = None, *, ax: Axes | None = None) -> Axes:
    """Draw the NMI of every two members, and of each with the consensus in the last row and column.

    Parameters
    ----------
    ensemble : Ensemble, or anything `as_ensemble` takes
    result : Consensus, or labels of the objects, optional
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    The NMI is computed over the objects that both members label; a light grey cell marks two members without such
    objects. It is normalised by the geometric mean of the entropies. The shades begin near the lowest NMI in the
    matrix, as the bar beside it shows.

    Examples
    --------
    >>> from quorate import consensus, plot
    >>> members = {"web": [0, 0, 1, 1], "shop": [0, 0, 1, 2]}
    >>> ax = plot.member_nmi(members, consensus(members, 2))
    """
    whole = as_ensemble(ensemble)
    names = list(whole.member_names)
    if result is not None:
        whole = _with_consensus(whole, result)
        names.append("consensus")
    matrix = member_nmi_matrix(compress(whole)[0])
    side = 3.6 + 0.16 * min(len(names), _axes.NAMES_SHOWN)
    ax = _axes.axes(ax, (side + 0.8, side + 0.2))
    # Members of one ensemble are similar: if the shades began at 0, all cells would be dark.
    _shaded(ax, matrix, "NMI", float(np.floor(10 * min(0.9, float(np.nanmin(matrix)))) / 10))
    _axes.member_ticks(ax, names, both=True)
    if result is not None:
        place = len(names) - 1.5
        ax.axhline(place, color="white", linewidth=3)
        ax.axvline(place, color="white", linewidth=3)
    note = "" if len(names) <= _axes.NAMES_SHOWN else f"{whole.n_members} members in their order, consensus last"
    return _axes.finish(ax, "Agreement of members", note)


def traits(explanation: Explanation, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw in which columns of a table the clusters differ: red where a cluster has more, blue where it has less.

    Parameters
    ----------
    explanation : Explanation
        What `quorate.explain` returns.
    most : int, default 20
        The largest number of columns, those with the largest effects.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    A cell is the effect of `explain`: the difference between the cluster and all other objects in standard deviations,
    or of two shares Cohen's h. The shades end at 2; a light grey cell has no value.

    Examples
    --------
    >>> from quorate import explain, plot
    >>> ax = plot.traits(explain([0, 0, 1, 1], {"income": [20, 22, 60, 62], "town": ["A", "B", "B", "B"]}))
    """
    import matplotlib

    effects: dict[tuple[str, str], float] = {}
    for trait in explanation.traits:
        name = trait.column if trait.category is None else f"{trait.column} {trait.category}"
        effects[trait.cluster, name] = trait.effect
    size: dict[str, float] = {}
    for (_, name), effect in effects.items():
        size[name] = max(size.get(name, 0.0), abs(effect))
    rows = sorted(size, key=lambda name: -size[name])[: _check.integer(most, "most", low=1)]
    if not rows:
        raise ValueError("the explanation has no traits: no column of the table has values that can be compared.")
    clusters = explanation.cluster_names
    matrix = np.array([[effects.get((cluster, row), np.nan) for cluster in clusters] for row in rows])
    ax = _axes.axes(ax, (2.6 + 0.55 * min(len(clusters), 30), 1.4 + 0.28 * len(rows)))
    shades = matplotlib.colormaps[_axes.DIVERGING].with_extremes(bad=_axes.MISSING)
    image = ax.imshow(matrix, cmap=shades, vmin=-2, vmax=2, aspect="auto")
    _axes.member_ticks(ax, rows, both=False)
    ax.set_xticks(range(len(clusters)), clusters, rotation=90 if max(map(len, clusters)) > 4 else 0)
    _axes.shades_legend(ax, image, "effect")
    _axes.bare(ax)
    return _axes.finish(ax, "What is typical of each cluster", "cluster")


def membership_heatmap(result: Any, ensemble: Any, *, max_bins: int = 800, ax: Axes | None = None) -> Axes:
    """Draw how every member labels the objects, with the objects ordered by the consensus.

    Parameters
    ----------
    result : Consensus, or labels of the objects
    ensemble : Ensemble, or anything `as_ensemble` takes
    max_bins : int
        The approximate number of columns.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Notes
    -----
    A member's cluster has the colour of the consensus cluster with which it shares most objects; light grey is a
    missing label. Within a cluster, the objects on which the fewest members disagree come first. A column shows the
    object in the middle of its bin, so that colours are about as frequent as among the objects.

    Examples
    --------
    >>> from quorate import consensus, plot
    >>> members = {"web": [0, 0, 1, 1], "shop": [0, 0, 1, None]}
    >>> ax = plot.membership_heatmap(consensus(members, 2), members)
    """
    n_bins = _check.integer(max_bins, "max_bins", low=1)
    labelled = labelled_rows(result, ensemble)
    seen = translated(labelled)
    against = ((seen >= 0) & (seen != labelled.labels[:, None])).sum(axis=1)
    order = np.lexsort((*seen.T[::-1], against, cluster_ranks(labelled)[labelled.labels]))
    bins = cut_into_bins(labelled, order, n_bins)
    picture = np.vstack([seen[bins.middle()].T, bins.clusters])
    names = [*labelled.rows.member_names, "consensus"]
    ax = _axes.axes(ax, (7.0, 1.4 + 0.24 * min(len(names), _axes.NAMES_SHOWN)))
    _coloured(ax, picture, bins.edges, labelled.n_clusters)
    ax.axhline(len(names) - 1.5, color="white", linewidth=4)
    _axes.member_ticks(ax, names, both=False)
    _axes.cluster_ticks(ax, "x", *runs(bins.clusters, bins.edges))
    total = f"cluster ({labelled.rows.n_objects:,} objects)"
    _axes.finish(ax, "Members and the consensus", total, "" if len(names) <= _axes.NAMES_SHOWN else "members")
    _axes.bare(ax)
    return ax


def _coloured(ax: Axes, picture: Any, edges: Any, n_clusters: int) -> None:
    """Draw rows of cluster numbers as stripes of colour; -1 is a gap."""
    from matplotlib.colors import ListedColormap

    ax.pcolormesh(
        edges,
        np.arange(len(picture) + 1) - 0.5,
        picture,
        cmap=ListedColormap([_axes.MISSING, *_axes.colours(n_clusters)]),
        vmin=-1.5,
        vmax=n_clusters - 0.5,
        rasterized=True,
    )
    ax.hlines(np.arange(len(picture) - 1) + 0.5, edges[0], edges[-1], color="white", linewidth=0.8)
    ax.set(ylim=(len(picture) - 0.5, -0.5))


def _shaded(ax: Axes, matrix: FloatArray, meaning: str, low: float = 0.0) -> None:
    import matplotlib

    shades = matplotlib.colormaps[_axes.SHADES].with_extremes(bad=_axes.MISSING)
    image = ax.imshow(matrix, cmap=shades, vmin=low, vmax=1)
    _axes.numbers_in_cells(ax, matrix, low)
    _axes.shades_legend(ax, image, meaning)
    _axes.bare(ax)


def _with_consensus(ensemble: Ensemble, result: Any) -> Ensemble:
    """Return the ensemble with the labelling as one more member."""
    labelling = code_beside(result, "result", ensemble)
    return add_member(ensemble, labelling.codes, labelling.categories, name="consensus")
