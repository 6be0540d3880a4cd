"""What Cluster Ensembles claims, judged by the records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.papers import cluster_ensembles_fdc as fdc
from benchmarks.papers import cluster_ensembles_noise as noise
from benchmarks.papers import cluster_ensembles_odc as odc
from benchmarks.papers import cluster_ensembles_rcc as rcc
from benchmarks.papers.cluster_ensembles_data import SETS, average, column, share
from benchmarks.papers.compare import Claim, judge
from benchmarks.papers.paper import grouped
from benchmarks.papers.records import Record

Records = list[Record]


def claims(records: dict[str, Records]) -> list[Claim]:
    """Every claim of the paper that its data can test."""
    found = {name: records.get(name, []) for name in ("golden", "noise", "fdc", "odc", "odc_speed", "rcc", "k_peak")}
    judged = [
        *_golden(found["golden"]),
        *_noise(found["noise"]),
        *_noise_anmi(found["noise"]),
        *_noise_greedy(found["noise"]),
        *_fdc(found["fdc"]),
        *_fdc_functions(found["fdc"]),
        *_odc(found["odc"]),
        *_speed(found["odc_speed"]),
        *_rcc(found["rcc"]),
        *_rcc_functions(found["rcc"]),
        *_k_peak(found["k_peak"]),
    ]
    return [replace(claim, number="") if claim.verdict == "not tested" else claim for claim in judged]


def _golden(records: Records) -> list[Claim]:
    text = "MCLA finds the best of all 301 groupings of the worked example, with the printed confidences"
    if not records:
        return [Claim(text, "not tested", "")]
    values = records[-1].values
    same = values["mcla"] == values["best"] and np.allclose(values["confidence"], noise.CONFIDENCES, atol=1e-5)
    return [Claim(text, judge(float(same)), f"ANMI {values['best anmi']:.6f}, confidences to 6 digits")]


def _noise(records: Records) -> list[Claim]:
    if not records:
        return [Claim("Fig. 5: which function stands noise how well", "not tested", "")]
    quarter = min(value for level, value in noise.curve(records, "mcla", "nmi").items() if level <= 0.25)
    above = max(max(noise.of_curves(records, "hgpa", m, "nmi", 0.05, 0.5)) for m in ("mcla", "cspa", "greedy"))
    medium = noise.of_curves(records, "mcla", "cspa", "nmi", 0.05, 0.75)
    return [
        Claim(
            "MCLA recovers the original labels up to 25% noise",
            judge(float(quarter >= 0.98)),
            f"NMI {quarter:.3f} at worst",
        ),
        Claim("HGPA is the worst", judge(float(above < 0)), f"at least {-above:.3f} NMI below the others, 5-50% noise"),
        Claim(
            "MCLA is at least as near to the original labels as CSPA up to high noise",
            judge(share([d > -0.003 for d in medium])),
            f"{average(medium):+.3f} NMI on average, 5-75% noise, {min(medium):+.3f} at worst",
        ),
    ]


def _noise_anmi(records: Records) -> list[Claim]:
    if not records:
        return []
    retained = noise.of_curves(records, "mcla", "cspa", "anmi", 0.3, 0.7)
    high = noise.of_curves(records, "cspa", "mcla", "anmi", 0.8, 1.0)
    lower = noise.of_curves(records, "mcla", "truth", "anmi", 0.75, 1.0)
    return [
        Claim(
            "MCLA keeps more ANMI than CSPA in medium to high noise (30-70%)",
            judge(share([d > 0 for d in retained])),
            f"{average(retained):+.4f} ANMI on average",
        ),
        Claim(
            "CSPA has more ANMI than MCLA in very high noise",
            judge(share([d > 0 for d in high])),
            f"{average(high):+.3f}, 80-100% noise",
        ),
        Claim(
            "In very high noise the original labels have less ANMI than the answers",
            judge(share([d > 0 for d in lower])),
            f"MCLA {average(lower):+.3f} over the original labels, 75-100% noise",
        ),
    ]


def _noise_greedy(records: Records) -> list[Claim]:
    if not records:
        return []
    like = noise.of_curves(records, "greedy", "cspa", "nmi", 0.05, 1.0)
    below = noise.of_curves(records, "mcla", "greedy", "nmi", 0.05, 0.75)
    over = [
        min(noise.of_curves(records, "greedy", other, "anmi", level, level)[0] for other in ("mcla", "cspa", "hgpa"))
        for level in noise.curve(records, "greedy", "anmi")
    ]
    first = [level for level, gain in zip(noise.curve(records, "greedy", "anmi"), over, strict=True) if gain > 0.001]
    return [
        Claim(
            "Greedy is about as good as CSPA in NMI",
            judge(share([abs(d) < 0.1 for d in like])),
            f"{average(like):+.3f} on average",
        ),
        Claim(
            "Greedy is below MCLA in NMI",
            judge(share([d > -0.003 for d in below])),
            f"{average(below):+.3f} for MCLA, 5-75% noise",
        ),
        Claim(
            "Greedy has the highest ANMI only above 75% noise",
            judge(float(bool(first) and min(first) >= 0.75)),
            f"ours has it from {min(first, default=np.nan):.0%} on: it climbs the ANMI itself, in O(H k) a move",
        ),
    ]


def _main(records: Records, name: str) -> Records:
    views, graph = fdc.MAIN[name]
    return [r for r in records if (r.case["set"], r.case["views"], r.case["graph"]) == (name, views, graph)]


def _fdc(records: Records) -> list[Claim]:
    if not records:
        return [Claim("Table 3: a consensus of members that see few features", "not tested", "")]
    means = {
        name: {value: average([r.values[value] for r in _main(records, name)]) for value in fdc.VALUES}
        for name in SETS
        if _main(records, name)
    }
    best = [row["consensus"] - row["best"] for row in means.values()]
    mean = [row["consensus"] - row["mean"] for row in means.values()]
    less = [row["all features"] - row["consensus"] for row in means.values()]
    yahoo = (
        means.get("YAHOO", {"consensus": np.nan, "best": 1.0})["consensus"] / means.get("YAHOO", {"best": 1.0})["best"]
    )
    disjoint = column(records, "consensus", set="YAHOO", views="disjoint")
    other = (
        average(disjoint) / average(column(records, "best", set="YAHOO", views="disjoint"))
        if disjoint
        else float("nan")
    )
    return [
        Claim(
            "The consensus is as good as the best member or better",
            judge(share([d >= -0.01 for d in best])),
            _each(means, best),
        ),
        Claim("The consensus is better than the mean member", judge(share([d > 0 for d in mean])), _each(means, mean)),
        Claim("Clustering all features is better still", judge(share([d > 0 for d in less])), _each(means, less)),
        Claim(
            "On YAHOO the consensus more than doubles the best member",
            judge(1.0 if yahoo > 2 else 0.5 if other > 1.7 else 0.0 if np.isfinite(yahoo) else np.nan),
            f"{yahoo:.2f} times; {other:.2f} times where no two members share a word",
        ),
    ]


def _each(means: dict[str, dict[str, float]], values: list[float]) -> str:
    return ", ".join(f"{name} {value:+.3f}" for name, value in zip(means, values, strict=True))


def _fdc_functions(records: Records) -> list[Claim]:
    own = [r for name in SETS for r in _main(records, name)]
    if not own:
        return []
    winners = [r.values["winner"] for r in own]
    eight = [1000 * (1 - r.values["accuracy"]) for r in _main(records, "8D5K")]
    near = [r for r in _main(records, "8D5K") if abs(r.values["mean"] - 0.69823) <= fdc.WINDOW]
    poor = [min(r.values["cspa anmi"], r.values["mcla anmi"]) - r.values["hgpa anmi"] for r in own]
    wrong = average([1000 * (1 - r.values["accuracy"]) for r in near])
    middle = float(np.median(eight)) if eight else np.nan
    return [
        Claim(
            "The supra-consensus chooses MCLA or CSPA",
            judge(share([w != "hgpa" for w in winners]), 0.99),
            f"hgpa {winners.count('hgpa')} of {len(winners)}",
        ),
        Claim(
            "MCLA and CSPA have more ANMI than HGPA on all sets",
            judge(share([d > 0 for d in poor]), 0.95),
            f"{average(poor):+.3f} on average",
        ),
        Claim(
            "On 8D5K the consensus mislabels 3 of 1,000 points",
            judge(np.nan if not eight else 1.0 if middle <= 4 else 0.5 if min(eight) <= 3 else 0.0),
            f"{min(eight, default=np.nan):.0f} at best, {middle:.0f} in the middle of {len(eight)} draws of the means, "
            f"{wrong:.0f} on average where the mean member is as good as printed ({len(near)} draws)",
        ),
    ]


def _odc(records: Records) -> list[Claim]:
    kept = {name: average(odc.share(records, name, 16)) for name in SETS}
    texts = {
        "2D2K": ("2D2K in 16 parts keeps about 90% of the quality", kept["2D2K"], 0.85),
        "YAHOO": ("YAHOO in 16 parts keeps about 80% of the quality", kept["YAHOO"], 0.75),
        "2D2K72": ("2D2K in 72 parts keeps about 80% of the quality", average(odc.share(records, "2D2K", 72)), 0.75),
    }
    found = [
        Claim(t, judge(value / least if np.isfinite(value) else np.nan, 1.0, 0.8), f"{value:.0%}")
        for t, value, least in texts.values()
    ]
    order = [average(odc.share(records, name, 72)) for name in ("2D2K", "YAHOO")]
    verdict = judge(float(order[0] > order[1]) if np.all(np.isfinite(order)) else np.nan)
    found.append(
        Claim("Easier sets lose less over many parts", verdict, f"72 parts: 2D2K {order[0]:.0%}, YAHOO {order[1]:.0%}")
    )
    return found


def _speed(records: Records) -> list[Claim]:
    ratios = [r.values["one"] / (r.case["parts"] / 4) for r in records]
    many = [r.values["many"] / (r.case["parts"] ** 2 / 4) for r in records]
    return [
        Claim(
            "ODC is p/v² times as fast as a quadratic clusterer on one processor",
            judge(share([r > 0.75 for r in ratios]), 0.9),
            f"{average(ratios):.2f} of p/v² on average" if ratios else "",
        ),
        Claim(
            "and p²/v² times on p processors",
            judge(share([r > 0.75 for r in many]), 0.9),
            f"{average(many):.2f} of p²/v²" if many else "",
        ),
    ]


def _rcc(records: Records) -> list[Claim]:
    top = {name: own for name in SETS if (own := [r.values for r in rcc.largest(records, name)])}
    gains = {name: average([v["consensus"] - v["mean"] for v in own]) for name, own in top.items()}
    every = [
        average([r.values["consensus"] - r.values["mean"] for r in own])
        for own in grouped(records, "set", "n").values()
    ]
    poor = [_poorest(top[name], rcc.POOR[name]) for name in rcc.POOR if name in top]
    return [
        Claim(
            "The consensus is better than the mean of the ten on all sets and sizes",
            judge(share([gain > 0 for gain in every]), 1.0, 0.8),
            f"on {sum(gain > 0 for gain in every)} of {len(every)}; at the largest size "
            + "; ".join(f"{name} {gain:+.3f}" for name, gain in gains.items()),
        ),
        Claim(
            "The clusterers named poor are the three poorest (2D2K, YAHOO)",
            judge(share(poor)),
            "; ".join(f"{name}: {_names(top[name])}" for name in rcc.POOR if name in top),
        ),
        *_rcc_best(top.get("2D2K", []), top.get("YAHOO", [])),
    ]


def _rcc_best(two: list[dict[str, float]], yahoo: list[dict[str, float]]) -> list[Claim]:
    best = max((average([v[n] for v in two]) for n in rcc.NAMES), default=np.nan)
    found = average([v["consensus"] for v in two])
    excellent = average([average([v[n] for n in ("GP C", "GP P", "GP J")]) for v in yahoo])
    near = average([v["consensus"] for v in yahoo]) - excellent
    return [
        Claim(
            "On 2D2K the consensus is better than each of the ten",
            judge(np.nan if not two else 1.0 if found >= best else 0.5 if found >= best - 0.02 else 0.0),
            f"{found:.3f}, the best of the ten {best:.3f}",
        ),
        Claim(
            "On YAHOO the consensus is almost as good as the three excellent ones",
            judge(np.nan if not yahoo else float(near > -0.03)),
            f"{near:+.3f} against their mean",
        ),
    ]


def _ordered(own: list[dict[str, float]]) -> list[str]:
    return sorted(rcc.NAMES, key=lambda name: average([v[name] for v in own]))


def _poorest(own: list[dict[str, float]], named: tuple[str, ...]) -> bool:
    return set(_ordered(own)[:3]) == set(named)


def _names(own: list[dict[str, float]]) -> str:
    return "poorest " + ", ".join(f"{n} {average([v[n] for v in own]):.2f}" for n in _ordered(own)[:4])


def _rcc_functions(records: Records) -> list[Claim]:
    dense = [r.values["winner"] for r in records if r.case["set"] != "YAHOO"]
    text = [r.values["winner"] for r in records if r.case["set"] == "YAHOO"]
    return [
        Claim(
            "MCLA mostly has the highest ANMI on the dense sets, then CSPA",
            judge(share([w == "mcla" for w in dense]), 0.5, 0.3),
            _count(dense),
        ),
        Claim(
            "On YAHOO CSPA and HGPA have it equally often",
            judge(share([w == "hgpa" for w in text]), 0.3, 0.1),
            _count(text),
        ),
    ]


def _count(winners: list[str]) -> str:
    return ", ".join(f"{name} {winners.count(name)}" for name in ("mcla", "cspa", "hgpa")) if winners else ""


def _k_peak(records: Records) -> list[Claim]:
    if not records:
        return [Claim("The ANMI peaks near a sensible number of clusters", "not tested", "")]
    classes = {name: k for name, (_, k) in noise.K_SETS.items()}
    near = [abs(noise.peak(r.values) - classes[r.case["set"]]) <= max(1, 0.3 * classes[r.case["set"]]) for r in records]
    at = [r.values["nmi"][int(np.argmax(r.values["anmi"]))] - r.values["best member"] for r in records]
    whole = noise.correlation(records)
    changed, gained = noise.refined(records)
    return [
        Claim(
            "The ANMI peaks near a sensible number of clusters",
            judge(share(near), 0.9),
            f"within 30% of the classes in {share(near):.0%} of the runs",
        ),
        Claim(
            "The consensus is better than the best member though their k differ",
            judge(share([d > -0.01 for d in at]), 0.9),
            f"{average(at):+.3f}",
        ),
        Claim(
            "ANMI and NMI correlate (.93)", judge(1.0 if whole >= 0.9 else 0.5 if whole >= 0.5 else 0.0), f"{whole:.2f}"
        ),
        Claim(
            "Greedy moves after the supra-consensus change 0 to 5% of the labels and improve slightly",
            judge(1.0 if changed <= 0.05 and gained > 0 else 0.5 if changed <= 0.1 or gained > 0 else 0.0),
            f"{changed:.1%} changed, NMI {gained:+.4f}",
        ),
    ]
