"""The numbers that the figures of a report show, aggregated: never one number for each pair of objects."""

from __future__ import annotations

from itertools import count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._evaluation.binning import Heatmap, heatmap, leaf_order
from quorate._evaluation.member_table import APART, standing_apart
from quorate._summaries import CRITERIA, Choice
from quorate._trust.subject import Partition, Subject
from quorate._types import IntArray
from quorate.plot._axes import MISSING, colours
from quorate.reporting.page import packed, packed_shares
from quorate.reporting.slider import Stops

BINS = 180
"""The approximate number of bins in which objects are gathered."""
MOST_CLUSTERS = 250
"""Up to this many clusters the maps are drawn: each cluster takes at least one bin."""
MEMBERS_SHOWN = 300
"""The largest number of members drawn; of more members, so many are taken, spread evenly over the order of their
NMI with the consensus."""
LABELS_TOLD = 6_000
"""Up to this many labels, of all members together, their names are written into the page."""
DISTINCT_COLOURS = 14
"""Up to this many clusters have colours that everybody can tell apart; more have numbers beside the map, too."""
STACKED = 7
"""Up to this many clusters the histogram is stacked by cluster."""
HISTOGRAM_BARS = 40


def figures(subject: Subject, stops: Stops, choice: Choice | None) -> dict[str, Any]:
    """Return everything that the script of the page draws; the keys are those that it reads."""
    members = shown_members(subject)
    n_numbers = max(part.n_numbers for part in stops.partitions)
    picture = heatmap(subject.labelled, BINS) if subject.n_clusters <= MOST_CLUSTERS else None
    return {
        "n_objects": subject.ensemble.n_objects,
        "names": cluster_names(subject, n_numbers),
        "colours": cluster_colours(subject, n_numbers, None if picture is None else _in_order(picture.clusters)),
        "distinct_colours": DISTINCT_COLOURS,
        "gap": MISSING,
        "stops": [_stop(part) for part in stops.partitions],
        "own": stops.own,
        "clusterConfidence": subject.cluster_confidence,
        "clusterStability": subject.cluster_stability,
        "maps": None if picture is None else _maps(subject, stops, members, picture),
        "most_clusters": MOST_CLUSTERS,
        "members": _members(subject, members),
        "histogram": _histogram(subject),
        "choice": None if choice is None else _curves(choice),
    }


def cluster_names(subject: Subject, n_numbers: int) -> list[str]:
    """Return the names of the clusters, followed by those of clusters that only other numbers of clusters have."""
    numeric, taken = all(name.isdecimal() for name in subject.names), set(subject.names)
    start = max(map(int, subject.names)) + 1 if numeric else 1
    unused = (name for number in count(start) if (name := f"{'' if numeric else 'new '}{number}") not in taken)
    return [*subject.names, *islice(unused, n_numbers - subject.n_clusters)]


def cluster_colours(subject: Subject, n_numbers: int, order: NDArray[np.intp] | None) -> list[str]:
    """Return the colour of each cluster.

    Colours repeat if there are many clusters. Then they go by the order of the clusters in the map, so that clusters
    that are next to each other have different colours.
    """
    if order is None or subject.n_clusters <= DISTINCT_COLOURS:
        return colours(n_numbers)
    every = colours(n_numbers)
    place = np.arange(n_numbers)
    place[order] = np.arange(len(order))
    return [every[position] for position in place.tolist()]


def shown_members(subject: Subject) -> NDArray[np.intp]:
    """Return the members to draw, in their own order."""
    n_members = subject.ensemble.n_members
    if n_members <= MEMBERS_SHOWN:
        return np.arange(n_members)
    ranked = np.argsort(np.nan_to_num(subject.member_nmi), kind="stable")
    return np.sort(ranked[np.linspace(0, n_members - 1, MEMBERS_SHOWN).astype(np.intp)])


def _stop(part: Partition) -> dict[str, Any]:
    used = np.flatnonzero(part.sizes)
    return {
        "k": part.n_clusters,
        "anmi": part.anmi,
        "density": part.density,
        "clusters": used,
        "sizes": part.sizes[used],
        "densities": part.densities[used],
    }


