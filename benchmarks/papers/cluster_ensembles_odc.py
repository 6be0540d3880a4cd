"""Cluster Ensembles, Fig. 8: object-distributed clustering, its quality over the number of parts and its speed-up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.cluster_ensembles_data import (
    COLOURS,
    SETS,
    Data,
    Labels,
    average,
    axes,
    by_repeat,
    column,
    data_set,
    graph_clusters,
    save,
    supra,
)
from benchmarks.papers.compare import Compared, compared_table, plain_table, tally
from benchmarks.papers.paper import Experiment, grouped
from benchmarks.papers.records import Case, Record, Values
from quorate import as_ensemble, consensus, nmi

REPETITION = 2.0
"""The paper's v: parts hold v n objects in all."""
PARTS = (2, 4, 8, 16, 32, 48, 72)
PRINTED = {("2D2K", 16): 0.90, ("2D2K", 72): 0.80, ("YAHOO", 16): 0.80}
"""Shares of the full quality told in the text, in round figures; the rest of Fig. 8 is a picture."""
ROUND = 0.05


def cases(quick: bool) -> list[Case]:
    if quick:
        return [
            {"set": s, "parts": p, "graph": "full", "n": 600, "repeat": 0} for s in ("2D2K", "8D5K") for p in (4, 16)
        ]
    found: list[Case] = []
    for name, repeats in {"2D2K": 10, "8D5K": 10, "PENDIG": 5, "YAHOO": 5}.items():
        n = {"PENDIG": 7494, "YAHOO": 2340}.get(name, 1000)
        graph = "neighbours" if name == "PENDIG" else "full"  # all pairs of 7,494 objects take gigabytes in METIS
        found += [{"set": name, "parts": p, "graph": graph, "n": n, "repeat": r} for p in PARTS for r in range(repeats)]
    # the test of YAHOO's difference: parts cut into 20 clusters, and parts by the neighbour graph
    found += [{"set": "YAHOO", "parts": 16, "graph": "neighbours", "n": 2340, "repeat": r} for r in range(3)]
    found += [{"set": "YAHOO", "parts": 16, "graph": "full", "n": 2340, "base k": 20, "repeat": r} for r in range(3)]
    return by_repeat(found)


def parts_of(n: int, parts: int, rng: np.random.Generator) -> list[Labels]:
    """Each part its own n / p objects, filled up to v n / p with objects drawn from the others."""
    order = rng.permutation(n)
    found = []
    for own in np.array_split(order, parts):
        others = np.setdiff1d(order, own)
        extra = rng.choice(others, min(len(others), round(REPETITION * n / parts) - len(own)), replace=False)
        found.append(np.concatenate([own, extra]))
    return found


def members_of(data: Data, parts: list[Labels], seeds: list[int], graph: Any, k: int | None = None) -> Labels:
    """One member a part; objects outside the part are missing."""
    labels = np.full((len(data.y), len(parts)), -1)
    for place, (objects, seed) in enumerate(zip(parts, seeds, strict=True)):
        labels[objects, place] = graph_clusters(data, data.X[objects], seed, graph, k)
    return labels


def measure(case: Case) -> Values:
    data = data_set(case["set"], case["repeat"], case["n"])
    rng = np.random.default_rng([case["repeat"], case["parts"], 4])
    parts = parts_of(len(data.y), case["parts"], rng)
    seeds = [int(seed) for seed in rng.integers(2**31 - 1, size=len(parts) + 1)]
    labels = members_of(data, parts, seeds[:-1], case["graph"], case.get("base k"))
    found = supra(as_ensemble(labels, orientation="objects"), data.n_clusters, data.y, case["repeat"])
    full = nmi(graph_clusters(data, data.X, seeds[-1], case["graph"]), data.y)
    return found | {"full": full, "share": found["consensus"] / full}


def share(records: list[Record], name: str, parts: int, graph: str | None = None, k: int | None = None) -> list[float]:
    own = [r for r in records if r.case.get("base k") == k]
    graph = graph or ("neighbours" if name == "PENDIG" else "full")
    return column(own, "share", set=name, parts=parts, graph=graph)


