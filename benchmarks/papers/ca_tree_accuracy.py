"""Accuracy over theta, figure 6: all nodes or nine tenths of the objects, a node as one object or as its objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.ca_tree_nodes import QUICK, THETAS
from benchmarks.papers.ca_tree_pictures import line, panels
from benchmarks.papers.ca_tree_sets import BY_NAME, SETS, VARIANTS, average_link, kmeans_ensemble
from benchmarks.papers.compare import plain_table
from benchmarks.papers.paper import Experiment, grouped
from benchmarks.papers.records import Case, Record, Values
from quorate import accuracy, ca_tree

FORMS = ("plain", "plain_kept", "counted", "counted_kept")
"""A node counts as one object (the paper's form) or as its objects; all nodes or keep = 0.9."""

REPEATS = {"Opt-digits": 10, "Pen-digits": 6}
"""Average link on all core groups of these takes a good part of a minute for an ensemble."""


def cases(quick: bool) -> list[Case]:
    if quick:
        return [{"set": name, "repeat": 0} for name in QUICK]
    return [{"set": e.name, "repeat": r} for e in SETS + VARIANTS for r in range(REPEATS.get(e.name, 20))]


def measure(case: Case) -> Values:
    """Accuracy of EAC-AL with the known k at every theta, in four forms."""
    entry = BY_NAME[case["set"]]
    rng = np.random.default_rng([entry.base, case["repeat"]])
    X, y = entry.make(entry.base, rng)
    tree = ca_tree(kmeans_ensemble(X, entry.k, rng))
    values: dict[str, list[float]] = {form: [] for form in FORMS}
    for theta in THETAS:
        for form, found in values.items():
            keep = 0.9 if form.endswith("kept") else 1.0
            rows, inverse = tree.coarsen(theta, keep=keep, weighted=form.startswith("counted"))
            found.append(round(float(accuracy(average_link(rows, entry.n_clusters)[inverse], y)), 3))
    return values


def mean_curves(records: Sequence[Record]) -> dict[str, NDArray[np.float64]]:
    """The mean over ensembles by form."""
    return {form: np.mean([r.values[form] for r in records], axis=0) for form in FORMS}


def page(records: list[Record], pictures: Path) -> str:
    by_set = {name: mean_curves(found) for (name,), found in grouped(records, "set").items()}
    repeats = max(len(found) for found in grouped(records, "set").values())

    def draw(axis: Any, name: str) -> None:
        for place, (form, label) in enumerate(
            zip(FORMS, ("one each", "one each, keep .9", "counts", "counts, keep .9"), strict=True)
        ):
            line(axis, place, THETAS, by_set[name][form], label, linestyle="--" if place % 2 else "-")
        axis.set_ylim(0.35, 1.03)
        axis.axhline(0.9 * by_set[name]["plain"][0], color="grey", linestyle=":", linewidth=1)

    panels(pictures / "ca_tree_accuracy.png", list(by_set), draw, "theta / H", "accuracy")
    return "\n\n".join(
        [
            f"EAC with average link, known k, mean of {repeats} ensembles of 20 members (Opt-digits 10, Pen-digits 6). "
            "A node counts as one object, as in the paper, or as its objects, the library's default (in brackets). "
            "The paper prints curves, no numbers.",
            "![Accuracy over theta](images/ca_tree_accuracy.png)",
            "*Figure 6. Dotted: nine tenths of the accuracy at theta = 0.*",
            _table(by_set),
        ]
    )


def _table(by_set: dict[str, dict[str, NDArray[np.float64]]]) -> str:
    settings = (("theta 0", 0, ""), (".4", 8, ""), (".5", 10, ""), (".95", 19, ""), (".2, keep .9", 4, "_kept"))
    settings += ((".5, keep .9", 10, "_kept"),)
    rows = []
    for name, found in by_set.items():
        cells = [
            f"{found['plain' + kept][place]:.3f} ({found['counted' + kept][place]:.3f})" for _, place, kept in settings
        ]
        rows.append((name, *cells, f"{loss(found):.2f} ({loss(found, 'counted'):.2f})"))
    return plain_table(("", *(name for name, _, _ in settings), "Q(.5) / Q(0)"), rows)


def loss(found: dict[str, NDArray[np.float64]], form: str = "plain", place: int = 10) -> float:
    """Accuracy at a theta over that at 0."""
    return float(found[form][place] / found[form.removesuffix("_kept")][0])


EXPERIMENT = Experiment("accuracy", "Figure 6: accuracy over theta", cases, measure, page)
