"""The consensus functions, one file each, and their register."""

from quorate._types import Method
from quorate.methods import best, bisecting, cspa, greedy, hbgf, hgpa, kmeans, mcla, supra

METHODS: dict[str, Method] = {
    "best": best.METHOD,
    "bisecting": bisecting.METHOD,
    "cspa": cspa.METHOD,
    "greedy": greedy.METHOD,
    "hbgf": hbgf.METHOD,
    "hgpa": hgpa.METHOD,
    "kmeans": kmeans.METHOD,
    "mcla": mcla.METHOD,
    "supra": supra.METHOD,
}
