"""Distinct rows that stay on the workers: how they are found, worked on, and their values carried to the chunks.

A distinct row belongs to the part of the table in which it appears first, so that the rows of all parts, one after the
other, are the distinct rows in order of first appearance. Which part that is, workers find out bucket by bucket: each
part sends a row to the bucket that its hash says, where equal rows of all parts meet. Values of rows go back the same
way: from the part that a row belongs to, through its bucket, to all parts that have the row.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.blocks import MergedRows, Values, meanings, recoded, refuse_unlabelled_objects
from quorate._data.coding import missing_rule, narrowest
from quorate._data.ensemble import as_weights, refuse_empty_members, refuse_suspect_columns
from quorate._data.proof import prove_counts
from quorate._distributed.chunks import Chunks, Leaf, need_dask
from quorate._distributed.lazy_results import Spread
from quorate._distributed.merge_tree import SMALL, Node, Tree, naming_chunk, values_of_leaves
from quorate._types import Ensemble, FieldsBesideRows, Reading
from quorate.ops.distinct_rows import as_words, distinct_rows
from quorate.solvers.label_rows import objects_in
from quorate.solvers.parts import PartedEnsemble, beside, in_parts

Array = NDArray[Any]
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)
BUCKETS_PER_WORKER = 2
"""Each part sends a piece to each bucket, and Dask's scheduler takes time for each piece, so that buckets are few. A
worker has to hold a whole one, half of its rows."""


class Place(NamedTuple):
    """Where the rows of a part go: the rows in the order of their buckets, how many go to each, and which stay its own.

    `own` is known once the buckets have answered.
    """

    order: NDArray[np.uint32]
    edges: NDArray[np.int64]
    own: NDArray[np.bool_]


class Bucket(NamedTuple):
    """The rows of all parts that have a hash in common: for each part the number of its rows among the distinct ones,
    which of them appear there first, and how many objects those stand for."""

    numbers: list[NDArray[np.uint32]]
    is_first: list[NDArray[np.bool_]]
    counts: list[NDArray[np.int64]]


class DaskHolder:
    """Calls functions where parts lie; what they keep stays on the workers, and is computed again if one is lost."""

    def call(
        self, function: Callable[..., Any], arguments: Sequence[Any], n_kept: int
    ) -> tuple[list[list[Any]], list[Any]]:
        dask = need_dask()
        places = tuple(place for place, value in enumerate(arguments) if getattr(value, "pieces", None) is not None)
        # one copy in the graph for all parts
        same = sent_values(tuple(None if place in places else value for place, value in enumerate(arguments)))
        task, pick = dask.delayed(call_on_part), dask.delayed(result_at)
        pieces = zip(*(arguments[place].pieces for place in places), strict=True)
        results = [task(function, same, places, *own) for own in pieces]
        flat = dask.persist(*(pick(result, place) for place in range(n_kept + 1) for result in results))
        kept = [list(flat[place * len(results) : (place + 1) * len(results)]) for place in range(n_kept)]
        return kept, list(dask.compute(*flat[n_kept * len(results) :]))


def call_on_part(function: Callable[..., Any], same: tuple[Any, ...], places: tuple[int, ...], *own: Any) -> Any:
    """Call a function with the arguments that are the same for all parts, and at these places those of one part."""
    arguments = list(same)
    for place, value in zip(places, own, strict=True):
        arguments[place] = value
    return function(*arguments)


def result_at(result: Any, place: int) -> Any:
    """Return one of several results."""
    return result[place]


def sent_values(values: tuple[Any, ...]) -> Any:
    """Return values for use in a graph; large ones as a copy on each worker, which survives the loss of some."""
    dask = need_dask()
    arrays = [entry for value in values for entry in (value if isinstance(value, tuple) else (value,))]
    if sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)) > SMALL:
        try:
            import distributed

            return distributed.get_client().scatter([values], broadcast=True, hash=False)[0]
        except (ImportError, ValueError):
            pass
    return dask.delayed(values, traverse=False)


@dataclass(frozen=True, eq=False)
class SpreadOnWorkers(Spread):
    """Carries values of distinct rows that lie on the workers to the objects, chunk by chunk.

    `places` and `buckets` are delayed; `parts` are those of all parts that have distinct rows of their own.
    """

    ensemble: PartedEnsemble
    places: list[Any]
    buckets: list[Any]
    parts: tuple[int, ...]

    def leaf_values(self, values: Any) -> list[Any]:
        """Return, delayed, the values of the distinct rows of each chunk."""
        dask = need_dask()
        pick, give, meet, put = map(dask.delayed, (result_at, values_for_buckets, values_of_bucket, values_of_part))
        pieces: list[Any] = [None] * len(self.places)
        for part, piece in zip(self.parts, beside(self.ensemble, values).pieces, strict=True):
            pieces[part] = piece
        given = [give(place, piece, values.dtype) for place, piece in zip(self.places, pieces, strict=True)]
        back = [meet(bucket, *(pick(own, number) for own in given)) for number, bucket in enumerate(self.buckets)]
        of_parts = [put(place, *(pick(found, number) for found in back)) for number, place in enumerate(self.places)]
        return values_of_leaves(self.tree, of_parts)


def node_bytes(node: Node) -> int:
    """Return the bytes of the rows of merged parts."""
    return int(node.block.labels.nbytes + node.block.counts.nbytes)


def rows_exceed(tree: Tree, parts: list[Any], most_bytes: int) -> bool:
    """Whether the distinct rows of the nodes of the first level take more than so many bytes together."""
    dask = need_dask()
    try:
        return bool(sum(dask.compute(*map(dask.delayed(node_bytes), tree.levels[0]))) > most_bytes)
    except Exception as error:
        raise naming_chunk(error, tree, parts) from error


def rows_on_workers(tree: Tree, chunks: Chunks, how: Reading) -> SpreadOnWorkers:
    """Find the distinct rows of a tree of one level, and leave them on the workers."""
    dask = need_dask()
    pick, send, join, own, mark = map(dask.delayed, (result_at, pieces_by_hash, joined_bucket, own_rows, with_own))
    nodes, names = tree.levels[0], chunks.names
    codes, categories = _common_codes(nodes, names, how)
    like: FieldsBesideRows = {
        "n_clusters": np.array([len(values) for values in categories], dtype=np.int64),
        "weights": as_weights(how.weights, names),
        "member_names": names,
        "categories": categories,
    }
    dtype, n_parts = narrowest(max(map(len, categories))), len(nodes)
    n_buckets = min(n_parts, BUCKETS_PER_WORKER * _n_workers(n_parts))
    parts = [dask.delayed(rows_in_codes)(node, own_codes, dtype) for node, own_codes in zip(nodes, codes, strict=True)]
    pieces = [send(part, n_buckets) for part in parts]
    buckets = [join(*(pick(own_pieces, number + 1) for own_pieces in pieces)) for number in range(n_buckets)]
    answers = [[dask.delayed(answer_to)(bucket, part) for bucket in buckets] for part in range(n_parts)]
    places = [mark(pick(own_pieces, 0), *answer) for own_pieces, answer in zip(pieces, answers, strict=True)]
    fields_of_part = dask.delayed(like, traverse=False)
    rows = [
        own(part, pick(own_pieces, 0), fields_of_part, *answer)
        for part, own_pieces, answer in zip(parts, pieces, answers, strict=True)
    ]
    leaves = [dask.delayed(leaf_without_rows)(leaf) for leaf in tree.leaves]
    slim = [dask.delayed(node_without_rows)(node) for node in nodes]
    numbers = [dask.delayed(bucket_without_counts)(bucket) for bucket in buckets]
    flat = dask.persist(*rows, *places, *slim, *numbers, *leaves)
    rows, places, slim = (list(flat[place * n_parts : (place + 1) * n_parts]) for place in range(3))
    numbers = list(flat[3 * n_parts : 3 * n_parts + n_buckets])
    facts = np.array(dask.compute(*map(dask.delayed(facts_of_rows), rows)))
    _refuse_wrong_rows(facts, names, how)
    with_rows = tuple(int(part) for part in np.flatnonzero(facts[:, 0]))
    starts = np.concatenate([[0], np.cumsum(facts[list(with_rows), 0])])
    ensemble = in_parts(DaskHolder(), [rows[part] for part in with_rows], starts, like)
    ensemble.remember(is_distinct=True)
    _refuse_suspects(ensemble, how)
    kept = Tree(list(flat[3 * n_parts + n_buckets :]), [slim])
    return SpreadOnWorkers(chunks, kept, np.empty(0, dtype=np.int64), ensemble, places, numbers, with_rows)


def _n_workers(otherwise: int) -> int:
    """Return the number of workers of Dask's client; `otherwise` if there is none."""
    try:
        import distributed

        return max(1, len(distributed.get_client().scheduler_info()["workers"]))
    except (ImportError, ValueError):
        return otherwise


