"""New label rows placed into the clusters of a consensus: known rows by look-up, others by co-association."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from quorate import _check
from quorate._consensus.confidence import Scale, scale_of
from quorate._data.coding import DEFAULT
from quorate._data.ensemble import as_counts, as_ensemble, as_weights
from quorate._data.labelling import (
    Labelling,
    Pairing,
    code_beside,
    matched_columns,
    pair_rows,
    read_rows,
    translation,
)
from quorate._data.rows import compress, select_members
from quorate._summaries import Placement
from quorate._types import Ensemble, FloatArray, IntArray, read_only
from quorate.ops.distinct_rows import distinct_rows
from quorate.solvers.label_rows import known_of_codes, tally_and_sizes

BLOCK = 16_384


def cluster_profiles(ensemble: Ensemble, labels: NDArray[np.int32]) -> FloatArray:
    """For each base cluster the share of each consensus cluster's objects in it, times the member's share; (d, K).

    Added up over a row's base clusters, this is the row's mean co-association with the objects of a cluster.
    """
    n_clusters = int(labels.max()) + 1
    table, sizes = tally_and_sizes(ensemble, labels, n_clusters)
    shares = np.repeat(ensemble.weights / ensemble.weights.sum(), ensemble.n_clusters)
    profiles: FloatArray = table * shares[:, None] / sizes
    return profiles


def shared_with_clusters(profiles: FloatArray, offsets: NDArray[np.int64], codes: IntArray) -> FloatArray:
    """Mean co-association (n, K) of the label rows `codes` with each cluster, from 0 to 1; -1 is a missing label."""
    result = np.empty((len(codes), profiles.shape[1]))
    for start in range(0, len(codes), BLOCK):
        block = codes[start : start + BLOCK]
        row, member = np.nonzero(block >= 0)
        places = offsets[member] + block[row, member]
        indicator = csr_array((np.ones(len(row)), (row, places)), shape=(len(block), len(profiles)))
        result[start : start + BLOCK] = indicator @ profiles
    return result


def place_rows(
    ensemble: Ensemble, labels: NDArray[np.int32], profiles: FloatArray, codes: IntArray
) -> NDArray[np.int32]:
    """The cluster of each row of `codes`.

    A row that `ensemble` holds gets its label; `labels` are those of its distinct rows. Any other row gets the cluster
    of the highest mean co-association, the lowest in a tie.
    """
    placed = known_labels(ensemble, labels, codes)
    new = placed < 0
    placed[new] = shared_with_clusters(profiles, ensemble.offsets, codes[new]).argmax(axis=1)
    return placed


def known_labels(ensemble: Ensemble, labels: NDArray[np.int32], codes: IntArray) -> NDArray[np.int32]:
    """The label of each row of `codes` that is among the distinct rows of `ensemble`, -1 for the others."""
    rows = np.concatenate([ensemble.labels, codes.astype(ensemble.labels.dtype, copy=False)])
    inverse = np.empty(len(rows), dtype=np.intp)
    distinct_rows(read_only(rows), inverse)
    equal = inverse[ensemble.n_rows :]
    known = equal < ensemble.n_rows
    placed = np.full(len(codes), -1, dtype=np.int32)
    placed[known] = labels[equal[known]]
    return placed


def recode(ensemble: Ensemble, raw: IntArray) -> IntArray:
    """Members' own cluster numbers (n, n_members) as the ensemble's codes; -1 for a number it does not have."""
    codes = np.full(raw.shape, -1, dtype=ensemble.labels.dtype)
    for member, categories in enumerate(ensemble.categories):
        lookup = np.full(int(categories.max()) + 2, -1, dtype=codes.dtype)
        lookup[categories] = np.arange(len(categories))
        # -1 and numbers beyond the last category both find the -1 at the end
        codes[:, member] = lookup[np.minimum(raw[:, member], len(lookup) - 1)]
    return codes


class NewRows(NamedTuple):
    """New rows in the codes of an ensemble, -1 where missing or unknown, and what could not be matched."""

    codes: IntArray
    unknown: dict[str, int]
    absent: tuple[str, ...]
    ids: NDArray[Any] | None
    id_name: str = "id"


class Places(NamedTuple):
    """What placing needs of a labelled ensemble: distinct rows with their clusters, the clusters' profiles,
    and how confidence follows from them."""

    rows: Ensemble
    labels: NDArray[np.int32]
    profiles: FloatArray
    scale: Scale | None


def place(labels: Any, ensemble: Any, new_labels: Any, *, missing: Any = DEFAULT) -> Placement:
    """Put new objects into the clusters of a labelling, by the labels that the same members give them.

    The columns of the new table are matched with the members by name, and their labels with the members' labels.
    A row of labels that objects of the ensemble have takes their cluster (that of most of them). Any other row takes
    the cluster with the highest mean co-association, ties going to the lowest number.

    Parameters
    ----------
    labels : Consensus, or labels of the objects
        One label per row of the ensemble.
    ensemble : Ensemble, or anything `as_ensemble` takes
        What the labelling was made of.
    new_labels : Ensemble, or a table as `as_ensemble` takes it
        One row per new object. A table without names must have one column per member, in their order. Labels the
        ensemble does not have are missing labels, and counted; so are the labels of members that are not there.
    missing : value or list of values, default -1
        What stands for a missing label in `new_labels`, beside nulls.

    Returns
    -------
    Placement
        Labels, confidence and runner-up of the new objects, and how many labels were unknown. An object without any
        known label has the label -1, and a warning says how many there are.

    See Also
    --------
    ConsensusClustering.predict : the same as a scikit-learn estimator.

    Notes
    -----
    Nothing is learned from the new objects: placing them one by one gives what placing them together gives.
    O(rows + new rows x members x clusters).

    Examples
    --------
    >>> from quorate import consensus
    >>> segments = {"legacy": ["a", "a", "b", "b"], "web": ["x", "x", "y", "y"], "region": [7, 7, 8, 8]}
    >>> result = consensus(segments, 2, random_state=0)
    >>> placed = place(result, segments, {"legacy": ["b", "a"], "web": ["y", "new"], "region": [7, None]})
    >>> placed
    Placement(2 objects in 2 clusters, 0 known rows, unknown labels: 1)
    >>> placed.labels, dict(placed.unknown_labels)
    (array([1, 0], dtype=int32), {'web': 1})
    """
    members = as_ensemble(ensemble)
    labelling = code_beside(labels, "labels", members)
    pairs = pair_rows(members, labelling.codes, labelling.n_clusters)
    placement = place_new(
        places_of(pairs, compress(members)[0], scale_of(labels, pairs)),
        match_rows(members, new_labels, missing),
        _names(labelling),
    )
    if placement.n_unplaced:
        warnings.warn(unplaced_words(placement.n_unplaced, len(placement.labels)), UserWarning, stacklevel=2)
    return placement


def _names(labelling: Labelling) -> tuple[str, ...] | None:
    """What the clusters are called, None where that is their numbers."""
    called = labelling.categories.tolist()
    return None if called == list(range(len(called))) else tuple(map(str, called))


def unplaced_words(n_unplaced: int, n_objects: int) -> str:
    return (
        f"{n_unplaced:,} of {n_objects:,} objects {_check.has(n_unplaced)} no label that the ensemble knows, and got "
        f"-1 instead of a cluster."
    )


def places_of(pairs: Pairing, rows: Ensemble, scale: Scale | None) -> Places:
    """The labelled distinct rows of an ensemble; a row whose objects are in several clusters goes with the most."""
    order = np.lexsort((pairs.labels, -pairs.rows.counts, pairs.distinct))
    seen, first = np.unique(pairs.distinct[order], return_index=True)
    labels = np.full(rows.n_rows, -1, dtype=np.int32)
    labels[seen] = pairs.labels[order[first]]
    return Places(rows, labels, cluster_profiles(pairs.rows, pairs.labels), scale)


def place_new(places: Places, new: NewRows, cluster_names: tuple[str, ...] | None) -> Placement:
    """Place rows that are in the ensemble's codes already, block by block."""
    n = len(new.codes)
    labels = known_labels(places.rows, places.labels, new.codes)
    known = labels >= 0
    confidence, runner_up = np.zeros(n), np.full(n, -1, dtype=np.int32)
    for start in range(0, n, BLOCK):
        part = slice(start, start + BLOCK)
        shares = shared_with_clusters(places.profiles, places.rows.offsets, new.codes[part])
        # nothing in common with any cluster: there is no cluster to choose
        best = np.where(shares.max(axis=1) > 0, shares.argmax(axis=1), -1)
        labels[part] = np.where(known[part], labels[part], best)
        at, own = np.arange(len(shares)), np.maximum(labels[part], 0)
        mine = shares[at, own]
        shares[at, own] = 0.0
        rival = shares.max(axis=1)
        share = np.divide(mine, mine + rival, out=np.zeros(len(at)), where=labels[part] >= 0)
        if places.scale is not None:
            known_weight = known_of_codes(new.codes[part], places.rows.weights)
            confidence[part] = np.where(labels[part] >= 0, places.scale.confidence(share, own, known_weight), 0.0)
        runner_up[part] = np.where((rival > 0) & (labels[part] >= 0), shares.argmax(axis=1), -1)
    return Placement(
        labels=labels,
        n_clusters=places.profiles.shape[1],
        confidence=None if places.scale is None else confidence,
        runner_up=runner_up,
        known=known,
        unknown_labels=new.unknown,
        absent_members=new.absent,
        object_ids=new.ids,
        id_name=new.id_name,
        cluster_names=cluster_names,
    )


