"""What is kept while blocks are read: rows and ids of objects, and unfinished work that the same call continues."""

from __future__ import annotations

import json
import logging
import mmap
import os
import re
import shutil
import tempfile
import warnings
import weakref
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from quorate import __version__
from quorate._data.blocks import Settled
from quorate._data.ids import as_numpy
from quorate._data.outside import with_noise
from quorate._data.proof import vary
from quorate._io.arrays import arrays_of_ensemble, ensemble_from_arrays, write_npz
from quorate._io.aside import NAME, FolderLock, cannot_write, checksum, short_name
from quorate._io.consensus_file import arrays_of_consensus, load_consensus
from quorate._io.paths import files_below, strange_in_zarr
from quorate._io.text import Choice
from quorate._types import Consensus, Json, Reading

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
    """Keeps 4 bytes per object in memory, and so many bytes of ids; further ids are kept in a temporary folder."""

    def __init__(self, most_bytes: int) -> None:
        self.facts: list[BlockFacts] = []
        self._kept: list[tuple[NDArray[np.uint32], Any]] = []
        self._left = most_bytes
        self._disk: FolderStore | None = None

    def put(self, facts: BlockFacts, numbers: NDArray[np.uint32], ids: Any) -> None:
        self._left -= _id_bytes(ids)
        if self._left < 0 and ids is not None:
            ids = self._moved(len(self.facts), ids)
        self._kept.append((numbers, ids))
        self.facts.append(facts)

    def _moved(self, block: int, ids: Any) -> Callable[[], Any]:
        """Write ids to a temporary folder, which lives as long as this store, and return what reads them again."""
        if self._disk is None:
            folder = Path(tempfile.mkdtemp(prefix="quorate-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._disk = FolderStore(folder)
        self._disk.put_ids(block, ids)
        return partial(self._disk.ids, block)

    def numbers(self, block: int) -> NDArray[np.uint32]:
        return self._kept[block][0]

    def ids(self, block: int) -> Any:
        ids = self._kept[block][1]
        return ids() if callable(ids) else ids

    def name_of(self, block: int) -> str:
        return self.facts[block].name if block < len(self.facts) else f"block {block}"


def _id_bytes(ids: Any) -> int:
    """Return the bytes that ids take, the texts of an array of objects included."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "O":
        return ids.nbytes + sum(len(value) for value in ids.tolist() if isinstance(value, str))
    return 0 if ids is None else int(ids.nbytes)


class FolderStore:
    """Keeps everything in files of a folder, each written under another name and then renamed.

    `checks` notes what was written; without it, in a temporary folder, nothing is read by a later run.
    """

    def __init__(self, folder: Path, facts: list[BlockFacts] | None = None, checks: Checks | None = None) -> None:
        self.folder = folder
        self.facts: list[BlockFacts] = facts or []
        self.write = write_file if checks is None else checks.write

    def put(self, facts: BlockFacts, numbers: NDArray[np.uint32], ids: Any) -> None:
        block = len(self.facts)
        self.write(self.folder / f"numbers-{block:06d}.npy", lambda file: np.save(file, numbers))
        if ids is not None:
            self.put_ids(block, ids)
        self.facts.append(facts)

    def put_ids(self, block: int, ids: Any) -> None:
        """Keep the ids of a block."""
        if isinstance(ids, np.ndarray) and ids.dtype.kind != "O":
            self.write(self.folder / f"ids-{block:06d}.npy", lambda file: np.save(file, ids))
        elif isinstance(ids, np.ndarray):
            text = json.dumps(ids.tolist()).encode()
            self.write(self.folder / f"ids-{block:06d}.json", lambda file: file.write(text))
        else:
            import pyarrow

            table = pyarrow.table({"ids": ids})

            def write(file: IO[bytes]) -> None:
                with pyarrow.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)

            self.write(self.folder / f"ids-{block:06d}.arrow", write)

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
    """Write a file under another name and then rename it; the name of the file is in the error if that fails.

    It is flushed to the disk before it is renamed, so that after a power cut nothing has its name but the whole file.
    """
    aside = path.with_name(f".{short_name(path)}.part")
    try:
        with open(aside, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise cannot_write(error, path) from error


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


class Checks:
    """The lengths and checksums of files in a folder, which are noted in a file of it, line by line.

    `whose` is what the files belong to: those of other work have other checksums.
    """

    def __init__(self, folder: Path, whose: bytes) -> None:
        self.folder, self._whose = folder, whose
        self._noted: dict[str, list[int]] = {}
        if (folder / CHECKS).exists():
            for line in (folder / CHECKS).read_bytes().splitlines():
                with suppress(ValueError, TypeError):
                    name, *facts = json.loads(line)
                    self._noted[name] = facts

    def write(self, path: Path, write: Callable[[IO[bytes]], Any]) -> None:
        """Write a file as `write_file` does, and note it."""
        write_file(path, write)
        name, facts = path.relative_to(self.folder).as_posix(), self._facts(path)
        try:
            with open(self.folder / CHECKS, "ab") as file:
                # it begins with a new line, because the line before may have been cut short
                file.write(b"\n" + json.dumps([name, *facts]).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise cannot_write(error, path) from error
        self._noted[name] = facts

    def holds(self, path: Path) -> bool:
        """Whether a file is there as it was written; one that is damaged is reported."""
        if not path.exists():
            return False
        try:
            right = self._facts(path) == self._noted.get(path.relative_to(self.folder).as_posix())
        except OSError:
            right = False
        if not right:
            warnings.warn(f"the unfinished work {path} is damaged; it is made again.", UserWarning, stacklevel=4)
        return right

    def _facts(self, path: Path) -> list[int]:
        size = path.stat().st_size
        if not size:
            return [0, checksum(self._whose)]
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return [size, checksum(self._whose, content)]


logger = logging.getLogger("quorate")
PLAN, FACTS, INFO, ROWS, SOLUTION = "plan.json", "blocks.json", "info.json", "rows.npz", "solution.npz"
CHECKS, MARK, OLD, LABELS = "checks.jsonl", "about.txt", "old", "labels"
ABOUT = b"Quorate keeps unfinished work in this folder, and deletes the folder when the work is done.\n"
"""The content of the file that is written first; a folder with other files and without it is not ours."""
_FILE = re.compile(
    r"about\.txt|(plan|blocks|info)\.json|(rows|solution)\.npz|checks\.jsonl|numbers-\d{6,}\.npy|labels|"
    r"ids-\d{6,}\.(npy|json|arrow)"
)
_DAMAGED = (OSError, ValueError, KeyError, TypeError, EOFError, IndexError, zipfile.BadZipFile, zlib.error)


class Finished(NamedTuple):
    """A finished pass over the source: the blocks, and the distinct rows with their meaning."""

    store: FolderStore
    settled: Settled


class Workspace:
    """Keeps what is finished: first the rows of all objects, then the distinct rows, then the solution.

    It belongs to one plan: the source, the options and the version of the library. Work of another plan is thrown
    away. The folder is locked, so that two processes cannot write to it at once. It begins with a mark, and a folder
    that has none, or in which anything lies that is not written here, is refused: nothing of it is deleted.
    """

    def __init__(self, out: Path, plan: Json) -> None:
        self.folder = workspace_of(out)
        refuse_other_folder(self.folder)
        # what is in it may be worth more protection than the folder beside it gives
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._lock = FolderLock(self.folder, "unfinished work")
        try:
            self._begin(plan)
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, plan: Json) -> None:
        """Keep the work of an earlier run if its plan is the same; otherwise throw it away and note the plan."""
        self.plan = json.loads(json.dumps({**plan, "version": __version__}, default=str))
        stored = self._stored_plan()
        if stored is not None and _same(stored, self.plan):
            self.plan = stored
            self.checks = Checks(self.folder, json.dumps(self.plan).encode())
            logger.info("continuing after an interruption: the work in %s", self.folder, extra={"continues": True})
        else:
            if stored is None and (self.folder / PLAN).exists():
                warnings.warn(f"the unfinished work {self.folder / PLAN} is damaged; it is made again.", stacklevel=5)
            self.clear()
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Write the mark, if it is not there, and the plan."""
        text = json.dumps(self.plan).encode()
        if not (self.folder / MARK).exists():
            write_file(self.folder / MARK, lambda file: file.write(ABOUT))
        write_file(self.folder / PLAN, lambda file: file.write(text))
        self.checks = Checks(self.folder, text)

    @property
    def aside(self) -> Path:
        """Where the output is written before it is renamed."""
        return self.folder / LABELS

    def _stored_plan(self) -> dict[str, Any] | None:
        try:
            plan = json.loads((self.folder / PLAN).read_bytes())
        except _DAMAGED:
            return None
        return plan if isinstance(plan, dict) else None

    def clear(self) -> None:
        """Throw away all work in the folder; only the mark and the lock stay."""
        for entry in self.folder.iterdir():
            if entry.name not in (MARK, NAME) and not _is_strange(entry):
                _remove(entry)
        self.checks = Checks(self.folder, b"")

    def finished(self) -> Finished | None:
        """Return the pass over the source if an earlier run finished it; if it is damaged, all begins anew."""
        if not (self.folder / ROWS).exists():
            return None
        found = self._read_finished()
        if found is None:
            self.clear()
            self._begin_anew()
        return found

    def _read_finished(self) -> Finished | None:
        numbers, ids = (sorted(self.folder.glob(f"{kind}-*")) for kind in ("numbers", "ids"))
        kept = (self.folder / FACTS, self.folder / INFO, self.folder / ROWS, *numbers, *ids)
        if not all(map(self.checks.holds, kept)):
            return None
        try:
            facts = [BlockFacts(*entry) for entry in json.loads((self.folder / FACTS).read_bytes())]
            info = json.loads((self.folder / INFO).read_bytes())
            with np.load(self.folder / ROWS, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except _DAMAGED:
            return None
        n_blocks = len(facts)
        n_ids = n_blocks if arrays.pop("has_ids", True) else 0
        if len(numbers) != n_blocks or len(ids) != n_ids:
            warnings.warn(f"files of the unfinished work in {self.folder} are gone; it is made again.", stacklevel=5)
            return None
        row_of, n_skipped, noise = arrays.pop("row_of"), int(arrays.pop("n_skipped")), arrays.pop("noise", None)
        ensemble = ensemble_from_arrays(arrays, ROWS, lambda names: Choice(None, names), Reading(check=False))
        ensemble = with_noise(vary(ensemble, info=info), noise)
        # rows that differ in noise may have the same labels
        ensemble.remember(is_distinct=noise is None)
        return Finished(FolderStore(self.folder, facts, self.checks), Settled(ensemble, row_of, n_skipped))

    def save_finished(self, store: FolderStore, settled: Settled) -> None:
        """Note that the pass over the source is finished."""
        try:
            arrays: dict[str, NDArray[Any]] = arrays_of_ensemble(settled.ensemble)
        except ValueError:
            # labels of several types in one column cannot be kept in a file: an interrupted run starts again
            return
        arrays |= {"row_of": settled.row_of, "n_skipped": np.array(settled.n_skipped)}
        arrays["has_ids"] = np.array(any(self.folder.glob("ids-*")))
        arrays["weights"], arrays["counts"] = settled.ensemble.weights, settled.ensemble.counts
        if settled.ensemble.noise is not None:
            arrays["noise"] = settled.ensemble.noise
        self.checks.write(self.folder / INFO, lambda file: file.write(json.dumps(dict(settled.ensemble.info)).encode()))
        text = json.dumps([list(facts) for facts in store.facts]).encode()
        self.checks.write(self.folder / FACTS, lambda file: file.write(text))
        self.checks.write(self.folder / ROWS, lambda file: write_npz(file, arrays, packed=False))

    def solution(self) -> Consensus | None:
        """Return the consensus of the distinct rows if an earlier run finished it."""
        if not self.checks.holds(self.folder / SOLUTION):
            return None
        try:
            return load_consensus(self.folder / SOLUTION)
        except _DAMAGED:
            return None

    def save_solution(self, result: Consensus) -> None:
        """Note the consensus of the distinct rows."""
        # not packed as `save_consensus` does, because it is read once at most
        arrays: dict[str, Any] = arrays_of_consensus(result)
        self.checks.write(self.folder / SOLUTION, lambda file: write_npz(file, arrays, packed=False))

    def close(self, *, remove: bool) -> None:
        """Release the lock, and remove the folder if the work is done or of no use.

        What somebody else has put there in the meantime stays, and so does the folder then.
        """
        self._lock.release()
        if remove:
            with suppress(OSError):
                self.clear()
                for name in (MARK, NAME):
                    (self.folder / name).unlink(missing_ok=True)
                self.folder.rmdir()


def workspace_of(out: Path) -> Path:
    """Return the folder beside an output that keeps the unfinished work on it."""
    return out.with_name(f".{short_name(out)}.quorate")


def restore_old(out: Path) -> None:
    """Give an old folder of labels its name again if a run was killed before the new one had taken its place."""
    folder = workspace_of(out)
    if os.path.lexists(out) or not (folder / OLD).is_dir():
        return
    refuse_other_folder(folder)
    lock = FolderLock(folder, "unfinished work")
    try:
        os.replace(folder / OLD, out)
    finally:
        lock.release()


def refuse_other_folder(folder: Path) -> None:
    """Raise unless a folder for unfinished work does not exist, or holds only what is written there."""
    reason = None
    if folder.is_symlink():
        reason = "is a link"
    elif folder.exists() and not folder.is_dir():
        reason = "is no folder"
    elif folder.is_dir():
        reason = _other_content(folder)
    if reason is not None:
        raise ValueError(
            f"cannot keep unfinished work in {folder}: it {reason}; move it away, or write to another name."
        )


def _other_content(folder: Path) -> str | None:
    """Say what is in a folder that is not ours, or whose the folder is; None if it is ours."""
    owner = folder.stat().st_uid
    if owner != getattr(os, "geteuid", lambda: owner)():
        return "belongs to another user"
    strange = next((entry for entry in folder.iterdir() if _is_strange(entry)), None)
    marked = (folder / MARK).is_file() and (folder / MARK).read_bytes() == ABOUT
    if strange is None and not marked:
        # a run that was killed before it had written the mark leaves nothing else
        strange = next((entry for entry in folder.iterdir() if entry.name not in (NAME, f".{MARK}.part")), None)
    return None if strange is None else f"holds {strange.name!r}, which this version of Quorate did not write"


def _is_strange(entry: Path) -> bool:
    """Whether something in the folder is nothing that is written there, by its name, its kind and what it holds."""
    if entry.is_symlink() or entry.stat().st_uid != entry.parent.stat().st_uid:
        return True
    if entry.is_dir():
        return entry.name not in (OLD, LABELS) or (
            strange_in_zarr(entry) is not None
            and any(path.is_symlink() or path.suffix not in (".parquet", ".part") for path in files_below(entry))
        )
    name = entry.name.removeprefix(".").removesuffix(".part") if entry.name.endswith(".part") else entry.name
    if entry.name in (NAME, f".{MARK}.part"):
        # the lock is empty, and an unfinished mark the beginning of one
        return not (entry.is_file() and (b"" if entry.name == NAME else ABOUT).startswith(entry.read_bytes()))
    return not entry.is_file() or not (name == NAME or _FILE.fullmatch(name) is not None)


def _remove(entry: Path) -> None:
    if entry.is_dir():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        entry.unlink(missing_ok=True)


def _same(stored: Json, plan: Json) -> bool:
    """Whether two plans are the same; a seed that was not asked for may be any."""
    free = plan.get("random_state") is None
    ignored = ("seed", "random_state") if free and stored.get("random_state") is None else ()
    return {key: value for key, value in stored.items() if key not in ignored} == {
        key: value for key, value in plan.items() if key not in ignored
    }
