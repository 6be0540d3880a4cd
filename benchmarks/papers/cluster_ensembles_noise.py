"""Cluster Ensembles: its worked example, Fig. 5 (noise), and the ANMI over the number of clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.cluster_ensembles_data import COLOURS, average, axes, column, data_set, save
from benchmarks.papers.compare import Compared, compared_table, plain_table
from benchmarks.papers.paper import Experiment, grouped
from benchmarks.papers.records import Case, Record, Values
from quorate import anmi, as_ensemble, consensus, nmi, refine
from quorate.generation.clusterers.portfolio import SimilarityKMeans

EXAMPLE = np.array([[0, 0, 0, 1, 1, 2, 2], [1, 1, 1, 2, 2, 0, 0], [0, 0, 1, 1, 2, 2, 2], [0, 1, -1, 0, 1, -1, -1]])
"""Table 1: four clusterings of seven objects, the last of them partial."""
CONFIDENCES = (3 / 4, 1, 2 / 3, 1, 1 / 2, 1, 1)
"""Printed for MCLA's answer."""

METHODS = ("mcla", "cspa", "hgpa", "greedy", "hbgf", "kmeans")
CURVES = (*METHODS, "hgpa-connectivity", "truth", "random")
LEVELS = tuple(round(0.05 * step, 2) for step in range(21))


def golden_cases(quick: bool) -> list[Case]:
    return [{"repeat": 0}]


def golden(case: Case) -> Values:
    """All 301 partitions of the seven objects into three groups, and what MCLA makes of the example."""
    ensemble = as_ensemble(EXAMPLE.T, orientation="objects")
    known = int((EXAMPLE >= 0).sum())
    scored = sorted(((anmi(np.array(p), ensemble), p) for p in partitions(7, 3)), reverse=True)
    found = consensus(ensemble, 3, method="mcla", random_state=case["repeat"])
    return {
        "partitions": len(scored),
        "best": list(scored[0][1]),
        "best anmi": scored[0][0],
        "best sum": scored[0][0] * known,
        "second": list(scored[1][1]),
        "second sum": scored[1][0] * known,
        "mcla": found.labels,
        "confidence": found.info["method_confidence"][found.rows],
    }


def partitions(n: int, k: int) -> list[tuple[int, ...]]:
    """Every partition of n objects into k groups, once, numbered by first appearance."""
    found: list[tuple[int, ...]] = [(0,)]
    for _ in range(n - 1):
        found = [(*p, c) for p in found for c in range(min(max(p) + 2, k))]
    return [p for p in found if max(p) == k - 1]


def golden_page(records: list[Record], pictures: Path) -> str:
    values = records[-1].values
    lines = [
        ("partitions into three groups", "301", values["partitions"]),
        ("the best of them", "1 1 1 2 2 3 3", " ".join(str(label + 1) for label in values["best"])),
        ("answer of MCLA", "1 1 1 2 2 3 3", " ".join(str(label + 1) for label in values["mcla"])),
        ("confidences of MCLA", "3/4 1 2/3 1 1/2 1 1", " ".join(f"{c:.3f}" for c in values["confidence"])),
        ("its ANMI, weighted by known labels", "not printed", f"{values['best anmi']:.6f}"),
        ("runner-up, sum of known labels times NMI", "not printed", f"{values['second sum']:.6f}"),
    ]
    return plain_table(("", "paper", "ours"), lines)


def noise_cases(quick: bool) -> list[Case]:
    levels, repeats = ((0.0, 0.25, 0.5, 0.8), 2) if quick else (LEVELS, 10)
    return [{"noise": level, "repeat": repeat} for repeat in range(repeats) for level in levels]


