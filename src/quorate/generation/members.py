"""One member, or several that share a pass over X: from a plan to labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import narrowest
from quorate.generation.bases import Base, Clustered, cluster, coded
from quorate.generation.features import WHOLE, Features, Numbers, View
from quorate.generation.kmeans import Trained, assign, cluster_means, train
from quorate.generation.row_samples import Packed, unpack
from quorate.generation.spectral import Embedded, label_all, train_and_label
from quorate.generation.stop import Stop

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Plan:
    """All that was drawn for a member before any work: what it sees, its k, its seed."""

    number: int
    base: Base
    k: int | None
    packed: Packed
    view: View
    fill: bool
    seed: np.random.SeedSequence

    @property
    def shares_a_pass(self) -> bool:
        """Whether other members can be labelled in the same pass over X."""
        return self.base.is_kmeans and self.packed is None and self.view.is_whole


@dataclass(frozen=True, eq=False)
class Centres:
    """How a member labels objects it has not seen: by the nearest of its centres, in its view."""

    centres: NDArray[np.float32]
    view: View

    def labels(self, features: Features) -> Array:
        return assign(features, (None, self.view), [self.centres], Stop())[:, 0]


@dataclass(frozen=True, eq=False)
class Fitted:
    """How a clusterer with a `predict` of its own labels new objects; `codes` are the labels it gave, in order."""

    clusterer: Any
    codes: Array
    view: View

    def labels(self, features: Features) -> Array:
        found = np.asarray(self.clusterer.predict(features.raw(None, self.view)))
        place = np.minimum(np.searchsorted(self.codes, found), len(self.codes) - 1)
        return np.where(self.codes[place] == found, place, -1)


class Member(NamedTuple):
    """Labels of all objects (-1: not seen, or left out by the clusterer), facts, and how to label new objects."""

    number: int
    labels: Array
    facts: dict[str, Any]
    model: Centres | Embedded | Fitted | None


def run_members(features: Features, plans: list[Plan], keep_models: bool, stop: Stop) -> list[Member]:
    """The members of these plans; several plans at once only where they share a pass over X."""
    if len(plans) > 1 or plans[0].base.is_kmeans:
        return _built_in(features, plans, keep_models, stop)
    if plans[0].base.is_built_in:
        return [_spectral(features, plans[0], keep_models, stop)]
    try:
        return [_foreign(features, plans[0], keep_models, stop)]
    except (ValueError, TypeError, MemoryError) as error:
        plan = plans[0]
        raise type(error)(f"member {plan.number} ({plan.base.name}) failed: {error}") from error


def _built_in(features: Features, plans: list[Plan], keep_models: bool, stop: Stop) -> list[Member]:
    """All plans of a call see the same rows and columns."""
    rows, view = _rows(features, plans[0]), plans[0].view
    trained = []
    for plan in plans:
        rng = np.random.default_rng(plan.seed)
        assert plan.k is not None
        trained.append(train(features, (rows, view), plan.k, rng, plan.base.source, stop))
    labelled = None if plans[0].fill else rows
    labels = assign(features, (labelled, view), [found.centres for found in trained], stop)
    if labelled is not None:
        labels = _spread(features.n_objects, labelled, labels)
    return [
        Member(
            plan.number,
            labels[:, place],
            {**_facts(plan, rows, features), **_training(found)},
            Centres(found.centres, view) if keep_models else None,
        )
        for place, (plan, found) in enumerate(zip(plans, trained, strict=True))
    ]


def _spectral(features: Features, plan: Plan, keep_models: bool, stop: Stop) -> Member:
    rows = _rows(features, plan)
    assert plan.k is not None
    rng = np.random.default_rng(plan.seed)
    found, labels = train_and_label(features, (rows, plan.view), plan.k, rng, plan.base.source, stop)
    labelled = None if plan.fill else rows
    if labels is None or labelled is not rows:
        labels = label_all(found, features, labelled, stop)
    if labelled is not None:
        labels = _spread(features.n_objects, labelled, labels[:, None])[:, 0]
    facts = {**_facts(plan, rows, features), **found.facts}
    return Member(plan.number, labels, facts, found if keep_models else None)


def _training(found: Trained) -> dict[str, Any]:
    return {
        "n_clusters": len(found.centres),
        "n_trained": found.n_sample,
        "n_iter": found.n_iter,
        "converged": found.converged,
    }


def run_sequence(features: Features, plans: list[Plan], keep_models: bool) -> Iterator[Member]:
    """The members of a base whose members depend on one another, in their order; they see all of X."""
    base, rng = plans[0].base, np.random.default_rng(plans[0].seed)
    sequence = base.source.members(features.raw(None, WHOLE), [plan.k for plan in plans], rng)
    for plan, labels in zip(plans, sequence, strict=True):
        found = coded(labels, features.n_objects, base.name)
        yield _member(features, plan, None, found, keep_models, Stop())


def _foreign(features: Features, plan: Plan, keep_models: bool, stop: Stop) -> Member:
    rows = _rows(features, plan)
    found = cluster(plan.base, features.raw(rows, plan.view), plan.k, np.random.default_rng(plan.seed))
    return _member(features, plan, rows, found, keep_models, stop)


def _member(features: Features, plan: Plan, rows: Numbers, found: Clustered, keep_models: bool, stop: Stop) -> Member:
    """From what a base that is not ours found among the rows seen."""
    view = plan.view
    n_clusters = len(found.labels)
    if n_clusters == 0:
        raise ValueError("it labelled no object at all.")
    predicts, centres = hasattr(found.fitted, "predict"), None
    if (plan.fill and rows is not None) or (keep_models and not predicts):
        centres = Centres(_means(features, (rows, view), found.codes, n_clusters), view)
    labels = found.codes[:, None].astype(narrowest(n_clusters))
    if rows is not None:
        labels = _spread(features.n_objects, rows, labels)
        if plan.fill and centres is not None:
            _fill(features, rows, centres, labels, stop)
    model = Fitted(found.fitted, found.labels, view) if predicts else centres
    facts = {**_facts(plan, rows, features), "n_clusters": n_clusters}
    return Member(plan.number, labels[:, 0], facts, model if keep_models else None)


def _means(features: Features, seen: tuple[Numbers, View], codes: Array, n_clusters: int) -> NDArray[np.float32]:
    """Means of a clusterer's clusters, in prepared units."""
    width = seen[1].width(features.n_columns)
    blocks = ((block, codes[start:end]) for start, end, block in features.blocks(*seen))
    return cluster_means(blocks, n_clusters, width)[0]


def _fill(features: Features, rows: NDArray[np.intp], centres: Centres, labels: Array, stop: Stop) -> None:
    """Label the objects not seen by the nearest centre."""
    unseen = np.delete(np.arange(features.n_objects), rows)
    labels[unseen] = assign(features, (unseen, centres.view), [centres.centres], stop)


def _spread(n_objects: int, rows: NDArray[np.intp], labels: Array) -> Array:
    """Labels of all objects from those of some; missing elsewhere."""
    spread = np.full((n_objects, labels.shape[1]), -1, dtype=labels.dtype)
    spread[rows] = labels
    return spread


def _rows(features: Features, plan: Plan) -> Numbers:
    return None if plan.packed is None else unpack(plan.packed, features.n_objects)


def _facts(plan: Plan, rows: Numbers, features: Features) -> dict[str, Any]:
    """What was drawn, in plain values."""
    facts: dict[str, Any] = {
        "base": plan.base.name,
        "k": plan.k,
        "n_objects": features.n_objects if rows is None else len(rows),
    }
    if plan.view.columns is not None:
        facts["columns"] = plan.view.columns.tolist()
    if plan.view.matrix is not None:
        facts["n_dims"] = int(plan.view.matrix.shape[1])
    return facts