def page(records: list[Record], pictures: Path) -> str:
    rows = []
    for (name, parts), printed in PRINTED.items():
        rows.append(
            Compared(
                f"{name}, p = {parts}", printed, share(records, name, parts), _why(records, name, parts), rounding=ROUND
            )
        )
    figure, panels = axes(1, 1)
    for name, colour, marker in zip(SETS, COLOURS, "osv^", strict=False):
        shares = {p: share(records, name, p) for p in PARTS}
        kept = {p: values for p, values in shares.items() if values}
        means, spread = [average(v) for v in kept.values()], [float(np.std(v)) for v in kept.values()]
        panels[0, 0].errorbar(
            list(kept), means, spread, color=colour, marker=marker, markersize=4, label=name, capsize=2
        )
    panels[0, 0].set(xlabel="parts p (v = 2)", ylabel="share of the full quality", ylim=(0, 1.1))
    panels[0, 0].legend(fontsize=8)
    picture = save(figure, pictures, "cluster-ensembles-odc", "Fig. 8: share of the full quality over the parts")
    lines = []
    for (name, parts, graph), found in grouped(
        [r for r in records if "base k" not in r.case], "set", "parts", "graph"
    ).items():
        values = [average([r.values[v] for r in found]) for v in ("full", "consensus", "share", "cspa", "hgpa", "mcla")]
        lines.append((name, parts, graph, len(found), *(f"{value:.3f}" for value in values)))
    head = ("set", "p", "graph", "repeats", "NMI of all at once", "consensus", "share", "cspa", "hgpa", "mcla")
    words = (
        "Each part has 2 n / p objects: its own n / p and others drawn at random; labels of all other objects are "
        "missing. The share is the NMI of the supra-consensus divided by that of clustering all objects at once. The "
        "text of the paper gives three rounded values, so half a unit of their last digit is five points."
    )
    return "\n\n".join([words, compared_table(rows, 2), tally(rows) + ".", picture, plain_table(head, lines)])


def _why(records: list[Record], name: str, parts: int) -> str:
    near, coarse = share(records, name, parts, "neighbours"), share(records, name, parts, k=20)
    if name != "YAHOO" or not near or not coarse:
        return ""
    return (
        f"parts by 40 neighbours: {average(near):.2f}; parts of 20 clusters: {average(coarse):.2f}; a part holds "
        f"{round(2 * 2340 / parts)} pages for 40 clusters"
    )


def speed_cases(quick: bool) -> list[Case]:
    n, parts, repeats = (800, (4, 16), 1) if quick else (3000, (2, 4, 8, 16, 32, 64), 2)
    return [{"n": n, "parts": p, "repeat": r} for p in parts for r in range(repeats)]


def speed(case: Case) -> Values:
    """Time of clustering all pairs of 2D2K at once over that of the parts one after the other with MCLA."""
    data = data_set("2D2K", case["repeat"], case["n"])
    rng = np.random.default_rng([case["repeat"], case["parts"], 5])
    parts = parts_of(len(data.y), case["parts"], rng)
    consensus([[0, 0, 1, 1], [0, 1, 1, 1]], 2, method="mcla", random_state=0)  # compiled before the clock runs
    graph_clusters(data, data.X[:100], 0)
    start = time.perf_counter()
    graph_clusters(data, data.X, 0)
    full = time.perf_counter() - start
    each = []
    labels = np.full((len(data.y), len(parts)), -1)
    for place, objects in enumerate(parts):
        start = time.perf_counter()
        labels[objects, place] = graph_clusters(data, data.X[objects], place)
        each.append(time.perf_counter() - start)
    start = time.perf_counter()
    found = consensus(as_ensemble(labels, orientation="objects"), 2, method="mcla", random_state=case["repeat"])
    merge = time.perf_counter() - start
    one_processor, many = full / (sum(each) + merge), full / (max(each) + merge)
    return {"one": one_processor, "many": many, "merge": merge / full, "nmi": nmi(found, data.y)}


def speed_page(records: list[Record], pictures: Path) -> str:
    one, many, lines = [], [], []
    for (parts,), found in grouped(records, "parts").items():
        one.append(
            Compared(
                f"p = {parts}, one processor", parts / 4, [r.values["one"] for r in found], points=0.01 * parts / 4
            )
        )
        values = [r.values["many"] for r in found]
        many.append(
            Compared(f"p = {parts}, p processors", parts**2 / 4, values, _many(found), points=0.01 * parts**2 / 4)
        )
        lines.append(
            (
                parts,
                f"{average([r.values['merge'] for r in found]):.2%}",
                f"{average([r.values['nmi'] for r in found]):.3f}",
            )
        )
    words = (
        "2D2K with 3,000 objects, all pairs compared, METIS, MCLA; times as ratios in one run: all objects at once "
        "over all parts one after the other and MCLA (one processor), or over the slowest part and MCLA (p processors, "
        "computed, not run side by side). Printed: p/v² and p²/v². A quarter of the figure counts as agreement; two "
        "repeats on a busy machine, so the deviations are large."
    )
    table = plain_table(("p", "time of MCLA over that of all at once", "NMI"), lines)
    return "\n\n".join([words, compared_table([*one, *many], 2), tally([*one, *many]) + ".", table])


def _many(records: list[Record]) -> str:
    return (
        f"the merge, {average([r.values['merge'] for r in records]):.1%} of the full time, bounds it" if records else ""
    )


ODC = Experiment("odc", "Fig. 8: members that see few objects (ODC)", cases, measure, page)
SPEED = Experiment("odc_speed", "Section 4.4: the speed-up of ODC", speed_cases, speed, speed_page)
