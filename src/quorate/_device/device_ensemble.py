"""An ensemble whose labels live on a card; its labels in host memory are a copy that is made when first read."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from quorate._device.card import Card
from quorate._device.card_rows import content_order, extent
from quorate._device.choose import Kind
from quorate._types import Ensemble, EnsembleFields, FieldsBesideRows, Info, read_only

if TYPE_CHECKING:
    from typing_extensions import Unpack


class DeviceEnsemble(Ensemble):
    """An `Ensemble` on a card; made by `resident`.

    Functions that know the card use `card_labels` and `card_counts`. For all others it is an Ensemble like any other,
    whose `labels` and `counts` are copied to host memory when they are first read. `kind` is the library of the arrays
    that the caller gets back.
    """

    card_labels: Any
    card_counts: Any
    kind: Kind

    def __new__(cls, *values: Any, **named: Unpack[EnsembleFields]) -> Any:
        """Return a plain Ensemble: whoever gives arrays, as `dataclasses.replace` does, gives them in host memory."""
        return Ensemble(*values, **cast(Any, named))

    @property
    def n_rows(self) -> int:
        return int(self.card_labels.shape[0])

    @cached_property
    def n_objects(self) -> int:
        return self.n_rows if self.card_counts is None else int(self.card_counts.sum())

    @cached_property
    def has_missing(self) -> bool:
        return extent(self.card_labels)[0] < 0

    def __getattr__(self, name: str) -> Any:
        # called only for what is not there yet
        if name == "labels":
            self.__dict__[name] = read_only(self.card.to_host(self.card_labels))
        elif name == "counts":
            alone = self.card_counts is None
            self.__dict__[name] = read_only(
                np.ones(self.n_rows, np.int64) if alone else self.card.to_host(self.card_counts)
            )
        else:
            raise AttributeError(f"a DeviceEnsemble has no attribute {name!r}.")
        return self.__dict__[name]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as an Ensemble in host memory, because another process may have no card."""
        return _plain, tuple(getattr(self, entry.name) for entry in fields(Ensemble))

    def on_host(self) -> Any:
        """Return the same ensemble as a plain `Ensemble`, without its arrays on the card."""
        plain = _plain(*(getattr(self, entry.name) for entry in fields(Ensemble)))
        plain.remember(is_proven=True, is_distinct=self.is_distinct)
        return plain

    def counts_beside_rows(self) -> Any:
        """Return the counts as int64 on the card, ones if each row is one object."""
        xp = self.card.xp
        return xp.ones(self.n_rows, dtype=xp.int64) if self.card_counts is None else self.card_counts

    @cached_property
    def offsets_on_card(self) -> Any:
        """The offsets of the members' clusters, an int64 array on the card."""
        return self.card.xp.asarray(self.offsets)


def _plain(*values: Any) -> Ensemble:
    return Ensemble(*values)


def resident(card: Card, labels: Any, counts: Any, like: FieldsBesideRows, kind: Kind) -> DeviceEnsemble:
    """Make an ensemble of coded labels on a card.

    Parameters
    ----------
    card : Card
    labels : array on the card, of shape (n_rows, n_members)
    counts : int64 array on the card of shape (n_rows,), or None if each row is one object
    like : FieldsBesideRows
        The other fields of an Ensemble.
    kind : str
        The library of the arrays that the caller gets back.
    """
    ensemble: DeviceEnsemble = object.__new__(DeviceEnsemble)
    known = {"object_ids": None, "info": {}, "id_name": "id", **like}
    for name in ("n_clusters", "weights"):
        known[name] = read_only(np.asarray(known[name]))
    ensemble.__dict__.update(known, card=card, card_labels=labels, card_counts=counts, kind=kind)
    ensemble.remember(is_proven=True)
    return ensemble


def _beside_rows(ensemble: Any) -> FieldsBesideRows:
    """Return the fields of an ensemble that are not its rows."""
    return cast(FieldsBesideRows, {entry.name: getattr(ensemble, entry.name) for entry in fields(Ensemble)[2:]})


def varied(
    ensemble: DeviceEnsemble, *, labels: Any, counts: Any, **changes: Unpack[FieldsBesideRows]
) -> DeviceEnsemble:
    """Return an ensemble with other rows on the card, and with other fields if they are given."""
    return resident(ensemble.card, labels, counts, {**_beside_rows(ensemble), **changes}, ensemble.kind)


def taken(ensemble: Any, rows: NDArray[np.intp], counts: NDArray[np.int64]) -> Any:
    """Return some of the rows as a plain ensemble in host memory, with these counts."""
    labels = ensemble.card.to_host(ensemble.card_labels[ensemble.card.xp.asarray(rows)])
    part = Ensemble(labels=labels, counts=counts, **cast(Any, {**_beside_rows(ensemble), "object_ids": None}))
    part.remember(is_proven=True)
    return part


def divided_on_card(ensemble: Any, divisor: int) -> Any:
    """Return the ensemble with all counts divided by a number that divides them."""
    return varied(
        ensemble, labels=ensemble.card_labels, counts=ensemble.counts_beside_rows() // divisor, object_ids=None
    )


def reweighted_on_card(ensemble: Any, weights: NDArray[np.float64], info: Info) -> Any:
    """Return the ensemble with other member weights and facts."""
    return varied(ensemble, labels=ensemble.card_labels, counts=ensemble.card_counts, weights=weights, info=info)


def in_content_order_on_card(ensemble: Any) -> Any:
    """Return the same ensemble with its members sorted by their labels, as bytes, and then by their weights."""
    order = content_order(ensemble)
    labels = ensemble.card_labels if order == sorted(order) else _columns(ensemble, order)
    ordered = varied(
        ensemble,
        labels=labels,
        counts=ensemble.card_counts,
        n_clusters=ensemble.n_clusters[order],
        weights=ensemble.weights[order],
        member_names=tuple(ensemble.member_names[place] for place in order),
        categories=tuple(ensemble.categories[place] for place in order),
    )
    ordered.remember(is_distinct=ensemble.is_distinct)
    return ordered


def _columns(ensemble: Any, order: list[int]) -> Any:
    xp = ensemble.card.xp
    return xp.ascontiguousarray(ensemble.card_labels[:, xp.asarray(np.array(order))])


def upload(card: Card, ensemble: Ensemble, kind: Kind = "numpy") -> DeviceEnsemble:
    """Return a checked ensemble with its labels copied to the card; the copies in host memory are kept."""
    if isinstance(ensemble, DeviceEnsemble):
        return ensemble
    alone = ensemble.n_objects == ensemble.n_rows
    counts = None if alone else card.to_card(ensemble.counts)
    moved = resident(card, card.to_card(ensemble.labels), counts, _beside_rows(ensemble), kind)
    moved.__dict__.update(labels=ensemble.labels, counts=ensemble.counts)
    moved.remember(is_distinct=ensemble.is_distinct)
    return moved
