"""The claims of the CA-tree paper, judged by what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.papers import ca_tree_accuracy as over_theta
from benchmarks.papers import ca_tree_causes as causes
from benchmarks.papers import ca_tree_image as image
from benchmarks.papers import ca_tree_nodes as nodes
from benchmarks.papers import ca_tree_prototypes as prototypes
from benchmarks.papers import ca_tree_times as times
from benchmarks.papers.ca_tree_sets import BY_NAME, SETS
from benchmarks.papers.compare import Claim, judge
from benchmarks.papers.paper import grouped
from benchmarks.papers.records import Record

Records = Mapping[str, list[Record]]
ELONGATED = ("Half-rings", "3Rings")
TOLERANCE = 0.02
"""Growth rates or accuracies this near to each other count as equal."""


def share_claim(text: str, follows: Mapping[str, bool], number: str = "", part: float = 0.5) -> Claim:
    """Holds where all cases follow, partly from half of them; the number names those that do not."""
    if not follows:
        return Claim(text, "not tested", "its cases were not measured")
    against = [name for name, good in follows.items() if not good]
    told = f"{len(follows) - len(against)} of {len(follows)}" + (f", not {', '.join(against)}" if against else "")
    return Claim(
        text, judge(float(np.mean(list(follows.values()))), part=part), f"{told}{'; ' if number else ''}{number}"
    )


def listed(numbers: Mapping[str, float], digits: int = 2) -> str:
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in numbers.items())


def about_nodes(records: Sequence[Record]) -> list[Claim]:
    found = {e.name: nodes.curves(records, e.name) for e in SETS}
    entries = [e for e in SETS if len(found[e.name])]
    half = {e.name: found[e.name][:, 0, e.sizes.index(e.base), 10].mean() / e.base for e in entries}
    beta = {e.name: nodes.slopes(e, found[e.name]).mean(axis=0)[:, nodes.TABLE] for e in entries}
    both = {n: (b[0, 4], b[1, 2]) for n, b in beta.items()}
    ratios = {e.name: float(nodes.minimal_ratios(e, found[e.name]).mean()) for e in entries}
    return [
        share_claim(
            "At theta = H/2 the nodes are a tenth of the objects or far fewer.",
            {n: value <= 0.1 for n, value in half.items()},
            f"N_Z / n: {listed(half, 3)}",
        ),
        _power_law(records),
        share_claim(
            "The growth rate beta falls quickly as theta rises.",
            {n: bool((np.diff(b[0]) <= TOLERANCE).all() and b[0, 4] < 0.75 * b[0, 0]) for n, b in beta.items()},
            "from theta 0 to .4: " + ", ".join(f"{n} {b[0, 0]:.2f} to {b[0, 4]:.2f}" for n, b in beta.items()),
        ),
        share_claim(
            "At the recommended thresholds (0.4 with all nodes, 0.2 with keep = 0.9) beta is below 0.5, so the matrix "
            "costs less than linear.",
            {n: max(pair) < 0.5 for n, pair in both.items()},
            ", ".join(f"{n} {a:.2f} and {b:.2f}" for n, (a, b) in both.items()),
        ),
        share_claim(
            "Node reduction lowers beta at the same threshold.",
            {n: bool((b[1] <= b[0] + TOLERANCE).all()) for n, b in beta.items()},
            f"mean difference {np.mean([b[0] - b[1] for b in beta.values()]):.2f}" if beta else "",
        ),
        share_claim(
            "Beta at 0.2 with keep = 0.9 is below that at 0.4 with all nodes on four sets; near zero on the other two, "
            "3Rings and 8d5k.",
            {n: b < a or (n in ("3Rings", "8d5k") and b < 0.15) for n, (a, b) in both.items()},
        ),
        _order_of_ratios(ratios),
    ]


def _power_law(records: Sequence[Record]) -> Claim:
    text = "N_Z follows a power of n (straight lines in figure 7: Spherical5 and Pen-digits)."
    fits = {}
    for entry in SETS:
        found = nodes.curves(records, entry.name)
        if len(found) and entry.name in ("Spherical5", "Pen-digits"):
            logs = np.log(found.mean(axis=0)[0][:, [0, 4, 8, 12]])
            fits[entry.name] = float(np.min([np.corrcoef(np.log(entry.sizes), line)[0, 1] ** 2 for line in logs.T]))
    return share_claim(text, {n: fit > 0.98 for n, fit in fits.items()}, f"least R^2: {listed(fits, 3)}")


def _order_of_ratios(ratios: Mapping[str, float]) -> Claim:
    text = "The minimal ratio orders the sets by shape: the two elongated ones have the largest."
    if len(ratios) < 3:
        return Claim(text, "not tested", "its sets were not measured")
    printed = [e.name for e in sorted(SETS, key=lambda e: e.ratio) if e.name in ratios]
    ours = sorted(ratios, key=lambda name: ratios[name])
    apart = set(ours[-2:]) == set(ELONGATED) & set(ratios) or ours[-1] in ELONGATED
    verdict = "holds" if ours == printed else "holds partly" if apart else "does not hold"
    same = "the printed order" if ours == printed else "not the printed order"
    return Claim(text, verdict, f"{listed(dict(sorted(ratios.items(), key=lambda pair: pair[1])), 3)}: {same}")


def about_radii(records: Sequence[Record]) -> list[Claim]:
    found = {name: nodes.excess(part) for (name,), part in grouped(records, "set").items()}
    middle = {name: float(ratio[:13].max()) for name, ratio in found.items()}
    worst = {name: float(ratio.max()) for name, ratio in found.items()}
    return [
        share_claim(
            "Sizes estimated from 32 descendants give as few nodes as exact radii, or nearly as few at large theta.",
            {name: middle[name] <= 1.05 and value <= 1.1 for name, value in worst.items()},
            f"N_Z over exact N_Z up to theta .6: {listed(middle)}; at any theta: {listed(worst)}",
        )
    ]


def about_accuracy(records: Sequence[Record]) -> list[Claim]:
    groups = grouped(records, "set")
    found = {e.name: over_theta.mean_curves(groups[e.name,]) for e in SETS if (e.name,) in groups}
    at_half = {n: over_theta.loss(f) for n, f in found.items()}
    counted = {n: over_theta.loss(f, "counted") for n, f in found.items()}
    last = {n: over_theta.loss(f, place=19) for n, f in found.items()}
    kept = {n: over_theta.loss(f, "plain_kept", 4) for n, f in found.items()}
    safe = {f"{n} at .4": over_theta.loss(f, place=8) for n, f in found.items()}
    safe |= {f"{n} at .2, keep .9": value for n, value in kept.items()}
    return [
        share_claim(
            "Accuracy at theta = H/2 is within a tenth of that at 0 on all six sets.",
            {n: value >= 0.9 for n, value in at_half.items()},
            f"Q(.5) / Q(0): {listed(at_half)}; nodes that count as their objects: {listed(counted)}",
        ),
        share_claim(
            "On the four compact sets accuracy stays flat up to the largest theta.",
            {n: value >= 0.88 for n, value in last.items() if n not in ELONGATED},
            listed({n: value for n, value in last.items() if n not in ELONGATED}),
        ),
        share_claim(
            "On the two elongated sets it breaks down beyond a critical theta.",
            {n: value < 0.9 for n, value in last.items() if n in ELONGATED},
            listed({n: value for n, value in last.items() if n in ELONGATED}),
        ),
        share_claim(
            "0.4 with all nodes and 0.2 with keep = 0.9 are safe choices (within a tenth).",
            {n: value >= 0.9 for n, value in safe.items()},
        ),
    ]


def about_times(records: Sequence[Record]) -> list[Claim]:
    groups = grouped(records, "set", "n", "method")
    ratio = {key: times.speed(found) for key, found in groups.items()}
    small = {key: value for key, value in ratio.items() if key[1] <= 2000 and "even" not in key[0]}
    return [
        _largest_gain(small),
        share_claim(
            "HBGF and MCLA, linear themselves, also lose time from A to D (the text says 60-75%, its table 32-73%).",
            {f"{k[0]} {k[2]}": value[3] >= 1 / 0.68 for k, value in small.items() if k[2] in ("HBGF", "MCLA")},
            listed({f"{k[0]} {k[2]}": 1 - 1 / v[3] for k, v in small.items() if k[2] in ("HBGF", "MCLA")}),
        ),
        _loss(groups),
        _larger_n(ratio),
        share_claim(
            "With C and D the base clusterings take most of the time.",
            {
                f"{k[0]} {k[2]}": bool(
                    np.median([r.values["base_seconds"] / times.printed_seconds(r)[3] for r in f]) > 1
                )
                for k, f in groups.items()
            },
        ),
        _against_graphs(groups),
    ]


def _largest_gain(ratio: Mapping[tuple[str, int, str], np.ndarray]) -> Claim:
    text = "The co-association methods gain most: EAC-AL and CSPA from A to D more than HBGF and MCLA."
    if not ratio:
        return Claim(text, "not tested", "its cases were not measured")
    follows, told = {}, []
    for name in dict.fromkeys(key[0] for key in ratio):
        gain = {key[2]: value[3] for key, value in ratio.items() if key[0] == name and key[2] != "eac"}
        linear = max((v for m, v in gain.items() if m in ("HBGF", "MCLA")), default=0.0)
        follows |= {f"{name} {m}": v > linear for m, v in gain.items() if m in ("EAC-AL", "CSPA")}
        told.append(f"{name}: {listed(gain, 1)}")
    return share_claim(text, follows, "A / D " + "; ".join(told))


def _loss(groups: Mapping[tuple[str, int, str], list[Record]]) -> Claim:
    """Printed: at most 3 points on Spherical5, 1 on 3Rings."""
    lost = {}
    for key, found in groups.items():
        name, n, method = key
        if n <= 2000 and method != "eac":
            means = np.mean([r.values["metis" if method in times.GRAPHS else "accuracy"] for r in found], axis=0)
            lost[f"{name} {method}"] = float(means[0] - means[3])
    text = "From A to D accuracy is hardly lost (3 points at most)."
    follows = {n: value <= 0.03 for n, value in lost.items() if "even" not in n}
    return share_claim(text, follows, f"lost: {listed(lost)}")


def _larger_n(ratio: Mapping[tuple[str, int, str], np.ndarray]) -> Claim:
    text = "Dropping nodes (C to D) gains more as n grows: 1.9 times at n = 2,000, 6.7 at 10,000 (EAC-AL, Spherical5)."
    found = [ratio.get(("Spherical5", n, "EAC-AL")) for n in (2000, 10_000)]
    if found[0] is None or found[1] is None:
        return Claim(text, "not tested", "its cases were not measured")
    small, large = (float(value[3] / value[2]) for value in found if value is not None)
    verdict = "does not hold" if large <= small else "holds" if large >= 2 else "holds partly"
    return Claim(text, verdict, f"{small:.1f} times at 2,000, {large:.1f} at 10,000; A / D {found[1][3]:,.0f} there")


def _against_graphs(groups: Mapping[tuple[str, int, str], list[Record]]) -> Claim:
    text = "On 3Rings EAC-AL with C or D beats the graph methods in accuracy and in time."
    follows, told = {}, []
    eac = groups.get(("3Rings", 1800, "EAC-AL"), [])
    for method in times.GRAPHS:
        rival = groups.get(("3Rings", 1800, method), [])
        for place, form in ((2, "C"), (3, "D")) if eac and rival else ():
            ours, theirs = _mean(eac, "accuracy", place), _mean(rival, "metis", place)
            faster = np.median([r.values["seconds"][place] for r in eac]) < np.median(
                [times.printed_seconds(r)[place] for r in rival]
            )
            follows[f"{method} {form}"] = bool(ours > theirs and faster)
            told.append(f"{method} ({form}) {theirs:.2f} against {ours:.2f}")
    return share_claim(text, follows, "METIS alone: " + ", ".join(told))


def _mean(records: Sequence[Record], what: str, place: int) -> float:
    return float(np.mean([r.values[what][place] for r in records]))


def about_prototypes(records: Sequence[Record], lifetimes: Sequence[Record]) -> list[Claim]:
    groups = grouped(records, "set")
    found = {e.name: groups[e.name,] for e in SETS if (e.name,) in groups}
    made = [
        _fairly(found, "known", "Figure 9: the tree with keep = 0.9 is at least as good as all prototypes of as many."),
        _fairly(found, "lifetime", "Figure 10, k by lifetime: the same, except on the elongated sets.", lifetimes),
    ]
    low = {n: float(prototypes.table_of(part, "lifetime").max()) for n, part in found.items() if n in ELONGATED}
    made.append(
        share_claim(
            "Figure 10: with the longest lifetime accuracy is very low on the elongated sets, whatever the method.",
            {n: value < 0.5 for n, value in low.items()},
            f"highest: {listed(low)}",
        )
    )
    effect = {
        n: float(np.mean(np.subtract(*prototypes.table_of(part, "known")[:, [1, 0]].T))) for n, part in found.items()
    }
    rules = {
        n: v < TOLERANCE if n in ELONGATED else v > (TOLERANCE if "digits" in n else -0.01) for n, v in effect.items()
    }
    text = (
        "At equal numbers of nodes keep = 0.9 helps the digits, hardly the other compact sets, and harms the "
        "elongated ones."
    )
    return [*made, share_claim(text, rules, f"points won: {listed(effect, 3)}")]


def _fairly(found: Mapping[str, list[Record]], choice: str, text: str, lifetimes: Sequence[Record] = ()) -> Claim:
    names = [n for n in found if choice == "known" or n not in ELONGATED]
    won = {n: prototypes.advantage(found[n], choice) for n in names}
    follows = {
        f"{n} at {m}": bool(value >= -TOLERANCE)
        for n, values in won.items()
        for m, value in zip(prototypes.numbers_for(BY_NAME[n]), values, strict=True)
    }
    number = f"points over the best rival, mean over m: {_mean_points(found, names, choice)}"
    if lifetimes:
        again = {name: part for (name,), part in grouped(lifetimes, "set").items()}
        number += f"; lifetimes after the first merge: {_mean_points(again, list(again), 'merged')}"
    return share_claim(text, follows, number)


def _mean_points(found: Mapping[str, list[Record]], names: Sequence[str], choice: str) -> str:
    return listed({n: float(prototypes.advantage(found[n], choice).mean()) for n in names}, 3)


def about_the_rest(records: Records) -> list[Claim]:
    order = {n: causes.spreads(part, "accuracy") for (n,), part in grouped(records.get("order", []), "set").items()}
    order = {n: pair for n, pair in order.items() if np.isfinite(pair).all()}
    power = causes.exponent(records.get("linear", []))
    shown = {
        n: np.mean([r.values["two_classes"] for r in p])
        for (n,), p in grouped(records.get("image", []), "picture").items()
    }
    return [
        share_claim(
            "The order of members changes results no more than another ensemble does.",
            {n: a <= 1.1 * b + 0.005 for n, (a, b) in order.items()},
            "deviation of accuracy between orders and between ensembles: "
            + ", ".join(f"{n} {a:.3f}, {b:.3f}" for n, (a, b) in order.items()),
        ),
        Claim(
            "Building the tree takes time linear in n.",
            "not tested" if not np.isfinite(power) else "holds" if power <= 1.15 else "does not hold",
            f"n to the power {power:.2f} (Spherical5, 10,000 to 160,000 objects)"
            if np.isfinite(power)
            else "not measured",
        ),
        share_claim(
            f"A photograph's pixels are clustered with an accuracy of {image.PRINTED} (stand-in photographs).",
            {n: bool(value >= image.PRINTED - 0.03) for n, value in shown.items()},
            listed({n: float(value) for n, value in shown.items()}, 3),
        ),
        Claim(
            "The tree needs labels alone, so it takes clusterings of different views and from elsewhere.",
            "holds",
            "by construction: `ca_tree` is given label vectors and nothing else",
        ),
    ]


def claims(records: Records) -> list[Claim]:
    return [
        *about_nodes(records.get("nodes", [])),
        *about_radii(records.get("radii", [])),
        *about_accuracy(records.get("accuracy", [])),
        *about_times(records.get("times", [])),
        *about_prototypes(records.get("prototypes", []), records.get("lifetimes", [])),
        *about_the_rest(records),
    ]
