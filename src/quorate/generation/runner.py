"""Run members on joblib's workers, store each one that is finished, and stop when asked to."""

from __future__ import annotations

import itertools
import logging
import warnings
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import narrowest
from quorate._data.ensemble import build_ensemble
from quorate._types import Ensemble
from quorate.generation.checkpoint import Checkpoint
from quorate.generation.features import Features
from quorate.generation.members import Member, Plan, run_members, run_sequence
from quorate.ops.coding import MISSING, UNSEEN, code_columns
from quorate.ops.threads import Stop, n_threads

logger = logging.getLogger("quorate")
Array = NDArray[Any]

SHARED_WORK = 2_000_000_000
"""A member of up to this many multiplications is small enough to be labelled together with others in one pass."""

MOST_TOGETHER = 8


class MadeMembers:
    """Members of the same measurements, base and seed that were made before, so that none is made twice.

    Only members of all objects and columns by the built-in clusterers are kept.
    """

    def __init__(self, features: Features) -> None:
        self._features = features
        self._members: dict[tuple[str, int, int | None], Member] = {}

    def known(self, features: Features, plans: list[Plan]) -> dict[int, Member]:
        """Return the members of these plans that were made before, by number."""
        found = {plan.number: self._members.get(_key(plan)) for plan in plans if self._holds(features, plan)}
        return {number: member for number, member in found.items() if member is not None}

    def keep(self, features: Features, plans: list[Plan], finished: FinishedMembers) -> None:
        """Keep the members of these plans."""
        for plan, facts, model in zip(plans, finished.facts, finished.models, strict=True):
            if self._holds(features, plan):
                # labels are coded in place later, so that a copy is kept
                self._members[_key(plan)] = Member(plan.number, finished.labels[:, plan.number].copy(), facts, model)

    def _holds(self, features: Features, plan: Plan) -> bool:
        return features is self._features and plan.base.is_built_in and plan.packed is None and plan.view.is_whole


def _key(plan: Plan) -> tuple[str, int, int | None]:
    return plan.base.name, plan.number, plan.k


class Options(NamedTuple):
    """How the members are run; nothing here changes the ensemble.

    `told` is what is logged of the members as they are finished; nothing if it is empty.
    """

    n_jobs: int | None = None
    told: str = "making members"
    title: str = ""
    checkpoint: Checkpoint | None = None
    keep_models: bool = False
    or_processor: bool = False
    made: MadeMembers | None = None


class FinishedMembers(NamedTuple):
    """The labels (n_objects, n_members) as the members gave them, the facts of each member and, if kept, its model."""

    labels: Array
    facts: list[dict[str, Any]]
    models: list[Any]


def run_plans(
    features: Features, plans: list[Plan], options: Options, known: Mapping[int, Member] | None = None
) -> FinishedMembers:
    """Return all members: those known or in the checkpoint are taken, the others are computed and stored."""
    collected = _Collected(features.n_objects, plans)
    known = {**(options.made.known(features, plans) if options.made else {}), **(known or {})}
    missing, n_stored = [], 0
    for plan in plans:
        stored = options.checkpoint.load(plan.number) if options.checkpoint else None
        n_stored += stored is not None
        if stored is None and plan.number in known:
            stored = known[plan.number]
            if options.checkpoint:
                options.checkpoint.save(stored)
        if stored is None:
            missing.append(plan)
        else:
            collected.add([stored])
    if n_stored:
        text = "continuing after an interruption: %d of %d members were stored before"
        logger.info(text, n_stored, len(plans), extra={"continues": True})
    done = len(plans) - len(missing)
    for members in itertools.chain(
        _work(features, [plan for plan in missing if not plan.base.is_sequence], options),
        _sequences(features, plans, {plan.number for plan in missing}, options),
    ):
        if options.checkpoint:
            for member in members:
                options.checkpoint.save(member)
        collected.add(members)
        done += len(members)
        tell_made(options, done, len(plans))
    finished = collected.finish()
    if options.made:
        options.made.keep(features, plans, finished)
    return finished


class _Collected:
    """The labels of the members, in one matrix from the start.

    Its type is widened if a member has more clusters than planned.
    """

    def __init__(self, n_objects: int, plans: list[Plan]) -> None:
        planned = max(plan.k or 2 for plan in plans)
        self._labels = np.empty((n_objects, len(plans)), dtype=narrowest(planned))
        self._members: list[Member | None] = [None] * len(plans)

    def add(self, members: list[Member]) -> None:
        wide = np.result_type(self._labels, *(member.labels for member in members))
        self._labels = self._labels.astype(wide, copy=False)
        for member in members:
            self._labels[:, member.number] = member.labels
            # The labels are in the matrix, so no second copy is kept.
            self._members[member.number] = member._replace(labels=np.empty(0, dtype=np.int8))

    def finish(self) -> FinishedMembers:
        done = [member for member in self._members if member is not None]
        return FinishedMembers(self._labels, [member.facts for member in done], [member.model for member in done])


