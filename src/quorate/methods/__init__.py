"""The consensus functions, one file each, and their register."""

from quorate._types import Method
from quorate.methods import best, bisecting, cumulative, ecc, kcc, kmeans, kmodes, mixture, qmi, sec, voting

METHODS: dict[str, Method] = {
    "best": best.METHOD,
    "bisecting": bisecting.METHOD,
    "cumulative": cumulative.METHOD,
    "ecc": ecc.METHOD,
    "kcc": kcc.METHOD,
    "kmeans": kmeans.METHOD,
    "kmodes": kmodes.METHOD,
    "mixture": mixture.METHOD,
    "qmi": qmi.METHOD,
    "sec": sec.METHOD,
    "voting": voting.METHOD,
}
