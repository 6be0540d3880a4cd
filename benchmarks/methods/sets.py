"""The data sets of the comparison, how they are prepared, and which half of them a choice may look at."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quorate import datasets

REAL = [
    "abalone", "breast_wisconsin", "cmc", "drybean", "ecoli", "glass", "house_votes_complete", "internet_ads_1966",
    "ionosphere", "iris", "isolet", "letter", "mfeat_fac", "mfeat_fou", "mfeat_kar", "mfeat_mor", "mfeat_pix",
    "mfeat_zer", "mnist", "musk1", "musk2", "optdigits_test", "optdigits_train", "pendigits", "pima", "satimage",
    "seeds", "segmentation", "sonar", "spambase", "synthetic_control", "user_knowledge", "wdbc", "wine", "yeast",
]  # fmt: skip
SHAPES = [
    "shape_2sp2glob", "shape_3MC", "shape_D31", "shape_R15", "shape_a1", "shape_a2", "shape_a3", "shape_aggregation",
    "shape_cassini", "shape_chameleon_t4_8k", "shape_compound", "shape_engytime", "shape_hepta", "shape_longsquare",
    "shape_lsun", "shape_pathbased", "shape_s1", "shape_s2", "shape_s3", "shape_s4", "shape_spiralsquare",
    "shape_target", "shape_tetra", "shape_twodiamonds", "shape_unbalance",
]  # fmt: skip
SETS = sorted(REAL + SHAPES)
HALVES = ("choice", "report")
MOST_OBJECTS = 10_000
"""Larger sets are sampled down to this many objects, except the few in WHOLE."""
WHOLE = ("drybean", "letter", "pendigits")


def half_of(name: str) -> str:
    """The half of a set: sets alternate in alphabetical order, the first belongs to the choice."""
    return HALVES[SETS.index(name) % 2]


def features(name: str) -> tuple[NDArray[np.float64], NDArray[np.intp], int]:
    """Features, classes and their number. Real measurements are z-normalised; shapes and pixels are not."""
    data = datasets.load(name)
    X, (_, y) = np.asarray(data.X, dtype=np.float64), np.unique(data.y, return_inverse=True)
    if len(X) > MOST_OBJECTS and name not in WHOLE:
        chosen = np.random.default_rng(0).choice(len(X), MOST_OBJECTS, replace=False)
        X, y = X[chosen], y[chosen]
    if name in REAL and name != "mnist":
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X, y.astype(np.intp), int(y.max()) + 1
