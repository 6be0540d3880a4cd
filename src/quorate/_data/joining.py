"""join: one ensemble from several tables that label the same objects, or overlapping sets of objects, matched by id."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate import _check
from quorate._data.coding import DEFAULT, MissingRule, code_integers, narrowest
from quorate._data.ensemble import as_ensemble, build_ensemble, with_options
from quorate._data.ids import IDS_AS, few, id_texts, likely_cause, respelled, union_of_ids, warn_of_few
from quorate._data.outside import settled, with_noise
from quorate._data.tables import refuse_duplicates
from quorate._types import Ensemble

Array = NDArray[Any]
logger = logging.getLogger("quorate")


def join(
    *tables: Any,
    ids: str | Mapping[str, str] | None = None,
    weights: Any = None,
    missing: Any = DEFAULT,
    check: bool = True,
    noise: Any = None,
    skip_empty: bool | str = False,
    ids_as: str = "text",
) -> Ensemble:
    """Combine several tables of labels into one ensemble, matching objects by their names.

    Parameters
    ----------
    *tables : data frames, Series, mappings of Series, Ensembles; or one mapping from names to these
        Each must name its objects: by a pandas index, by the column `ids`, or as an Ensemble with ids. The tables need
        not contain the same objects.
    ids : str or mapping, optional
        The column that names the objects, in each data frame that has it; or a mapping from names of tables to such
        columns.
    weights : array or mapping, optional
        Positive weights of all members, by order or by name; those of the tables by default.
    missing : value or list of values, default -1
        What stands for a missing label, as for `as_ensemble`.
    check : bool, default True
        Refuse columns that cannot be clusterings, as `as_ensemble` does.
    noise : value or list of values, optional
        The values with which a member says that an object belongs to no cluster, as for `as_ensemble`.
    skip_empty : bool or "keep", default False
        What to do with objects without any label: refuse the tables, leave them out, or keep them.
    ids_as : {"text", "loose"}, default "text"
        How ids are compared. With "loose", ids that differ in leading zeros, a final .0, spaces, upper and lower case
        or Unicode forms are the same; the first spelling is kept. A warning says if that would match many more objects.

    Returns
    -------
    Ensemble
        The objects of all tables, in order of first appearance. An object that is not in a table has no label in the
        members of that table. If members of two tables have the same name, the name of the table is put before it.
        ``info["joined"]`` gives the number of objects in each table.

    See Also
    --------
    load_labels : Reads and joins a list of files.
    merge : Combines ensembles of different objects that have the same members.

    Examples
    --------
    >>> import pandas as pd
    >>> web = pd.Series({"ann": 1, "bob": 2, "cid": 2}, name="segment")
    >>> shop = pd.Series({"cid": "b", "ann": "a", "dora": "b"}, name="segment")
    >>> both = join({"web": web, "shop": shop})
    >>> both.member_names, both.object_ids.tolist(), both.labels.tolist()
    (('web.segment', 'shop.segment'), ['ann', 'bob', 'cid', 'dora'], [[0, 0], [1, -1], [1, 1], [-1, 1]])
    """
    named = _named_tables(tables)
    for name, table in named.items():
        if isinstance(table, list | tuple) and any(
            isinstance(each, Ensemble) or hasattr(each, "columns") for each in table
        ):
            raise TypeError(
                f"{name} is a list of tables; give them one by one, join(*tables), or by name in a mapping."
            )
    ensembles = []
    for name, table in named.items():
        if isinstance(table, Ensemble):
            ensembles.append(table)
            continue
        columns = getattr(table, "column_names", getattr(table, "columns", table if isinstance(table, Mapping) else ()))
        wanted = ids.get(name) if isinstance(ids, Mapping) else ids
        own = wanted if wanted is not None and (wanted in list(columns) or isinstance(ids, Mapping)) else None
        try:
            ensembles.append(_read_table(table, own, missing, noise, check))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    joined = join_ensembles(ensembles, list(named), ids_as=ids_as)
    return with_options(settled(joined, skip_empty)[0], weights, None, None)


def _read_table(table: Any, ids: str | None, missing: Any, noise: Any, check: bool) -> Ensemble:
    """Read one of several tables; objects without any label in it may have one in another table."""
    return as_ensemble(
        table, ids=ids, missing=missing, orientation="objects", check=check, noise=noise, skip_empty="keep"
    )


def _named_tables(tables: tuple[Any, ...]) -> dict[str, Any]:
    if len(tables) == 1 and isinstance(tables[0], Mapping):
        tables_by_name = {str(name): table for name, table in tables[0].items()}
    else:
        # tables that were read from files are named as their files are where files are joined
        files = [getattr(table, "source", "") if isinstance(table, Ensemble) else "" for table in tables]
        own = [name if name and files.count(name) == 1 else f"table {place}" for place, name in enumerate(files)]
        tables_by_name = dict(zip(own, tables, strict=True))
    if not tables_by_name:
        raise ValueError("join needs at least one table, got none.")
    return tables_by_name


def join_ensembles(
    ensembles: Sequence[Ensemble], sources: Sequence[str], *, ids_as: str = "text", strangers: bool = False
) -> Ensemble:
    """Put the members of several ensembles side by side, with objects matched by id.

    `sources` are the names of the ensembles, for the names of members and for error messages. Tables that share no
    object with the others are refused unless there may be `strangers`.
    """
    _check.choice(ids_as, "ids_as", IDS_AS)
    for ensemble, source in zip(ensembles, sources, strict=True):
        _refuse_nameless(ensemble, source)
    given = [_ids_of(ensemble) for ensemble in ensembles]
    if ids_as == "loose":
        given = respelled(given, sources)
    object_ids, places = union_of_ids(given)
    if not strangers:
        _refuse_strangers(given, places, sources)
        warn_of_few(given, places, sources)
    names = _joined_names(ensembles, sources)
    noise = np.zeros((len(object_ids), len(names)), dtype=np.bool_)
    matrix = np.full(
        (len(object_ids), len(names)), -1, dtype=narrowest(max(int(e.n_clusters.max()) for e in ensembles))
    )
    start = 0
    for ensemble, place in zip(ensembles, places, strict=True):
        matrix[place, start : start + ensemble.n_members] = ensemble.labels
        if ensemble.noise is not None:
            noise[place, start : start + ensemble.n_members] = ensemble.noise
        start += ensemble.n_members
    known = [values for ensemble in ensembles for values in ensemble.categories]
    # coded anew, because objects in another order mean clusters in another order of first appearance
    codes, kept = code_integers(matrix, names, MissingRule((-1,)))
    joined = {source: ensemble.n_rows for source, ensemble in zip(sources, ensembles, strict=True)}
    for source, n_known in joined.items():
        logger.info("join: %s has %s of %s objects", source, f"{n_known:,}", f"{len(object_ids):,}")
    built = build_ensemble(
        codes,
        names,
        tuple(values[order] for values, order in zip(known, kept, strict=True)),
        weights=np.concatenate([ensemble.weights for ensemble in ensembles]),
        ids=object_ids,
        id_name=ensembles[0].id_name,
        info={"joined": joined, **_repeated(ensembles)},
        keep_unlabelled=True,
    )
    return with_noise(built, noise if noise.any() else None)


def _repeated(ensembles: Sequence[Ensemble]) -> dict[str, Any]:
    """How many ids all tables together had more than once, if these were made one row each."""
    found = [dict(ensemble.info["duplicates"]) for ensemble in ensembles if "duplicates" in ensemble.info]
    return {"duplicates": {**found[0], "n": sum(each["n"] for each in found)}} if found else {}


def _ids_of(ensemble: Ensemble) -> NDArray[Any]:
    assert ensemble.object_ids is not None
    return ensemble.object_ids


def _refuse_nameless(ensemble: Ensemble, source: str) -> None:
    if ensemble.object_ids is None:
        raise ValueError(
            f"{source} does not name its objects, and tables are joined by these names; give it an index, or name the "
            f"column that holds them with ids= (--id)."
        )
    if ensemble.n_rows != ensemble.n_objects:
        raise ValueError(f"{source} is compressed, so that its rows are not objects; join tables before compressing.")


def _refuse_strangers(given: Sequence[Array], places: list[Any], sources: Sequence[str]) -> None:
    """Raise if a table has no object in common with the others, because then its ids are probably of another kind."""
    if len(places) < 2:
        return
    uses = np.bincount(np.concatenate(places))
    for which, (ids, place, source) in enumerate(zip(given, places, sources, strict=True)):
        if uses[place].max() == 1:
            others = [np.array(id_texts(rest, whole=True)) for other, rest in enumerate(given) if other != which]
            cause = likely_cause(ids, np.concatenate(others)) or "Do all tables use the same names?"
            raise ValueError(
                f"none of the {len(place):,} objects of {source} is in another table; its first ones are "
                f"{few(ids[:3])}, and those of the others {few(others[0][:3])}. {cause}"
            )


def _joined_names(ensembles: Sequence[Ensemble], sources: Sequence[str]) -> tuple[str, ...]:
    every = [name for ensemble in ensembles for name in ensemble.member_names]
    twice = {name for name, times in Counter(every).items() if times > 1}
    names = tuple(
        f"{source}.{name}" if name in twice else name
        for ensemble, source in zip(ensembles, sources, strict=True)
        for name in ensemble.member_names
    )
    refuse_duplicates(names)
    return names
