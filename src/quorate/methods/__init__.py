"""The consensus functions, one file each, and their register."""

from quorate._types import Method
from quorate.methods import (
    best,
    bisecting,
    cumulative,
    eac,
    ecc,
    hne,
    kcc,
    kmeans,
    kmodes,
    mixture,
    qmi,
    sec,
    spectral,
    voting,
)

METHODS: dict[str, Method] = {
    "best": best.METHOD,
    "bisecting": bisecting.METHOD,
    "cumulative": cumulative.METHOD,
    "eac": eac.METHOD,
    "ecc": ecc.METHOD,
    "hne": hne.METHOD,
    "kcc": kcc.METHOD,
    "kmeans": kmeans.METHOD,
    "kmodes": kmodes.METHOD,
    "mixture": mixture.METHOD,
    "qmi": qmi.METHOD,
    "sec": sec.METHOD,
    "spectral": spectral.METHOD,
    "voting": voting.METHOD,
}
