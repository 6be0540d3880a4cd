"""How many nodes a cut leaves: figures 5, 7 and 11, tables III and IV, and what stops k-means has to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.ca_tree_pictures import line, log_ticks, panels, single
from benchmarks.papers.ca_tree_sets import BY_NAME, ITERATIONS, SETS, VARIANTS, PaperSet, kmeans_ensemble
from benchmarks.papers.compare import RULE, Compared, compared_table, plain_table, tally
from benchmarks.papers.paper import Experiment, grouped
from benchmarks.papers.records import Case, Record, Values
from quorate import ca_tree

THETAS = np.arange(20) / 20
TABLE = slice(0, 13, 2)
"""Where in THETAS the printed 0, .1, ..., .6 stand."""
CONVERGED = 300
QUICK = ("Spherical5", "3Rings", "8d5k")
REAL = ("Opt-digits", "Pen-digits")


def node_cases(quick: bool) -> list[Case]:
    if quick:
        return [{"set": name, "sweeps": ITERATIONS, "repeat": repeat} for name in QUICK for repeat in range(2)]
    short = [{"set": e.name, "sweeps": ITERATIONS, "repeat": r} for e in SETS + VARIANTS for r in range(20)]
    return short + [{"set": e.name, "sweeps": CONVERGED, "repeat": r} for e in SETS for r in range(8)]


def measure_nodes(case: Case) -> Values:
    """N_Z for each size of the set: all nodes, and those that hold nine tenths of the objects."""
    entry, whole, kept = BY_NAME[case["set"]], [], []
    for n in entry.sizes:
        rng = np.random.default_rng([n, case["repeat"]])
        tree = ca_tree(kmeans_ensemble(entry.make(n, rng)[0], entry.k, rng, max_iter=case["sweeps"]))
        whole.append(tree.curve(THETAS)[1])
        kept.append(tree.curve(THETAS, keep=0.9)[1])
    return {"nodes": np.array(whole), "kept": np.array(kept)}


def curves(records: Sequence[Record], name: str, sweeps: int = ITERATIONS) -> NDArray[np.float64]:
    """(repeats, keep = 1 and 0.9, sizes, thetas) of one set; no repeats where it was not measured."""
    found = [r.values for r in records if r.case["set"] == name and r.case["sweeps"] == sweeps]
    return np.array([[v["nodes"], v["kept"]] for v in found], dtype=float).reshape(-1, 2, 5, len(THETAS))


def slopes(entry: PaperSet, found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Growth rates beta, (repeats, 2, thetas): N_Z as n to the power of beta, fitted in each repeat."""
    if not len(found):
        return np.empty((0, 2, len(THETAS)))
    flat = np.log(found).transpose(2, 0, 1, 3).reshape(5, -1)
    return np.polyfit(np.log(entry.sizes), flat, 1)[0].reshape(len(found), 2, -1)


def minimal_ratios(entry: PaperSet, found: NDArray[np.float64]) -> NDArray[np.float64]:
    """N_Z(0.9) / N_Z of each repeat where the curve of means is lowest, at the paper's number of objects."""
    if not len(found):
        return np.empty(0)
    at_base = found[:, :, entry.sizes.index(entry.base)]
    mean = at_base.mean(axis=0)
    place = int(np.argmin(mean[1] / mean[0]))
    return np.asarray(at_base[:, 1, place] / at_base[:, 0, place])


def beta_rows(records: Sequence[Record], entries: Sequence[PaperSet], sweeps: int = ITERATIONS) -> list[Compared]:
    rows = []
    for entry in entries:
        found = slopes(entry, curves(records, entry.name, sweeps))
        for place, (keep, printed) in enumerate((("", entry.beta), (", keep .9", entry.beta_kept))):
            for column, figure in enumerate(printed):
                what = f"{entry.name}{keep}, theta .{column}" if column else f"{entry.name}{keep}, theta 0"
                values = found[:, place, 2 * column]
                rows.append(Compared(what, figure, values, _why(what), higher=None, rounding=0.005, runs=RUNS))
    return rows


