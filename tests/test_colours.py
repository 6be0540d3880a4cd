"""Colours of pictures: everyone can tell them apart, also without one kind of cone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quorate.plot import _axes

# Machado, Oliveira, Fernandes (2009), doi:10.1109/TVCG.2009.113: how linear RGB looks without one kind of cone
VISION = {
    "all cones": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def cielab(colours: list[str], vision: Any) -> np.ndarray:
    rgb = np.array([[int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)] for colour in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(vision).T, 0, 1) @ (XYZ / XYZ.sum(axis=1, keepdims=True)).T
    root = np.where(seen > 0.008856, np.cbrt(seen), 7.787 * seen + 16 / 116)
    return np.stack(
        [116 * root[:, 1] - 16, *(s * (root[:, a] - root[:, b]) for s, a, b in ((500, 0, 1), (200, 1, 2)))], 1
    )


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize(("n", "least"), [(7, 16), (14, 13)])
def test_everyone_can_tell_the_colours_apart(vision: str, n: int, least: float) -> None:
    places = cielab([_axes.MISSING, *_axes.colours(n)], VISION[vision])
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert apart[~np.eye(n + 1, dtype=bool)].min() > least


def test_colours_differ() -> None:
    assert len(set(_axes.colours(28))) == 28
    assert len(_axes.colours(60)) == 60
