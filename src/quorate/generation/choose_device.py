"""Features and the card on which members are made of them, as the option `device` asks for."""

from __future__ import annotations

from typing import Any

from quorate._device.card import Card
from quorate._device.choose import card_for
from quorate._device.device_arrays import kind_of, lives_on_card
from quorate.generation.device_features import features_on_card, moved_to_card
from quorate.generation.features import Features, as_features


def features_and_card(X: Any, device: str | None) -> tuple[Features, Card | None]:
    """Return the checked features, on the card if they live or fit there, and the card; None is the processor.

    X may be checked features already. Features that live on a card and are wanted on the processor are copied to host
    memory.
    """
    card = card_for("cuda" if device == "cpu" else device, X)
    if lives_on_card(X):
        assert card is not None, "an array on a card needs one"
        features = features_on_card(card, X, kind_of(X))
        return (features.on_host(), None) if device == "cpu" else (features, card)
    checked = X if isinstance(X, Features) else as_features(X)
    return (checked, None) if card is None else (moved_to_card(card, checked), card)
