"""Features on a card, and members that are trained on samples in host memory and label all objects on the card.

Training sees the same draws as on the processor and is the same code, so that the centres are the same; the card only
prepares the samples. Its work is what grows with the number of objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import narrowest
from quorate._device.card import C_TYPES, Card
from quorate._device.card_features import (
    CardFeatures,
    LandmarkModel,
    Seen,
    assign_on_card,
    column_facts_on_card,
    label_by_landmarks,
    prepared_rows,
)
from quorate._device.card_rows import code_columns_on_card
from quorate._device.choose import Kind, card_for, is_out_of_memory, kind_of, need_memory, on_card
from quorate._device.device_ensemble import DeviceEnsemble, resident
from quorate._types import FieldsBesideRows
from quorate.generation.features import (
    Features,
    Numbers,
    View,
    as_real,
    hole_message,
    refuse_empty,
    shift_and_scale,
)
from quorate.generation.gaussian import Gaussians, GaussianTables
from quorate.generation.kmeans import Trained, train
from quorate.generation.landmarks import Landmarks
from quorate.generation.members import Centres, Plan, facts_of_plan, facts_of_training, rows_of_plan, train_alone
from quorate.generation.runner import Options, tell_made
from quorate.generation.spectral import Embedded
from quorate.ops.threads import Stop, n_threads

ROOM = 0.6
"""The share of the card's free memory that features may take; the rest is for labels and work."""


@dataclass(frozen=True, eq=False)
class DeviceFeatures(Features):
    """Checked features whose `data` lie on a card; made by `features_on_card`."""

    card: Any = None
    kind: Kind = "numpy"

    @property
    def is_sparse(self) -> bool:
        return False

    def prepared(self, rows: slice | NDArray[np.intp], view: View) -> Any:
        """Return rows as float32 in host memory, shifted and scaled on the card."""
        seen, numbers, span = seen_by(self, view), None, (0, 0)
        if isinstance(rows, slice):
            span = rows.indices(self.n_objects)[:2]
        else:
            numbers = rows
        prepared = prepared_rows(
            CardFeatures(self.card, self.data, self.shift, self.scale), self.data, numbers, span, seen, across=False
        )
        return self.card.to_host(prepared)

    def raw(self, rows: Numbers, view: View) -> Any:
        """Return rows and columns in the user's units, copied to host memory."""
        return self.taken(rows).raw(None, view)

    def taken(self, rows: Numbers) -> Features:
        """Return some of the objects, or all, as features in host memory, shifted and scaled as all objects are."""
        if rows is None:
            return self.on_host()
        data = self.card.to_host(self.data[self.card.xp.asarray(rows)])
        return Features(data, self.shift, self.scale, self.names, None)

    def on_host(self) -> Features:
        """Return the same features in host memory."""
        return Features(self.card.to_host(self.data), self.shift, self.scale, self.names, self.ids)


def features_on_card(card: Card, X: Any, kind: Kind) -> DeviceFeatures:
    """Check features that live on the card: two dimensions, real and finite values."""
    data = on_card(X, card.xp)
    if data.ndim == 2 and data.dtype.name not in C_TYPES and data.dtype.kind in "fb":
        data = data.astype(np.float32 if data.dtype.kind == "f" else np.uint8)
    if data.ndim != 2 or data.dtype.name not in C_TYPES:
        as_real(np.empty(data.shape[:1] + (0,) * (data.ndim - 1), dtype=data.dtype))
        raise ValueError(f"X must hold real numbers, (n_objects, n_columns), got {data.dtype} of shape {data.shape}.")
    refuse_empty(data.shape)
    total, low, high = column_facts_on_card(card, data)
    if not np.isfinite(total).all():
        _refuse_holes(card, data)
        total = len(data) * (low / 2 + high / 2)
    shift, scale = shift_and_scale(total / len(data), low, high)
    return DeviceFeatures(data, shift, scale, card=card, kind=kind)


def _refuse_holes(card: Card, data: Any) -> None:
    if data.dtype.kind != "f":
        return
    xp = card.xp
    for start in range(0, len(data), 1 << 22):
        wrong = card.to_host(xp.argwhere(~xp.isfinite(data[start : start + (1 << 22)])))
        if len(wrong):
            row, column = start + int(wrong[0, 0]), int(wrong[0, 1])
            what = "NaN" if np.isnan(float(data[row, column])) else "infinity"
            raise ValueError(hole_message(what, str(column), row))


