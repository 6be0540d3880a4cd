"""The consensus functions, one file each, and their register."""

from quorate._types import Method
from quorate.methods import best, bisecting, greedy, kmeans

METHODS: dict[str, Method] = {
    "best": best.METHOD,
    "bisecting": bisecting.METHOD,
    "greedy": greedy.METHOD,
    "kmeans": kmeans.METHOD,
}
