"""HNE: error rates of normalized edges beside eleven others, its co-association picture, and what it depends on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers import ca_hne_claims, ca_hne_pictures
from benchmarks.papers.ca_hne_sets import (
    SETS,
    SYNTHETIC,
    base_k,
    error,
    features,
    kmeans_labels,
    n_objects,
    spectral_errors,
    tree_labels,
)
from benchmarks.papers.compare import plain_table
from benchmarks.papers.paper import Experiment, Paper, grouped
from benchmarks.papers.records import Case, Record, Values
from quorate import as_ensemble, consensus, generate
from quorate.generation.clusterers.bagging import Boosting

MEMBERS, OTHERS = 30, 50
"""Members of an ensemble for normalized edges and for the other methods, as printed."""
THETA = 0.3
RUNS = 20
LABEL_METHODS: dict[str, dict[str, Any]] = {
    "CSPA": {"method": "cspa"},
    "HGPA": {"method": "hgpa"},
    "MCLA": {"method": "mcla"},
    "EAC-SL": {"method": "eac", "linkage": "single"},
    "EAC-AL": {"method": "eac"},
    "Latent-EM": {"method": "mixture"},
}
PICTURED = (*SYNTHETIC, "2-spirals, 1000")
QUICK_SETS = ("2-spirals", "complex image", "3-paths", "iris")


def members(name: str, number: int, k: int, seed: int) -> NDArray[Any]:
    """Labels of k-means members from random starts, a column each."""
    labels: NDArray[Any] = generate(features(name)[0], number, k=k, base="kmeans", random_state=seed, n_jobs=1).labels
    return labels


def found_error(name: str, labels: NDArray[Any], seed: int, n_clusters: int | None = -1, **options: Any) -> float:
    """Error of a method on an ensemble; -1 stands for the true number of clusters."""
    wanted = SETS[name].n_clusters if n_clusters == -1 else n_clusters
    return error(consensus(labels, wanted, random_state=seed, **options).labels, features(name)[1])


def error_cases(quick: bool) -> Sequence[Case]:
    names, runs = (QUICK_SETS, 1) if quick else (tuple(SETS), RUNS)
    return [{"set": name, "repeat": repeat} for name in names for repeat in range(runs)]


def errors(case: Case) -> Values:
    """Error rates of all methods in one run, "few" on members of the true k and "many" on those of `base_k`."""
    name, seed = case["set"], case["repeat"]
    X, y = features(name)
    k = SETS[name].n_clusters
    many, few = members(name, OTHERS, base_k(name), seed), members(name, OTHERS, k, seed)
    values = {"KM": error(kmeans_labels(X, k, seed), y)}
    values |= {"SL": error(tree_labels(name, "single"), y), "AL": error(tree_labels(name, "average"), y)}
    values["SC"], values["SC best"] = spectral_errors(name, seed)
    for title, options in LABEL_METHODS.items():
        for kind, labels in (("few", few), ("many", many)):
            values[f"{title} {kind}"] = found_error(name, labels, seed, **options)
    values["Boost-KM"] = boosted_error(name, seed)
    values["HNE"] = found_error(name, many[:, :MEMBERS], seed, method="hne", theta=THETA)
    return values


def boosted_error(name: str, seed: int) -> float:
    """Boosted members of the true k, joined by a vote weighted as they are."""
    X, y = features(name)
    k = SETS[name].n_clusters
    steps = list(Boosting().steps(X, [k] * OTHERS, np.random.default_rng(seed)))
    weights = np.maximum([step.vote for step in steps], 1e-9)
    ensemble = as_ensemble(np.column_stack([step.labels for step in steps]), weights=weights)
    return error(consensus(ensemble, k, method="voting", random_state=seed).labels, y)


def error_page(records: list[Record], pictures: Path) -> str:
    ca_hne_pictures.draw_partitions(pictures / "ca-hne-partitions.png")
    names = list(dict.fromkeys(r.case["set"] for r in records))
    runs = max(r.case["repeat"] for r in records) + 1
    means = ca_hne_claims.means_of(records)
    spreads = {key: float(np.std([r.values[key[1]] for r in found])) for key, found in _by_method(records).items()}
    rows = []
    for title in ca_hne_claims.ROWS:
        cells = [_cell(means, spreads, name, title) for name in names]
        rows.append((title, *cells))
    sizes = [f"{n_objects(name)}, {SETS[name].n_clusters}, {base_k(name)}" for name in names]
    return "\n\n".join(
        [
            f"Error rates as mean ± deviation of {runs} runs; noise objects are clustered but not counted. Values "
            f"within three points of the best are bold. There are {OTHERS} members, {MEMBERS} for HNE (theta = "
            f"{THETA}). Members have the true number of clusters (*few*) or the base k of the second row (*many*); in "
            "each run all methods get the same ensemble of each kind. Boost-KM has members of its own. SC chooses its "
            "width without the truth, *SC best* with it.",
            plain_table(("", *names), [("n, k, base k", *sizes), *rows]),
            "![partitions](images/ca-hne-partitions.png)",
            "Figure 2 of the paper: complex image and 3-paths as normalized edges cut them (run 0). Grey: noise.",
        ]
    )


def _by_method(records: Sequence[Record]) -> dict[tuple[str, str], list[Record]]:
    return {(name, title): found for (name,), found in grouped(records, "set").items() for title in ca_hne_claims.ROWS}


def _cell(means: Any, spreads: Any, name: str, title: str) -> str:
    mean = means[name, title]
    best = ca_hne_claims.best_error(means, name)
    text = f"{mean:.3f} ± {spreads[name, title]:.3f}"
    return f"**{text}**" if mean <= best + ca_hne_claims.NEAR and title != "SC best" else text


GRIDS: dict[str, tuple[float, ...]] = {
    "theta": (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8),
    "members": (5, 10, 20, 30, 50, 100),
    "base k": (0.5, 1.0, 1.5, 2.0, 3.0),
    "final k": (0, 1, 2, 3, 5, 10, 20),
}


def grid_cases(quick: bool) -> Sequence[Case]:
    names, runs = (("2-spirals", "3-paths"), 1) if quick else (tuple(SETS), 5)
    # run by run, so that a stopped measurement has as many runs of every set
    return [{"set": name, "what": what, "repeat": repeat} for repeat in range(runs) for name in names for what in GRIDS]


def grid(case: Case) -> Values:
    """Errors of normalized edges over one setting, the others as in the table; the settings stand in the names."""
    name, what, seed = case["set"], case["what"], case["repeat"]
    k, values = base_k(name), {}
    hne = {"method": "hne", "theta": THETA}
    if what == "base k":
        for factor in GRIDS[what]:
            few = max(2, round(factor * k))
            labels = members(name, OTHERS, min(few, len(features(name)[0]) - 1), seed)
            values[f"{factor}"] = found_error(name, labels[:, :MEMBERS], seed, **hne)
            values[f"EAC-AL {factor}"] = found_error(name, labels, seed, method="eac")
            values[f"EAC-SL {factor}"] = found_error(name, labels, seed, method="eac", linkage="single")
        return values
    labels = members(name, 100 if what == "members" else MEMBERS, k, seed)
    for setting in GRIDS[what]:
        if what == "theta":
            values[f"{setting}"] = found_error(name, labels, seed, method="hne", theta=setting)
        elif what == "members":
            values[f"{setting}"] = found_error(name, labels[:, : int(setting)], seed, **hne)
        else:
            result = consensus(labels, SETS[name].n_clusters + int(setting), random_state=seed, **hne).labels
            values[f"{setting}"] = error(result, features(name)[1])
            values[f"many to one {setting}"] = impurity(result, features(name)[1])
    return values


def impurity(labels: NDArray[Any], y: NDArray[Any]) -> float:
    """Error where each cluster stands for its most frequent class, however many clusters that takes."""
    known = y >= 0
    table = np.zeros((int(labels.max()) + 1, int(y.max()) + 1))
    np.add.at(table, (labels[known], y[known]), 1)
    return float(1.0 - table.max(axis=1).sum() / known.sum())


def grid_page(records: list[Record], pictures: Path) -> str:
    ca_hne_pictures.draw_grids(records, pictures / "ca-hne-sensitivity.png")
    parts = [
        "Mean error of normalized edges over one setting, the others as in the table above "
        f"({max(r.case['repeat'] for r in records) + 1} runs; base k as a multiple of that of the table; final k as "
        "what is added to the true number).",
        "![sensitivity](images/ca-hne-sensitivity.png)",
    ]
    for what in GRIDS:
        found = [r for r in records if r.case["what"] == what]
        if found:
            parts += [f"**{what}**", _grid_table(found, [f"{s}" for s in GRIDS[what]])]
        if what == "base k" and found:
            for other in ("EAC-AL", "EAC-SL"):
                parts += [f"**{what}, {other}**", _grid_table(found, [f"{other} {s}" for s in GRIDS[what]])]
        if what == "final k" and found:
            parts += [
                "**final k, every cluster counted for its most frequent class**",
                _grid_table(found, [f"many to one {s}" for s in GRIDS[what]]),
            ]
    return "\n\n".join(parts)


def _grid_table(records: Sequence[Record], keys: Sequence[str]) -> str:
    rows = [
        (name, *(f"{np.mean([r.values[key] for r in found]):.3f}" for key in keys))
        for (name,), found in grouped(records, "set").items()
    ]
    return plain_table(("set", *(key.split()[-1] for key in keys)), rows)


def matrix_cases(quick: bool) -> Sequence[Case]:
    names, runs = (("2-spirals",), 1) if quick else (PICTURED, RUNS)
    return [{"set": name, "repeat": repeat} for name in names for repeat in range(runs)]


def matrix(case: Case) -> Values:
    """What the paper sees in Figure 1, as numbers."""
    labels = members(case["set"], MEMBERS, base_k(case["set"]), case["repeat"])
    return ca_hne_pictures.matrix_facts(case["set"], labels, THETA)


def matrix_page(records: list[Record], pictures: Path) -> str:
    labels = members("2-spirals", MEMBERS, base_k("2-spirals"), 0)
    ca_hne_pictures.draw_matrices(labels, pictures / "ca-hne-co-association.png")
    rows = []
    for (name,), found in grouped(records, "set").items():
        rows.append((name, *(f"{np.mean([r.values[key] for r in found]):.3f}" for key in ca_hne_pictures.FACTS)))
    return "\n\n".join(
        [
            "![co-association](images/ca-hne-co-association.png)",
            f"The 2-spirals, objects along one spiral and then the other; {MEMBERS} members of 60 clusters, as "
            "printed. Similarity is 1 - distance / largest distance.",
            plain_table(("set", *ca_hne_pictures.FACTS.values()), rows),
        ]
    )


PAPER = Paper(
    name="ca_hne",
    title="Li, Yu, Hao, Li: Clustering ensembles based on normalized edges (2007)",
    introduction=(
        "The paper agglomerates the co-association graph by the number of edges divided by the number expected "
        "(`hne`). The text we have lacks its tables and figures: it names no data set except 2-spirals, complex image "
        "and 3-paths, and prints no error rate. So this page compares the claims in words with measured error rates. "
        "We chose the geometry of the synthetic sets; the real ones are those of the works from which the paper takes "
        "its sets."
    ),
    experiments=[
        Experiment("matrix", "Figure 1: the co-association matrix of the 2-spirals", matrix_cases, matrix, matrix_page),
        Experiment("errors", "Table 2: error rates", error_cases, errors, error_page),
        Experiment("sensitivity", "What normalized edges depend on", grid_cases, grid, grid_page),
    ],
    claims=ca_hne_claims.claims,
    notes=ca_hne_claims.NOTES,
)
