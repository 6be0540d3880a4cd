"""SPARSE: how many pairs the co-association matrix stores, and how good evidence accumulation stays with many clusters.

Figure 2 (ten Gaussians, both rules for k, theory beside it), the causes of what differs from the estimates, then
Figure 3 and Table I, which are in sparse_eac_sets.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers import sparse_eac_example
from benchmarks.papers import sparse_eac_sets as sets
from benchmarks.papers.compare import Claim, Compared, compared_table, judge, plain_table
from benchmarks.papers.paper import Experiment, Paper, grouped
from benchmarks.papers.records import Case, Record, Values
from quorate import as_ensemble, co_association, consensus, datasets, generate
from quorate.generation import KMeans

A = 50
"""Of the linear rule: members have n / A to n / B clusters, B = 20."""
GAUSSIANS = 10
SWEEPS = 25
MEMBERS = 150
RULES = ("sqrt", "linear")
COLOURS = {"sqrt": "#0072B2", "linear": "#D55E00"}
LARGE = 10_000
"""From here on the base clusters are small beside the Gaussians under both rules."""


def members_of(X: Any, case: Any, base: Any) -> Any:
    """Make the members; that the clusters lie on one axis is part of the paper's data, and no reason to warn."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the columns differ in scale")
        return generate(X, case["members"], k=case["rule"], base=base, random_state=case["repeat"], n_jobs=1)


def estimate(rule: str, n: int) -> float:
    """Entries of the full matrix the paper expects not to be zero."""
    return 4 * n * float(np.sqrt(n)) if rule == "sqrt" else 2.0 * A * n


def entries(record: Record, count: str = "full") -> float:
    """Entries that are not zero: of the full matrix with its diagonal, or of the upper triangle alone."""
    pairs, n = record.values["pairs"], record.case["n"]
    return float(2 * pairs + n if count == "full" else pairs)


def growth_cases(quick: bool) -> Sequence[Case]:
    repeats = {1000: 3, 2000: 3, 5000: 3, 10_000: 3, 20_000: 2, 50_000: 1}
    if quick:
        repeats = {1000: 1, 2000: 1, 5000: 1}
    members = 50 if quick else MEMBERS
    return [
        {"n": n, "rule": rule, "members": members, "repeat": repeat}
        for n, number in repeats.items()
        for rule in RULES
        for repeat in range(number)
    ]


def growth(case: Case) -> Values:
    """Pairs stored, how uneven the base clusters are, and the seconds of the matrix and of average link."""
    _compiled()
    X = datasets.ten_gaussians(case["n"], random_state=case["repeat"]).X
    base = base_of(case.get("init", "random"), case.get("sweeps", SWEEPS))
    ensemble = members_of(X, case, base)
    found = co_association(ensemble, max_bytes=12_000_000_000)
    values: dict[str, Any] = {
        "pairs": found.n_pairs,
        "kmin": int(ensemble.n_clusters.min()),
        "uneven": uneven(ensemble),
    }
    return values


def time_cases(quick: bool) -> Sequence[Case]:
    sizes = (1000, 2000) if quick else (5000, 10_000, 20_000, 40_000)
    return [{"n": n, "rule": "linear", "members": 10 if quick else 20, "repeat": 0} for n in sizes]


def times(case: Case) -> Values:
    """Processor seconds, the least of three, so that other programs on the machine do not count."""
    _compiled()
    X = datasets.ten_gaussians(case["n"], random_state=case["repeat"]).X
    base = KMeans(max_iter=SWEEPS)
    start = time.process_time()
    ensemble = members_of(X, case, base)
    values = {"member_seconds": time.process_time() - start}
    values["matrix_seconds"] = _least(lambda: co_association(ensemble))
    values["link_seconds"] = _least(lambda: consensus(ensemble, GAUSSIANS, method="eac"))
    return values


def _least(job: Callable[[], Any]) -> float:
    taken = []
    for _ in range(3):
        start = time.process_time()
        job()
        taken.append(time.process_time() - start)
    return min(taken)


def time_page(records: list[Record], pictures: Path) -> str:
    names = {"member_seconds": "members", "matrix_seconds": "sparse matrix", "link_seconds": "exact average link"}
    rows = [(f"{r.case['n']:,}", *(f"{r.values[name]:.2f}" for name in names)) for r in records]
    slopes = {name: exponents(records, name, least=0)["linear"] for name in names}
    rows.append(("exponent", *(f"n^{slope[0]:.2f}" if slope else "" for slope in slopes.values())))
    return "\n\n".join(
        [
            f"Linear rule, {records[0].case['members']} members; seconds of one processor, the least of three (members "
            "once). Average link works on the labels, without the matrix.",
            plain_table(("n", *names.values()), rows),
            "k-means costs n k per sweep, which is n^2 under this rule: the linear time of the paper does not include "
            "making the members.",
        ]
    )


