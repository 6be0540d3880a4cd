"""The data sets of the comparison, how they are prepared, and which of them a choice was made on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import datasets

REAL = [
    "abalone", "breast_wisconsin", "breast_wisconsin_699", "cmc", "drybean", "ecoli", "glass", "higgs_10k",
    "house_votes", "house_votes_complete", "internet_ads_1966", "ionosphere", "iris", "isolet", "letter", "magic",
    "mfeat_fac", "mfeat_fou", "mfeat_kar", "mfeat_mor", "mfeat_pix", "mfeat_zer", "musk1", "musk2", "nursery",
    "nursery_ordinal", "optdigits_test", "optdigits_train", "pendigits", "pima", "poker_train", "satimage", "seeds",
    "segmentation", "sonar", "spambase", "synthetic_control", "user_knowledge", "wdbc", "wine", "yeast",
]  # fmt: skip
SHAPES = [
    "shape_" + name
    for name in (
        "2sp2glob 2spirals 3MC D31 R15 a1 a2 a3 aggregation atom banana cassini chainlink chameleon_t4_8k "
        "chameleon_t5_8k chameleon_t7_10k chameleon_t8_8k compound dartboard1 donut1 engytime flame graves_dense "
        "graves_line graves_parabolic graves_ring graves_zigzag hepta jain long1 longsquare lsun pathbased rings s1 s2 "
        "s3 s4 smile1 spiral spiralsquare target tetra twodiamonds unbalance wingnut"
    ).split()
]
TEXTS = [
    "text_" + name
    for name in "classic fbis hitech k1a k1b la1 la2 re0 tr11 tr12 tr23 tr31 tr41 tr45 wap".split()
]
LARGE = ["covertype", "kddcup99_10pct", "mnist", "shape_birch1", "shape_birch2", "shuttle", "skin"]
"""Sets of more than 50,000 objects."""
RAW = ["covertype_raw", "letter_raw", "mnist", "pendigits_raw"]
"""Sets whose published figures are of the features as they come; `mnist` is never scaled."""
SETS = sorted({*REAL, *SHAPES, *TEXTS, *LARGE, *RAW})
LEFT_OUT = {"shape_golfball": "it has one class only"}
"""Sets of the folder that are not used, and why."""

_DEVELOPMENT = sorted(
    [name for name in SHAPES if name != "shape_chameleon_t7_10k"]
    + "optdigits_test segmentation satimage mfeat_fac mfeat_zer wine iris seeds ecoli yeast wdbc".split()
)
"""The 56 sets of decision 11: shapes of at most 9,000 objects and 11 real sets."""
GROUPS = ("half A", "half B", "neither")
"""Half A: settings were chosen on it. Half B: it was looked at, nothing was chosen on it. Neither: not looked at."""


class Prepared(NamedTuple):
    """Features as the algorithms get them (CSR for texts), classes 0, 1, ... and the number of classes."""

    X: Any
    y: NDArray[np.int64]
    n_classes: int


def group_of(name: str) -> str:
    """The half of decision 11 that a set belongs to; its sets alternate in alphabetical order."""
    return GROUPS[_DEVELOPMENT.index(name) % 2] if name in _DEVELOPMENT else GROUPS[2]


def development_sets() -> list[str]:
    """The sets of both halves of decision 11."""
    return list(_DEVELOPMENT)


def prepared(name: str) -> Prepared:
    """Real measurements are z-normalised, texts weighted by tf-idf; shapes, pixels and `_raw` are as they come.

    A missing value is replaced by the mean of its column, before columns are scaled.
    """
    data = datasets.load(name.removesuffix("_raw"))
    y = np.unique(data.y, return_inverse=True)[1].astype(np.int64)
    X = data.X
    if name in TEXTS:
        X = _tf_idf(X)
    elif name in REAL or name in ("covertype", "kddcup99_10pct", "shuttle", "skin"):
        X = _z_normalised(X)
    return Prepared(X, y, int(y.max()) + 1)


def _tf_idf(counts: Any) -> Any:
    """Rows of length 1, so that Euclidean distances order documents as their cosines do."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer().fit_transform(counts).tocsr()


def _z_normalised(X: NDArray[Any]) -> NDArray[np.float64]:
    X = np.array(X, dtype=np.float64)
    if np.isnan(X).any():
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
