"""refine: greedy moves from any labelling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._consensus.confidence import with_confidence
from quorate._data.ensemble import as_ensemble
from quorate._data.labelling import code_beside, locate_pairs
from quorate._solve.procedure import Procedure
from quorate._solve.run_method import AUTO, MAX_SWEEPS, refine_rows
from quorate._types import Consensus, Ensemble
from quorate.ops.coding import canonical
from quorate.solvers.label_rows import take


def refine(labels: Any, ensemble: Any, *, max_iter: int = MAX_SWEEPS) -> Consensus:
    """Move objects of a labelling, each to the cluster that raises the ANMI most, until no move raises it.

    Parameters
    ----------
    labels : array of labels, or Consensus
        Where to start: one label per row of the ensemble. Unlabelled objects (-1, None, NaN) first join the cluster
        with which they have the highest mean co-association.
    ensemble : Ensemble, or anything `as_ensemble` takes
        The members the labelling should agree with.
    max_iter : int
        Sweeps at most; `converged` says whether the last one moved nothing.

    Returns
    -------
    Consensus
        As many clusters as the start has. `objective` is the ANMI (geometric), to be maximised;
        ``info["start_anmi"]`` the ANMI of the start and ``info["n_moves"]`` how many blocks moved.

    Notes
    -----
    Objects with equal rows and equal starting labels move as one block. A block may stay where its first object alone
    would have moved, so that other optima can be reached than by moving object after object; there are at most as many
    blocks as distinct rows times clusters. Ties and gains below 1e-11 leave a block where it is. No cluster loses its
    last block. A sweep costs O(b H k) for b blocks, H members and k clusters.

    See Also
    --------
    consensus : with ``refine=True`` it does this after any method.

    References
    ----------
    .. [1] A. Strehl, J. Ghosh, "Cluster Ensembles", JMLR 3, 2002, doi:10.1162/153244303321897735, section 2.3.

    Examples
    --------
    >>> members = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]]
    >>> result = refine(["a", "b", "a", "b", "b", "b"], members)
    >>> result.labels.tolist(), round(result.info["start_anmi"], 3), round(result.objective, 3)
    ([0, 0, 0, 1, 1, 1], 0.267, 0.653)
    """
    max_iter = _check.integer(max_iter, "max_iter", low=1)
    members = as_ensemble(ensemble)
    start_labels = code_beside(labels, "labels", members)
    k = start_labels.n_clusters
    blocks, inverse, start = _blocks(members, start_labels.codes, k)
    result = refine_rows(blocks, start, k, max_iter)
    # the start may be anything: the default method, refined alike, stands for the procedure
    result = with_confidence(blocks, result, Procedure(AUTO, k, True, 0, is_known=False))
    confidence = None if result.confidence is None else result.confidence[inverse]
    expanded = canonical(result.labels[inverse], k)
    # blocks are in order of first appearance, so that their clusters keep their numbers
    other = None if result.runner_up is None else result.runner_up[inverse]
    result = replace(result, labels=expanded, confidence=confidence, runner_up=other)
    return replace(result, object_ids=members.object_ids, id_name=members.id_name)


def _blocks(
    ensemble: Ensemble, codes: NDArray[np.int32], k: int
) -> tuple[Ensemble, NDArray[np.intp], NDArray[np.int32]]:
    """The blocks as rows (distinct pairs of row and starting label), the block of each object, each block's label."""
    # an unlabelled object is a block apart, as if it had a label of its own
    _, pair, first = locate_pairs(ensemble, np.where(codes < 0, k, codes))
    # in order of first appearance, as compress has it
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    first, where = first[order], place[pair]
    counts = np.bincount(where, weights=ensemble.counts).astype(np.int64)
    return take(ensemble, first, counts), where, codes[first]