def _in_order(clusters: IntArray) -> NDArray[np.intp]:
    """Return the clusters in the order in which they first appear."""
    values, first = np.unique(clusters, return_index=True)
    return np.asarray(values[np.argsort(first)], dtype=np.intp)


def _maps(subject: Subject, stops: Stops, members: NDArray[np.intp], picture: Heatmap) -> dict[str, Any]:
    ensemble = subject.ensemble
    rows = subject.first[picture.row]
    said = ensemble.labels[np.ix_(rows, members)].astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(ensemble.n_clusters[members])])
    base = np.concatenate([np.arange(*ensemble.offsets[[m, m + 1]]) for m in members.tolist()])
    # 0 is a missing label; all other labels are numbered consecutively over the members shown.
    cells = np.where(said >= 0, said + offsets[:-1] + 1, 0).T
    return {
        "n": len(picture.clusters),
        "heat": packed_shares(picture.matrix),
        "sizes": picture.sizes,
        "confidence": packed_shares(picture.mean(subject.confidence[subject.first])),
        "sample": _ids(subject, rows),
        "cells": packed(cells),
        "labels": _label_names(subject, members),
        "stops": [
            {"bins": packed(part.labels[rows] + 1), "closest": packed(part.closest[base])} for part in stops.partitions
        ],
    }


def _ids(subject: Subject, rows: NDArray[np.intp]) -> list[str]:
    return [str(row) for row in (rows if subject.ids is None else subject.ids[rows]).tolist()]


def _label_names(subject: Subject, members: NDArray[np.intp]) -> list[str] | None:
    """Return the members' names of their clusters, all in one list, or None if the list would be too long."""
    if int(subject.ensemble.n_clusters[members].sum()) > LABELS_TOLD:
        return None
    return [str(name)[:60] for member in members for name in subject.ensemble.categories[member].tolist()]


def _members(subject: Subject, members: NDArray[np.intp]) -> dict[str, Any]:
    """Return names, NMI with the consensus, and the matrix of NMI.

    The matrix is ordered so that similar members are adjacent.
    """
    between = subject.between_members[0][np.ix_(members, members)]
    own = subject.member_nmi[members]
    order = leaf_order(np.nan_to_num(between))
    matrix = np.block([[between[np.ix_(order, order)], own[order][:, None]], [own[order][None, :], np.ones((1, 1))]])
    return {
        "n": subject.ensemble.n_members,
        "names": [subject.ensemble.member_names[member] for member in members],
        "nmi": own,
        "missing": subject.missing[members],
        "apart": np.flatnonzero(standing_apart(subject.member_nmi)[members] > 1 - APART),
        "n_clusters": subject.ensemble.n_clusters[members],
        "order": order,
        "matrix": packed_shares(matrix),
    }


def _histogram(subject: Subject) -> dict[str, Any]:
    """Count objects by confidence, for each cluster if there are few clusters, else for all together."""
    edges = np.linspace(0, 1, HISTOGRAM_BARS + 1)
    labels = subject.labels[subject.known]
    values, counts = subject.confidence[subject.known], subject.ensemble.counts[subject.known]
    if subject.n_clusters > STACKED:
        return {"by": None, "counts": [np.histogram(values, edges, weights=counts)[0]]}
    groups = [labels == cluster for cluster in range(subject.n_clusters)]
    stacked = [np.histogram(values[group], edges, weights=counts[group])[0] for group in groups]
    return {"by": list(range(subject.n_clusters)), "counts": stacked}


def _curves(choice: Choice) -> dict[str, Any]:
    names = ("support", *CRITERIA)
    table = {name: [getattr(entry, name) for entry in choice.table] for name in names}
    return {
        "k": [entry.n_clusters for entry in choice.table],
        "curves": {name: values for name, values in table.items() if sum(v is not None for v in values) > 1},
        "votes": dict(choice.votes),
        "chosen": choice.n_clusters,
    }
