"""HNE: its claims, judged by the measured error rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.papers.ca_hne_sets import SYNTHETIC
from benchmarks.papers.compare import Claim, judge
from benchmarks.papers.paper import grouped
from benchmarks.papers.records import Record

NEAR = 0.03
"""Comparable to the best: within three points of it."""
FAILS = 0.1
"""Fails on a set: ten points above the best."""
SINGLE = ("KM", "SL", "AL", "SC")
BIASED = ("HGPA", "MCLA", "Boost-KM", "Latent-EM")
TWICE = ("CSPA", "HGPA", "MCLA", "EAC-SL", "EAC-AL", "Latent-EM")
ROWS = (*SINGLE, "SC best", *(f"{title} {kind}" for title in TWICE for kind in ("few", "many")), "Boost-KM", "HNE")
Means = dict[tuple[str, str], float]


def means_of(records: Sequence[Record]) -> Means:
    """(set, method) -> mean error."""
    return {
        (name, title): float(np.mean([r.values[title] for r in found]))
        for (name,), found in grouped(records, "set").items()
        for title in ROWS
    }


def best_error(means: Means, name: str) -> float:
    """The lowest error on a set; "SC best" knows the truth and does not count."""
    return min(value for (other, title), value in means.items() if other == name and title != "SC best")


def better_kind(means: Means, name: str, title: str) -> float:
    """Error of a method on the kind of ensemble that suits it on this set."""
    kinds = [title] if (name, title) in means else [f"{title} few", f"{title} many"]
    return min(means[name, kind] for kind in kinds)


def claims(records: dict[str, list[Record]]) -> list[Claim]:
    return [
        *_matrix_claims(records["matrix"]),
        *_error_claims(records["errors"]),
        *_grid_claims(records["sensitivity"]),
    ]


def _not_tested(texts: Sequence[str]) -> list[Claim]:
    return [Claim(text, "not tested", "not measured") for text in texts]


def _matrix_claims(records: list[Record]) -> list[Claim]:
    texts = (
        "Objects of different clusters are far less similar in the co-association than in feature space",
        "Most pairs within a cluster have a very low co-association",
        "Dissimilar objects of one cluster are joined by a path of similar ones",
    )
    found = [r.values for r in records if r.case["set"] == "2-spirals"]
    if not found:
        return _not_tested(texts)
    mean = {key: float(np.mean([values[key] for values in found])) for key in found[0]}
    return [
        Claim(
            texts[0],
            "holds" if mean["between_shared"] < 0.1 * mean["between_euclid"] else "does not hold",
            f"2-spirals: {mean['between_shared']:.4f} against {mean['between_euclid']:.2f}",
        ),
        Claim(
            texts[1], judge(mean["within_low"], 0.5), f"2-spirals: {mean['within_low']:.0%} of these pairs below 0.1"
        ),
        _path_claim(texts[2], records),
    ]


def _path_claim(text: str, records: Sequence[Record]) -> Claim:
    """On all sets: with 200 objects in 60 clusters the 2-spirals have too few objects a cluster for paths."""
    joined = {
        name: float(np.mean([r.values["within_joined"] for r in found]))
        for (name,), found in grouped(records, "set").items()
    }
    number = ", ".join(f"{name} {value:.0%}" for name, value in joined.items())
    share = float(np.mean([value >= 0.9 for value in joined.values()]))
    return Claim(text, judge(share), f"pairs within clusters joined by edges above 0.3: {number}")


def _error_claims(records: list[Record]) -> list[Claim]:
    texts = (
        "Normalized edges are best or comparable to the best on all sets",
        "Which of EAC-SL and EAC-AL succeeds depends on the set",
        "EAC-AL (EAC-SL) suits a set where plain AL (SL) does, and the other way round",
        "CSPA does not do well on these sets",
        "HGPA, MCLA, Boost-KM and latent EM fail on some sets",
        "Single runs of KM, SL and AL are good where they fit and fail elsewhere",
        "Spectral clustering works on some sets and fails on complex image and 3-paths",
        "The partitions of complex image and 3-paths are as good as expected",
    )
    if not records:
        return _not_tested(texts)
    means = means_of(records)
    names = list(dict.fromkeys(name for name, _ in means))
    best = {name: best_error(means, name) for name in names}
    return [
        _best_claim(texts[0], means, best),
        _links_claim(texts[1], means, best),
        _plain_claim(texts[2], means, best),
        _fails_claim(texts[3], ["CSPA"], means, best, most=True),
        _fails_claim(texts[4], BIASED, means, best),
        _fails_claim(texts[5], ("KM", "SL", "AL"), means, best),
        _spectral_claim(texts[6], means, best),
        _expected_claim(texts[7], means),
    ]


def _best_claim(text: str, means: Means, best: dict[str, float]) -> Claim:
    away = {name: means[name, "HNE"] - low for name, low in best.items()}
    near = [name for name, value in away.items() if value <= NEAR]
    rest = ", ".join(f"{name} {value:+.3f}" for name, value in away.items() if value > NEAR)
    ranks = {
        title: np.mean([better_kind(means, name, title) - low for name, low in best.items()]) for title in _methods()
    }
    order = sorted(ranks, key=lambda title: ranks[title])
    number = (
        f"within 3 points of the best on {len(near)} of {len(best)} sets"
        + (f" (not: {rest})" if rest else "")
        + f"; mean distance to the best {ranks['HNE']:.3f}, place {order.index('HNE') + 1} of {len(order)} methods"
        + f" ({order[0]} {ranks[order[0]]:.3f}, each method on the kind of ensemble that suits it)"
    )
    return Claim(text, judge(len(near) / len(best)), number)


def _methods() -> tuple[str, ...]:
    return (*SINGLE, *TWICE, "Boost-KM", "HNE")


def _links_claim(text: str, means: Means, best: dict[str, float]) -> Claim:
    single, average = (
        [name for name in best if means[name, one] < means[name, other] - NEAR]
        for one, other in (("EAC-SL many", "EAC-AL many"), ("EAC-AL many", "EAC-SL many"))
    )
    verdict = "holds" if single and average else "holds partly" if average or single else "does not hold"
    return Claim(text, verdict, f"SL better by 3 points: {_listed(single)}; AL: {_listed(average)}")


def _plain_claim(text: str, means: Means, best: dict[str, float]) -> Claim:
    """On how many sets plain and evidence-accumulating link agree in whether they work (ten points from the best)."""
    same = {
        link: [(means[n, link] > best[n] + FAILS) == (means[n, f"EAC-{link} many"] > best[n] + FAILS) for n in best]
        for link in ("SL", "AL")
    }
    share = float(np.mean(same["SL"] + same["AL"]))
    counts = ", ".join(f"{link} {sum(found)} of {len(found)} sets" for link, found in same.items())
    return Claim(text, judge(share, 0.9), f"both work or both fail: {counts}")


def _fails_claim(text: str, titles: Sequence[str], means: Means, best: dict[str, float], most: bool = False) -> Claim:
    failed = {t: [n for n, low in best.items() if better_kind(means, n, t) > low + FAILS] for t in titles}
    share = np.mean([len(found) > len(best) / 2 if most else bool(found) for found in failed.values()])
    worked = [len(found) < len(best) for found in failed.values()]
    number = "; ".join(
        f"{title} 10 points above the best on {len(found)} of {len(best)}" for title, found in failed.items()
    )
    if most:
        number += f" ({_listed(failed[titles[0]])})"
        return Claim(text, "holds" if share else "holds partly" if failed[titles[0]] else "does not hold", number)
    return Claim(text, judge(float(share) if all(worked) else 0.5), number)


def _spectral_claim(text: str, means: Means, best: dict[str, float]) -> Claim:
    named = [name for name in ("complex image", "3-paths") if name in best]
    fails = [name for name in named if means[name, "SC"] > best[name] + FAILS]
    works = [name for name in best if means[name, "SC"] <= best[name] + NEAR]
    numbers = ", ".join(f"{n} {means[n, 'SC']:.2f} (best width {means[n, 'SC best']:.2f})" for n in named)
    verdict = judge((len(fails) + bool(works)) / (len(named) + 1)) if named else "not tested"
    return Claim(text, verdict, f"{numbers}; near the best on {_listed(works)}")


def _expected_claim(text: str, means: Means) -> Claim:
    found = {name: means[name, "HNE"] for name in ("complex image", "3-paths") if (name, "HNE") in means}
    if not found:
        return Claim(text, "not tested", "not measured")
    number = ", ".join(f"{name} error {value:.3f}" for name, value in found.items())
    return Claim(text, judge(float(np.mean([value <= 0.05 for value in found.values()]))), f"{number} (geometry ours)")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _grid_claims(records: list[Record]) -> list[Claim]:
    texts = (
        "theta in [0.1, 0.4] works well and matters little",
        "10 or 20 members are enough",
        "Best or comparable to the best, where each set has the base k that suits the method (chosen by the truth)",
        "A final k somewhat above the true one helps",
    )
    found = {
        what: {
            name: _grid_means(same)
            for (name,), same in grouped([r for r in records if r.case["what"] == what], "set").items()
        }
        for what in ("theta", "members", "base k", "final k")
    }
    if not all(found.values()):
        return _not_tested(texts)
    inside = {
        name: max(v for key, v in means.items() if 0.1 <= float(key) <= 0.4) - min(means.values())
        for name, means in found["theta"].items()
    }
    flat = [name for name, value in inside.items() if value <= NEAR]
    made = [name for name in flat if name in SYNTHETIC]
    enough = {
        number: [name for name, means in found["members"].items() if means[number] <= means["100"] + NEAR]
        for number in ("10", "20", "30")
    }
    lowest = [name for name, means in found["members"].items() if means["20"] <= min(means.values()) + NEAR]
    worst = ", ".join(f"{name} {value:.2f}" for name, value in inside.items() if value > NEAR) or "none"
    counts = ", ".join(f"{number} members on {len(names)}" for number, names in enough.items())
    total = len(found["members"])
    return [
        Claim(
            texts[0],
            judge(len(flat) / len(inside)),
            f"all of [0.1, 0.4] within 3 points of the best theta on {len(flat)} of {len(inside)} sets ({len(made)} of "
            f"them synthetic); range elsewhere: {worst}",
        ),
        Claim(
            texts[1],
            judge(len(enough["20"]) / total, 0.9),
            f"no more than 3 points above 100 members: {counts} of {total} sets (20 members within 3 points of the "
            f"best of all six numbers tried: {len(lowest)})",
        ),
        _suited_claim(texts[2], [r for r in records if r.case["what"] == "base k"]),
        _final_claim(texts[3], found["final k"]),
    ]


def _suited_claim(text: str, records: Sequence[Record]) -> Claim:
    """HNE, EAC-AL and EAC-SL, each at the base k of the grid at which it has the fewest errors on the set."""
    near, away, total = 0, [], 0
    for (name,), found in grouped(records, "set").items():
        means = {key: float(np.mean([r.values[key] for r in found])) for key in found[0].values}
        best = min(value for key, value in means.items() if " " in key)
        mine = min(value for key, value in means.items() if " " not in key)
        total += 1
        near += mine <= best + NEAR
        if mine > best + NEAR:
            away.append(f"{name} {mine:.3f} against {best:.3f}")
    return Claim(text, judge(near / total), f"against EAC-AL and EAC-SL: {near} of {total} sets; not: {_listed(away)}")


def _final_claim(text: str, found: dict[str, dict[str, Any]]) -> Claim:
    """One to one matching; the best of one to three clusters more against none."""
    change = {name: min(means[more] for more in ("1", "2", "3")) - means["0"] for name, means in found.items()}
    helped = {name: value for name, value in change.items() if value < -NEAR}
    harmed = [name for name, value in change.items() if value > NEAR]
    named = ", ".join(f"{name} {value:+.2f}" for name, value in helped.items()) or "none"
    verdict = "does not hold" if not helped else "holds" if not harmed else "holds partly"
    return Claim(text, verdict, f"fewer errors by 3 points: {named}; more: {_listed(harmed)}")


def _grid_means(records: Sequence[Record]) -> dict[str, Any]:
    return {key: float(np.mean([r.values[key] for r in records])) for key in records[0].values if " " not in key}


NOTES = """
- The tables of the paper are not in the text we have, so no error rate can be compared with one in print. Three data
  sets are named, the others are those of the works it cites; geometry and sizes of the synthetic ones are ours.
