"""The pages docs/trust.md and docs/measured/trust.md, from their words and from what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.sets import group_of
from benchmarks.accuracy.tables import table_text
from benchmarks.trust.cases import cases_section, used_text
from benchmarks.trust.confidence import GROUPS, MANY, half_of
from benchmarks.trust.fresh_page import fresh_lines, fresh_section
from benchmarks.trust.noise import FOUND
from benchmarks.trust.noise_sets import kind_of
from benchmarks.trust.numbers import numbers_section, read_results
from benchmarks.trust.runs import Record, Results
from benchmarks.trust.tables import GAPS
from quorate._verdict import GRADES, NO_STRUCTURE

PAGE = Path("docs/trust.md")
EVIDENCE = "measured/trust.md"
WORDS, EVIDENCE_WORDS = (Path(__file__).parent / name for name in ("words.md", "measured.md"))
SHORT, RELIABILITY, ROC = "trust.png", "trust-confidence.png", "trust-noise.png"
AIM = 0.06
"""The expected calibration error that was aimed at."""
HALVES = ("half A", "half B")
NOT_YET = "Not measured yet."
CALIBRATION_HEAD = [
    "", "cases", "mean confidence", "share that stays", "ECE", "ECE before", "largest ECE", "placed right",
    "distance from right",
]  # fmt: skip
VERDICT_HEAD = [
    "set", "objects", "clusters", "grade", "reproducibility", "z (labels)", "z (reference)", "ARI with the classes",
]  # fmt: skip


def write_page(results: Results, page: Path = PAGE) -> None:
    from benchmarks.trust.pictures import draw_noise, draw_reliability, draw_short

    draw_short(results, page.parent / "images" / SHORT)
    draw_reliability(results, page.parent / "images" / RELIABILITY)
    draw_noise(results, page.parent / "images" / ROC)
    page.write_text(text(results), encoding="utf-8")
    behind = page.parent / EVIDENCE
    behind.parent.mkdir(exist_ok=True)
    behind.write_text(evidence(results), encoding="utf-8")
    print(f"wrote {page} and {behind}")


def text(results: Results) -> str:
    """The page for readers; the same results make the same page."""
    return _filled(WORDS, {"picture": _picture(results), "short": summary(results)})


def evidence(results: Results) -> str:
    """The page with the tables of every set."""
    parts = {
        "long": details(results),
        "noise": _noise(results),
        "numbers": _numbers(),
        "fresh": fresh_section(results.found),
        "confidence": _confidence(results),
        "cases": cases_section(results.found["cases"]),
        "verdict": _verdicts(results),
    }
    return _filled(EVIDENCE_WORDS, parts)


def _filled(path: Path, parts: dict[str, str]) -> str:
    words = path.read_text(encoding="utf-8")
    for name, part in parts.items():
        words = words.replace(f"<!-- {name} -->", part.strip())
    return words


def _picture(results: Results) -> str:
    if not results.found["noise"]:
        return NOT_YET
    return f"""![Grades of sets with and without clusters; confidence and objects that stay in place](images/{SHORT})

