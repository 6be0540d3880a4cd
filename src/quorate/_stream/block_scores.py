"""Scores of tables in blocks: two tables are read side by side, and pairs of row and cluster are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.blocks import CodedColumn, Settled, refuse_unlabelled_objects
from quorate._data.coding import DEFAULT
from quorate._data.ensemble import as_weights, refuse_suspects
from quorate._data.ids import as_numpy, matching_texts
from quorate._data.rows import coded_anew, select_members
from quorate._io.load import labelling_columns
from quorate._io.opening import ChooseFrom, Columns, by_columns, open_source
from quorate._io.source import Block, Most, Part, Source, as_budget, given
from quorate._io.text import Choice
from quorate._solve.procedure import Drawn, drawn_places
from quorate._stream.block_consensus import BlockConsensus
from quorate._stream.running import read_source, rows_at, temporary_store
from quorate._stream.store import FolderStore
from quorate._trust.agreement import evaluate_within
from quorate._types import Ensemble, Reading, Scores


def beside_name(place: int) -> str:
    """Return the name that a column of the second table gets; no column of a file has it."""
    return f"\0beside {place}"


def read_together(table: Source, beside: Source) -> Source:
    """Return a source with the columns of both tables; objects are matched by their order, and ids must agree."""

    def parts(most: Most) -> Iterator[Part]:
        supply = _Supply(beside, most)
        for part in table.parts(most):
            block = part.read()
            other = supply.take(block.n_rows, table.title)
            _refuse_other_ids(block, other, part.name, beside.title)
            joined = Block([*block.columns, *other.columns], block.ids)
            yield Part(part.name, part.file, partial(given, joined))
        supply.refuse_more(table.title)

    return replace(
        table,
        names=(*table.names, *(beside_name(place) for place in range(len(beside.names)))),
        kinds=(*table.kinds, *beside.kinds),
        parts=parts,
        row_bytes=table.row_bytes + beside.row_bytes,
    )


class _Supply:
    """Hands out the rows of a source in blocks of any size."""

    def __init__(self, source: Source, most: Most) -> None:
        self._source, self._parts = source, source.parts(most)
        self._left: Block | None = None

    def take(self, n_rows: int, title: str) -> Block:
        """Return the next rows; raise if there are fewer."""
        pieces: list[Block] = []
        missing = n_rows
        while missing or not pieces:
            if self._left is None or not self._left.n_rows:
                self._left = self._next()
            if self._left is None:
                raise ValueError(
                    f"{self._source.title} labels fewer objects than {title} has; rows are matched by their order."
                )
            pieces.append(_sliced(self._left, 0, missing))
            self._left = _sliced(self._left, pieces[-1].n_rows, None)
            missing -= pieces[-1].n_rows
        return pieces[0] if len(pieces) == 1 else _joined(pieces)

    def _next(self) -> Block | None:
        part = next(self._parts, None)
        return None if part is None else part.read()

    def refuse_more(self, title: str) -> None:
        """Raise if rows are left."""
        while self._left is None or not self._left.n_rows:
            self._left = self._next()
            if self._left is None:
                return
        raise ValueError(f"{self._source.title} labels more objects than {title} has; rows are matched by their order.")


def _sliced(block: Block, start: int, stop: int | None) -> Block:
    columns = [_slice(column, start, stop) for column in block.columns]
    return Block(columns, None if block.ids is None else _slice(block.ids, start, stop))


def _slice(column: Any, start: int, stop: int | None) -> Any:
    if isinstance(column, CodedColumn):
        return CodedColumn(column.codes[start:stop], column.values)
    return column[start:stop]


def _joined(pieces: list[Block]) -> Block:
    columns = [_join([piece.columns[place] for piece in pieces]) for place in range(len(pieces[0].columns))]
    return Block(columns, None if pieces[0].ids is None else _join([piece.ids for piece in pieces]))


def _join(columns: list[Any]) -> Any:
    first = columns[0]
    if isinstance(first, np.ndarray):
        return np.concatenate(columns)
    if isinstance(first, CodedColumn):
        return np.concatenate([column.values[column.codes] for column in columns])
    import pyarrow

    chunks = [chunk for column in columns for chunk in (column.chunks if hasattr(column, "chunks") else [column])]
    return pyarrow.chunked_array(chunks, type=first.type)


def _refuse_other_ids(block: Block, other: Block, name: str, title: str) -> None:
    if block.ids is None or other.ids is None or not block.n_rows:
        return
    mine, theirs = as_numpy(block.ids), as_numpy(other.ids)
    if mine.dtype.kind == theirs.dtype.kind and mine.dtype.kind in "iu":
        different = np.flatnonzero(mine != theirs)
    else:
        pairs = zip(*matching_texts([mine, theirs]), strict=True)
        different = np.array([row for row, (one, two) in enumerate(pairs) if one != two], dtype=np.intp)
    if len(different):
        row = int(different[0])
        raise ValueError(
            f"{name} and {title} are not in the same order: where one has the object {mine[row]!r}, the other has "
            f"{theirs[row]!r}; tables in blocks are matched by order, so sort both alike."
        )


class LabelledTable(NamedTuple):
    """A table and a labelling of it as distinct pairs of row and cluster.

    `ensemble` has one row for each pair, `labels` are the clusters of the pairs as the file has them, and `truth` are
    the true classes, or None. `draw` draws objects for a seed, as `draw_objects` does from a table in memory.
    """

    ensemble: Ensemble
    labels: NDArray[Any]
    truth: NDArray[Any] | None
    draw: Callable[[int], Drawn]


def evaluate(
    labels: Any,
    source: Any = None,
    *,
    label: str = "label",
    truth: str | None = None,
    null: Any = None,
    ids: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    missing: Any = DEFAULT,
    weights: Any = None,
    sep: str | None = None,
    encoding: str | None = None,
    check: bool = True,
    memory: Any = None,
) -> Scores:
    """Score a labelling against a table that is larger than memory, as `quorate.evaluate` does for one in memory.

    Parameters
    ----------
    labels : BlockConsensus, or a source of blocks
        What `consensus` returned, or the file or folder that it wrote. Objects must be in the order of the table; if
        both have ids, these are compared.
    source : as for `consensus`
        The table; not needed for a BlockConsensus.
    label : str
        The column of labels, if they are read from files.
    truth : str, optional
        The column of known classes, in either of the two tables. Only for labels that are read from files.
    null
        As for `quorate.evaluate`.
    ids, columns, drop, missing, weights, sep, encoding, check, memory
        How to read the table, as for `consensus`.

    Returns
    -------
    Scores

    Examples
    --------
    >>> import numpy as np
    >>> from quorate.stream import consensus
    >>> blocks = [np.array([[0, 1], [0, 1], [1, 0]]), np.array([[1, 0], [0, 1]])]
    >>> evaluate(consensus(blocks, 2, random_state=0)).anmi
    1.0
    """
    if isinstance(labels, BlockConsensus):
        if source is not None or truth is not None:
            raise ValueError("a BlockConsensus holds its table already; leave source and truth out, or name files.")
        return score_result(labels, None, null=null)
    wanted = Columns(ids, columns, tuple(drop))
    how = Reading(missing, weights, False, check, declared=columns is not None)
    with temporary_store() as store:
        options = {"label": label, "truth": truth, "sep": sep, "encoding": encoding, "memory": memory}
        read = read_labelled(source, labels, wanted, how, store, **options)
        return score_labelled(read, None, null=null)


def score_result(result: BlockConsensus, seconds: float | None, *, null: Any) -> Scores:
    """Score the consensus of a table in blocks; see `evaluate_within` for `seconds`."""
    rows, codes = result.ensemble, result.solution.labels
    is_part = len(result.sample) < result.n_objects
    drawn = drawn_objects(rows, codes, result.sample, is_part)
    return evaluate_within(result.solution, rows, seconds, null=null, draw=lambda seed: drawn)


def score_labelled(read: LabelledTable, seconds: float | None, *, null: Any) -> Scores:
    """Score a labelling that was read beside a table in blocks."""
    return evaluate_within(read.labels, read.ensemble, seconds, truth=read.truth, null=null, draw=read.draw)


def drawn_objects(rows: Ensemble, codes: NDArray[np.int32], sample: NDArray[np.int64], is_part: bool) -> Drawn:
    """Return drawn objects, given by their rows, one row each and in the order of the table."""
    ones = np.ones(len(sample), dtype=np.int64)
    part = replace(rows, labels=rows.labels[sample], counts=ones, object_ids=None)
    return Drawn(coded_anew(part) if is_part else part, codes[sample], is_part)


def read_labelled(
    source: Any,
    labelling: Any,
    wanted: Columns,
    how: Reading,
    store: FolderStore,
    *,
    label: str,
    truth: str | None,
    sep: str | None,
    encoding: str | None,
    memory: Any,
) -> LabelledTable:
    """Read a table and a labelling of its objects side by side."""
    ids = wanted.ids
    if not (ids is None or isinstance(ids, str)):
        raise ValueError("ids (--id) must be one column for tables in blocks; name the columns of ids alike.")
    table = open_source(source, by_columns(wanted._replace(beside=truth)), sep, ids=ids, encoding=encoding)
    beside = open_source(labelling, _labelling_columns(table, ids, label, truth), ids=ids)
    if truth is not None and truth not in (*table.names, *beside.names):
        raise ValueError(f"neither {table.title} nor {beside.title} has a column {truth!r}")
    members = [name for name in table.names if name != truth]
    if not members:
        raise ValueError(f"the truth {truth!r} is the only column of labels; at least one column must be a member.")
    joined = read_together(table, beside)
    plain = how._replace(weights=None, check=False, takes_all=False)
    settled = read_source(joined, as_budget(memory), store, plain)
    return _split(settled, joined.names.index(beside_name(0)), truth, how, store, table, beside)


def _labelling_columns(table: Source, ids: str | None, label: str, truth: str | None) -> ChooseFrom:
    """Return the function that chooses the columns of a labelling, as `load_labelling` does."""

    def choose(names: tuple[str, ...], title: str) -> Choice:
        chosen = labelling_columns(names, title, label, truth, (ids, table.id_name))
        members = chosen.members if truth not in table.names else chosen.members[:1]
        return Choice(chosen.ids if table.id_name is not None else None, members)

    return choose


def _split(
    settled: Settled,
    place: int,
    truth: str | None,
    how: Reading,
    store: FolderStore,
    table: Source,
    beside: Source,
) -> LabelledTable:
    """Separate the members from the labelling and the truth, which were read as further columns."""
    rows = settled.ensemble
    labels = rows.labels[:, place]
    if labels.min() < 0:
        n_lacking = int(rows.counts[labels < 0].sum())
        raise ValueError(
            f"{beside.title} leaves {_check.counted(n_lacking, 'object')} without a label, and a labelling that is "
            f"read in blocks must label all of them; in memory (without --memory), such objects are left out of the "
            f"scores."
        )
    true_place = _place_of_truth(truth, table, beside)
    members = [number for number, name in enumerate(table.names) if name != truth]
    ensemble = replace(select_members(rows, members), weights=as_weights(how.weights, _names(table, members)))
    _refuse_columns(ensemble, table, how)
    codes = labels.astype(np.int32)

    def draw(seed: int) -> Drawn:
        places = drawn_places(rows.n_objects, len(members), int(rows.n_clusters[place]), seed)
        return drawn_objects(ensemble, codes, rows_at(store, settled.row_of, places), places is not None)

    classes = None if true_place is None else labels_of_member(rows, true_place)
    return LabelledTable(ensemble, rows.categories[place][labels], classes, draw)


def _names(table: Source, members: list[int]) -> tuple[str, ...]:
    return tuple(table.names[number] for number in members)


def _refuse_columns(ensemble: Ensemble, table: Source, how: Reading) -> None:
    """Refuse what a table in memory is refused for: objects without labels, members that cannot be clusterings."""
    unlabelled = ensemble.labels.max(axis=1) < 0
    if unlabelled.any():
        refuse_unlabelled_objects(int(ensemble.counts[unlabelled].sum()), ensemble.n_objects, table.title)
    if how.check:
        refuse_suspects(
            ensemble.labels,
            ensemble.member_names,
            ensemble.categories,
            source=table.title,
            declared=how.declared,
            counts=ensemble.counts,
        )


def _place_of_truth(truth: str | None, table: Source, beside: Source) -> int | None:
    if truth is None:
        return None
    return table.names.index(truth) if truth in table.names else len(table.names) + beside.names.index(truth)


def labels_of_member(rows: Ensemble, member: int) -> NDArray[Any]:
    """Return the labels of a member as they are in the file, None where they are missing."""
    values = np.full(rows.n_clusters[member] + 1, None, dtype=object)
    values[:-1] = rows.categories[member]
    named: NDArray[Any] = values[rows.labels[:, member]]
    return named
