"""Dask: consensus, compress, evaluate and generate on arrays and data frames that lie on a cluster.

Chunks are compressed on the workers, their distinct rows are merged in a tree, the method runs once where the call is
made, and labels are lazy collections with the chunks of the input. Too many distinct rows stay on the workers. Results
equal those of the functions of the same names in `quorate`, bit for bit. docs/dask.md leads from a laptop to a cluster.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quorate import _check
from quorate._choose_k.choose_k import Numbers
from quorate._consensus.consensus import solve_objects, solve_rows
from quorate._data.coding import DEFAULT
from quorate._data.ensemble import are_learnt, as_weights
from quorate._data.rows import select_members
from quorate._distributed.chunks import Chunks, as_chunks
from quorate._distributed.dask_features import DaskRows, chunks_of_features, label_leaves
from quorate._distributed.lazy_results import DaskConsensus, DaskEnsemble, Spread
from quorate._distributed.merge_tree import (
    Tree,
    chunk_sizes,
    coded_leaves,
    persisted_tree,
    read_chunks,
    read_tree,
    refuse_repeated_ids,
    root_of,
    rows_at_places,
    settled_root,
)
from quorate._distributed.rows_on_workers import rows_exceed, rows_on_workers
from quorate._io.opening import Columns
from quorate._solve.procedure import Drawn, drawn_places, procedure_of
from quorate._solve.run_method import AUTO, DEFAULT_METHOD, resolve
from quorate._stream.block_scores import drawn_objects, labels_of_member
from quorate._stream.measurements import drawn_rows
from quorate._trust.agreement import evaluate_within
from quorate._types import MAX_BYTES, Ensemble, Reading, Scores, Solving
from quorate.generation.block_members import train_members
from quorate.generation.plans import Request, entropy_of
from quorate.methods import METHODS

__all__ = ["DaskConsensus", "DaskEnsemble", "compress", "consensus", "evaluate", "generate"]


def consensus(
    data: Any,
    n_clusters: Numbers = None,
    *,
    method: str = DEFAULT_METHOD,
    coarsen: Any = None,
    random_state: Any = None,
    max_bytes: int = MAX_BYTES,
    refine: bool = False,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: Any = DEFAULT,
    weights: Any = None,
    check: bool = True,
    max_rows: int | None = None,
    **options: Any,
) -> DaskConsensus:
    """Find the consensus of a Dask array or data frame; labels are lazy, with the chunks of the input.

    The chunks are compressed on the workers and stay there as 4 bytes per object. Their distinct rows are merged eight
    at a time in a tree, and come here; the method runs here, once. If they take more than `max_bytes`, they stay on the
    workers, as far as the method can work on rows in parts, and tables of clusters come here instead.

    Parameters
    ----------
    data : Dask array of shape (n_objects, n_members), Dask data frame, or list of futures or delayed chunks
        Chunks may have unknown sizes. A data frame keeps its index and divisions.
    n_clusters, method, coarsen, random_state, refine, **options
        As for `quorate.consensus`.
    max_bytes : int
        As for `quorate.consensus`, and the memory that distinct rows may take here. Larger ones stay on the workers if
        `n_clusters` is a number, `method` is "auto" or has `in_parts` in `quorate.METHODS`, and nothing else needs the
        rows in one place (`refine`, `coarsen`, limits of clusters, learnt weights). ``solution.info["n_parts"]`` then
        says in how many parts, and arrays of `ensemble` and `solution` stay there.
    ids, columns, drop : str, lists of str
        For data frames: the column that names the objects, the columns that are members, and columns to leave out.
        No two objects may have the same id, in any chunks.
    missing, weights, check
        As for `quorate.consensus`.
    max_rows : int, optional
        If a node of the tree has more distinct rows than this, similar rows are merged there, on the worker, until no
        more are left. ``solution.info["thinned"]`` says how far: the labels of an object differ from those of the row
        that stands for it in at most that share of the members. Without it, nothing is lost.

    Returns
    -------
    DaskConsensus
        `labels` and `confidence` are Dask collections; `ensemble` and `solution` are the distinct rows and their
        consensus.

    See Also
    --------
    quorate.consensus : The same for a table in memory.
    quorate.stream.consensus : The same for files larger than memory, on one machine.

    Examples
    --------
    >>> import dask.array as da
    >>> labels = da.from_array(np.array([[0, 1], [0, 1], [1, 0], [1, 0]]), chunks=(2, 2))
    >>> result = consensus(labels, 2, random_state=0)
    >>> result.labels.compute()
    array([0, 0, 1, 1], dtype=int32)
    """
    solving = Solving(method, {}, coarsen, random_state, max_bytes, refine).with_options(options)
    chunks = as_chunks(data, Columns(ids, columns, tuple(drop)))
    reading = Reading(missing, weights, check=check, declared=columns is not None)
    most = None if max_rows is None else _check.integer(max_rows, "max_rows", low=1)
    begun = Tree(coded_leaves(chunks, []), [])
    if most is None and _may_stay(n_clusters, solving, reading) and not chunks.fit_into(solving.max_bytes):
        begun = persisted_tree(begun, chunks.parts, None, most_levels=1)
        if rows_exceed(begun, chunks.parts, solving.max_bytes):
            return _solved_on_workers(begun, chunks, reading, n_clusters, solving)
    tree, settled, root = read_tree(begun, chunks, reading, most)
    solved = solve_objects(settled.ensemble, n_clusters, solving).objects
    if most is not None:
        thinned = {"max_rows": most, "differing_share": root.theta, "n_rows": settled.ensemble.n_rows}
        solved = replace(solved, info={**solved.info, "thinned": thinned})
    return DaskConsensus(settled.ensemble, solved, Spread(chunks, tree, settled.row_of))


def _may_stay(n_clusters: Numbers, solving: Solving, reading: Reading) -> bool:
    """Whether a method may work on rows that stay on the workers."""
    open_number = not isinstance(n_clusters, numbers.Integral)
    changed = solving.refine or solving.coarsen is not None or solving.is_limited or are_learnt(reading.weights)
    method = METHODS.get(solving.method)
    return not (open_number or changed) and (solving.method == AUTO or (method is not None and method.in_parts))


def _solved_on_workers(
    tree: Tree, chunks: Chunks, reading: Reading, n_clusters: Numbers, solving: Solving
) -> DaskConsensus:
    """Solve rows that stay on the workers; they come here only if "auto" takes a method that needs them here."""
    if chunks.ids is not None:
        refuse_repeated_ids(tree)
    spread = rows_on_workers(tree, chunks, reading)
    rows = spread.ensemble
    named, _ = resolve(rows, n_clusters, solving)
    if METHODS[named.method].in_parts:
        solved = solve_rows(rows, n_clusters, solving)
        solved = replace(solved, info={**solved.info, "n_parts": len(spread.parts)})
        return DaskConsensus(rows, solved, spread)
    here = rows.on_host()
    return DaskConsensus(here, solve_objects(here, n_clusters, solving).objects, spread)


def compress(
    data: Any,
    *,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: Any = DEFAULT,
    weights: Any = None,
    check: bool = True,
) -> Ensemble:
    """Reduce a Dask collection to its distinct rows with counts, in order of first appearance.

    Parameters
    ----------
    data, ids, columns, drop, missing, weights, check
        As for `consensus`.

    Returns
    -------
    Ensemble
        The same as ``quorate.compress(quorate.as_ensemble(data.compute()))[0]``.

    Examples
    --------
    >>> import dask.array as da
    >>> compress(da.from_array(np.array([[0, 1], [1, 1], [0, 1]]), chunks=(2, 2))).counts
    array([2, 1])
    """
    chunks = as_chunks(data, Columns(ids, columns, tuple(drop)))
    reading = Reading(missing, weights, check=check, declared=columns is not None)
    return read_chunks(chunks, [], reading, None)[1].ensemble


_READING = ("ids", "columns", "drop", "missing", "weights", "check")
"""The options of `evaluate` that say how to read the table."""


def evaluate(labels: Any, data: Any = None, *, truth: Any = None, null: Any = None, **reading: Any) -> Scores:
    """Score a labelling of a Dask collection, as `quorate.evaluate` does for a table in memory.

    Parameters
    ----------
    labels : DaskConsensus, or Dask array or Series with the chunks of `data`
    data : Dask array or data frame, optional
        The table; a DaskConsensus holds it already.
    truth : Dask array or Series, optional
        Known classes, with the chunks of `data`.
    null
        As for `quorate.evaluate`.
    **reading
        `ids`, `columns`, `drop`, `missing`, `weights` and `check`, as for `consensus`.

    Returns
    -------
    Scores

    Examples
    --------
    >>> import dask.array as da
    >>> members = da.from_array(np.array([[0, 1], [0, 1], [1, 0], [1, 0]]), chunks=(2, 2))
    >>> evaluate(consensus(members, 2, random_state=0)).anmi
    1.0
    """
    unknown = [name for name in reading if name not in _READING]
    if unknown:
        meant = _check.did_you_mean(unknown[0], _READING)
        raise TypeError(
            f"evaluate has no option {', '.join(map(repr, unknown))}{meant}; its options are truth, null, "
            f"{', '.join(_READING)}."
        )
    if isinstance(labels, DaskConsensus):
        if data is not None or truth is not None or reading:
            raise ValueError("a DaskConsensus holds its table already; leave data, truth and how to read it out.")
        return _score_result(labels, null)
    chunks = as_chunks(data, Columns(reading.get("ids"), reading.get("columns"), tuple(reading.get("drop", ()))))
    beside = [_vectors(values, len(chunks.parts), name) for values, name in ((labels, "labels"), (truth, "truth"))]
    plain = Reading(reading.get("missing", DEFAULT), check=False)
    tree, settled, _ = read_chunks(chunks, [column for column in beside if column], plain, None)
    rows = settled.ensemble
    n_members = len(chunks.names)
    codes = rows.labels[:, n_members].astype(np.int32)
    members = select_members(rows, range(n_members))
    ensemble = replace(members, weights=as_weights(reading.get("weights"), members.member_names))

    def draw(seed: int) -> Drawn:
        known = np.flatnonzero(codes >= 0)
        places = drawn_places(int(rows.counts[known].sum()), n_members, int(rows.n_clusters[n_members]), seed)
        if len(known) < len(codes):
            raise ValueError("null needs a label for each object; leave out objects without one.")
        numbers = rows_at_places(tree, settled.row_of, places, chunk_sizes(tree))
        return drawn_objects(ensemble, codes, numbers, places is not None)

    classes = None if truth is None else labels_of_member(rows, n_members + 1)
    return evaluate_within(labels_of_member(rows, n_members), ensemble, None, truth=classes, null=null, draw=draw)


def _vectors(values: Any, n_chunks: int, name: str) -> list[Any]:
    """Return the chunks of a labelling; an empty list if there is none."""
    if values is None:
        return []
    parts = list(np.ravel(values.to_delayed())) if hasattr(values, "to_delayed") else list(values)
    if len(parts) != n_chunks:
        raise ValueError(f"{name} must have the chunks of data, {n_chunks} in all, got {len(parts)}; rechunk it.")
    return parts


def _score_result(result: DaskConsensus, null: Any) -> Scores:
    rows, solution, spread = result.ensemble, result.solution, result.spread
    if rows.pieces is not None:
        raise ValueError(
            "the rows of this result are on the workers, and scores need them here; "
            "call evaluate(result.labels, data), which brings them."
        )
    seed = procedure_of(solution, solution.n_clusters).seed
    places = drawn_places(rows.n_objects, rows.n_members, solution.n_clusters, seed)
    sample = rows_at_places(spread.tree, spread.row_of, places, chunk_sizes(spread.tree))
    drawn = drawn_objects(rows, solution.labels, sample, places is not None)
    return evaluate_within(solution, rows, None, null=null, draw=lambda seed: drawn)


def generate(
    X: Any, n_members: int = 20, *, k: Any = None, base: Any = "auto", columns: Any = 1.0, random_state: Any = None
) -> DaskEnsemble:
    """Make many clusterings of a Dask array of measurements, as `quorate.generate` does for an array in memory.

    The workers find the range of each column and send the samples that members are trained on; the members are trained
    here, and label the chunks on the workers.

    Parameters
    ----------
    X : Dask array of shape (n_objects, n_columns), or data frame of numbers
        If the sizes of its chunks are not known, they are counted first.
    n_members, k, base, columns, random_state
        As for `quorate.generate`; the base must be "kmeans", "spectral" or "auto", or settings of these.

    Returns
    -------
    DaskEnsemble
        Its `labels` are lazy; `consensus(made.labels, 5)` goes on from there.

    Examples
    --------
    >>> import dask.array as da
    >>> rng = np.random.default_rng(0)
    >>> X = da.from_array(np.concatenate([rng.normal(m, 1, size=(50, 2)) for m in (0, 6)]), chunks=(30, 2))
    >>> generate(X, 3, k=2, base="kmeans", random_state=0)
    DaskEnsemble(100 objects, 2 distinct rows)
    """
    return fit_members(X, Request(n_members, k, base, 1.0, columns), entropy_of(random_state))[0]


def sample_measurements(X: Any, entropy: int) -> Any:
    """Fetch the measurements of some objects that are drawn at random, for choosing the number of clusters."""
    return drawn_rows(DaskRows(chunks_of_features(X)[0]), entropy)


def fit_members(X: Any, request: Request, entropy: int) -> tuple[DaskEnsemble, Any]:
    """Train members on a Dask array and label its chunks; return the labels and the trained members."""
    array, names = chunks_of_features(X)
    trained = train_members(DaskRows(array), names, request, entropy)
    # the models travel to the workers, the rows that they were trained on do not
    light = trained._replace(features=replace(trained.features, data=np.empty((0, array.shape[1]))))
    parts = list(array.to_delayed().ravel())
    tree = persisted_tree(Tree(label_leaves(parts, light), []), parts, None)
    members = tuple(f"member {place}" for place in range(request.n_members))
    settled = settled_root(root_of(tree, parts), members, Reading(check=False))
    ensemble = replace(settled.ensemble, info=light.info)
    ensemble.remember(is_distinct=True, is_proven=True)
    chunks = Chunks(parts, members, None, tuple(map(int, array.chunks[0])), None)
    return DaskEnsemble(ensemble, Spread(chunks, tree, settled.row_of)), light
