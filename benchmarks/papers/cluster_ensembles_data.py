"""The four data sets of Strehl & Ghosh (2002) and the graph partitioning they cluster them with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.data import load
from benchmarks.papers.records import Case, Record
from quorate import accuracy, anmi, as_ensemble, consensus, datasets, nmi
from quorate.generation.clusterers.portfolio import GraphPartitioning
from quorate.solvers.graphs.partition import partition_graph

Floats = NDArray[np.float64]
Labels = NDArray[Any]
Graph = Literal["full", "inverse", "neighbours"]
SETS = ("2D2K", "8D5K", "PENDIG", "YAHOO")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
"""Okabe and Ito's colours, which colour-blind readers can tell apart."""

SUPRA = ("cspa", "hgpa", "mcla")
"""The paper's supra-consensus chooses among its three functions."""


class Data(NamedTuple):
    """Objects, classes, the number of clusters asked for and the similarity, as in the paper's Table 2."""

    X: Floats
    y: NDArray[np.int64]
    n_clusters: int
    similarity: Literal["euclidean", "cosine"]


def data_set(name: str, repeat: int, n_objects: int | None = None) -> Data:
    """A set by the paper's name; synthetic ones are drawn anew each repeat, real ones sampled."""
    rng = np.random.default_rng([repeat, 1])
    if name == "2D2K":
        drawn = datasets.two_d_two_k(n_objects or 1000, random_state=rng)
        return Data(drawn.X, drawn.y, 2, "euclidean")
    if name == "8D5K":
        drawn = datasets.eight_d_five_k(n_objects or 1000, random_state=rng)
        return Data(drawn.X, drawn.y, 5, "euclidean")
    data = _yahoo() if name == "YAHOO" else _pendigits()
    if n_objects is None or n_objects >= len(data.y):
        return data
    kept = rng.choice(len(data.y), n_objects, replace=False)
    return data._replace(X=data.X[kept], y=data.y[kept])


@lru_cache(maxsize=1)
def _pendigits() -> Data:
    """The 7,494 training objects, coordinates 0 to 100 brought to [0, 1]."""
    X, y = load("pendigits")
    return Data(X[:7494] / 100, y[:7494], 10, "euclidean")


@lru_cache(maxsize=1)
def _yahoo() -> Data:
    """YAHOO is CLUTO's matrix k1a: the same 2,340 pages. Of its words those that occur 0.01 to 0.10 times a page."""
    if "text_k1a" not in datasets.names():
        raise FileNotFoundError("no data set 'text_k1a' in the folder that QUORATE_DATA names")
    counts, y, _ = datasets.load("text_k1a")
    frequency = np.asarray(counts.mean(axis=0)).ravel()
    kept = counts.tocsc()[:, np.flatnonzero((frequency >= 0.01) & (frequency <= 0.10))]
    return Data(kept.toarray().astype(np.float64), np.unique(y, return_inverse=True)[1], 40, "cosine")


def graph_clusters(data: Data, X: Floats, seed: int, graph: Graph = "full", k: int | None = None) -> Labels:
    """METIS on the graph of all similarities, as the paper has it, or on that of 40 nearest neighbours."""
    k = min(k or data.n_clusters, len(X))
    if graph == "neighbours":
        found = GraphPartitioning(k, similarity=data.similarity, n_neighbors=40, random_state=seed)
        return np.asarray(found.fit_predict(X))
    weights = _similarities(X, "cosine" if data.similarity == "cosine" else graph)
    np.fill_diagonal(weights, 0.0)
    starts, ends = np.nonzero(weights)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=len(X)))])
    return partition_graph(indptr, ends, weights[starts, ends], None, k, seed % (2**31 - 1), 0.05).labels


def _similarities(X: Floats, kind: str) -> Floats:
    """Cosine, exp(-d^2) ("full") or 1 / (1 + d) ("inverse"); exactly symmetric."""
    if kind == "cosine":
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        rows = X / np.where(lengths > 0, lengths, 1.0)
        products = rows @ rows.T
        return np.asarray((products + products.T) / 2)
    squares = np.einsum("nd,nd->n", X, X)
    products = X @ X.T
    distances = np.maximum(squares[:, None] + squares - products - products.T, 0.0)
    return np.asarray(np.exp(-distances) if kind == "full" else 1 / (1 + np.sqrt(distances)))


def supra(members: Any, n_clusters: int, y: Labels, seed: int) -> dict[str, Any]:
    """The answer with the highest ANMI of the three functions; NMI and ANMI of each."""
    ensemble = as_ensemble(members)
    answers = {name: consensus(ensemble, n_clusters, method=name, random_state=seed) for name in SUPRA}
    scores = {name: anmi(answer.labels, ensemble) for name, answer in answers.items()}
    winner = max(SUPRA, key=lambda name: scores[name])
    values: dict[str, Any] = {"consensus": nmi(answers[winner], y), "winner": winner, "anmi": scores[winner]}
    values["accuracy"] = accuracy(answers[winner], y)
    values |= {name: nmi(answers[name], y) for name in SUPRA}
    return values | {f"{name} anmi": scores[name] for name in SUPRA}


def column(records: Sequence[Record], value: str, **case: Any) -> list[float]:
    """One value of all records whose case holds these."""
    return [r.values[value] for r in records if value in r.values and matches(r.case, case)]


def by_repeat(cases: list[Case]) -> list[Case]:
    """The first repeat of everything first, so that a run that is cut off has measured all kinds of cases."""
    return sorted(cases, key=lambda case: int(case["repeat"]))


def matches(case: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(case.get(name) == value for name, value in wanted.items())


def average(values: Sequence[float]) -> float:
    """The mean; not a number where there is nothing."""
    return float(np.mean(values)) if len(values) else float("nan")


def share(flags: Sequence[bool]) -> float:
    """The share that is true; not a number where there is nothing."""
    return float(np.mean(flags)) if len(flags) else float("nan")


def axes(rows: int, columns: int, height: float = 3.4) -> tuple[Any, Any]:
    """A figure without a screen and its axes, always as a two-dimensional array."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False)


def save(figure: Any, pictures: Path, name: str, text: str) -> str:
    """Write a picture; the line of Markdown that shows it."""
    figure.savefig(pictures / f"{name}.png", dpi=100)
    return f"![{text}](images/{name}.png)"