def _why(what: str) -> str:
    """Four of the sets are known by a picture or by their name."""
    if what.startswith("Spherical5"):
        return "the set is known by its picture: how dense it is towards the rim is our guess"
    if what.startswith("8d5k"):
        return "means and deviations of the paper's file are not printed: another draw"
    if what.endswith("digits") or "digits" in what:
        return ""
    return "the set is known by its picture: see the other guess below"


RUNS = 20
"""The ensembles behind each printed figure."""


def page_nodes(records: list[Record], pictures: Path) -> str:
    _draw(records, pictures)
    measured = [e for e in SETS if len(curves(records, e.name))]
    rows = beta_rows(records, measured)
    differing = [row for row in rows if row.verdict == "differs"]
    repeats = max((len(curves(records, e.name)) for e in measured), default=0)
    return "\n\n".join(
        [
            f"{repeats} ensembles of 20 k-means runs for each set and number of objects. N_Z(theta) is the number of "
            "nodes of a cut, beta its growth rate: N_Z ~ n^beta. ± is the deviation between ensembles.",
            "![N_Z / n over theta](images/ca_tree_nodes.png)",
            "*Figure 5: nodes as a share of the objects, all nodes and those that hold nine tenths of the objects.*",
            "![N_Z over n](images/ca_tree_growth.png)",
            "*Figure 7: nodes over objects, both axes logarithmic.*",
            "### Tables III and IV: growth rates\n\n" + _beta_table(records, measured),
            f"{RULE} {tally(rows)}; those that differ:",
            compared_table(differing),
            "### Minimal ratio and N_Z at theta = 10\n\n" + compared_table(ratio_rows(records)),
            "![Ratio of kept nodes](images/ca_tree_ratio.png)",
            "*Figure 11: nodes that hold nine tenths of the objects, as a share of all nodes.*",
            "### Other guesses, other stops\n\n" + _causes(records),
        ]
    )


def ratio_rows(records: Sequence[Record], entries: Sequence[PaperSet] = SETS) -> list[Compared]:
    rows = []
    for entry in entries:
        found = curves(records, entry.name)
        ratios = minimal_ratios(entry, found)
        what, why = f"{entry.name}, minimal ratio", _why(entry.name)
        rows.append(Compared(what, entry.ratio, ratios, why, higher=None, runs=RUNS))
        if entry.nodes_at_half:
            half = found[:, 0, entry.sizes.index(entry.base), 10]
            # a number of nodes, not a share: a hundredth of it
            points = 0.01 * entry.nodes_at_half
            what = f"{entry.name}, N_Z at 10"
            rows.append(Compared(what, entry.nodes_at_half, half, higher=None, points=points, rounding=0.5, runs=RUNS))
    return [replace(row, why="") if row.verdict == "agrees" else row for row in rows]


def _beta_table(records: Sequence[Record], entries: Sequence[PaperSet]) -> str:
    lines = []
    for entry in entries:
        found = slopes(entry, curves(records, entry.name))[:, :, TABLE]
        for place, (keep, printed) in enumerate((("1", entry.beta), (".9", entry.beta_kept))):
            ours = found[:, place].mean(axis=0)
            lines.append((entry.name, keep, "paper", *(f"{value:.2f}" for value in printed)))
            lines.append(("", "", "ours", *(f"{value:.2f}" for value in ours)))
    return plain_table(("", "keep", "", "theta 0", ".1", ".2", ".3", ".4", ".5", ".6"), lines)


def _causes(records: Sequence[Record]) -> str:
    lines = []
    for entry in SETS + VARIANTS:
        for sweeps in (ITERATIONS, CONVERGED):
            found = curves(records, entry.name, sweeps)
            if len(found):
                lines.append(_distance_row(entry, sweeps, found))
    head = ("", "sweeps at most", "mean difference of beta", "largest", "minimal ratio (paper)", "N_Z at 10 (paper)")
    return (
        "How far the growth rates are from the 14 printed ones of a set, with k-means stopped after 20 sweeps or run "
        "to convergence (8 ensembles), and for two other guesses at the geometry:\n\n" + plain_table(head, lines)
    )