- Base k: the paper prints 60 for the 2-spirals; its constants for the other sets are lost. We use sqrt(n) for all of
  them. This was decided after first results were seen: we began with constants chosen by hand (10 to 60 for each set,
  each also halved and times 1.5, four runs of HNE and EAC). They were dropped so that no set has a constant of its own.
  sqrt(n) was not the best choice for HNE there: on the complex image 40 gave no errors, 20 gave .205, sqrt(n) is 27; on
  3-paths 30 gave .094, 60 gave .195, sqrt(n) is 25. *base k* above shows what other choices give.
- The spectral clusterer follows Ng, Jordan & Weiss with its own choice of the kernel's width. The narrowest of seven
  widths, the .001 quantile of distances, was left out after those first results, in which SC had an error of .667 on
  3-paths and .320 on iris; with the other six widths the errors are the same.
- "k was chosen as a constant, usually larger than the true number of clusters" can mean the members or the result.
  The table uses the true number for the result. *final k* tests the other meaning: on wine and breast cancer one
  cluster more than there are classes removes most errors (probably true clusters merge before small groups without
  edges; we did not examine it), whereas on the clean shapes every additional cluster splits a true one. So the paper
  may have meant either, or both.
- HNE is not near the best on all sets. We tested base k and final k as causes, see the last two claims; the rest of the
  difference is not explained.
- The settings of the last section have 5 runs each: if runs differ by a tenth, three points may be chance.
- *SC best* and the claim on the most suitable base k use the truth to choose; they only serve to find causes.
- The claim on 10 or 20 members was first judged against the best of all six numbers tried. The lowest of six noisy
  means is not a fair standard, so it is now judged against 100 members. Both counts are given.
- "Joined by a path" is judged on all synthetic sets; on our 2-spirals alone, the paper's example, it does not hold.
- If the graph has more components than clusters are wanted, the paper stops; we join components by average link,
  because otherwise there would not be k clusters. On 200 objects in 2 spirals with 60 clusters per member the graph has
  10 components (2 runs); with 400 to 1,000 objects it has 2 to 4, and on the published 2-spirals of 1,000 objects it
  has 2. So the paper's 2-spirals, which it says are joined by paths, probably have more than 200 objects.
- CSPA, HGPA, MCLA, EAC and latent EM get two kinds of members, because "as suggested in their papers" does not say
  which. Claims use the kind with which the method is better on the set, which favours these methods over HNE.
"""
