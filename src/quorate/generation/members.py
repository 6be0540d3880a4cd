"""Compute one member, or several that share a pass over X: from a plan to labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import narrowest
from quorate.generation.bases import Base, Clustered, cluster_by, coded
from quorate.generation.features import WHOLE, Features, Numbers, View
from quorate.generation.gaussian import Gaussian, Gaussians, train_gaussians
from quorate.generation.kmeans import Trained, assign, means_of_blocks, train
from quorate.generation.sampling import Packed, unpack
from quorate.generation.spectral import Embedded, train_and_label
from quorate.ops.threads import Stop

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything that was drawn for a member before any work: its objects and columns, its k, and its seed."""

    number: int
    base: Base
    k: int | None
    packed: Packed
    view: View
    fill: bool
    seed: np.random.SeedSequence
    shuffle: bool = False

    @property
    def shares_a_pass(self) -> bool:
        """Whether other members can be labelled in the same pass over X."""
        return self.base.is_kmeans and self.packed is None and self.view.is_whole


@dataclass(frozen=True, eq=False)
class Centres:
    """A model that labels new objects by the nearest of its centres, in the member's view of the columns."""

    centres: NDArray[np.float32]
    view: View

    @property
    def n_clusters(self) -> int:
        return len(self.centres)

    def labels(self, features: Features) -> Array:
        return assign(features, (None, self.view), [self.centres], Stop())[:, 0]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model that labels new objects with the clusterer's own `predict`.

    `codes` holds its labels in increasing order.
    """

    clusterer: Any
    codes: Array
    view: View

    def labels(self, features: Features) -> Array:
        predicted = np.asarray(self.clusterer.predict(features.raw(None, self.view)))
        place = np.minimum(np.searchsorted(self.codes, predicted), len(self.codes) - 1)
        return np.where(self.codes[place] == predicted, place, -1)


class Member(NamedTuple):
    """The labels of all objects, facts about the member, and a model that labels new objects.

    A label of -1 means that the member was made without the object or that the clusterer left it out.
    """

    number: int
    labels: Array
    facts: dict[str, Any]
    model: Centres | Embedded | Gaussians | Fitted | None


def run_members(features: Features, plans: list[Plan], keep_models: bool, stop: Stop) -> list[Member]:
    """Compute the members of these plans; several plans may be given only if they share a pass over X."""
    if len(plans) > 1 or plans[0].base.is_kmeans:
        return _built_in(features, plans, keep_models, stop)
    if plans[0].base.is_built_in:
        return [_alone(features, plans[0], keep_models, stop)]
    try:
        return [_foreign(features, plans[0], keep_models, stop)]
    except (ValueError, TypeError, MemoryError) as error:
        plan = plans[0]
        raise type(error)(f"member {plan.number} ({plan.base.name}) failed: {error}") from error


def _built_in(features: Features, plans: list[Plan], keep_models: bool, stop: Stop) -> list[Member]:
    """Compute members of the built-in k-means; all plans of a call have the same rows and columns."""
    rows, view = rows_of_plan(features, plans[0]), plans[0].view
    trained = []
    for plan in plans:
        rng = np.random.default_rng(plan.seed)
        assert plan.k is not None
        trained.append(train(features, (rows, view), plan.k, rng, plan.base.source, stop))
    labelled = None if plans[0].fill else rows
    labels = assign(features, (labelled, view), [result.centres for result in trained], stop)
    if labelled is not None:
        labels = _spread(features.n_objects, labelled, labels)
    return [
        Member(
            plan.number,
            labels[:, place],
            {**facts_of_plan(plan, rows, features), **facts_of_training(result)},
            Centres(result.centres, view) if keep_models else None,
        )
        for place, (plan, result) in enumerate(zip(plans, trained, strict=True))
    ]


def train_alone(features: Features, plan: Plan, stop: Stop) -> tuple[Embedded | Gaussians, Array | None]:
    """Train a spectral or a Gaussian member; return the model, and the labels of its objects if they were found too."""
    seen, rng = (rows_of_plan(features, plan), plan.view), np.random.default_rng(plan.seed)
    assert plan.k is not None
    if isinstance(plan.base.source, Gaussian):
        return train_gaussians(features, seen, plan.k, rng, plan.base.source, stop), None
    return train_and_label(features, seen, plan.k, rng, plan.base.source, stop)


def _alone(features: Features, plan: Plan, keep_models: bool, stop: Stop) -> Member:
    """Compute a spectral or a Gaussian member."""
    rows = rows_of_plan(features, plan)
    model, labels = train_alone(features, plan, stop)
    labelled = None if plan.fill else rows
    if labels is None or labelled is not rows:
        labels = model.labels(features, labelled, stop)
    if labelled is not None:
        labels = _spread(features.n_objects, labelled, labels[:, None])[:, 0]
    facts = {**facts_of_plan(plan, rows, features), **model.facts}
    return Member(plan.number, labels, facts, model if keep_models else None)


def facts_of_training(result: Trained) -> dict[str, Any]:
    return {
        "n_clusters": len(result.centres),
        "n_trained": result.n_sample,
        "n_iter": result.n_iter,
        "converged": result.converged,
    }


def run_sequence(features: Features, plans: list[Plan], keep_models: bool) -> Iterator[Member]:
    """Yield, in order, the members of a base whose members depend on one another; they are made from all of X."""
    base, rng = plans[0].base, np.random.default_rng(plans[0].seed)
    sequence = base.source.members(features.raw(None, WHOLE), [plan.k for plan in plans], rng)
    for plan, labels in zip(plans, sequence, strict=True):
        clustered = coded(labels, features.n_objects, base.name)
        yield _member(features, plan, None, clustered, keep_models, Stop())


def _foreign(features: Features, plan: Plan, keep_models: bool, stop: Stop) -> Member:
    rows = rows_of_plan(features, plan)
    X, rng = features.raw(rows, plan.view), np.random.default_rng(plan.seed)
    if plan.shuffle:
        order = rng.permutation(X.shape[0])
        shuffled = cluster_by(plan.base, X[order], plan.k, rng)
        codes = np.empty_like(shuffled.codes)
        codes[order] = shuffled.codes
        clustered = shuffled._replace(codes=codes)
    else:
        clustered = cluster_by(plan.base, X, plan.k, rng)
    return _member(features, plan, rows, clustered, keep_models, stop)


def _member(
    features: Features, plan: Plan, rows: Numbers, clustered: Clustered, keep_models: bool, stop: Stop
) -> Member:
    """Make a member from the clusters that a base other than the built-in k-means returned for its rows."""
    view = plan.view
    n_clusters = len(clustered.labels)
    if n_clusters == 0:
        raise ValueError("it labelled no object at all.")
    predicts, centres = hasattr(clustered.fitted, "predict"), None
    if (plan.fill and rows is not None) or (keep_models and not predicts):
        centres = Centres(_means(features, (rows, view), clustered.codes, n_clusters), view)
    labels = clustered.codes[:, None].astype(narrowest(n_clusters))
    if rows is not None:
        labels = _spread(features.n_objects, rows, labels)
        if plan.fill and centres is not None:
            _fill(features, rows, centres, labels, stop)
    model = Fitted(clustered.fitted, clustered.labels, view) if predicts else centres
    facts = {**facts_of_plan(plan, rows, features), "n_clusters": n_clusters}
    return Member(plan.number, labels[:, 0], facts, model if keep_models else None)


def _means(features: Features, seen: tuple[Numbers, View], codes: Array, n_clusters: int) -> NDArray[np.float32]:
    """Return the means of a clusterer's clusters, in prepared units."""
    width = seen[1].width(features.n_columns)
    blocks = ((block, codes[start:end]) for start, end, block in features.blocks(*seen))
    return means_of_blocks(blocks, n_clusters, width)[0]


def _fill(features: Features, rows: NDArray[np.intp], centres: Centres, labels: Array, stop: Stop) -> None:
    """Label the objects that the member was made without by the nearest centre."""
    unseen = np.delete(np.arange(features.n_objects), rows)
    labels[unseen] = assign(features, (unseen, centres.view), [centres.centres], stop)


def _spread(n_objects: int, rows: NDArray[np.intp], labels: Array) -> Array:
    """Return labels of all objects, given those of some rows; the labels of the others are missing."""
    spread = np.full((n_objects, labels.shape[1]), -1, dtype=labels.dtype)
    spread[rows] = labels
    return spread


def rows_of_plan(features: Features, plan: Plan) -> Numbers:
    """Return the numbers of the objects that a member gets, None for all."""
    return None if plan.packed is None else unpack(plan.packed, features.n_objects)


def facts_of_plan(plan: Plan, rows: Numbers, features: Features) -> dict[str, Any]:
    """Return what was drawn for a member, in plain values."""
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
