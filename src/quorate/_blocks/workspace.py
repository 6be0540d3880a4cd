"""The folder beside an output in which unfinished work is kept, so that the same call continues after any end."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import __version__
from quorate._blocks.settling import Settled
from quorate._blocks.store import BlockFacts, FolderStore, write_file
from quorate._data.proof import vary
from quorate._io.arrays import arrays_of_ensemble, ensemble_from_arrays, write_npz
from quorate._io.consensus_file import arrays_of_consensus, load_consensus
from quorate._io.folder_lock import FolderLock
from quorate._io.text import Choice
from quorate._types import Consensus

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
