"""Members of measurements in blocks: trained on samples, then all of them label one block after another."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._blocks.feature_array import BlockArray
from quorate._blocks.source import Block, Part, Source
from quorate._data.coding import narrowest
from quorate.generation.bases import as_bases, is_auto
from quorate.generation.features import WHOLE, Features, features_of
from quorate.generation.gathering import Gathering
from quorate.generation.kmeans import assign, train
from quorate.generation.members import Centres, Plan, facts_of_plan, facts_of_training
from quorate.generation.plans import Request, make_plans
from quorate.generation.row_samples import Share, as_rows
from quorate.generation.runner import Options
from quorate.generation.spectral import Embedded, train_and_label
from quorate.generation.stop import Stop
from quorate.generation.trial import Trial

Array = NDArray[Any]
Model = Centres | Embedded


class TrainedMembers(NamedTuple):
    """Models that label blocks, how they were made, and the features whose shift and scale they need."""

    models: list[Model]
    info: dict[str, Any]
    features: Features

    def labels(self, values: Array) -> Array:
        """Return the labels of all members for a block of measurements, of shape (n_rows, n_members)."""
        block = replace(self.features, data=values, ids=None)
        widest = max(len(model.centres) for model in self.models)
        labels = np.empty((len(values), len(self.models)), dtype=narrowest(widest))
        shared = [place for place, model in enumerate(self.models) if _sees_all(model)]
        if shared:
            centres = [self.models[place].centres for place in shared]
            labels[:, shared] = assign(block, (None, WHOLE), centres, Stop())
        for place in set(range(len(self.models))) - set(shared):
            labels[:, place] = self.models[place].labels(block)
        return labels


def _sees_all(model: Model) -> bool:
    """Whether this is a member of k-means on all columns; such members label a block together."""
    return isinstance(model, Centres) and model.view.is_whole


def train_members(array: BlockArray, names: tuple[str, ...] | None, request: Request, entropy: int) -> TrainedMembers:
    """Train all members as `generate` does, from the same draws, on samples that are read in a few passes."""
    features, method = features_of(array, names, None), None
    if is_auto(request.base):
        options = Options(None, False, "", None, keep_models=False)
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
            f"all in memory; use base='kmeans', 'spectral' or 'auto', or quorate.generate on a part of the objects."
        )
    rows = as_rows(request.rows)
    if not isinstance(rows, Share) or rows.share != 1:
        raise ValueError(f"rows must be 1.0 for measurements in blocks, got {request.rows!r}: members see all objects.")


def _train(features: Features, plan: Plan) -> tuple[Model, dict[str, Any]]:
    """Train one member; its labels of the objects are not computed."""
    rng, stop = np.random.default_rng(plan.seed), Stop()
    assert plan.k is not None
    facts = facts_of_plan(plan, None, features)
    if plan.base.is_kmeans:
        result = train(features, (None, plan.view), plan.k, rng, plan.base.source, stop)
        return Centres(result.centres, plan.view), {**facts, **facts_of_training(result)}
    model, _ = train_and_label(features, (None, plan.view), plan.k, rng, plan.base.source, stop)
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

    def _parts(self, most_rows: int) -> Any:
        trained = self.trained
        for piece in self._array.pieces:
            yield Part(piece.name, piece.file, partial(self._read, piece, trained))

    def _read(self, piece: Any, trained: TrainedMembers) -> Block:
        values, ids = piece.read()
        return Block(list(trained.labels(values).T), ids)