def noise(case: Case) -> Values:
    """Eight copies of ten groups of forty, each with a share of its labels replaced by random ones."""
    rng = np.random.default_rng([case["repeat"], round(1000 * case["noise"])])
    truth = rng.permutation(np.repeat(np.arange(10), 40))
    labels = np.repeat(truth[:, None], 8, axis=1)
    for member in range(8):
        replaced = rng.choice(400, size=round(400 * case["noise"]), replace=False)
        labels[replaced, member] = rng.integers(10, size=len(replaced))
    ensemble = as_ensemble(labels)
    answers: dict[str, Any] = {
        m: consensus(ensemble, 10, method=m, random_state=case["repeat"]).labels for m in METHODS
    }
    other = consensus(ensemble, 10, method="hgpa", objective="connectivity", random_state=case["repeat"])
    answers |= {"hgpa-connectivity": other.labels, "truth": truth, "random": rng.integers(10, size=400)}
    scores = {f"{name} nmi": nmi(answer, truth) for name, answer in answers.items()}
    return scores | {f"{name} anmi": anmi(answer, ensemble) for name, answer in answers.items()}


def curve(records: list[Record], name: str, score: str) -> dict[float, float]:
    """Mean over the repeats at each level of noise."""
    levels = sorted({record.case["noise"] for record in records})
    return {level: average(column(records, f"{name} {score}", noise=level)) for level in levels}


def noise_page(records: list[Record], pictures: Path) -> str:
    figure, panels = axes(1, 2, 3.8)
    for panel, score, words in zip(panels[0], ("anmi", "nmi"), ("ANMI", "NMI with the original labels"), strict=True):
        for place, name in enumerate(CURVES):
            points = curve(records, name, score)
            style = "--" if name in ("truth", "random") else ":" if name == "hgpa-connectivity" else "-"
            colour = COLOURS[2] if name == "hgpa-connectivity" else COLOURS[place if place < 6 else place - 1]
            panel.plot(list(points), list(points.values()), style, color=colour, label=name, linewidth=1.3)
        panel.set(xlabel="share of labels replaced", ylabel=words, xlim=(0, 1), ylim=(0, 1.02))
    panels[0, 0].legend(fontsize=7)
    picture = save(figure, pictures, "cluster-ensembles-noise", "Fig. 5: quality over noise")
    levels = [level for level in curve(records, "mcla", "nmi") if round(100 * level) % 10 == 0 or level in (0.25, 0.75)]
    tables = []
    for score, words in (("nmi", "NMI with the original labels"), ("anmi", "ANMI")):
        rows = [(f"{x:.2f}", *(f"{curve(records, n, score)[x]:.3f}" for n in CURVES)) for x in levels]
        tables += [f"{words}, mean of the repeats:", plain_table(("noise", *CURVES), rows)]
    words = (
        "n = 400, k = 10, eight copies, as printed. The paper prints curves, no numbers; what it says of them stands "
        "among the claims. `hgpa` counts a cut cluster once, as the paper does; `hgpa-connectivity` once for each part "
        "it reaches."
    )
    return "\n\n".join([words, picture, *tables])


K_SETS = {"2D2K": (1000, 2), "8D5K": (1000, 5), "PENDIG": (1500, 10)}
"""Objects and classes; members have from 2 to twice as many clusters as classes, at least 8."""


def k_cases(quick: bool) -> list[Case]:
    sets = {"8D5K": (300, 5)} if quick else K_SETS
    return [{"set": s, "n": n, "repeat": r} for r in range(2 if quick else 10) for s, (n, _) in sets.items()]


def k_peak(case: Case) -> Values:
    """ANMI and NMI of the consensus of members of very different k, over the number of clusters asked for."""
    data = data_set(case["set"], case["repeat"], case["n"])
    rng = np.random.default_rng([case["repeat"], 3])
    most = max(8, 2 * data.n_clusters)
    members = [
        SimilarityKMeans(
            int(rng.integers(2, most + 1)), n_init=1, random_state=int(rng.integers(2**31 - 1))
        ).fit_predict(data.X)
        for _ in range(10)
    ]
    ensemble = as_ensemble(members)
    numbers, scores, truths, changed, gained = list(range(2, most + 1)), [], [], [], []
    for k in numbers:
        found = consensus(ensemble, k, method="supra", methods=["cspa", "hgpa", "mcla"], random_state=case["repeat"])
        scores.append(anmi(found.labels, ensemble))
        truths.append(nmi(found, data.y))
        better = refine(found, ensemble)
        changed.append(float(np.mean(better.labels != found.labels)))
        gained.append(nmi(better, data.y) - truths[-1])
    best = max(nmi(member, data.y) for member in members)
    return {
        "numbers": numbers,
        "anmi": scores,
        "nmi": truths,
        "best member": best,
        "changed": changed,
        "gained": gained,
    }


