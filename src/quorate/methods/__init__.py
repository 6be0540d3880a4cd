"""The consensus functions, one module each, and their register: the module `kmeans` makes METHODS["kmeans"].

A module of this package holds one public function named as the module, and its line of the register as METHOD.
"""

from importlib import import_module

from quorate._types import Method


class Register(dict[str, Method]):
    """The methods by name; those of the user are found by their names, too, but are not listed."""

    def __missing__(self, name: str) -> Method:
        return OWN[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in OWN


OWN: dict[str, Method] = {}
"""Functions of the user that were passed as methods in this process; see _solve/own_method.py."""

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

METHODS: dict[str, Method] = Register({name: import_module(f"quorate.methods.{name}").METHOD for name in NAMES})