def _common_codes(
    nodes: list[Any], names: tuple[str, ...], how: Reading
) -> tuple[list[list[NDArray[np.int64]]], tuple[Array, ...]]:
    """Return for each node and member the codes that its codes become, and the labels of these for each member.

    They are those that `settle` gives the rows of the whole table.
    """
    dask = need_dask()
    known = [Values() for _ in names]
    found = dask.compute(*map(dask.delayed(categories_of), nodes))
    numbers = [[seen.add(own) for seen, own in zip(known, categories, strict=True)] for categories in found]
    coded = meanings([seen.array() for seen in known], names, ("values",) * len(names), missing_rule(how.missing))
    codes = [np.append(own, -1) for own, _ in coded]
    categories = tuple(labels for _, labels in coded)
    refuse_empty_members(names, categories)
    return [[new[old] for new, old in zip(codes, own, strict=True)] for own in numbers], categories


def _refuse_wrong_rows(facts: NDArray[np.int64], names: tuple[str, ...], how: Reading) -> None:
    """Raise if there are no rows, too many objects, or objects without any label."""
    n_rows, n_objects, n_unlabelled = facts.sum(axis=0).tolist()
    if not n_rows:
        raise ValueError("the Dask collection holds no rows; at least one object is needed.")
    if n_unlabelled:
        refuse_unlabelled_objects(n_unlabelled, n_objects, "the Dask collection")
    prove_counts(np.array([n_objects]), len(names))


