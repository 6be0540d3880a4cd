"""Where the row of each object and its id are kept between reading the source and writing labels."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate._blocks.ids import as_numpy

Array = NDArray[Any]


class BlockFacts(NamedTuple):
    """A block: what error messages call it, the number of its file, and its number of objects."""

    name: str
    file: int
    n_rows: int


class Store(Protocol):
    """Keeps, for each block, the row of each object among the distinct rows, and the ids."""

    facts: list[BlockFacts]

    def put(self, facts: BlockFacts, numbers: NDArray[np.uint32], ids: Any) -> None: ...

    def numbers(self, block: int) -> NDArray[np.uint32]: ...

    def ids(self, block: int) -> Any: ...

    def name_of(self, block: int) -> str: ...


class MemoryStore:
    """Keeps everything in memory: 4 bytes per object, and the ids."""

    def __init__(self) -> None:
        self.facts: list[BlockFacts] = []
        self._kept: list[tuple[NDArray[np.uint32], Any]] = []

    def put(self, facts: BlockFacts, numbers: NDArray[np.uint32], ids: Any) -> None:
        self._kept.append((numbers, ids))
        self.facts.append(facts)

    def numbers(self, block: int) -> NDArray[np.uint32]:
        return self._kept[block][0]

    def ids(self, block: int) -> Any:
        return self._kept[block][1]

    def name_of(self, block: int) -> str:
        return self.facts[block].name if block < len(self.facts) else f"block {block}"


class FolderStore:
    """Keeps everything in files of a folder, each written under another name and then renamed."""

    def __init__(self, folder: Path, facts: list[BlockFacts] | None = None) -> None:
        self.folder = folder
        self.facts: list[BlockFacts] = facts or []

    def put(self, facts: BlockFacts, numbers: NDArray[np.uint32], ids: Any) -> None:
        block = len(self.facts)
        write_file(self.folder / f"numbers-{block:06d}.npy", lambda file: np.save(file, numbers))
        if ids is not None:
            self._put_ids(block, ids)
        self.facts.append(facts)

    def _put_ids(self, block: int, ids: Any) -> None:
        if isinstance(ids, np.ndarray) and ids.dtype.kind != "O":
            write_file(self.folder / f"ids-{block:06d}.npy", lambda file: np.save(file, ids))
        elif isinstance(ids, np.ndarray):
            text = json.dumps(ids.tolist()).encode()
            write_file(self.folder / f"ids-{block:06d}.json", lambda file: file.write(text))
        else:
            import pyarrow

            table = pyarrow.table({"ids": ids})

            def write(file: IO[bytes]) -> None:
                with pyarrow.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)

            write_file(self.folder / f"ids-{block:06d}.arrow", write)

    def numbers(self, block: int) -> NDArray[np.uint32]:
        values: NDArray[np.uint32] = np.load(self.folder / f"numbers-{block:06d}.npy", mmap_mode="r")
        return values

    def ids(self, block: int) -> Any:
        stem = self.folder / f"ids-{block:06d}"
        if stem.with_suffix(".npy").exists():
            return np.load(stem.with_suffix(".npy"), mmap_mode="r", allow_pickle=False)
        if stem.with_suffix(".json").exists():
            return np.array(json.loads(stem.with_suffix(".json").read_bytes()), dtype=object)
        if not stem.with_suffix(".arrow").exists():
            return None
        import pyarrow

        with pyarrow.memory_map(str(stem.with_suffix(".arrow"))) as file:
            return pyarrow.ipc.open_file(file).read_all().column("ids")

    def name_of(self, block: int) -> str:
        return self.facts[block].name if block < len(self.facts) else f"block {block}"


def write_file(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file under another name and then rename it; the name of the file is in the error if that fails."""
    aside = path.with_name(f".{path.name}.part")
    try:
        with open(aside, "wb") as file:
            write(file)
        os.replace(aside, path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise type(error)(error.errno, f"cannot write {path}: {error.strerror or error}") from error


def all_numbers(store: Store) -> NDArray[np.uint32]:
    """Return the rows of all objects, one after another."""
    parts = [store.numbers(block) for block in range(len(store.facts))]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint32)


def all_ids(store: Store) -> Array | None:
    """Return the ids of all objects as one array, or None if there are none."""
    parts = [store.ids(block) for block in range(len(store.facts))]
    if not parts or parts[0] is None:
        return None
    return np.concatenate([as_numpy(part) for part in parts])