*Left: the grades of sets whose clusters can be found, and of sets without any. Right: how many objects of each \
confidence were in the same cluster when everything was repeated with new clusterings (96 cases that were not used to \
choose anything; a larger point stands for more objects). On the grey line confidence is exact.*"""


def summary(results: Results) -> str:
    """The main figures in everyday words, one line each."""
    if not any(results.found.values()):
        return NOT_YET
    found, lines = results.found, []
    if found["noise"]:
        without, findable = without_clusters(found["noise"]), with_findable(found["noise"])
        lines += [
            f"- **No clusters.** Of {len(without)} data sets without clusters, {_called(without)} were called "
            f'"{NO_STRUCTURE}". Of {len(findable)} sets with clusters that can be found, {_called(findable)} were '
            f"called so by mistake."
        ]
    lines += fresh_lines(found)
    if found["cases"]:
        lines.append(f"- **Bad results.** {used_text(found['cases'])}")
    if found["confidence"]:
        error = _mean(calibration_errors(results, "now", HALVES[1]).values())
        lines.append(
            f"- **Confidence** was off by {100 * error:.0f} percentage points on average, on sets that were not used "
            f"to choose anything ({100 * AIM:.0f} was the aim)."
        )
    return "\n".join(lines)


def details(results: Results) -> str:
    """The figures of confidence on both halves, and those of earlier versions."""
    if not results.found["confidence"]:
        return NOT_YET
    lines = []
    for title, which in (("", "now"), (" as earlier versions computed it", "before")):
        errors = [_mean(calibration_errors(results, which, half).values()) for half in HALVES]
        lines.append(
            f"- Expected calibration error of confidence{title}, against fresh ensembles: {errors[0]:.3f} on half A, "
            f"where settings were chosen, and {errors[1]:.3f} on half B (mean over the kinds of cases with clusters; "
            f"{AIM} was aimed at)."
        )
    return "\n".join([summary(results), *lines])


def without_clusters(noise: dict[str, Record]) -> list[Record]:
    """The sets without clusters."""
    return [record for name, record in noise.items() if " / without / " in name]


def with_findable(noise: dict[str, Record]) -> list[Record]:
    """The sets whose planted clusters can be found."""
    return [record for record in noise.values() if record.get("findable", 0.0) >= FOUND]


def calibration_error(bins: list[list[float]], column: int = 2) -> float:
    """The mean distance of confidence and what it estimates over bins of confidence, each weighted by its objects."""
    table = np.array(bins)
    return float(np.abs(table[:, 1] - table[:, column]).sum() / table[:, 0].sum())


def calibration_errors(results: Results, which: str, half: str) -> dict[str, float]:
    """For each kind of cases with clusters, the mean error over its cases of one half."""
    found = {}
    for group in GROUPS[:4]:
        errors = [calibration_error(record[which]) for record in of_group(results, group, half).values()]
        if errors:
            found[group] = _mean(errors)
    return found


def of_group(results: Results, group: str, half: str) -> dict[str, Record]:
    """The cases of one kind and one half."""
    cases = results.found["confidence"]
    return {name: cases[name] for name in sorted(cases) if name.startswith(f"{group} / ") and half_of(name) == half}


def _mean(values: Any) -> float:
    known = list(values)
    return float(np.mean(known)) if known else float("nan")


def _called(records: list[Record]) -> int:
    return sum(record["grade"] == NO_STRUCTURE for record in records)


def _noise(results: Results) -> str:
    noise = results.found["noise"]
    if not noise:
        return NOT_YET
    kinds: dict[str, list[Record]] = {}
    for name in sorted(noise):
        kind, clusters, _ = name.split(" / ")
        label = (
            kind_of(name)
            if clusters == "without"
            else f"planted clusters, {'measured' if kind == 'measured' else 'labels'}"
        )
        kinds.setdefault(label, []).append(noise[name])
    rows = []
    for kind, records in kinds.items():
        findable = [record for record in records if record.get("findable", 0.0) >= FOUND]
        grades = [str(sum(record["grade"] == grade for record in records)) for grade in GRADES]
        missed = f"{_called(findable)} of {len(findable)}" if "findable" in records[0] else ""
        rows.append([kind, str(len(records)), *grades, missed])
    seconds = [record["seconds"] for record in noise.values()]
    return f"""Sets without clusters (300 to 1,000 points in 2 to 50 dimensions: Gaussian, uniform, correlated, and \
t-distributed with 4 degrees of freedom; and independent random labels of 3 to 100 members with 2 to 50 clusters), \
and as many with planted clusters: Gaussian clusters whose nearest centres are 10 to 2 standard deviations apart, \
and labels that are right in 95% to 15% of the cases. The number of clusters is given: the true one, or 2 to 8. \
Measurements are compared with a reference without clusters (`features=`), labels with permuted labels. Planted \
clusters count as findable if k-means with the true number of clusters (for labels: the consensus) finds them with \
an ARI of {FOUND} or more.

{table_text(["", "sets", *GRADES, "findable, called no structure"], rows)}

Median time {np.median(seconds):.1f} s of the processor for each set, members and consensus included, \
at most {max(seconds):.0f} s.

![How often sets without clusters and sets with findable clusters are called structure](../images/{ROC})"""


def _numbers() -> str:
    return numbers_section(read_results())


def _confidence(results: Results) -> str:
    if not results.found["confidence"]:
        return NOT_YET
    rows = []
    for group in GROUPS:
        for half in HALVES:
            cases = of_group(results, group, half)
            if cases:
                rows.append(_calibration_row(f"{group}, {half}", list(cases.values())))
    cost = [record["times"] for record in results.found["confidence"].values()]
    within = sum(value <= 5 for value in cost)
    return f"""Each case is one ensemble and three fresh ones, made with other seeds (tables of labels: with other \
members). Clusters are matched one to one by the Hungarian method. The expected calibration error (ECE) is the mean \
distance of confidence and the share that stays, over ten bins of confidence. Settings of the halves were chosen on \
half A, those of fresh labels on 69 other tables. \
"Before" is the confidence of earlier versions, the co-association of an object with its own cluster divided by the \
sum of that and its co-association with the closest other cluster. Where classes are known, the last columns tell \
the share of objects that are in the cluster matched with their class, and the mean distance of confidence from it.