def _distance_row(entry: PaperSet, sweeps: int, found: NDArray[np.float64]) -> tuple[str, ...]:
    ours = slopes(entry, found).mean(axis=0)[:, TABLE]
    away = np.abs(ours - np.array([entry.beta, entry.beta_kept]))
    half = found[:, 0, entry.sizes.index(entry.base), 10].mean()
    printed = f" ({entry.nodes_at_half})" if entry.nodes_at_half else ""
    ratio = f"{minimal_ratios(entry, found).mean():.3f} ({entry.ratio:.3f})"
    return entry.name, str(sweeps), f"{away.mean():.3f}", f"{away.max():.2f}", ratio, f"{half:.0f}{printed}"


def _draw(records: list[Record], pictures: Path) -> None:
    names = [e.name for e in SETS if len(curves(records, e.name))]
    if not names:
        return

    def shares(axis: Any, name: str) -> None:
        entry = BY_NAME[name]
        mean = curves(records, name).mean(axis=0)[:, entry.sizes.index(entry.base)] / entry.base
        line(axis, 0, THETAS, mean[0], "all nodes")
        line(axis, 1, THETAS, mean[1], "keep .9")
        log_ticks(axis, "y")

    def growth(axis: Any, name: str) -> None:
        mean = curves(records, name).mean(axis=0)[0]
        for place, theta in enumerate((0, 4, 8, 12)):
            line(axis, place, BY_NAME[name].sizes, mean[:, theta], f"theta {THETAS[theta]:g}")
        log_ticks(axis, "x", BY_NAME[name].sizes[::2])
        log_ticks(axis, "y")

    def ratios(axis: Any) -> None:
        for place, name in enumerate(names):
            entry = BY_NAME[name]
            mean = curves(records, name).mean(axis=0)[:, entry.sizes.index(entry.base)]
            line(axis, place, THETAS, mean[1] / mean[0], name)
        axis.axhline(0.5, color="grey", linestyle="--", linewidth=1)

    panels(pictures / "ca_tree_nodes.png", names, shares, "theta / H", "N_Z / n")
    panels(pictures / "ca_tree_growth.png", names, growth, "n", "N_Z")
    single(pictures / "ca_tree_ratio.png", ratios, "theta / H", "N_Z(keep .9) / N_Z")


def radius_cases(quick: bool) -> list[Case]:
    names = QUICK if quick else [e.name for e in SETS]
    return [{"set": name, "repeat": repeat} for name in names for repeat in range(1 if quick else 5)]


def measure_radii(case: Case) -> Values:
    """N_Z with sizes estimated from 32 descendants, and with exact radii."""
    entry = BY_NAME[case["set"]]
    rng = np.random.default_rng([entry.base, case["repeat"]])
    ensemble = kmeans_ensemble(entry.make(entry.base, rng)[0], entry.k, rng)
    return {
        "estimated": ca_tree(ensemble).curve(THETAS)[1],
        "exact": ca_tree(ensemble, n_des=None).curve(THETAS)[1],
    }


def excess(records: Sequence[Record]) -> NDArray[np.float64]:
    """N_Z with estimated over N_Z with exact radii, mean of the ensembles, by theta."""
    both = np.array([[r.values["estimated"], r.values["exact"]] for r in records], dtype=float).mean(axis=0)
    return np.asarray(both[0] / both[1])


def page_radii(records: list[Record], pictures: Path) -> str:
    rows = []
    for (name,), found in grouped(records, "set").items():
        ratio = excess(found)
        at = [f"{ratio[place]:.3f}" for place in (0, 4, 8, 12, 16)]
        rows.append((name, *at, f"{ratio.max():.3f} at theta {THETAS[int(ratio.argmax())]:g}"))
    head = ("", "theta 0", ".2", ".4", ".6", ".8", "largest")
    return (
        "N_Z with sizes estimated from 32 descendants, over N_Z with exact radii (the two curves of figure 5):\n\n"
        + plain_table(head, rows)
    )


EXPERIMENTS = (
    Experiment("nodes", "Figures 5, 7, 11, tables III and IV: nodes", node_cases, measure_nodes, page_nodes),
    Experiment("radii", "Figure 5: 32 descendants or all", radius_cases, measure_radii, page_radii),
)
