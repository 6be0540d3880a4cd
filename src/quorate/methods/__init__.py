"""The consensus functions, one module each, and their register: the module `kmeans` makes METHODS["kmeans"].

A module of this package holds one public function named as the module, and its line of the register as METHOD.
"""

from importlib import import_module

from quorate._types import Method

NAMES = (
    "best",
    "bisecting",
    "correlation",
    "cspa",
    "cumulative",
    "eac",
    "ecc",
    "ecpcs",
    "greedy",
    "hbgf",
    "hgpa",
    "hne",
    "kcc",
    "kmeans",
    "kmodes",
    "lwea",
    "lwgp",
    "mcla",
    "mixture",
    "qmi",
    "sec",
    "spectral",
    "supra",
    "transfer",
    "voting",
)
"""The modules that are methods, in the order in which they are listed everywhere. A new method is one line here."""

METHODS: dict[str, Method] = {name: import_module(f"quorate.methods.{name}").METHOD for name in NAMES}