def moved_to_card(card: Card, features: Features) -> Features:
    """Return features with their data copied to the card if they fit there beside the labels.

    Otherwise they are returned as they are, and go through the card in blocks.
    """
    if features.is_sparse or isinstance(features, DeviceFeatures):
        return features
    if features.data.nbytes > ROOM * card.free_bytes():
        return features
    data = card.to_card(np.ascontiguousarray(features.data).view(np.ndarray))
    return DeviceFeatures(data, features.shift, features.scale, features.names, features.ids, card=card)


def seen_by(features: Features, view: View) -> Seen:
    """Return a view of the columns as the card's kernels take it."""
    columns = np.arange(features.n_columns) if view.columns is None else view.columns
    return Seen(columns.astype(np.int32), view.matrix)


def resident_features(X: Any, device: str | None) -> tuple[Features, Card | None]:
    """Return checked features of an array on a card, and the card; copied to host memory, and None, for "cpu"."""
    card = card_for("cuda" if device == "cpu" else device, X)
    assert card is not None, "an array on a card needs one"
    features = features_on_card(card, X, kind_of(X))
    return (features.on_host(), None) if device == "cpu" else (features, card)


ROWS_AT_ONCE = 1 << 18
"""The number of objects whose products of coordinates are held on a card at once."""

Done = tuple[Plan, dict[str, Any], Any]
"""A member that is labelled: its plan, its facts, and its model or None."""


def why_not(features: Features, plans: list[Plan], options: Options) -> str:
    """Return why these members cannot be made on a card; empty if they can."""
    foreign = next((plan.base.name for plan in plans if not plan.base.is_built_in), None)
    if foreign is not None:
        return f"{foreign} members are made by their own library"
    if features.is_sparse:
        return "X is sparse"
    return "members are stored in a checkpoint one by one" if options.checkpoint is not None else ""


def try_on_card(
    card: Card, features: Features, plans: list[Plan], options: Options, info: dict[str, Any]
) -> tuple[DeviceEnsemble, list[Any]] | str:
    """Do what `generate_on_card` does, or return the reason why the processor has to make the members.

    Too little memory on the card is such a reason if the caller asked for "auto"; otherwise it is an error.
    """
    reason = why_not(features, plans, options)
    if reason:
        return reason
    try:
        return generate_on_card(card, features, plans, options, info)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        if not options.or_processor:
            raise MemoryError(f"the card's memory does not suffice: {error}") from error
        return f"the card's memory does not suffice ({error})"


def generate_on_card(
    card: Card, features: Features, plans: list[Plan], options: Options, info: dict[str, Any]
) -> tuple[DeviceEnsemble, list[Any]]:
    """Make all members on the card and code their labels there; return the ensemble and the models, if kept."""
    n_objects, planned = features.n_objects, max(plan.k or 2 for plan in plans)
    dtype = narrowest(planned)
    need_memory(card, 2 * n_objects * len(plans) * dtype.itemsize, f"labels of {n_objects:,} objects")
    labels = card.xp.empty((n_objects, len(plans)), dtype=dtype)
    maker = _Maker(card, features, labels, options)
    finished: list[Done] = []
    for done in maker.members(plans):
        finished.append(done)
        tell_made(options, len(finished), len(plans))
    finished.sort(key=lambda done: done[0].number)
    told = {**info, "members": tuple(facts for _, facts, _ in finished), "device": card.name}
    return _coded(card, labels, features, told), [model for _, _, model in finished]


