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
    "shape_2sp2glob", "shape_2spirals", "shape_3MC", "shape_D31", "shape_R15", "shape_a1", "shape_a2", "shape_a3",
    "shape_aggregation", "shape_atom", "shape_banana", "shape_cassini", "shape_chainlink", "shape_chameleon_t4_8k",
    "shape_chameleon_t5_8k", "shape_chameleon_t7_10k", "shape_chameleon_t8_8k", "shape_compound",
    "shape_dartboard1", "shape_donut1", "shape_engytime", "shape_flame", "shape_graves_dense", "shape_graves_line",
    "shape_graves_parabolic", "shape_graves_ring", "shape_graves_zigzag", "shape_hepta", "shape_jain",
    "shape_long1", "shape_longsquare", "shape_lsun", "shape_pathbased", "shape_rings", "shape_s1", "shape_s2",
    "shape_s3", "shape_s4", "shape_smile1", "shape_spiral", "shape_spiralsquare", "shape_target", "shape_tetra",
    "shape_twodiamonds", "shape_unbalance", "shape_wingnut",
]  # fmt: skip
TEXTS = [
    "text_classic", "text_fbis", "text_hitech", "text_k1a", "text_k1b", "text_la1", "text_la2", "text_re0",
    "text_tr11", "text_tr12", "text_tr23", "text_tr31", "text_tr41", "text_tr45", "text_wap",
]  # fmt: skip
LARGE = ["covertype", "kddcup99_10pct", "mnist", "shape_birch1", "shape_birch2", "shuttle", "skin"]
"""Sets of more than 50,000 objects."""
RAW = ["pendigits_raw", "letter_raw", "mnist", "covertype_raw"]
"""Sets whose published figures are of the features as they come; `mnist` is never scaled."""
SETS = sorted({*REAL, *SHAPES, *TEXTS, *LARGE, *RAW})
LEFT_OUT = {"shape_golfball": "it has one class only"}
"""Sets of the folder that are not used, and why."""

_REAL_OF_DECISION_11 = [
    "ecoli", "iris", "mfeat_fac", "mfeat_zer", "optdigits_test", "satimage", "seeds", "segmentation", "wdbc", "wine",
    "yeast",
]  # fmt: skip
_DEVELOPMENT = sorted({*SHAPES, *_REAL_OF_DECISION_11} - {"shape_chameleon_t7_10k"})
"""The 56 sets of decision 11: shapes of at most 9,000 objects and 11 real sets."""
GROUPS = ("half A", "half B", "neither")
"""Half A: settings were chosen on it. Half B: reported beside it, nothing was chosen on it. Neither: not part of it."""


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