{table_text(CALIBRATION_HEAD, rows)}

{_gaps(results)}

![Confidence, and the share of objects that fresh ensembles place in the same cluster](../images/{RELIABILITY})

With confidence a consensus takes {np.median(cost):.1f} times as long (median; at most five times as long in \
{within} of {len(cost)} cases). Random labels have no clusters; what stays there, stays by chance.

{_tight_groups(results)}"""


def _gaps(results: Results) -> str:
    """Tables with gaps by the reason for the gaps; how far mean confidence is off within a number of labels."""
    rows = []
    for place, kind in enumerate(GAPS):
        for half in HALVES:
            cases = of_group(results, GROUPS[3], half)
            own = [record for name, record in cases.items() if int(name.split(" / ")[1]) // 2 % len(GAPS) == place]
            if own:
                errors = [calibration_error(record["now"]) for record in own]
                apart = [abs(mean - stay) for record in own for _, _, mean, stay in record["by_number"]]
                rows.append(
                    [
                        f"{kind}, {half}",
                        str(len(own)),
                        f"{_mean(errors):.3f}",
                        f"{_mean(apart):.3f}",
                        f"{max(apart):.2f}",
                    ]
                )
    if not rows:
        return ""
    head = ["labels missing", "cases", "ECE", "within a number of labels", "largest"]
    return f"""Objects with few labels must not look sure. In the tables with gaps the same labels are missing in the \
fresh ensembles. The last columns compare the mean confidence of objects that have the same number of labels with the \
share of them that stays, wherever {MANY} objects have that number.

{table_text(head, rows)}"""


def _calibration_row(title: str, records: list[Record]) -> list[str]:
    now, before = ([calibration_error(record[which]) for record in records] for which in ("now", "before"))
    sums = [np.array(record["now"]).sum(axis=0) for record in records]
    means = [_mean(total[column] / total[0] for total in sums) for column in (1, 2)]
    known = [record for record in records if len(record["now"][0]) > 3]
    right = [np.array(record["now"]).sum(axis=0) for record in known]
    cells = [f"{value:.3f}" for value in (*means, _mean(now), _mean(before), max(now))]
    if known:
        cells.append(f"{_mean(total[3] / total[0] for total in right):.3f}")
        cells.append(f"{_mean(calibration_error(record['now'], 3) for record in known):.3f}")
    return [title, str(len(records)), *cells, *[""] * (2 if not known else 0)]


def _tight_groups(results: Results) -> str:
    """The clusters of pendigits: a small tight group inside another class was the most confident of all before."""
    record = results.found["confidence"].get("default / pendigits")
    if record is None:
        return ""
    clusters = sorted(record["clusters"], key=lambda cluster: cluster[0])
    rows = [[f"{size:,.0f}", *(f"{value:.2f}" for value in values)] for size, *values in clusters]
    head = ["objects", "mean confidence", "before", "share that stays", "share of its largest class"]
    return f"The clusters of pendigits, the smallest first:\n\n{table_text(head, rows)}"


def _verdicts(results: Results) -> str:
    found = results.found["verdict"]
    if not found:
        return NOT_YET
    rows = []
    for half in HALVES:
        for grade in GRADES:
            values = [r["ari"] for name, r in found.items() if r["grade"] == grade and group_of(name) == half]
            if values:
                low, middle, high = np.quantile(values, [0, 0.5, 1])
                rows.append([half, grade, str(len(values)), f"{low:.2f}", f"{middle:.2f}", f"{high:.2f}"])
    each = [
        [
            name,
            f"{r['objects']:,}",
            str(r["k"]),
            str(r["grade"]),
            *(_cell(r[key]) for key in ("reproducibility", "z", "reference_z", "ari")),
        ]
        for name, r in sorted(found.items())
    ]
    return f"""`EnsembleClustering` with the true number of clusters on labelled sets. The grade says how far \
the clusters are structure of the data; classes need not be clusters, so a strong structure may match them badly.

{table_text(["", "grade", "sets", "lowest ARI with the classes", "median", "highest"], rows)}

<details><summary>All sets</summary>

{table_text(VERDICT_HEAD, each)}

</details>"""


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
