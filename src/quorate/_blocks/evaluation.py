"""evaluate of tables in blocks: a labelling is read beside the table, and pairs of row and cluster are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._blocks.beside import beside_name, side_by_side
from quorate._blocks.budget import as_budget
from quorate._blocks.consensus import BlockConsensus
from quorate._blocks.opening import ChooseFrom, by_columns, open_source
from quorate._blocks.running import read_source, rows_at, temporary_store
from quorate._blocks.settling import Reading, Settled, refuse_unlabelled_objects
from quorate._blocks.source import Source
from quorate._blocks.store import FolderStore
from quorate._consensus.procedure import Drawn, drawn_places
from quorate._data.building import as_weights
from quorate._data.missing import DEFAULT
from quorate._data.selection import coded_anew, select_members
from quorate._data.suspects import refuse_suspects
from quorate._evaluation.within import evaluate_within
from quorate._io.choosing import Columns
from quorate._io.load_labelling import only_column
from quorate._io.text import Choice
from quorate._types import Ensemble, Scores


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
    ids, columns, drop, missing, weights, sep, check, memory
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
        read = read_labelled(source, labels, wanted, how, store, label=label, truth=truth, sep=sep, memory=memory)
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
    memory: Any,
) -> LabelledTable:
    """Read a table and a labelling of its objects side by side."""
    table = open_source(source, by_columns(wanted._replace(beside=truth)), sep, ids=wanted.ids)
    beside = open_source(labelling, _labelling_columns(table, wanted.ids, label, truth), ids=wanted.ids)
    if truth is not None and truth not in (*table.names, *beside.names):
        raise ValueError(f"neither {table.title} nor {beside.title} has a column {truth!r}")
    members = [name for name in table.names if name != truth]
    if not members:
        raise ValueError(f"the truth {truth!r} is the only column of labels; at least one column must be a member.")
    joined = side_by_side(table, beside)
    plain = how._replace(weights=None, check=False, takes_all=False)
    settled = read_source(joined, as_budget(memory), store, plain)
    return _split(settled, joined.names.index(beside_name(0)), truth, how, store, table, beside)


def _labelling_columns(table: Source, ids: str | None, label: str, truth: str | None) -> ChooseFrom:
    """Return the function that chooses the columns of a labelling, as `load_labelling` does."""

    def choose(names: tuple[str, ...], title: str) -> Choice:
        if not names:
            return Choice(None, ())
        id_column = next((name for name in (ids, table.id_name, "id") if name in names), None)
        column = label if label in names else only_column(names, id_column, truth, title, label)
        extra = (truth,) if truth is not None and truth in names and truth not in (column, *table.names) else ()
        return Choice(id_column if table.id_name is not None else None, (column, *extra))

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
        raise ValueError(f"{beside.title} leaves {_check.counted(n_lacking, 'object')} without a label.")
    true_place = _place_of_truth(truth, table, beside)
    members = [number for number, name in enumerate(table.names) if name != truth]
    ensemble = replace(select_members(rows, members), weights=as_weights(how.weights, _names(table, members)))
    _refuse_columns(ensemble, table, how)
    codes = labels.astype(np.int32)

    def draw(seed: int) -> Drawn:
        places = drawn_places(rows.n_objects, len(members), int(rows.n_clusters[place]), seed)
        return drawn_objects(ensemble, codes, rows_at(store, settled.row_of, places), places is not None)

    classes = None if true_place is None else _named(rows, true_place)
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


def _named(rows: Ensemble, member: int) -> NDArray[Any]:
    """Return the labels of a member as they are in the file, None where they are missing."""
    values = np.full(rows.n_clusters[member] + 1, None, dtype=object)
    values[:-1] = rows.categories[member]
    named: NDArray[Any] = values[rows.labels[:, member]]
    return named
