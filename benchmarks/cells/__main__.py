"""`python -m benchmarks.cells --data FOLDER [--seeds 5] [--page-only]`.

Measures the ARI with the known types on the cells of the folder, for what is not in results.jsonl yet, and writes the
table of the guide to single cells anew.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import quorate
from benchmarks.cells.made import REPORTED, made_cells
from quorate import datasets
from quorate.anndata import _expression, _views, cluster_cells

RESULTS = Path(__file__).parent / "results.jsonl"
PAGE = Path("docs/how-to/single-cells.md")
SETS = {
    "cells_dropseq": ("three cell lines, Drop-seq", "best .96, SC3 .77"),
    "cells_5cl_p1": ("five cell lines, CEL-seq2", "best .97"),
    "cells_yan": ("embryos (Yan)", "SC3 .65, with a number of its own"),
}
"""The sets, and the ARI that others print for them, with their own preparation of the data."""
HEAD = (
    "set", "cells", "types", "k-means, true number", "Louvain, its own number", "`cluster_cells`, true number",
    "number left out", "number found", "published ARI",
)  # fmt: skip
BEGIN, END = "<!-- figures of benchmarks.cells -->", "<!-- end of figures -->"
NEIGHBOURS, COMPONENTS = 15, 20
"""What Louvain and k-means get: links with so many neighbours on so many principal components."""
MADE = "made-up"
WAYS = ("k-means", "louvain", "cells", "cells auto")
"""In the order of the columns."""
Answer = tuple[Any, int]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cells", description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of data sets")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--page-only", action="store_true", help="write the table from what was measured")
    arguments = parser.parse_args()
    if not arguments.page_only:
        if arguments.data is None:
            parser.error("name the folder of data sets with --data")
        measure(arguments.data, arguments.seeds)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_table(text, read()), encoding="utf-8")


def read(path: Path = RESULTS) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def measure(home: Path, seeds: int) -> None:
    done = {(line["set"], line["what"], line["seed"]) for line in read()}
    for name in (name for name in datasets.names(home) if name.startswith("cells_")):
        data = datasets.load(name, home)
        _measure_set(name, data.X, data.y, range(seeds), done)
    for seed in REPORTED:
        _measure_set(f"{MADE} {seed}", *made_cells(seed), range(1), done)


def _measure_set(name: str, X: Any, truth: Any, seeds: range, done: set[tuple[str, str, int]]) -> None:
    number = len(np.unique(truth))
    view = _views(_expression(SimpleNamespace(X=X), None))[0][:, :COMPONENTS]
    ways: dict[str, Callable[[int], Answer]] = {
        "k-means": lambda seed: _kmeans(view, number, seed),
        "louvain": lambda seed: _louvain(view, seed),
        "cells": lambda seed: _cells(X, number, seed),
        "cells auto": lambda seed: _cells(X, None, seed),
    }
    for what, way in ways.items():
        for seed in (seed for seed in seeds if (name, what, seed) not in done):
            start = time.process_time()
            labels, found = way(seed)
            line = {
                "set": name, "what": what, "seed": seed, "cells": len(truth), "types": number,
                "ari": round(float(quorate.ari(labels, truth)), 4), "found": found,
                "seconds": round(time.process_time() - start, 2), "version": quorate.__version__,
            }  # fmt: skip
            print(line, flush=True)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def _kmeans(view: Any, number: int, seed: int) -> Answer:
    from sklearn.cluster import KMeans

    return KMeans(number, n_init=10, random_state=seed).fit_predict(view), number


def _louvain(view: Any, seed: int) -> Answer:
    """Communities of the graph of nearest neighbours, as single-cell packages find them, by networkx."""
    import networkx as nx
    from sklearn.neighbors import kneighbors_graph

    graph = nx.from_scipy_sparse_array(kneighbors_graph(view, min(NEIGHBOURS, len(view) - 1)))
    parts = nx.community.louvain_communities(graph, seed=seed)
    labels = np.empty(len(view), dtype=np.int64)
    for place, part in enumerate(parts):
        labels[list(part)] = place
    return labels, len(parts)


def _cells(X: Any, number: int | None, seed: int) -> Answer:
    import pandas as pd

    adata = SimpleNamespace(X=X, obs=pd.DataFrame(index=range(X.shape[0])), uns={}, layers={}, obsm={})
    result = cluster_cells(adata, number, random_state=seed)
    return result.labels, result.n_clusters


def with_table(text: str, lines: list[dict[str, Any]]) -> str:
    """Return the page with the table of what was measured."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{table(lines)}\n{END}{rest.split(END)[1]}"


def table(lines: list[dict[str, Any]]) -> str:
    rows = [HEAD, ("---",) * len(HEAD)]
    real = [line for line in lines if not line["set"].startswith(MADE)]
    for name in dict.fromkeys((*SETS, *(line["set"] for line in real))):
        own = {what: [x for x in real if x["set"] == name and x["what"] == what] for what in WAYS}
        if not all(own.values()):
            continue
        words, published = SETS.get(name, (name, ""))
        first = own["cells"][0]
        means = [f"{np.mean([line['ari'] for line in own[what]]):.3f}".lstrip("0") for what in WAYS]
        found = ", ".join(str(line["found"]) for line in own["cells auto"])
        rows.append((words, str(first["cells"]), str(first["types"]), *means, found, published))
    made = [line for line in lines if line["set"].startswith(MADE)]
    if made:
        rows.append(_made_row(made))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _made_row(lines: list[dict[str, Any]]) -> tuple[str, ...]:
    """The made-up sets in one row: mean ARI, and on how many of them the number is exact."""
    means = [f"{np.mean([line['ari'] for line in lines if line['what'] == what]):.3f}".lstrip("0") for what in WAYS]
    auto = [line for line in lines if line["what"] == "cells auto"]
    exact = sum(line["found"] == line["types"] for line in auto)
    cells, types = ([line[name] for line in auto] for name in ("cells", "types"))
    sizes = f"{min(cells)} to {max(cells)}", f"{min(types)} to {max(types)}"
    return f"{len(auto)} made-up sets", *sizes, *means, f"exact on {exact} of {len(auto)}", ""


if __name__ == "__main__":
    main()
