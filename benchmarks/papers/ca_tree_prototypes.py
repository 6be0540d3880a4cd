"""Figures 9 and 10: the CA-tree against prototype compression, with the known k and with the longest lifetime.

The rival keeps m prototypes of the features (a random sample, k-means centres, or medoids), clusters those many times,
finds their consensus, and gives every object the label of its nearest prototype. The paper compares accuracy at the
same number of representatives; it prints curves, not numbers, so ours stand alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from benchmarks.papers.ca_tree_nodes import THETAS
from benchmarks.papers.ca_tree_pictures import line, log_ticks, panels
from benchmarks.papers.ca_tree_sets import BY_NAME, ITERATIONS, SETS, VARIANTS, PaperSet, kmeans_ensemble
from benchmarks.papers.compare import plain_table
from benchmarks.papers.paper import Experiment, grouped
from benchmarks.papers.records import Case, Record, Values
from quorate import CATree, Ensemble, accuracy, ca_tree, compress, solve
from quorate.solvers.linkage.dendrogram import cut, lifetimes

TREES = ("tree", "tree, keep .9", "tree, counts", "tree, counts, keep .9")
RIVALS = ("random sample", "k-means", "k-medoids")
NUMBERS = (20, 50, 100, 200)
CHOICES = ("known", "lifetime")
"""How the final k is found: the number of classes, or the longest lifetime."""
ALL_CHOICES = (*CHOICES, "merged")
"""Also the longest lifetime after the first merge."""


def cases(quick: bool) -> list[Case]:
    names = ("Spherical5", "3Rings") if quick else [e.name for e in SETS + VARIANTS]
    return [{"set": name, "repeat": repeat} for name in names for repeat in range(1 if quick else 20)]


def numbers_for(entry: PaperSet) -> list[int]:
    """As many prototypes as the largest k at least: fewer cannot be clustered as the paper says."""
    return [m for m in NUMBERS if m >= entry.k[1]]


def measure(case: Case) -> Values:
    """Accuracy by choice of k, number of representatives and way to find them; the trees' numbers of nodes."""
    return {name: value for name, value in measure_all(case).items() if name != "merged"}


def measure_all(case: Case) -> dict[str, list[list[float]]]:
    """The same with all choices of k."""
    entry = BY_NAME[case["set"]]
    rng = np.random.default_rng([entry.base, case["repeat"]])
    X, y = entry.make(entry.base, rng)
    tree = ca_tree(kmeans_ensemble(X, entry.k, rng))
    values: dict[str, list[list[float]]] = {choice: [] for choice in (*ALL_CHOICES, "nodes")}
    for m in numbers_for(entry):
        found = [_by_tree(tree, m, name, entry) for name in TREES]
        found += [_by_prototypes(X, find(X, m, rng), entry, rng) for find in (sample, centres, medoids)]
        for place, choice in enumerate(ALL_CHOICES):
            values[choice].append([round(float(accuracy(labels[place], y)), 3) for labels in found])
        values["nodes"].append([_at(tree, m, keep)[1] for keep in (1.0, 0.9)])
    return values


Labels = list[NDArray[Any]]
"""One labelling for each of ALL_CHOICES."""


def _at(tree: CATree, m: int, keep: float) -> tuple[float, int]:
    """The theta whose number of nodes is nearest to m, and that number."""
    numbers = tree.curve(THETAS, keep=keep)[1]
    place = int(np.argmin(np.abs(np.log(numbers / m))))
    return float(THETAS[place]), int(numbers[place])


def _by_tree(tree: CATree, m: int, name: str, entry: PaperSet) -> Labels:
    keep = 0.9 if name.endswith("keep .9") else 1.0
    rows, inverse = tree.coarsen(_at(tree, m, keep)[0], keep=keep, weighted="counts" in name)
    return [labels[inverse] for labels in all_cuts(rows, entry.n_clusters)]


