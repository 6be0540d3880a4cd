"""Figure 8: the pixels of a photograph in three regions. The paper's is not printed; scikit-learn's stand in for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.ca_tree_pictures import photographs
from benchmarks.papers.ca_tree_sets import kmeans_ensemble
from benchmarks.papers.compare import Compared, compared_table, plain_table
from benchmarks.papers.paper import Experiment, grouped
from benchmarks.papers.records import Case, Record, Values
from benchmarks.speed.measure import seconds
from quorate import accuracy, as_ensemble, consensus

PRINTED = 0.979
STEP = 5
"""Every fifth pixel of every fifth line of a result is kept for the picture."""


def cases(quick: bool) -> list[Case]:
    names = ("flower",) if quick else ("china", "flower")
    return [{"picture": name, "repeat": repeat} for name in names for repeat in range(1 if quick else 10)]


def photograph(name: str) -> NDArray[np.uint8]:
    from sklearn.datasets import load_sample_image

    return np.asarray(load_sample_image(f"{name}.jpg"))


def areas(name: str, shape: tuple[int, int]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Two areas drawn by hand. flower: blossom and background. china: sky, and the trees along the lower rim."""
    row, column = np.indices(shape)
    if name == "flower":
        distance = np.hypot(column - 308, row - 222)
        return distance < 120, (distance > 155) & (row < 330)
    return (row < 130) & (column > 340), (row > 385) & (column < 280) | (row > 350) & (column > 590)


def measure(case: Case) -> Values:
    """H = 10, k in [3, 6], theta = 0.2, keep = 0.9, three regions; one in four pixels in a quick look."""
    picture = photograph(case["picture"])
    rng = np.random.default_rng([8, case["repeat"]])
    ensemble = kmeans_ensemble(picture.reshape(-1, 3).astype(np.float32), (3, 6), rng, n_members=10)
    spent, result = seconds(
        lambda: consensus(ensemble, 3, method="eac", coarsen={"theta": 0.2, "keep": 0.9}, random_state=0), 2
    )
    told = result.info["coarsen"]
    regions = result.labels.reshape(picture.shape[:2])
    values = {"seconds": spent, "distinct": told["n_distinct_rows"], "rows": told["n_rows"]}
    values |= {"two_classes": two_classes(case["picture"], regions), "matched": matched(case["picture"], regions)}
    single = [matched(case["picture"], as_regions(labels, picture.shape)) for labels in ensemble.labels.T]
    values["members"] = float(np.mean(single))
    if case["repeat"] == 0:
        values["regions"] = "".join(map(str, regions[::STEP, ::STEP].ravel()))
    return values


def as_regions(labels: NDArray[Any], shape: Sequence[int]) -> NDArray[Any]:
    return np.asarray(as_ensemble(labels).labels[:, 0].reshape(shape[:2]))


def two_classes(name: str, regions: NDArray[Any]) -> float:
    """Pixels of the first area in its most frequent region, and pixels of the second outside it."""
    first, second = areas(name, regions.shape)
    own = np.bincount(regions[first]).argmax()
    return float(np.mean(np.concatenate([regions[first] == own, regions[second] != own])))


def matched(name: str, regions: NDArray[Any]) -> float:
    """The paper's measure: one region for each area, the best such pairing."""
    first, second = areas(name, regions.shape)
    chosen = first | second
    return float(accuracy(regions[chosen], second[chosen].astype(np.int64)))


def rows_of(records: Sequence[Record]) -> list[Compared]:
    rows = []
    for (name,), found in grouped(records, "picture").items():
        rows.append(Compared(f"{name}, two classes", PRINTED, [r.values["two_classes"] for r in found], STAND_IN))
        rows.append(Compared(f"{name}, one region an area", PRINTED, [r.values["matched"] for r in found], STAND_IN))
    return rows


STAND_IN = "another photograph, areas drawn by us"


def page(records: list[Record], pictures: Path) -> str:
    drawn = []
    for record in records:
        if "regions" in record.values:
            drawn += _pair(record)
    if drawn:
        photographs(pictures / "ca_tree_image.png", drawn)
    cost = [
        (name, *(f"{np.median([r.values[w] for r in found]):,.{d}f}" for w, d in _COST))
        for (name,), found in grouped(records, "picture").items()
    ]
    return "\n\n".join(
        [
            "The paper's photograph (sky, road, greenery; 640 x 480) and its 1000 labelled pixels are not printed. "
            "Ours are the two pictures that come with scikit-learn, 427 x 640, and two areas of each drawn by us. RGB "
            "values, H = 10, k in [3, 6], theta = 0.2, keep = 0.9, three regions.",
            "![Photographs and their regions](images/ca_tree_image.png)",
            compared_table(rows_of(records)),
            plain_table(
                (
                    "",
                    "labels to labels, s",
                    "distinct rows",
                    "rows of the cut",
                    "a single k-means run, one region an area",
                ),
                cost,
            ),
        ]
    )


_COST = (("seconds", 2), ("distinct", 0), ("rows", 0), ("members", 3))


def _pair(record: Record) -> list[tuple[str, NDArray[Any]]]:
    """The photograph and its regions in their mean colours."""
    picture = photograph(record.case["picture"])[::STEP, ::STEP]
    regions = np.array(list(record.values["regions"]), dtype=int).reshape(picture.shape[:2])
    colours = np.array([picture[regions == region].mean(axis=0) for region in range(regions.max() + 1)]) / 255
    return [(record.case["picture"], picture), ("three regions", (colours**0.75)[regions])]


EXPERIMENT = Experiment("image", "Figure 8: the pixels of a photograph", cases, measure, page)
