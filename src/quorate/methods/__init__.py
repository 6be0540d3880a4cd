"""The consensus functions, one file each, and their register."""

from quorate._types import Method
from quorate.methods import best, bisecting, eac, hne, kmeans, spectral

METHODS: dict[str, Method] = {
    "best": best.METHOD,
    "bisecting": bisecting.METHOD,
    "eac": eac.METHOD,
    "hne": hne.METHOD,
    "kmeans": kmeans.METHOD,
    "spectral": spectral.METHOD,
}