def _by_prototypes(X: NDArray[Any], prototypes: NDArray[Any], entry: PaperSet, rng: np.random.Generator) -> Labels:
    """Consensus of the prototypes alone, then the label of the nearest prototype."""
    rows, inverse = compress(kmeans_ensemble(prototypes, entry.k, rng))
    owner = inverse[cdist(X, prototypes).argmin(axis=1)]
    return [labels[owner] for labels in all_cuts(rows, entry.n_clusters)]


def all_cuts(rows: Ensemble, n_clusters: int) -> Labels:
    """Labels of the rows for each of ALL_CHOICES."""
    if rows.n_rows < 3:
        return [np.arange(rows.n_rows)] * len(ALL_CHOICES)
    tree = solve(rows, 2, method="eac", random_state=0).tree
    assert tree is not None
    # the paper's rule takes all lifetimes; the other stops one merge after all rows are apart
    spans = lifetimes(tree)[1:]
    numbers = (min(n_clusters, rows.n_rows), 2 + int(np.argmax(spans)), 2 + int(np.argmax(spans[:-1])))
    return [cut(tree, number) for number in numbers]


def sample(X: NDArray[Any], m: int, rng: np.random.Generator) -> NDArray[Any]:
    return X[rng.choice(len(X), size=m, replace=False)]


def centres(X: NDArray[Any], m: int, rng: np.random.Generator) -> NDArray[Any]:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seed = int(rng.integers(2**31))
        model = KMeans(m, init="random", n_init=1, max_iter=ITERATIONS, random_state=seed).fit(X)
    return model.cluster_centers_


def medoids(X: NDArray[Any], m: int, rng: np.random.Generator, sweeps: int = ITERATIONS) -> NDArray[Any]:
    """Voronoi iteration on at most 4000 objects: assign to the nearest medoid, move it to the object of least cost."""
    pool = X[rng.choice(len(X), size=min(len(X), 4000), replace=False)]
    distance = cdist(pool, pool)
    chosen = rng.choice(len(pool), size=m, replace=False)
    for _ in range(sweeps):
        owner = distance[:, chosen].argmin(axis=1)
        moved = chosen.copy()
        for cluster in range(m):
            members = np.flatnonzero(owner == cluster)
            if len(members):
                moved[cluster] = members[distance[np.ix_(members, members)].sum(axis=1).argmin()]
        if np.array_equal(moved, chosen):
            break
        chosen = moved
    return pool[chosen]


def table_of(records: Sequence[Record], choice: str) -> NDArray[np.float64]:
    """Mean accuracy of one set, (numbers of representatives, ways)."""
    return np.asarray(np.mean([r.values[choice] for r in records], axis=0))


def advantage(records: Sequence[Record], choice: str, way: str = "tree, keep .9") -> NDArray[np.float64]:
    """A tree's accuracy less that of the best rival, by number of representatives."""
    table = table_of(records, choice)
    return np.asarray(table[:, TREES.index(way)] - table[:, len(TREES) :].max(axis=1))


def page(records: list[Record], pictures: Path) -> str:
    by_set = {name: found for (name,), found in grouped(records, "set").items()}
    for choice in CHOICES:
        _draw(by_set, choice, pictures / f"ca_tree_prototypes_{choice}.png")
    repeats = max(map(len, by_set.values()))
    return "\n\n".join(
        [
            f"Mean accuracy of EAC-AL over {repeats} ensembles, H = 20, at about m representatives: the theta whose "
            'number of nodes is nearest to m. "Counts": nodes count as their objects; without it as one, as in the '
            "paper. k-medoids sees at most 4,000 objects.",
            "### Figure 9: known k",
            "![Accuracy over representatives](images/ca_tree_prototypes_known.png)",
            _table(by_set, "known"),
            "### Figure 10: k of the longest lifetime",
            "![Accuracy over representatives](images/ca_tree_prototypes_lifetime.png)",
            _table(by_set, "lifetime"),
            "### The tree with keep = 0.9 less the best of the three rivals, mean over m",
            _advantages(by_set),
            HALF_RINGS,
        ]
    )


