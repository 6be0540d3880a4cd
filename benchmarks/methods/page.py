"""The pages docs/default-method.md and docs/measured/methods.md, from what was measured."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.methods.runs import GAPS, MOST_ROWS, PROTOCOLS, Results
from benchmarks.methods.sets import HALVES, MOST_OBJECTS, SETS, WHOLE, half_of

PAGE, EVIDENCE = Path("docs/default-method.md"), Path("docs/measured/methods.md")
DEFAULT = "lwgp"
"""What "auto" takes mostly; its losses are listed."""
LOSS = 0.03
"""A set is listed where another method's NMI is higher by more than this."""

# what is said about the figures is written by hand and kept here, so that the page can be made again
CHOICE, FIGURES = (Path(__file__).parent / name for name in ("choice.md", "measured.md"))
PICTURE = "![Mean ranks by NMI with the classes, both halves](images/critical-difference.png)"

Table = dict[str, dict[tuple[str, str], float]]
"""method -> (set, protocol) -> mean over repeats"""


def write_page(results: Results, page: Path = PAGE, evidence: Path = EVIDENCE) -> None:
    from benchmarks.methods.picture import draw

    ranks = {half: mean_ranks(results, half) for half in HALVES}
    draw(ranks, page.parent / "images" / "critical-difference.png")
    page.write_text(text(), encoding="utf-8")
    evidence.write_text(measured(results), encoding="utf-8")
    print(f"wrote {page} and {evidence}: {len(results.values)} ensembles")


def text() -> str:
    """The page for readers, which is written by hand."""
    words = CHOICE.read_text(encoding="utf-8").replace("{{PICTURE}}", PICTURE)
    link = (
        "[All methods on all sets](measured/methods.md) have a page of their own, which also says how it was measured."
    )
    return f"# Which method should be the default?\n\n{words.strip()}\n\n{link}\n"


def measured(results: Results) -> str:
    """The page behind it; the same results make the same page."""
    parts = [
        "# All methods on labels, measured",
        "[The page before](../default-method.md) says what follows from these figures.",
        FIGURES.read_text(encoding="utf-8").strip(),
        "## How it was measured",
        _protocols(results),
        "## All methods, both halves",
        _means(results),
        PICTURE.replace("(images/", "(../images/"),
        f"## Where `{DEFAULT}` loses",
        _losses(results),
        "## Where labels are missing",
        _gaps(results),
    ]
    return "\n\n".join(parts) + "\n"


def table_of(results: Results, measure: str) -> Table:
    """Means over repeats of one measure."""
    found: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for case, methods in results.values.items():
        for method, values in methods.items():
            if measure in values:
                found[method][case.set, case.protocol].append(values[measure])
    return {m: {case: float(np.mean(v)) for case, v in cases.items()} for m, cases in found.items()}


def mean_ranks(results: Results, half: str) -> tuple[dict[str, float], int]:
    """Mean rank by NMI of every method over the cases of a half that all methods were run on, and their number."""
    table = table_of(results, "nmi")
    cases = sorted(
        case
        for case in set.intersection(*(set(column) for column in table.values()))
        if case[1] in PROTOCOLS and half_of(case[0]) == half
    )
    methods = sorted(table)
    ranks = _ranks(np.array([[table[method][case] for method in methods] for case in cases])).mean(axis=0)
    return dict(zip(methods, ranks.tolist(), strict=True)), len(cases)


def _ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 is best, in each row; ties share."""
    return np.asarray(stats.rankdata(-np.round(scores, 6), axis=1))


def critical_difference(n_methods: int, n_cases: int) -> float:
    """Nemenyi's at 5%: mean ranks closer than this do not differ."""
    quantile = float(stats.studentized_range.ppf(0.95, n_methods, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * n_cases)))


def _protocols(results: Results) -> str:
    seen = {case.set for case in results.values}
    sets = {half: [name for name in SETS if half_of(name) == half and name in seen] for half in HALVES}
    repeats = 1 + max(case.repeat for case in results.values if case.protocol in PROTOCOLS)
    limits = ", ".join(f"`{method}` {rows:,}" for method, rows in MOST_ROWS.items())
    return f"""Every method ran on {len(seen)} data sets, \
{repeats} fresh ensembles for each set and protocol, with the number of classes given as the number of clusters:

- **20 members**: k-means with random starts, k of each member drawn from 10 to 40 (at most a fifth of the objects).
- **10 members**: k-means with random starts, k of each member drawn from 2 to the square root of the number of \
objects (at most 100). This is the usual test in the literature, and the harder one.

Real measurements are z-normalised; points in the plane and the pixels of mnist are taken as they come. Sets of more \
than {MOST_OBJECTS:,} objects are sampled down to that, except {", ".join(WHOLE)}. Slow methods run only up to a \
number of distinct rows ({limits}). `best` returns a member and keeps its number of clusters.

The sets alternate between two halves in alphabetical order. Methods were compared on the first half; the second half \
only confirms. Candidates that led on the first half and not on the second were not taken (decision 32).

- Choice: {", ".join(sets["choice"])}.
- Report: {", ".join(sets["report"])}."""