def _refuse_suspects(ensemble: PartedEnsemble, how: Reading) -> None:
    """Raise if a column cannot be a clustering."""
    if how.check:
        known = np.add.reduceat(objects_in(ensemble), ensemble.offsets[:-1])
        refuse_suspect_columns(
            ensemble.member_names,
            ensemble.categories,
            ensemble.n_objects,
            lambda place: int(known[place]),
            source="the Dask collection",
            declared=how.declared,
        )


# ---- tasks on the workers


def categories_of(node: Node) -> tuple[Array, ...]:
    """Return the values of the codes of each member."""
    return node.block.categories


def rows_in_codes(node: Node, codes: list[NDArray[np.int64]], dtype: np.dtype[Any]) -> MergedRows:
    """Return the rows of a node in the codes that all nodes have in common; several may be equal now."""
    return MergedRows(recoded(node.block.labels, codes, dtype), node.block.counts, ())


def pieces_by_hash(rows: MergedRows, n_buckets: int) -> list[Any]:
    """Return where the rows of a part go, and after that the rows of each bucket, with their counts."""
    bucket = _buckets(rows.labels, n_buckets)
    order = np.argsort(bucket, kind="stable").astype(np.uint32)
    edges = np.searchsorted(bucket[order], np.arange(n_buckets + 1))
    pieces = [order[start:stop] for start, stop in itertools.pairwise(edges)]
    place = Place(order, edges, np.zeros(0, dtype=np.bool_))
    return [place, *((rows.labels[piece], rows.counts[piece]) for piece in pieces)]


def _buckets(labels: Array, n_buckets: int) -> NDArray[np.intp]:
    """Return the bucket of each row, which follows from its labels."""
    value = np.full(len(labels), MULTIPLIER)
    if len(labels):
        for word in as_words(labels).T:
            value = (value ^ word) * MULTIPLIER
            value ^= value >> HALF
    return (value >> HALF).astype(np.intp) % n_buckets


