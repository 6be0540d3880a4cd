"""The page docs/default-method.md and its picture, from what was measured."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

PAGE = Path("docs/default-method.md")
PICTURE = Path("docs/images/critical-difference.png")
MEASURES = ("nmi", "ari", "anmi")

# what is said about the figures is written by hand and kept here, so that the page can be made again
CHOICE = Path("benchmarks/methods/choice.md")


def write_page(records: list[dict[str, Any]]) -> None:
    gaps = [record for record in records if record["rule"].startswith("gaps")]
    records = [record for record in records if not record["rule"].startswith("gaps")]
    table = _table(records)
    methods = sorted(table["nmi"])
    cases = sorted(set.intersection(*(set(table["nmi"][method]) for method in methods)))
    ranks = {
        measure: _ranks(np.array([[table[measure][m][case] for m in methods] for case in cases]))
        for measure in MEASURES
    }
    _draw(methods, ranks["nmi"].mean(axis=0), len(cases))
    PAGE.write_text(_text(records, table, methods, cases, ranks) + _gaps_text(gaps), encoding="utf-8")
    print(f"wrote {PAGE} and {PICTURE}: {len(cases)} cases, {len(methods)} methods")


def _table(records: list[dict[str, Any]]) -> dict[str, dict[str, dict[tuple[str, str], float]]]:
    """measure -> method -> (set, rule) -> mean over repeats."""
    values: dict[str, dict[str, dict[tuple[str, str], list[float]]]] = {
        measure: defaultdict(lambda: defaultdict(list)) for measure in (*MEASURES, "seconds")
    }
    for record in records:
        if "error" not in record:
            for measure, found in values.items():
                found[record["method"]][record["set"], record["rule"]].append(record[measure])
    return {
        measure: {m: {case: float(np.mean(v)) for case, v in cases.items()} for m, cases in found.items()}
        for measure, found in values.items()
    }


def _ranks(scores: np.ndarray) -> np.ndarray:
    """1 is best, in each row; ties share."""
    return np.asarray(stats.rankdata(-np.round(scores, 6), axis=1))


def critical_difference(n_methods: int, n_cases: int) -> float:
    """Nemenyi's at 5%: mean ranks closer than this do not differ."""
    quantile = float(stats.studentized_range.ppf(0.95, n_methods, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_cases)))


def _text(
    records: list[dict[str, Any]],
    table: dict[str, dict[str, dict[tuple[str, str], float]]],
    methods: list[str],
    cases: list[tuple[str, str]],
    ranks: dict[str, np.ndarray],
) -> str:
    sets = sorted({case[0] for case in cases})
    repeats = 1 + max(record["repeat"] for record in records)
    difference = critical_difference(len(methods), len(cases))
    lines = [
        "# Which method should be the default?",
        "",
        CHOICE.read_text(encoding="utf-8").strip() if CHOICE.exists() else "",
        "",
        f"Measured by `python -m benchmarks.methods`: {len(sets)} data sets ({', '.join(sets)}), z-normalised; "
        f"20 k-means members each, k drawn from LIN's rule [classes, min(sqrt n, 100)] and from [10, 40]; "
        f"consensus into as many clusters as classes; {repeats} ensembles a case, {len(cases)} cases. "
        f"`best` keeps its own k. Ranks: 1 is best; mean ranks closer than {difference:.2f} do not differ "
        "(Nemenyi, 5%). Seconds: median over cases, compiled.",
        "",
        "![Mean ranks by NMI with the classes](images/critical-difference.png)",
        "",
        "| method | NMI | ARI | ANMI | rank by NMI | by ARI | by ANMI | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for place in np.argsort(ranks["nmi"].mean(axis=0)):
        method = methods[place]
        means = [np.mean([table[measure][method][case] for case in cases]) for measure in MEASURES]
        order = [ranks[measure][:, place].mean() for measure in MEASURES]
        seconds = np.median([table["seconds"][method][case] for case in cases])
        figures = [*(f"{value:.3f}" for value in means), *(f"{value:.2f}" for value in order), f"{seconds:.3f}"]
        lines.append(f"| `{method}` | {' | '.join(figures)} |")
    failed = sorted({(r["method"], r["set"], r["error"]) for r in records if "error" in r})
    lines += ["", *(f"- `{method}` gave no answer on {name}: {error}" for method, name, error in failed), ""]
    return "\n".join(lines)


def _gaps_text(records: list[dict[str, Any]]) -> str:
    """What becomes of each method where labels are missing."""
    if not records:
        return ""
    table = _table(records)["nmi"]
    rules = sorted({record["rule"] for record in records})
    cases = {
        rule: sorted(set.intersection(*({c for c in t if c[1] == rule} for t in table.values()))) for rule in rules
    }
    ranks = {
        rule: dict(
            zip(table, _ranks(np.array([[t[c] for t in table.values()] for c in cases[rule]])).mean(0), strict=True)
        )
        for rule in rules
    }
    shares = [f"{float(rule.split()[1]):.0%} missing" for rule in rules]
    lines = [
        "## Where labels are missing",
        "",
        f"Members by LIN's rule on {len(cases[rules[0]])} of the sets, labels taken away at random (every object keeps "
        "one): mean NMI with the classes, and in parentheses the mean rank.",
        "",
        "| method | " + " | ".join(shares) + " |",
        "|---" * (len(rules) + 1) + "|",
    ]
    for method in sorted(table, key=lambda m: float(np.mean([ranks[rule][m] for rule in rules]))):
        cells = (f"{np.mean([table[method][c] for c in cases[r]]):.3f} ({ranks[r][method]:.1f})" for r in rules)
        lines.append(f"| `{method}` | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _draw(methods: list[str], ranks: np.ndarray, n_cases: int) -> None:
    """Mean ranks on a line, with a bar over each group of methods that do not differ."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    order = np.argsort(ranks)
    difference = critical_difference(len(methods), n_cases)
    figure, axes = plt.subplots(figsize=(7.5, 0.28 * len(methods) + 1.2), layout="constrained")
    places = np.arange(len(methods))
    axes.hlines(places, 1, ranks[order], color="0.85", zorder=1)
    axes.plot(ranks[order], places, "o", color="#0072B2", zorder=3)
    axes.set_yticks(places, [methods[m] for m in order])
    axes.invert_yaxis()
    shown = -1
    for first in range(len(methods)):
        last = int(np.flatnonzero(ranks[order] <= ranks[order][first] + difference)[-1])
        if last > shown and last > first:
            axes.plot([ranks[order][first]] * 2, [first, last], color="#D55E00", lw=2.5, alpha=0.6, zorder=2)
            shown = last
    axes.set_xlim(1, ranks.max() + 1)
    axes.set_xlabel(f"mean rank by NMI with the classes, {n_cases} cases; 1 is best")
    axes.set_title(f"Methods on one orange bar differ by less than {difference:.2f} (Nemenyi, 5%)", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)
