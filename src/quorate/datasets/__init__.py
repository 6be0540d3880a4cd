"""Synthetic data sets of the papers, seeded and of any size, and published data sets.

`load` reads published data sets from a folder or from OpenML.
"""

from quorate.datasets.files import DataSet, load, names
from quorate.datasets.synthetic import (
    cigar,
    eight_d_five_k,
    half_rings,
    spherical5,
    ten_gaussians,
    three_paths,
    three_rings,
    two_d_two_k,
    two_spirals,
)

__all__ = [
    "DataSet",
    "cigar",
    "eight_d_five_k",
    "half_rings",
    "load",
    "names",
    "spherical5",
    "ten_gaussians",
    "three_paths",
    "three_rings",
    "two_d_two_k",
    "two_spirals",
]