def base_of(init: str, sweeps: int) -> Any:
    """Our k-means; or scikit-learn's, whose k-means++ takes the best of several candidates for each start."""
    if init != "scikit-learn":
        return KMeans(init=init, max_iter=sweeps)
    from sklearn.cluster import KMeans as Peer

    return Peer(n_init=1, max_iter=sweeps)


def uneven(ensemble: Any) -> float:
    """Pairs within the clusters of a member over those of a balanced member, mean over members."""
    n = ensemble.n_rows
    return float(
        np.mean(
            [k * (np.bincount(ensemble.labels[:, q]) ** 2.0).sum() / n**2 for q, k in enumerate(ensemble.n_clusters)]
        )
    )


@cache
def _compiled() -> None:
    """Kernels compiled before anything is timed."""
    tiny = as_ensemble(np.random.default_rng(0).integers(0, 3, (60, 4)))
    co_association(tiny)
    consensus(tiny, 2, method="eac")


def growth_page(records: list[Record], pictures: Path) -> str:
    draw_growth(records, pictures / "sparse-eac-growth.png")
    rows = []
    for (rule, n), found in grouped(records, "rule", "n").items():
        full = float(np.mean([entries(r) for r in found]))
        upper = float(np.mean([entries(r, "upper") for r in found]))
        rows.append(
            (
                rule,
                f"{n:,}",
                len(found),
                f"{full:,.0f}",
                f"{full / n**2:.4f}",
                f"{estimate(rule, n):,.0f}",
                f"{full / estimate(rule, n):.2f}",
                f"{upper / estimate(rule, n):.2f}",
                f"{full / (n**2 / GAUSSIANS):.2f}",
                f"{np.mean([r.values['uneven'] for r in found]):.2f}",
            )
        )
    head = (
        *("rule", "n", "runs", "entries not 0", "density", "estimate", "full / estimate", "upper triangle / estimate"),
        *("full / perfect blocks", "uneven"),
    )
    fitted = exponents(records)
    compared = [
        Compared(
            f"{rule} rule, exponent of the number of entries, n >= {LARGE:,}",
            wanted,
            fitted[rule],
            why,
            None,
            rounding=0.005,
        )
        for rule, wanted, why in (
            ("linear", 1.0, "the clusters grow more even with n, last column, so the factor before n falls"),
            ("sqrt", 1.5, ""),
        )
    ]
    return "\n\n".join(
        [
            f"Ten Gaussians, means (0, 12 i), {records[0].case['members']} members of k-means from random starts "
            f"(at most {SWEEPS} sweeps). The paper prints no numbers, so ours are compared with the theory.",
            "![density and number of entries](images/sparse-eac-growth.png)",
            compared_table(compared, 2),
            plain_table(head, rows),
            "*uneven*: pairs within the clusters of a member over those of a member with equal clusters. "
            "*Perfect blocks*: all pairs within the ten Gaussians, n^2 / 10.",
        ]
    )


def exponents(records: Sequence[Record], value: str = "entries", least: int = LARGE) -> dict[str, list[float]]:
    """Slope of log value over log n for each rule, from the means at each n; [] with fewer than two n."""
    slopes: dict[str, list[float]] = {rule: [] for rule in RULES}
    for (rule,), found in grouped(records, "rule").items():
        sizes, means = [], []
        for (n,), same in grouped(found, "n").items():
            numbers = [entries(r) if value == "entries" else r.values.get(value, np.nan) for r in same]
            if n >= least and np.isfinite(numbers).all():
                sizes.append(n)
                means.append(float(np.mean(numbers)))
        if len(sizes) > 1:
            slopes[rule] = [float(np.polyfit(np.log(sizes), np.log(means), 1)[0])]
    return slopes


