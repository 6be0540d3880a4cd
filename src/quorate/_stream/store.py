"""What is kept while blocks are read: rows and ids of objects, and unfinished work that the same call continues."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate import __version__
from quorate._data.blocks import Settled
from quorate._data.ids import as_numpy
from quorate._data.proof import vary
from quorate._io.arrays import arrays_of_ensemble, ensemble_from_arrays, write_npz
from quorate._io.aside import FolderLock
from quorate._io.consensus_file import arrays_of_consensus, load_consensus
from quorate._io.text import Choice
from quorate._types import Consensus

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
        raise type(error)(f"cannot write {path}: {error.strerror or error}") from error


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


logger = logging.getLogger("quorate")
PLAN, FACTS, INFO, ROWS, SOLUTION = "plan.json", "blocks.json", "info.json", "rows.npz", "solution.npz"
_DAMAGED = (OSError, ValueError, KeyError, TypeError, EOFError)


class Finished(NamedTuple):
    """A finished pass over the source: the blocks, and the distinct rows with their meaning."""

    store: FolderStore
    settled: Settled


class Workspace:
    """Keeps what is finished: first the rows of all objects, then the distinct rows, then the solution.

    It belongs to one plan: the source, the options and the version of the library. Work of another plan is thrown
    away. The folder is locked, so that two processes cannot write to it at once.
    """

    def __init__(self, out: Path, plan: dict[str, Any]) -> None:
        self.folder = out.with_name(f".{out.name}.quorate")
        self.folder.mkdir(exist_ok=True)
        self._lock = FolderLock(self.folder, "unfinished work")
        try:
            self._begin(plan)
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, plan: dict[str, Any]) -> None:
        """Keep the work of an earlier run if its plan is the same; otherwise throw it away and note the plan."""
        self.plan = json.loads(json.dumps({**plan, "version": __version__}, default=str))
        stored = self._stored_plan()
        if stored is not None and _same(stored, self.plan):
            self.plan = stored
            logger.info("continuing the unfinished work in %s", self.folder)
        else:
            self.clear()
            write_file(self.folder / PLAN, lambda file: file.write(json.dumps(self.plan).encode()))

    @property
    def aside(self) -> Path:
        """Where the output is written before it is renamed."""
        return self.folder / "labels"

    def _stored_plan(self) -> dict[str, Any] | None:
        try:
            plan = json.loads((self.folder / PLAN).read_bytes())
        except _DAMAGED:
            return None
        return plan if isinstance(plan, dict) else None

    def clear(self) -> None:
        """Throw away all work in the folder."""
        for entry in self.folder.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != ".lock":
                entry.unlink(missing_ok=True)

    def finished(self) -> Finished | None:
        """Return the pass over the source if an earlier run finished it."""
        try:
            facts = [BlockFacts(*entry) for entry in json.loads((self.folder / FACTS).read_bytes())]
            info = json.loads((self.folder / INFO).read_bytes())
            with np.load(self.folder / ROWS, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except _DAMAGED:
            return None
        row_of, n_skipped = arrays.pop("row_of"), int(arrays.pop("n_skipped"))
        ensemble = ensemble_from_arrays(arrays, ROWS, lambda names: Choice(None, names), -1, None, False)
        ensemble = vary(ensemble, info=info)
        ensemble.remember(is_distinct=True)
        return Finished(FolderStore(self.folder, facts), Settled(ensemble, row_of, n_skipped))

    def save_finished(self, store: FolderStore, settled: Settled) -> None:
        """Note that the pass over the source is finished."""
        try:
            arrays: dict[str, NDArray[Any]] = arrays_of_ensemble(settled.ensemble)
        except ValueError:
            # labels of several types in one column cannot be kept in a file: an interrupted run starts again
            return
        arrays |= {"row_of": settled.row_of, "n_skipped": np.array(settled.n_skipped)}
        arrays["weights"], arrays["counts"] = settled.ensemble.weights, settled.ensemble.counts
        write_file(self.folder / INFO, lambda file: file.write(json.dumps(dict(settled.ensemble.info)).encode()))
        text = json.dumps([list(facts) for facts in store.facts]).encode()
        write_file(self.folder / FACTS, lambda file: file.write(text))
        write_file(self.folder / ROWS, lambda file: write_npz(file, arrays, packed=False))

    def solution(self) -> Consensus | None:
        """Return the consensus of the distinct rows if an earlier run finished it."""
        try:
            return load_consensus(self.folder / SOLUTION)
        except _DAMAGED:
            return None

    def save_solution(self, result: Consensus) -> None:
        """Note the consensus of the distinct rows."""
        # not packed as `save_consensus` does, because it is read once at most
        arrays: dict[str, Any] = arrays_of_consensus(result)
        write_file(self.folder / SOLUTION, lambda file: write_npz(file, arrays, packed=False))

    def close(self, *, remove: bool) -> None:
        """Release the lock, and remove the folder if the work is done or of no use."""
        self._lock.release()
        if remove:
            shutil.rmtree(self.folder, ignore_errors=True)


def _same(stored: dict[str, Any], plan: dict[str, Any]) -> bool:
    """Whether two plans are the same; a seed that was not asked for may be any."""
    free = plan.get("random_state") is None
    ignored = ("seed", "random_state") if free and stored.get("random_state") is None else ()
    return {key: value for key, value in stored.items() if key not in ignored} == {
        key: value for key, value in plan.items() if key not in ignored
    }