def peak(values: Values) -> int:
    return int(values["numbers"][int(np.argmax(values["anmi"]))])


def correlation(records: list[Record]) -> float:
    """Of ANMI and NMI over all numbers of clusters, sets and repeats."""
    scores = np.array([s for r in records for s in r.values["anmi"]])
    truths = np.array([t for r in records for t in r.values["nmi"]])
    return float(np.corrcoef(scores, truths)[0, 1]) if len(scores) > 2 else float("nan")


def k_page(records: list[Record], pictures: Path) -> str:
    groups = grouped(records, "set")
    figure, panels = axes(1, len(groups), 3.0)
    lines = []
    for panel, ((name,), found) in zip(panels[0], groups.items(), strict=True):
        _draw_k(panel, name, found)
        peaks = " ".join(str(k) for k in sorted(peak(r.values) for r in found))
        numbers = [average([at_peak(r.values) for r in found]), average([r.values["best member"] for r in found])]
        lines.append((name, K_SETS[name][1], peaks, *(f"{x:.3f}" for x in (*numbers, correlation(found)))))
    picture = save(figure, pictures, "cluster-ensembles-k", "ANMI over the number of clusters; grey: the classes")
    head = (
        "set",
        "classes",
        "peak of the ANMI, each repeat",
        "NMI there",
        "best member",
        "correlation of ANMI and NMI",
    )
    row = Compared("correlation of ANMI and NMI, all sets", 0.93, [correlation(records)], _why(records))
    words = (
        "Section 6 reports results of another paper (Ghosh et al. 2002) whose protocol it does not print. We use ten "
        "k-means members, each with a number of clusters drawn from 2 to twice the classes (at least 8), and the "
        "supra-consensus for each number in that range."
    )
    return "\n\n".join([words, picture, plain_table(head, lines), compared_table([row])])


def _why(records: list[Record]) -> str:
    own = [correlation(found) for found in grouped(records, "set").values()]
    return (
        "set by set "
        + ", ".join(f"{value:.2f}" for value in own)
        + "; that paper's sets and range of k are not printed"
    )


def _draw_k(panel: Any, name: str, found: list[Record]) -> None:
    for score, colour, style in (("anmi", COLOURS[0], "-"), ("nmi", COLOURS[1], "--")):
        means = np.mean([r.values[score] for r in found], axis=0)
        panel.plot(found[0].values["numbers"], means, style, color=colour, label=score.upper())
    panel.axvline(K_SETS[name][1], color="#999999", linewidth=0.8)
    panel.set(title=name, xlabel="clusters asked for")
    panel.legend(fontsize=7)


def at_peak(values: Values) -> float:
    """NMI with the classes where the ANMI is highest."""
    return float(values["nmi"][int(np.argmax(values["anmi"]))])


def refined(records: list[Record]) -> tuple[float, float]:
    """Share of labels that greedy moves change after the supra-consensus, and the NMI they gain."""
    changed = [c for r in records for c in r.values["changed"]]
    gained = [g for r in records for g in r.values["gained"]]
    return average(changed), average(gained)


GOLDEN = Experiment("golden", "Table 1: the worked example", golden_cases, golden, golden_page)
NOISE = Experiment("noise", "Fig. 5: eight copies under noise", noise_cases, noise, noise_page)
K_PEAK = Experiment("k_peak", "Section 6: the ANMI over the number of clusters", k_cases, k_peak, k_page)


def of_curves(records: list[Record], first: str, second: str, score: str, low: float, high: float) -> list[float]:
    """How much the first curve lies above the second at each level from low to high."""
    one, other = curve(records, first, score), curve(records, second, score)
    return [one[level] - other[level] for level in one if low - 1e-9 <= level <= high + 1e-9]
