"""Training all members of measurements in blocks together, so that one pass over the blocks serves all of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import narrowest
from quorate._io.feature_array import BlockArray
from quorate._io.source import Block, Part, Source
from quorate.generation.bases import as_bases, is_auto
from quorate.generation.features import WHOLE, Features, features_of
from quorate.generation.gaussian import Gaussians
from quorate.generation.kmeans import assign, train
from quorate.generation.members import Centres, Plan, facts_of_plan, facts_of_training, train_alone
from quorate.generation.plans import Request, make_plans
from quorate.generation.runner import Options
from quorate.generation.sampling import Share, as_rows
from quorate.generation.spectral import Embedded
from quorate.generation.trial import Trial
from quorate.ops.threads import Stop, n_threads

Array = NDArray[Any]
T = TypeVar("T")


class Gathering:
    """Lets tasks in threads wait for rows of an array until all of them wait, and then reads all rows in one pass.

    A task is a member in training: it draws a sample of the objects and asks for their rows. What it gets does not
    depend on the other tasks. At most as many tasks compute at once as there are threads.
    """

    def __init__(self, array: BlockArray) -> None:
        self._array = array
        self._turn = threading.Condition()
        self._slots = threading.Semaphore(n_threads())
        self._n_running = 0
        self._wanted: dict[int, NDArray[np.int64]] = {}
        self._found: dict[int, Array | BaseException] = {}

    def run(self, tasks: list[Callable[[], T]]) -> list[T]:
        """Run tasks that read the array, each in a thread of its own; return their results in order."""
        results: list[Any] = [None] * len(tasks)
        errors: list[BaseException] = []

        def work(place: int, task: Callable[[], T]) -> None:
            try:
                with self._slots:
                    results[place] = task()
            except BaseException as error:  # raised again below, in the thread of the caller
                errors.append(error)
            finally:
                self._leave()

        self._n_running = len(tasks)
        threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in enumerate(tasks)]
        self._array.gather = self._rows
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            self._array.gather = None
        if errors:
            raise errors[0]
        return results

    def _rows(self, numbers: NDArray[np.int64]) -> Array:
        """Return rows for the task in this thread; called by the array."""
        me = threading.get_ident()
        self._slots.release()
        try:
            with self._turn:
                self._wanted[me] = numbers
                self._read_if_all_wait()
                self._turn.wait_for(lambda: me in self._found)
                found = self._found.pop(me)
        finally:
            self._slots.acquire()
        if isinstance(found, BaseException):
            raise found
        return found

    def _leave(self) -> None:
        with self._turn:
            self._n_running -= 1
            self._read_if_all_wait()

    def _read_if_all_wait(self) -> None:
        """Read the rows that all waiting tasks want if no other task runs; the lock is held."""
        if not self._wanted or len(self._wanted) < self._n_running:
            return
        try:
            together = np.unique(np.concatenate(list(self._wanted.values())))
            rows = self._array.rows(together)
            for me, numbers in self._wanted.items():
                self._found[me] = rows[np.searchsorted(together, numbers)]
        except BaseException as error:  # every task that waits gets it
            self._found.update(dict.fromkeys(self._wanted, error))
        self._wanted.clear()
        self._turn.notify_all()


Model = Centres | Embedded | Gaussians


class TrainedMembers(NamedTuple):
    """Models that label blocks, how they were made, and the features whose shift and scale they need."""

    models: list[Model]
    info: dict[str, Any]
    features: Features

    def labels(self, values: Array) -> Array:
        """Return the labels of all members for a block of measurements, of shape (n_rows, n_members)."""
        block = replace(self.features, data=values, ids=None)
        widest = max(model.n_clusters for model in self.models)
        labels = np.empty((len(values), len(self.models)), dtype=narrowest(widest))
        shared = {place: model.centres for place, model in enumerate(self.models) if _sees_all(model)}
        if shared:
            labels[:, list(shared)] = assign(block, (None, WHOLE), list(shared.values()), Stop())
        for place in set(range(len(self.models))) - set(shared):
            labels[:, place] = self.models[place].labels(block)
        return labels


def _sees_all(model: Model) -> TypeGuard[Centres]:
    """Whether this is a member of k-means on all columns; such members label a block together."""
    return isinstance(model, Centres) and model.view.is_whole


def train_members(array: BlockArray, names: tuple[str, ...] | None, request: Request, entropy: int) -> TrainedMembers:
    """Train all members as `generate` does, from the same draws, on samples that are read in a few passes."""
    features, method = features_of(array, names, None), None
    if is_auto(request.base):
        options = Options()
        request, reason, method = Trial(features, request, entropy, options).decided()
    else:
        reason = ", ".join(dict.fromkeys(base.name for base in as_bases(request.base)))
    _refuse_what_needs_all_rows(request)
    plans = make_plans(request, features, entropy)
    trained = Gathering(array).run([partial(_train, features, plan) for plan in plans.members])
    facts = tuple(fact for _, fact in trained)
    info: dict[str, Any] = {"seed": entropy, "base": reason, "k": plans.k, "members": facts}
    if method is not None:
        info["method"] = method
    return TrainedMembers([model for model, _ in trained], info, features)


def _refuse_what_needs_all_rows(request: Request) -> None:
    foreign = [base.name for base in as_bases(request.base) if not base.is_built_in]
    if foreign:
        raise ValueError(
            f"{', '.join(dict.fromkeys(foreign))} must see all objects at once, and measurements in blocks are never "
            f"all in memory; use base='kmeans', 'spectral', 'gaussian' or 'auto', or "
            f"quorate.generate on a part of the objects."
        )
    rows = as_rows(request.rows)
    if not isinstance(rows, Share) or rows.share != 1:
        raise ValueError(f"rows must be 1.0 for measurements in blocks, got {request.rows!r}: members see all objects.")


def _train(features: Features, plan: Plan) -> tuple[Model, dict[str, Any]]:
    """Train one member; its labels of the objects are not computed."""
    facts = facts_of_plan(plan, None, features)
    if plan.base.is_kmeans:
        assert plan.k is not None
        rng = np.random.default_rng(plan.seed)
        result = train(features, (None, plan.view), plan.k, rng, plan.base.source, Stop())
        return Centres(result.centres, plan.view), {**facts, **facts_of_training(result)}
    model, _ = train_alone(features, plan, Stop())
    return model, {**facts, **model.facts}


class LabelSource:
    """Makes a source of labels from measurements: members are trained when the first block is asked for."""

    def __init__(self, array: BlockArray, measurements: Source, request: Request, entropy: int) -> None:
        self._array, self._measurements, self._request, self._entropy = array, measurements, request, entropy
        self._trained: TrainedMembers | None = None
        self._lock = threading.Lock()

    @property
    def trained(self) -> TrainedMembers:
        """The trained members."""
        with self._lock:
            if self._trained is None:
                names = self._measurements.names
                self._trained = train_members(self._array, names, self._request, self._entropy)
            return self._trained

    def source(self) -> Source:
        """Return the labels of all members in the blocks of the measurements."""
        n_members = self._request.n_members
        return replace(
            self._measurements,
            names=tuple(f"member {place}" for place in range(n_members)),
            kinds=("values",) * n_members,
            parts=self._parts,
            row_bytes=self._measurements.row_bytes + 4 * n_members + 48,
            n_rows=len(self._array),
            info=lambda: self.trained.info,
        )

    def _parts(self, most: Any) -> Any:
        trained = self.trained
        for piece in self._array.pieces:
            yield Part(piece.name, piece.file, partial(self._read, piece, trained))

    def _read(self, piece: Any, trained: TrainedMembers) -> Block:
        values, ids = piece.read()
        return Block(list(trained.labels(values).T), ids)