def draw_growth(records: Sequence[Record], path: Path) -> None:
    """Figure 2: density and number of entries over n, with the estimates and the perfect blocks."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained")
    sizes = np.array(sorted({r.case["n"] for r in records}), dtype=float)
    for rule in RULES:
        found = [r for r in records if r.case["rule"] == rule]
        n = np.array([r.case["n"] for r in found], dtype=float)
        full, upper = (np.array([entries(r, count) for r in found]) for count in ("full", "upper"))
        theory = np.array([estimate(rule, int(size)) for size in sizes])
        for ax, scale, scale_all in ((left, n**2, sizes**2), (right, 1.0, 1.0)):
            ax.plot(n, full / scale, "o", color=COLOURS[rule], label=f"{rule}, full matrix")
            ax.plot(n, upper / scale, "^", color=COLOURS[rule], mfc="none", label=f"{rule}, upper triangle")
            ax.plot(sizes, theory / scale_all, "-", color=COLOURS[rule], label=f"{rule}, estimate")
    left.plot(sizes, np.full(len(sizes), 1 / GAUSSIANS), "--", color="#555555", label="perfect blocks")
    right.plot(sizes, sizes**2 / GAUSSIANS, "--", color="#555555")
    left.set(xscale="log", yscale="log", xlabel="objects", ylabel="density", title="Density")
    right.set(xscale="log", yscale="log", xlabel="objects", ylabel="entries that are not 0", title="Number")
    left.legend(fontsize=7, frameon=False)
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def cause_cases(quick: bool) -> Sequence[Case]:
    sizes, repeats = ((2000,), 1) if quick else ((2000, 10_000), 2)
    settings = [
        ("random", 150, 25),
        ("random", 10, 25),
        ("random", 50, 25),
        ("k-means++", 150, 25),
        ("random", 150, 100),
    ]
    if quick:
        settings = [("random", 50, 25), ("random", 10, 25), ("k-means++", 50, 25)]
    if not quick:
        settings += [("random", 150, 3), ("k-means++", 150, 5), ("scikit-learn", 150, 100)]
    return [
        {"n": n, "rule": rule, "init": init, "members": members, "sweeps": sweeps, "repeat": repeat}
        for n in sizes
        for rule in RULES
        for init, members, sweeps in settings
        for repeat in range(repeats)
    ]


def cause_page(records: list[Record], pictures: Path) -> str:
    rows = []
    for (n, rule, init, members, sweeps), found in grouped(records, "n", "rule", "init", "members", "sweeps").items():
        ratio, one, reach = (
            float(np.mean([f(r) for r in found])) for f in (_ratio, lambda r: r.values["uneven"], _reach)
        )
        rows.append(
            (f"{n:,}", rule, init, members, sweeps, f"{ratio:.2f}", f"{ratio / 2:.2f}", f"{one:.2f}", f"{reach:.2f}")
        )
    head = ("n", "rule", "starts", "members", "sweeps", "full / estimate", "upper / estimate", "uneven", "reach")
    return "\n\n".join(
        [
            "The estimate is 2 n^2 / k_min: it takes the whole ensemble to reach twice as many pairs as one balanced "
            "member of the fewest clusters. *reach* is what that factor 2 really is: entries over n^2 / k_min. Tested: "
            "the starts of k-means, the number of members, the number of sweeps, and which entries are counted.",
            plain_table(head, rows),
            cause_sentence(records),
        ]
    )


def _ratio(record: Record) -> float:
    return entries(record) / estimate(record.case["rule"], record.case["n"])


def _reach(record: Record) -> float:
    return entries(record) * record.values["kmin"] / float(record.case["n"]) ** 2


def cause_sentence(records: Sequence[Record]) -> str:
    """What each tested cause does to the ratio under the linear rule at the largest n."""
    largest = max(r.case["n"] for r in records)
    found = {
        key: float(np.mean([_ratio(r) for r in same]))
        for key, same in grouped(
            [r for r in records if r.case["n"] == largest and r.case["rule"] == "linear"], "init", "members", "sweeps"
        ).items()
    }
    most = max((key for key in found if key[0] == "random"), key=lambda key: (key[1], -abs(key[2] - SWEEPS)))
    fewest = min((key for key in found if key[0] == "random"), key=lambda key: key[1])
    starts = ", ".join(f"{init} ({s} sweeps) {found[init, h, s]:.2f}" for init, h, s in found if init != "random")
    sweeps = ", ".join(f"{s} sweeps {found[i, h, s]:.2f}" for i, h, s in found if i == "random" and h == most[1])
    return (
        f"Linear rule, n = {largest:,}, entries of the full matrix over the estimate. Members: {fewest[1]} reach "
        f"{found[fewest]:.2f}, {most[1]} reach {found[most]:.2f}: with more members borders fall in more places, and "
        f"that does not end at twice one member (in the plane the cells that hold an object cover up to a disc of "
        f"twice their radius, 4 times their area). Sweeps, random starts: {sweeps}. Starts: {starts or 'none'}. "
        f"Count: the upper triangle alone, which is what the paper says it stores, is {found[most] / 2:.2f} times the "
        f"estimate. That count is the one cause that brings the estimates, Figure 3 and the paper's words together; "
        f"see the claims."
    )


def claims(records: dict[str, list[Record]]) -> list[Claim]:
    return [*_growth_claims(records["growth"]), _time_claim(records["times"]), *sets.claims(records["table1"])]


def _time_claim(records: list[Record]) -> Claim:
    text = "The time is linear in n, too (members not counted)"
    slopes = [
        exponents(records, name, least=0)["linear"] for name in ("matrix_seconds", "link_seconds", "member_seconds")
    ]
    if not all(slopes):
        return Claim(text, "not tested", "not measured")
    matrix, link, member = (slope[0] for slope in slopes)
    verdict = "holds" if max(matrix, link) < 1.1 else "holds partly" if min(matrix, link) < 1.3 else "does not hold"
    return Claim(text, verdict, f"sparse matrix n^{matrix:.2f}, average link n^{link:.2f}; members n^{member:.2f}")


def _growth_claims(records: list[Record]) -> list[Claim]:
    texts = (
        "The density falls with n under both rules",
        "For large n the estimates 4 n sqrt(n) and 2 A n fit, the linear one best",
        "Both rules stay far below perfect blocks",
        "Under the linear rule the space is linear in n",
    )
    if len({r.case["n"] for r in records}) < 2:
        return [Claim(text, "not tested", "not measured") for text in texts]
    means = {
        key: (float(np.mean([entries(r) for r in found])), float(np.mean([entries(r, "upper") for r in found])))
        for key, found in grouped(records, "rule", "n").items()
    }
    sizes = sorted({n for _, n in means})
    falls = [means[rule, b][0] / b**2 < means[rule, a][0] / a**2 for rule in RULES for a, b in pairwise(sizes)]
    last = sizes[-1]
    full = {rule: means[rule, last][0] / estimate(rule, last) for rule in RULES}
    upper = {rule: means[rule, last][1] / estimate(rule, last) for rule in RULES}
    blocks = {rule: means[rule, last][0] * GAUSSIANS / last**2 for rule in RULES}
    space = (exponents(records)["linear"] or exponents(records, least=0)["linear"])[0]
    fits = [abs(share - 1) <= 0.25 for share in (*full.values(), *upper.values())]
    numbers = [
        f"{sum(falls)} of {len(falls)} steps to the next n",
        f"n = {last:,}: full matrix {full['sqrt']:.2f} (sqrt), {full['linear']:.2f} (linear) times the estimate; "
        f"upper triangle alone {upper['sqrt']:.2f}, {upper['linear']:.2f}",
        f"n = {last:,}: {blocks['sqrt']:.2f} (sqrt) and {blocks['linear']:.2f} (linear) of them",
        f"n^{space:.2f}",
    ]
    verdicts = [
        judge(float(np.mean(falls))),
        "holds" if all(fits[:2]) else "holds partly" if all(fits[2:]) else "does not hold",
        judge(float(np.mean([share < 0.5 for share in blocks.values()]))),
        "holds" if space < 1.05 else "holds partly" if space < 1.15 else "does not hold",
    ]
    return [Claim(*row) for row in zip(texts, verdicts, numbers, strict=True)]


PAPER = Paper(
    name="sparse_eac",
    title="Lourenço, Fred, Jain: On the scalability of evidence accumulation clustering (2010)",
    introduction=(
        "The paper does evidence accumulation with only those pairs that share a cluster, and has two rules for the "
        "number of clusters of the members that keep these pairs few: `sqrt` ([sqrt(n)/2, sqrt(n)]) and `linear` "
        "([n/50, n/20]). `co_association` stores the pairs, `eac` is the average link, and `accuracy` is the "
        "consistency index."
    ),
    experiments=[
        sparse_eac_example.EXPERIMENT,
        Experiment("growth", "Figure 2: density and number of pairs over n", growth_cases, growth, growth_page),
        Experiment("causes", "Why more pairs are stored than estimated", cause_cases, growth, cause_page),
        Experiment("times", "Time under the linear rule", time_cases, times, time_page),
        Experiment("table1", "Table I and Figure 3: benchmark sets", sets.cases, sets.measure, sets.page),
        Experiment(
            "settings", "Table I: settings that were tried", sets.setting_cases, sets.measure, sets.setting_page
        ),
    ],
    claims=claims,
    notes=sets.NOTES,
)
