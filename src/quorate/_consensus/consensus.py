"""consensus, the door: code, compress, coarsen if asked to, solve, expand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from quorate import _check
from quorate._consensus.auto import AUTO, DEFAULT_METHOD
from quorate._consensus.choose_k import Numbers
from quorate._consensus.run_method import MAX_BYTES
from quorate._consensus.solve import solve
from quorate._consensus.solved import Solved, coarsened
from quorate._data.compression import compress
from quorate._data.ensemble import as_ensemble
from quorate._data.missing import DEFAULT
from quorate._data.soft_members import as_soft_ensemble
from quorate._data.tables import holds_matrices
from quorate._device.device_arrays import DEVICES, lives_on_card
from quorate._types import AnyEnsemble, Consensus, Ensemble, SoftEnsemble
from quorate.ops.distinct_rows import taken_rows


def consensus(
    labels: Any,
    n_clusters: Numbers = None,
    *,
    method: str = DEFAULT_METHOD,
    coarsen: Any = None,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    refine: bool = False,
    confidence: bool = True,
    weights: Any = None,
    missing: Any = DEFAULT,
    orientation: str | None = None,
    ids: Any = None,
    check: bool = True,
    device: str | None = None,
    **options: Any,
) -> Consensus:
    """Combine many labellings of the same objects into one.

    There are four steps. The labels are checked and coded, and objects with equal labels become one row with a count.
    Similar rows are merged if `coarsen` asks for it. A method finds the consensus of the rows. Last, its labels are
    carried back to all objects.

    Parameters
    ----------
    labels : Ensemble, SoftEnsemble, or anything `as_ensemble` takes
        One row per object, one column per member. A list (or mapping) in which a member is a matrix of memberships goes
        through `as_soft_ensemble`; methods that take labels alone refuse it.
    n_clusters : int, "auto", (low, high) or range, optional
        Number of clusters; the result has exactly that many. With "auto" (the same as None) or a range of numbers
        `choose_k` chooses it, and ``info["choice"]`` is its result; with "auto" the answer is 1 if the members have no
        more in common than permuted labels. If the method is named and finds the number itself, None leaves it to
        the method.
    method : str
        A name in METHODS; ``quorate methods`` lists them. "auto" chooses one by the number of distinct rows and by the
        share of missing labels: the attribute `method` of the result says which, and ``info["auto"]`` says why.
    coarsen : float, mapping or "auto", optional
        Whether to merge similar rows first, as the function `coarsen` does. A number is its theta, and a mapping such
        as ``dict(theta=0.2, keep=0.9)`` holds its options. "auto" merges as little as leaves 5,000 rows;
        ``dict(max_rows=...)`` sets another number. ``info["coarsen"]`` says what was done and why. Without this
        option rows are merged only if `method` is "auto" and even k-means on more than a million distinct rows would
        need more than `max_bytes`; a warning says so.
    random_state : None, int, Generator or RandomState
        The same seed gives the same result. The global random state is never used.
    max_bytes : int
        The memory that the method may use beside the rows, for a matrix over pairs of distinct rows or for tables
        between the clusters of members and those of the result. A method that needs more raises a MemoryError before
        it starts. Copies of the rows and lists beside them, at most 240 bytes per label and 1,200 per distinct row,
        do not count.
    refine : bool
        Whether to move rows afterwards in order to raise the ANMI, as `quorate.refine` does. `objective` is then the
        ANMI, and ``info["refine"]`` gives the ANMI and the objective before, and how many rows moved.
    confidence : bool
        Whether to estimate the confidence of each object, by repeating the method on halves of the members, four times
        on at most 2,000 objects. With False it is None.
    weights, missing, orientation, ids, check
        How to read `labels`, as for `as_ensemble`.
    device : None, "auto", "cpu" or "cuda"
        Where the work is done: "cuda" on a CUDA card, which needs CuPy; "auto" there if a card works and its memory
        suffices; by default on the processor, or on the card if the labels live there (CuPy or PyTorch arrays).
        Results are arrays of the same library, and ``info["device"]`` says where the method ran; see docs/gpu.md.
    **options
        The method's own options.

    Returns
    -------
    Consensus
        The labels of all objects, in the given order, and what the method reports about them.
        ``info["n_rows"]`` is the number of distinct rows that the method worked on.

    See Also
    --------
    solve : Does the same on rows that are compressed already.
    choose_k : Compares numbers of clusters.
    evaluate : Scores the result, and says how far to believe it.

    Examples
    --------
    >>> segments = {"legacy": ["a", "a", "b", "b", "c"], "web": [1, 1, 2, 2, None], "region": [7, 7, 8, 8, 8]}
    >>> consensus(segments, 2, random_state=0).labels
    array([0, 0, 1, 1, 1], dtype=int32)
    """
    max_bytes = _check.n_bytes(max_bytes)
    reading = {"weights": weights, "missing": missing, "ids": ids}
    reading |= {"orientation": orientation, "check": check}
    settings = {"coarsen": coarsen, "method": method, "random_state": random_state, "max_bytes": max_bytes}
    settings |= {"refine": refine, "confidence": confidence, **options}
    if device == "cpu" and isinstance(labels, Ensemble):
        labels = labels.on_host()
    if device not in (None, "cpu") or lives_on_card(labels):
        from quorate._consensus.on_card import consensus_on_card

        found = consensus_on_card(labels, n_clusters, reading, settings, device)
        if found is not None:
            return found
    _check.choice(device, "device", DEVICES)
    return solve_objects(as_any_ensemble(labels, reading), n_clusters, **settings).objects


def as_any_ensemble(labels: Any, reading: dict[str, Any]) -> AnyEnsemble:
    """Labels or soft members, read as the options of `as_ensemble` say."""
    if not (isinstance(labels, SoftEnsemble) or holds_matrices(labels)):
        return as_ensemble(labels, **reading)
    if reading["orientation"] is not None:
        raise ValueError("orientation must be None with soft members, each of which is a matrix with objects as rows.")
    return as_soft_ensemble(labels, **{name: reading[name] for name in ("weights", "missing", "ids")})


def solve_objects(
    ensemble: AnyEnsemble, n_clusters: Numbers, *, coarsen: Any = None, max_bytes: int = MAX_BYTES, **settings: Any
) -> Solved:
    """Compress an ensemble, coarsen it if asked to, solve, and carry the labels back to the objects.

    This is `consensus` on data that has been through the door already; `settings` are those of `solve`.
    """
    if ensemble.card is not None:
        from quorate._consensus.on_card import solve_objects_on_card

        return solve_objects_on_card(ensemble, n_clusters, coarsen=coarsen, max_bytes=max_bytes, **settings)
    rows, inverse = compress(ensemble)
    told = {}
    merged = coarsened(rows, coarsen, n_clusters, max_bytes, settings.get("method", AUTO))
    if merged is not None:
        rows, joined, told["coarsen"] = merged
        inverse = joined[inverse]
    result = solve(rows, n_clusters, max_bytes=max_bytes, **settings)
    result = replace(result, info={**result.info, **told})
    objects = expand(result, inverse, ensemble.object_ids)
    return Solved(rows, result, replace(objects, id_name=ensemble.id_name))


def expand(result: Consensus, inverse: NDArray[Any], object_ids: NDArray[Any] | None = None) -> Consensus:
    """From rows to objects: rows are in order of first appearance, so canonical labels stay canonical."""
    return replace(
        result,
        labels=taken_rows(result.labels, inverse),
        confidence=None if result.confidence is None else taken_rows(result.confidence, inverse),
        runner_up=None if result.runner_up is None else taken_rows(result.runner_up, inverse),
        rows=inverse,
        object_ids=object_ids,
    )
