"""What Candel claims, judged by what was measured on the features as they come ("raw")."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.papers.compare import Claim, judge
from benchmarks.papers.linear_eac_printed import PRINTED
from benchmarks.papers.linear_eac_runs import METHODS, NOT_HIERARCHICAL, TREES
from benchmarks.papers.paper import grouped
from benchmarks.papers.records import Record

Means = dict[str, dict[str, float]]
"""{set: {column: mean times 100}}."""


def means(records: Sequence[Record], measure: str, form: str = "raw") -> Means:
    """Of every column; a set that was not measured in this form is left out."""
    found: Means = {}
    for (name,), group in grouped([r for r in records if r.case["form"] == form], "set").items():
        columns = ("Max", "Mean", *METHODS)
        values = {c: [r.values[f"{c} {measure}"] for r in group if f"{c} {measure}" in r.values] for c in columns}
        found[name] = {column: 100 * float(np.mean(v)) for column, v in values.items() if v}
    return found


def claims(found: dict[str, list[Record]]) -> Sequence[Claim]:
    tables = found["tables"]
    nmi, density = means(tables, "nmi"), means(tables, "density")
    return [
        *_of_kmeans(nmi, density),
        *_of_the_others(nmi, density),
        *_of_trees(nmi, density),
        _loss(found["loss"]),
        _clusters(found["clusters"]),
        *_times(found["times"]),
    ]


def _share(names: Sequence[str], holds: Callable[[str], bool]) -> tuple[float, str]:
    if not names:
        return float("nan"), "not measured"
    number = sum(holds(name) for name in names)
    return number / len(names), f"{number} of {len(names)} sets"


def _printed(measure: str, holds: Callable[[dict[str, float]], bool], need: str = "KM") -> str:
    rows = [row for row in PRINTED[measure].values() if need in row]
    return f"printed: {sum(holds(row) for row in rows)} of {len(rows)}"


def _of_kmeans(nmi: Means, density: Means) -> list[Claim]:
    def densest(row: dict[str, float]) -> bool:
        return row["KM"] >= max(row[m] for m in METHODS if m in row) - 0.1

    def near(row: dict[str, float], points: float = 2) -> bool:
        return row["KM"] >= max(row[m] for m in METHODS if m in row) - points

    def second(row: dict[str, float]) -> bool:
        return row["H-KM"] >= max(row[m] for m in METHODS if m in row and m != "KM") - 0.1

    top, told_top = _share(list(density), lambda name: densest(density[name]))
    close, told_close = _share(list(nmi), lambda name: near(nmi[name]))
    next_best, told_next = _share(list(density), lambda name: second(density[name]))
    gaps = [abs(row["KM"] - row["H-KM"]) for row in nmi.values()]
    same = float(np.mean(np.array(gaps) <= 3)) if gaps else float("nan")
    shortfall = max((max(row[m] for m in METHODS if m in row) - row["KM"] for row in density.values()), default=0.0)
    return [
        Claim(
            "KM has the highest density of all methods (within 0.1 point)",
            judge(top, 0.8),
            f"{told_top}, at most {shortfall:.1f} points short; {_printed('density', densest)}",
        ),
        Claim("KM's NMI is within 2 points of the best", judge(close, 0.8), f"{told_close}; {_printed('nmi', near)}"),
        Claim("H-KM is second in density", judge(next_best, 0.6, 0.3), f"{told_next}; {_printed('density', second)}"),
        Claim(
            "KM and H-KM are alike in NMI (within 3 points)",
            judge(same, 0.8),
            f"mean difference {np.mean(gaps):.1f} points, largest {max(gaps):.1f}" if gaps else "not measured",
        ),
    ]


def _of_the_others(nmi: Means, density: Means) -> list[Claim]:
    def leading(row: dict[str, float]) -> bool:
        return max(row["SEC"], row["MCLA"]) >= max(row[m] for m in NOT_HIERARCHICAL)

    def uneven(row: dict[str, float]) -> bool:
        return min(row["ECC"], row["CSPA"]) < max(row[m] for m in NOT_HIERARCHICAL) - 5

    first, told_first = _share(list(nmi), lambda name: leading(nmi[name]))
    poor, told_poor = _share(list(nmi), lambda name: uneven(nmi[name]))
    ecc = _share(list(nmi), lambda name: nmi[name]["ECC"] < max(nmi[name][m] for m in NOT_HIERARCHICAL) - 5)[1]
    winners = [max(NOT_HIERARCHICAL, key=row.__getitem__) for row in density.values()]
    most = max((winners.count(m) / max(1, len(winners)) for m in NOT_HIERARCHICAL), default=float("nan"))
    told = ", ".join(f"{m} {winners.count(m)}" for m in NOT_HIERARCHICAL)
    return [
        Claim(
            "Of SEC, MCLA, ECC and CSPA, SEC or MCLA has the highest NMI",
            judge(first, 0.8),
            f"{told_first}; {_printed('nmi', leading)}",
        ),
        Claim(
            "ECC or CSPA falls more than 5 points behind on many sets",
            judge(poor, 0.5, 0.25),
            f"{told_poor}, by ECC {ecc}; {_printed('nmi', uneven)}",
        ),
        Claim(
            "None of these four stands out in density (first on three quarters of the sets)",
            "not tested" if not winners else "holds" if most < 0.75 else "does not hold",
            f"first in density: {told}",
        ),
    ]


def _of_trees(nmi: Means, density: Means) -> list[Claim]:
    def best_tree(row: dict[str, float]) -> bool:
        return row["R-AL"] >= max(row[m] for m in TREES) - 0.5

    def overall(row: dict[str, float]) -> bool:
        return max(row[m] for m in TREES) >= max(row[m] for m in METHODS)

    within = [name for name in nmi if "R-AL" in PRINTED["nmi"].get(name, {})]

    def change(rows: Means, link: str) -> float:
        gains = [rows[name][f"E-{link}"] - rows[name][f"R-{link}"] for name in within]
        return float(np.mean(gains)) if gains else float("nan")

    first, told_first = _share(within, lambda name: best_tree(nmi[name]))
    ahead, told_ahead = _share(within, lambda name: overall(nmi[name]))
    helped = [name for name in ("abalone", "landstat", "yeast") if name in nmi]
    lifted, told_lifted = _share(helped, lambda name: nmi[name]["E-ML"] > nmi[name]["R-ML"] + 5)
    single, maximum = change(nmi, "SL"), change(nmi, "ML")
    thinner = [change(density, link) for link in ("SL", "AL", "ML")]
    lower = float(np.mean(np.array(thinner) < 0)) if np.isfinite(thinner).all() else float("nan")
    return [
        Claim(
            "Of the trees, average link on the plain matrix has the best NMI (within 0.5 point)",
            judge(first, 0.7),
            f"{told_first}; {_printed('nmi', best_tree, 'R-AL')}",
        ),
        Claim(
            "Where trees were run, one of them is most often first in NMI",
            judge(ahead, 0.6),
            f"{told_ahead}; {_printed('nmi', overall, 'R-AL')}",
        ),
        Claim(
            "The enhanced matrix changes single link little",
            "not tested" if not np.isfinite(single) else "holds" if abs(single) <= 3 else "does not hold",
            f"mean change {single:+.1f} points of NMI",
        ),
        Claim(
            "The enhanced matrix helps maximum link (abalone, landsat, yeast) by more than 5 points",
            judge(lifted),
            f"{told_lifted}; mean change over the sets of Table 4 {maximum:+.1f} points",
        ),
        Claim(
            "The plain matrix gives the higher density",
            judge(lower, 1.0, 0.3),
            "mean change of density by enhancing: "
            + ", ".join(f"{link} {gain:+.1f}" for link, gain in zip(("SL", "AL", "ML"), thinner, strict=True)),
        ),
    ]


def _loss(records: Sequence[Record]) -> Claim:
    text = "The lower the loss of k-means, the higher the density"
    if not records:
        return Claim(text, "not tested", "not measured")
    correlations = [record.values["correlation"] for record in records]
    short = [100 * (r.values["highest density"] - r.values["density of the least loss"]) for r in records]
    share = float(np.mean(np.array(correlations) < -0.8))
    return Claim(
        text,
        judge(share),
        f"rank correlation over 30 starts {min(correlations):.2f} to {max(correlations):.2f}; the start of the least "
        f"loss is at most {max(short):.2f} points below the densest",
    )


def _clusters(records: Sequence[Record]) -> Claim:
    from scipy.stats import spearmanr

    text = "25 clusters instead of 20 leave the ranking of the methods as it is"
    groups = grouped(records, "set", "k")
    ranks = []
    for name in dict.fromkeys(name for name, _ in groups):
        if (name, 20) in groups and (name, 25) in groups:
            both = [
                [np.mean([r.values.get(f"{m} nmi", np.nan) for r in groups[name, k]]) for m in METHODS]
                for k in (20, 25)
            ]
            ranks.append(float(spearmanr(*both)[0]))
    if not ranks:
        return Claim(text, "not tested", "not measured")
    share = float(np.mean(np.array(ranks) >= 0.8))
    return Claim(text, judge(share, 0.99), f"rank correlation of the twelve NMIs {min(ranks):.2f} to {max(ranks):.2f}")


def exponent(records: Sequence[Record], name: str, least: float = 0.01) -> float:
    """Slope of log time over log n, where a call takes at least `least` seconds."""
    points = [(r.case["n"], r.values[name]) for r in records if r.values.get(name, 0) >= least]
    if len(points) < 3:
        return float("nan")
    n, seconds = np.log(np.array(points)).T
    return float(np.polyfit(n, seconds, 1)[0])


def _density_verdict(differences: Sequence[float], slope: float) -> str:
    if not differences:
        return "not tested"
    if max(differences) > 1e-6:
        return "does not hold"
    return "holds partly" if slope > 1.2 else "holds"


def _times(records: Sequence[Record]) -> list[Claim]:
    hard = [record for record in records if record.case["data"] == "hard"]
    slopes = {name: exponent(hard, f"{name} seconds") for name in ("KM", "H-KM", "density", "scipy R-AL")}
    differences = [r.values["difference"] for r in records if "difference" in r.values]
    ratios = [
        r.values["matrix density seconds"] / r.values["density seconds"] for r in hard if "difference" in r.values
    ]
    known = np.isfinite([slopes["KM"], slopes["H-KM"]]).all()
    linear = known and max(slopes["KM"], slopes["H-KM"]) <= 1.2
    return [
        Claim(
            "The density needs no matrix: the counts give the same number in linear time",
            _density_verdict(differences, slopes["density"]),
            f"largest difference {max(differences):.0e}; {ratios[-1]:.0f} times faster than the matrix at the largest n"
            f" it was formed for; exponent {slopes['density']:.2f}"
            if differences
            else "not measured",
        ),
        Claim(
            "KM and H-KM take time linear in n, average link on the matrix quadratic",
            "not tested" if not known else "holds" if linear else "holds partly",
            "exponents on hard data: " + ", ".join(f"{name} {slope:.2f}" for name, slope in slopes.items()),
        ),
    ]