class _Maker:
    """Trains members on threads, and labels all objects by them on the card."""

    def __init__(self, card: Card, features: Features, labels: Any, options: Options) -> None:
        self._card, self._features, self._labels, self._options = card, features, labels, options
        self._rows = CardFeatures(card, features.data, features.shift, features.scale)
        self._stop = Stop()

    def members(self, plans: list[Plan]) -> Iterator[Done]:
        """Yield the members as they are finished: k-means members of one view together, all others one by one."""
        wanted = self._options.n_jobs
        n_workers = n_threads() if wanted is None or wanted < 1 else wanted
        with ThreadPoolExecutor(min(n_workers, len(plans))) as pool:
            try:
                kmeans = [plan for plan in plans if plan.base.is_kmeans]
                others = [plan for plan in plans if not plan.base.is_kmeans]
                trained = zip(kmeans, pool.map(self._train, kmeans), strict=True)
                models = zip(others, pool.map(self._train_alone, others), strict=True)
                yield from self._assigned(list(trained))
                for plan, (model, known) in models:
                    yield self._labelled(plan, model, known)
            except BaseException:
                self._stop.set()
                raise

    def _train(self, plan: Plan) -> Trained:
        assert plan.k is not None
        seen = rows_of_plan(self._features, plan), plan.view
        return train(self._features, seen, plan.k, np.random.default_rng(plan.seed), plan.base.source, self._stop)

    def _train_alone(self, plan: Plan) -> tuple[Embedded | Gaussians, Any]:
        return train_alone(self._features, plan, self._stop)

    def _assigned(self, trained: list[tuple[Plan, Trained]]) -> Iterator[Done]:
        """Label all objects by k-means members; members with the same view share a pass over X."""
        groups: dict[int, list[tuple[Plan, Trained]]] = {}
        for plan, result in trained:
            groups.setdefault(0 if plan.view.is_whole else id(plan.view), []).append((plan, result))
        for group in groups.values():
            view, centres = group[0][0].view, [result.centres for _, result in group]
            places = [plan.number for plan, _ in group]
            assign_on_card(self._rows, seen_by(self._features, view), centres, places, self._labels)
            for plan, result in group:
                self._hide_unseen(plan)
                facts = {
                    **facts_of_plan(plan, rows_of_plan(self._features, plan), self._features),
                    **facts_of_training(result),
                }
                yield plan, facts, Centres(result.centres, view) if self._options.keep_models else None

    def _labelled(self, plan: Plan, model: Embedded | Gaussians, known: Any) -> Done:
        """Label all objects by a member; `known` are labels that training has found already, or None."""
        if known is not None and plan.packed is None:
            self._labels[:, plan.number] = self._card.to_card(known.astype(self._labels.dtype))
        elif isinstance(model, Gaussians):
            self._label_by_mixture(plan, model)
        else:
            self._label_by_landmarks(plan, model)
        self._hide_unseen(plan)
        return (
            plan,
            {**facts_of_plan(plan, rows_of_plan(self._features, plan), self._features), **model.facts},
            model if self._options.keep_models else None,
        )

    def _label_by_mixture(self, plan: Plan, model: Gaussians) -> None:
        """Label all objects by a Gaussian member."""
        xp, seen = self._card.xp, seen_by(self._features, plan.view)
        tables = GaussianTables(*map(xp.asarray, model.tables))
        for start, end, data in self._rows.blocks():
            for first in range(0, end - start, ROWS_AT_ONCE):
                last = min(first + ROWS_AT_ONCE, end - start)
                rows = prepared_rows(self._rows, data, None, (first, last), seen, across=False)
                found = tables.likeliest(rows.astype(xp.float64))
                self._labels[start + first : start + last, plan.number] = found.astype(self._labels.dtype)

    def _label_by_landmarks(self, plan: Plan, model: Embedded) -> None:
        """Label all objects by a spectral member."""
        seen, landmarks = seen_by(self._features, plan.view), model.landmarks
        assert isinstance(landmarks, Landmarks), "X is dense"
        tables = model.width, model.table, model.centres
        parts = landmarks.points, landmarks.groups, landmarks.starts, landmarks.around, landmarks.neighbours
        on_card = LandmarkModel(*parts, *tables)
        if on_card.fits(seen.width) and seen.matrix is None:
            label_by_landmarks(self._rows, seen, on_card, plan.number, self._labels)
            return
        host = self._features.on_host() if isinstance(self._features, DeviceFeatures) else self._features
        self._labels[:, plan.number] = self._card.to_card(model.labels(host).astype(self._labels.dtype))

    def _hide_unseen(self, plan: Plan) -> None:
        """Mark the labels of objects that a member did not get as missing, unless they are to be filled in."""
        if plan.packed is None or plan.fill:
            return
        xp = self._card.xp
        seen = xp.unpackbits(xp.asarray(plan.packed))[: self._features.n_objects]
        column = self._labels[:, plan.number]
        self._labels[:, plan.number] = xp.where(seen > 0, column, xp.asarray(np.array(-1, dtype=column.dtype)))


def _coded(card: Card, labels: Any, features: Features, info: dict[str, Any]) -> DeviceEnsemble:
    """Code the labels by first appearance, in place, and make an ensemble of them."""
    coded = code_columns_on_card(card, labels, labels.dtype)
    assert coded is not None, "labels of members are small"
    codes, categories = coded
    narrow = narrowest(max(map(len, categories)))
    like: FieldsBesideRows = {
        "n_clusters": np.array([len(values) for values in categories], dtype=np.int64),
        "weights": np.ones(len(categories)),
        "member_names": tuple(f"member {place}" for place in range(len(categories))),
        "categories": tuple(categories),
        "object_ids": features.ids,
        "info": info,
    }
    kind = features.kind if isinstance(features, DeviceFeatures) else "numpy"
    return resident(card, codes if narrow == codes.dtype else codes.astype(narrow), None, like, kind)