def _work(features: Features, plans: list[Plan], options: Options) -> Iterator[list[Member]]:
    """Yield members as they finish, in any order."""
    if not plans:
        return
    import joblib

    in_threads = all(plan.base.is_built_in for plan in plans)
    n_jobs = options.n_jobs
    if n_jobs is None and in_threads and joblib.effective_n_jobs(None) == 1:
        # Kernels use all threads everywhere else in the library, so they do here unless the caller asks for fewer.
        n_jobs = n_threads()
    stop = Stop()
    prefer = "threads" if in_threads else "processes"
    lazy = getattr(joblib.parallel.get_active_backend(prefer=prefer)[0], "supports_return_generator", False)
    parallel = joblib.Parallel(
        n_jobs=n_jobs, prefer=prefer, batch_size=1, return_as="generator_unordered" if lazy else "list"
    )
    chunks = _chunks(features, plans, joblib.effective_n_jobs(n_jobs))
    results = parallel(joblib.delayed(run_members)(features, chunk, options.keep_models, stop) for chunk in chunks)
    try:
        # "yield from" would close the results before joblib's warning about it can be suppressed
        for members in results:  # noqa: UP028
            yield members
    except BaseException:
        stop.set()
        raise
    finally:
        if lazy:
            _close_quietly(results)


def _close_quietly(results: Any) -> None:
    """Stop the work without joblib's warning that tasks are abandoned, because that is intended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        results.close()


def _sequences(features: Features, plans: list[Plan], missing: set[int], options: Options) -> Iterator[list[Member]]:
    """Yield the missing members that depend on one another, computed in this process one after the other.

    All members of a sequence up to the last missing one are computed, because each depends on those before it.
    """
    sequences: dict[int, list[Plan]] = {}
    for plan in plans:
        if plan.base.is_sequence:
            sequences.setdefault(id(plan.base), []).append(plan)
    for sequence in sequences.values():
        n_wanted = max((place + 1 for place, plan in enumerate(sequence) if plan.number in missing), default=0)
        for member in itertools.islice(run_sequence(features, sequence, options.keep_models), n_wanted):
            if member.number in missing:
                yield [member]


def _chunks(features: Features, plans: list[Plan], n_workers: int) -> list[list[Plan]]:
    """Group the plans that share a pass; every other plan is a group of its own.

    The groups are small enough to keep all workers busy. How plans are grouped changes how often X is read, but not the
    result.
    """
    alone = [[plan] for plan in plans if not plan.shares_a_pass]
    together = [plan for plan in plans if plan.shares_a_pass]
    if not together:
        return alone
    work = features.n_objects * features.n_columns * max(plan.k or 1 for plan in together)
    fair = -(-len(together) // (2 * n_workers))
    size = max(1, min(MOST_TOGETHER, fair, SHARED_WORK // work))
    return [together[place : place + size] for place in range(0, len(together), size)] + alone


def tell_made(options: Options, done: int, total: int) -> None:
    """Log how many members are finished."""
    if options.told:
        title = f" ({options.title})" if options.title else ""
        logger.info("%s: %d of %d%s", options.told, done, total, title, extra={"share": done / total})


def as_coded(finished: FinishedMembers, features: Features, info: dict[str, Any]) -> Ensemble:
    """Code the labels by first appearance, in place, because the matrix may take most of the memory."""
    labels = finished.labels
    n_members = labels.shape[1]
    spans = np.array([facts["n_clusters"] + 1 for facts in finished.facts])
    starts = np.concatenate([[0], np.cumsum(spans)]).astype(np.int64)
    lookup = np.full(starts[-1], UNSEEN, dtype=np.int32)
    lookup[starts[:-1]] = MISSING
    seen = np.zeros(n_members, dtype=np.int64)
    code_columns(labels, np.full(n_members, -1, dtype=np.int64), starts, lookup, seen, labels)
    parts = (lookup[start + 1 : stop] for start, stop in pairwise(starts))
    categories = tuple(_categories(part, int(count)) for part, count in zip(parts, seen, strict=True))
    names = tuple(f"member {place}" for place in range(n_members))
    narrow = labels.astype(narrowest(int(seen.max())), copy=False)
    return build_ensemble(narrow, names, categories, ids=features.ids, info=info)


def _categories(codes: NDArray[np.int32], n_seen: int) -> NDArray[np.int64]:
    """Return the member's own cluster number for each code."""
    numbers = np.empty(n_seen, dtype=np.int64)
    places = np.flatnonzero(codes >= 0)
    numbers[codes[places]] = places
    return numbers