def match_rows(ensemble: Ensemble, new_labels: Any, missing: Any = DEFAULT) -> NewRows:
    """New rows in the codes of an ensemble: columns matched by name, labels by what they are."""
    codes, categories, names, ids, id_name = read_rows(new_labels, missing)
    place = matched_columns(ensemble.member_names, names)
    matched = np.full((len(codes), ensemble.n_members), -1, dtype=ensemble.labels.dtype)
    unknown = {}
    for member, column in place.items():
        translated = translation(ensemble.categories[member], categories[column])
        own = translated[codes[:, column]]
        lost = int(((own < 0) & (codes[:, column] >= 0)).sum())
        if lost:
            unknown[ensemble.member_names[member]] = lost
        matched[:, member] = own
    absent = tuple(name for member, name in enumerate(ensemble.member_names) if member not in place)
    return NewRows(matched, unknown, absent, ids, id_name)


def ensemble_of_rows(labels: Any, missing: Any, weights: Any = None) -> Ensemble:
    """A table as an Ensemble to score with: members without any label are left out, objects without any are kept."""
    codes, categories, names, ids, _ = read_rows(labels, missing)
    members = [place for place, values in enumerate(categories) if len(values)]
    whole = Ensemble(
        labels=codes,
        counts=as_counts(None, len(codes)),
        n_clusters=np.array([len(values) for values in categories], dtype=np.int64),
        weights=as_weights(weights, names),
        member_names=names,
        categories=categories,
        object_ids=ids,
    )
    return select_members(whole, members)