SINGLES = (
    "The lifetime of as many clusters as there are nodes runs from height 0 to the first merge. Between core groups "
    "that may be one member in H; between the nodes of a cut it is longer, in many ensembles the longest of all, and "
    "every node stays a cluster of its own. Beside it, the longest of the other lifetimes:"
)

HALF_RINGS = (
    "On Half-rings the prototypes are better at some m where a node counts as one object, as in the paper. Two "
    "things were tested. Where nodes count as their objects the tree over all nodes leads at every m. With half "
    "the noise (thin) the tree with keep = 0.9 is at least as good as all rivals at every m. Both point to small "
    "nodes in the noise, which mislead average link where they count as much as large ones."
)


def _advantages(by_set: dict[str, list[Record]]) -> str:
    ways = ("tree, keep .9", "tree, counts, keep .9")
    rows = [
        (name, *(f"{advantage(found, choice, way).mean():+.3f}" for choice in CHOICES for way in ways))
        for name, found in by_set.items()
    ]
    return plain_table(("", "known k", "known k, counts", "lifetime", "lifetime, counts"), rows)


def _draw(by_set: dict[str, list[Record]], choice: str, path: Path) -> None:
    shown = (0, 1, 3, 4, 5, 6)

    def draw(axis: Any, name: str) -> None:
        table, numbers = table_of(by_set[name], choice), numbers_for(BY_NAME[name])
        for place, column in enumerate(shown):
            way = (TREES + RIVALS)[column]
            line(axis, place, numbers, table[:, column], way, linestyle="-" if column < len(TREES) else "--")
        axis.set_ylim(0.35 if choice == "known" else 0.0, 1.03)
        log_ticks(axis, "x", numbers)

    panels(path, list(by_set), draw, "representatives", "accuracy")


def _table(by_set: dict[str, list[Record]], choice: str) -> str:
    rows = []
    for name, found in by_set.items():
        nodes = np.mean([r.values["nodes"] for r in found], axis=0)
        for m, row, held in zip(numbers_for(BY_NAME[name]), table_of(found, choice), nodes, strict=True):
            cells = (f"**{value:.3f}**" if value >= row.max() - 0.0005 else f"{value:.3f}" for value in row)
            rows.append((name, m, *cells, f"{held[0]:.0f}, {held[1]:.0f}"))
    return plain_table(("", "m", *TREES, *RIVALS, "nodes, keep 1 and .9"), rows)


def lifetime_cases(quick: bool) -> list[Case]:
    names = ("Spherical5",) if quick else ("Spherical5", "Opt-digits", "Pen-digits")
    return [{"set": name, "repeat": repeat} for name in names for repeat in range(1 if quick else 10)]


def measure_lifetimes(case: Case) -> Values:
    found = measure_all(case)
    return {name: found[name] for name in ("lifetime", "merged")}


def page_lifetimes(records: list[Record], pictures: Path) -> str:
    rows = []
    for (name,), found in grouped(records, "set").items():
        both = [table_of(found, choice) for choice in ("lifetime", "merged")]
        for place, m in enumerate(numbers_for(BY_NAME[name])):
            cells = (f"{before:.3f}, {after:.3f}" for before, after in zip(both[0][place], both[1][place], strict=True))
            rows.append((name, m, *cells))
    return f"{SINGLES}\n\n" + plain_table(("all lifetimes, without the first", "m", *TREES, *RIVALS), rows) + LEFT


LEFT = (
    "\n\nIt raises nearly all accuracies on the digits. On Pen-digits the tree with keep = 0.9 stays behind the best "
    "rival even so; this is not explained."
)

EXPERIMENTS = (
    Experiment("prototypes", "Figures 9 and 10: against prototypes", cases, measure, page),
    Experiment("lifetimes", "Figure 10: which lifetimes count", lifetime_cases, measure_lifetimes, page_lifetimes),
)
