"""Several files of one table, one after another, as one source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from quorate._blocks.source import Block, Part, Source
from quorate._check import brief


def stacked(sources: list[Source], title: str) -> Source:
    """Stack the rows of several sources; all must have the columns of the first one, in any order."""
    first = sources[0]
    for source in sources[1:]:
        lacking = [name for name in first.names if name not in source.names]
        if lacking or (first.id_name is None) != (source.id_name is None):
            what = repr(lacking[0]) if lacking else "of ids"
            raise ValueError(f"{source.title} has no column {what}, which {first.title} has.")
        refuse_more_columns(source.names, first.names, source.title, first.title)

    def parts(most_rows: int) -> Iterator[Part]:
        for number, source in enumerate(sources):
            order = [source.names.index(name) for name in first.names]
            for part in source.parts(most_rows):
                yield Part(part.name, number, partial(_ordered, part, order), part.n_rows)

    known = [source.n_rows for source in sources]
    return replace(
        first,
        title=title,
        files=_file_names(sources),
        parts=parts,
        row_bytes=max(source.row_bytes for source in sources),
        n_rows=None if None in known else sum(size or 0 for size in known),
        fingerprint=[source.fingerprint for source in sources],
    )


def refuse_more_columns(names: tuple[str, ...], known: tuple[str, ...], title: str, first: str) -> None:
    """Raise if a file has a column that the first file lacks, because its values would be lost."""
    more = sorted(set(names) - set(known))
    if more:
        raise ValueError(
            f"{title} has the column {brief(more[0])}, which {first} has not; all must have the same columns, or "
            f"name those to be read (columns=, --columns)."
        )


def _ordered(part: Part, order: list[int]) -> Block:
    block = part.read()
    return Block([block.columns[place] for place in order], block.ids)


def _file_names(sources: list[Source]) -> tuple[str, ...]:
    names = tuple(source.files[0] for source in sources)
    return names if len(set(names)) == len(names) else ()