def _means(results: Results) -> str:
    tables = {measure: table_of(results, measure) for measure in ("nmi", "ari", "anmi")}
    ranks = {half: mean_ranks(results, half) for half in HALVES}
    cells = [(half, protocol) for half in HALVES for protocol in PROTOCOLS]
    order = sorted(tables["nmi"], key=lambda method: ranks["choice"][0][method])
    difference = {half: critical_difference(len(order), ranks[half][1]) for half in HALVES}
    lines = [
        "Mean NMI / ARI with the classes in each half and protocol, mean rank by NMI in each half (1 is best), and the "
        "mean ANMI with the members, which does not decide. Methods whose mean ranks are closer than "
        + " or ".join(f"{difference[half]:.1f} ({half}, {ranks[half][1]} cases)" for half in HALVES)
        + " do not differ (Nemenyi, 5%).",
        "",
        "| method | "
        + " | ".join(f"{half}, {protocol}" for half, protocol in cells)
        + " | rank, choice | rank, report "
        "| ANMI |",
        "|---" * (len(cells) + 4) + "|",
    ]
    for method in order:
        means = [_mean_cell(tables, method, half, protocol) for half, protocol in cells]
        places = [f"{ranks[half][0][method]:.1f}" for half in HALVES]
        agreement = [value for (_, protocol), value in tables["anmi"][method].items() if protocol in PROTOCOLS]
        lines.append(f"| `{method}` | {' | '.join(means)} | {' | '.join(places)} | {np.mean(agreement):.3f} |")
    return "\n".join(lines)


def _mean_cell(tables: dict[str, Table], method: str, half: str, protocol: str) -> str:
    cases = [case for case in tables["nmi"][method] if case[1] == protocol and half_of(case[0]) == half]
    return " / ".join(f"{np.mean([tables[measure][method][case] for case in cases]):.3f}" for measure in ("nmi", "ari"))


def _losses(results: Results) -> str:
    table = table_of(results, "nmi")
    own, cases = table[DEFAULT], [case for case in sorted(table[DEFAULT]) if case[1] in PROTOCOLS]
    wins = {
        rival: sum(own[case] > table[rival][case] for case in cases)
        - sum(own[case] < table[rival][case] for case in cases)
        for rival in ("transfer", "lwea")
    }
    lines = [
        f"`{DEFAULT}` has the higher NMI than `transfer` in {wins['transfer']} more of {len(cases)} cases than the "
        f"lower one, and than `lwea` in {wins['lwea']} more. The best of all the other methods, which nobody knows "
        f"beforehand, is ahead by more than {LOSS} here:",
        "",
        f"| half | set | protocol | `{DEFAULT}` | `transfer` | `lwea` | best |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in cases:
        best = max((m for m in table if case in table[m] and m != "best"), key=lambda m: table[m][case])
        if table[best][case] > own[case] + LOSS:
            figures = " | ".join(f"{table[method][case]:.3f}" for method in (DEFAULT, "transfer", "lwea"))
            lines.append(
                f"| {half_of(case[0])} | {case[0]} | {case[1]} | {figures} | {table[best][case]:.3f} `{best}` |"
            )
    return "\n".join(lines)


def _gaps(results: Results) -> str:
    """What becomes of each method where labels are missing."""
    protocols = [f"gaps {share}" for share in GAPS]
    tables = {measure: table_of(results, measure) for measure in ("nmi", "ari")}
    names = {case[0] for column in tables["nmi"].values() for case in column if case[1] in protocols}
    cells: dict[str, list[str]] = {}
    score: dict[str, float] = {}
    for method, column in tables["nmi"].items():
        shown, total = [], 0.0
        for protocol in protocols:
            cases = [case for case in column if case[1] == protocol]
            means = [float(np.mean([tables[measure][method][case] for case in cases])) for measure in tables]
            total += means[0]
            note = f" ({len(cases)} sets)" if len(cases) < len(names) else ""
            shown.append(" / ".join(f"{mean:.3f}" for mean in means) + note)
        cells[method], score[method] = shown, total
    lines = [
        f"The ensembles of 20 members on {len(names)} of the sets, labels taken away at random, though every object "
        "keeps one: mean NMI / ARI with the classes.",
        "",
        "| method | " + " | ".join(f"{share:.0%} missing" for share in GAPS) + " |",
        "|---" * (len(GAPS) + 1) + "|",
    ]
    lines += [f"| `{method}` | {' | '.join(cells[method])} |" for method in sorted(score, key=lambda m: -score[m])]
    return "\n".join(lines)