def joined_bucket(*pieces: tuple[Array, NDArray[np.int64]]) -> Bucket:
    """Find the distinct rows of a bucket, in the order of the parts."""
    labels = np.ascontiguousarray(np.concatenate([rows for rows, _ in pieces]))
    counts = np.concatenate([own for _, own in pieces])
    edges = np.cumsum([len(rows) for rows, _ in pieces])[:-1]
    inverse, is_first = np.empty(len(labels), dtype=np.intp), np.zeros(len(labels), dtype=np.bool_)
    first = distinct_rows(labels, inverse) if len(labels) else inverse
    is_first[first] = True
    sums = np.zeros(len(first), dtype=np.int64)
    np.add.at(sums, inverse, counts)
    ends = np.cumsum([int(own.sum()) for own in np.split(is_first, edges)])[:-1]
    numbers = [own.astype(np.uint32) for own in np.split(inverse, edges)]
    return Bucket(
        numbers, [own.copy() for own in np.split(is_first, edges)], [own.copy() for own in np.split(sums, ends)]
    )


def answer_to(bucket: Bucket, part: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which rows of a part in this bucket appear there first, and how many objects these stand for."""
    return bucket.is_first[part], bucket.counts[part]


def bucket_without_counts(bucket: Bucket) -> list[NDArray[np.uint32]]:
    """Return the numbers of the rows of each part among the distinct rows of a bucket."""
    return bucket.numbers


def with_own(place: Place, *answers: tuple[NDArray[np.bool_], NDArray[np.int64]]) -> Place:
    """Return where the rows of a part go, with those that belong to it."""
    own = np.zeros(len(place.order), dtype=np.bool_)
    own[place.order] = np.concatenate([is_first for is_first, _ in answers])
    return place._replace(own=own)


def own_rows(
    rows: MergedRows, place: Place, like: FieldsBesideRows, *answers: tuple[NDArray[np.bool_], NDArray[np.int64]]
) -> Ensemble:
    """Return the rows that belong to a part, with the counts of all parts."""
    counts = np.zeros(len(place.order), dtype=np.int64)
    first = np.concatenate([is_first for is_first, _ in answers])
    counts[place.order[first]] = np.concatenate([own for _, own in answers])
    kept = np.flatnonzero(counts)
    part = Ensemble(labels=rows.labels[kept], counts=counts[kept], **like)
    part.remember(is_proven=True, is_distinct=True)
    return part


def facts_of_rows(part: Ensemble) -> tuple[int, int, int]:
    """Return the numbers of rows, of objects, and of objects without any label."""
    empty = (part.labels < 0).all(axis=1)
    return part.n_rows, part.n_objects, int(part.counts[empty].sum())


def leaf_without_rows(leaf: Leaf) -> Leaf:
    """Return what belongs to the objects of a chunk."""
    nothing = np.empty((0, 0), dtype=np.int8)
    return leaf._replace(block=leaf.block._replace(labels=nothing, counts=np.empty(0, dtype=np.int64), categories=()))


def node_without_rows(node: Node) -> Node:
    """Return the numbers of the rows of the parts of a node."""
    nothing = np.empty((0, 0), dtype=np.int8)
    return node._replace(block=node.block._replace(labels=nothing, counts=np.empty(0, dtype=np.int64), categories=()))


def values_for_buckets(place: Place, values: Any, dtype: np.dtype[Any]) -> list[Array]:
    """Return the values of a part's own rows, bucket by bucket."""
    whole = np.zeros(len(place.order), dtype=dtype)
    if values is not None:
        whole[place.own] = values
    in_order, own = whole[place.order], place.own[place.order]
    cuts = zip(place.edges, place.edges[1:], strict=False)
    return [in_order[start:stop][own[start:stop]] for start, stop in cuts]


def values_of_bucket(numbers: list[NDArray[np.uint32]], *values: Array) -> list[Array]:
    """Return for each part the values of its rows in a bucket, given those of the rows that belong to each part."""
    whole = np.concatenate(values)
    return [whole[own] for own in numbers]


def values_of_part(place: Place, *values: Array) -> Array:
    """Return the values of all rows of a part, given those of each bucket."""
    found = np.empty(len(place.order), dtype=values[0].dtype)
    found[place.order] = np.concatenate(values)
    return found
