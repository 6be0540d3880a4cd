"""The page docs/accuracy.md, from what was measured."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from benchmarks.accuracy.algorithms import ALGORITHMS, DEFAULT, OURS, SVD_DIMENSIONS
from benchmarks.accuracy.published import k_means_text, kinds, mean_text, named_table, printed_table
from benchmarks.accuracy.runs import GIGABYTES, SECONDS, SEEDS, Results
from benchmarks.accuracy.sets import GROUPS, LEFT_OUT, SETS, group_of
from benchmarks.accuracy.tables import (
    LEVEL,
    LOSS,
    balance,
    common_sets,
    losses,
    mean_over,
    mean_ranks,
    means,
    not_run,
    seeds_of,
    sets_of,
    table_text,
)
from benchmarks.methods.page import critical_difference

PAGE = Path("docs/accuracy.md")
PICTURE = "accuracy-ranks.png"
EVIDENCE = "measured/accuracy.md"
GROUP_WORDS = {
    "half A": "Sets on which settings were chosen",
    "half B": "Sets that were only looked at",
    "neither": "Sets that were used for nothing else",
}


def write_page(results: Results, page: Path = PAGE) -> None:
    from benchmarks.methods.picture import draw

    if len(ranks := mean_ranks(results)) > 1:  # one panel for each group
        draw(ranks, page.parent / "images" / PICTURE)
    page.write_text(text(results), encoding="utf-8")
    behind = page.parent / EVIDENCE
    behind.parent.mkdir(exist_ok=True)
    behind.write_text(evidence(results), encoding="utf-8")
    print(f"wrote {page} and {behind}: {len(results.found):,} runs")


def text(results: Results) -> str:
    """The page for readers; the same results make the same page."""
    parts = [
        "# How good are the answers?",
        _in_short(results),
        "![Six shapes, clustered by k-means above and by Quorate below](images/six-shapes.png)",
        f"[All sets, wins and losses]({EVIDENCE}) have a page of their own, which also says how it was measured.",
        "## Compared with scikit-learn's clusterers",
        summary(results),
        "## Compared with published figures",
        _published(results),
        "## Labels only",
        "Which consensus function suits given labels is another question: [25 methods on 60 data sets in two "
        "protocols](default-method.md).",
    ]
    return "\n\n".join(parts) + "\n"


def evidence(results: Results) -> str:
    """The page with the tables of every set, whose links lead one folder up."""
    parts = [
        "# All measurements of accuracy",
        _introduction(results),
        f"![Mean ranks by NMI with the classes](images/{PICTURE})",
        "## Wins and losses",
        _balances(results),
        f"## Where Quorate loses by more than {LOSS}",
        _losses(results),
        "## The sets that settings were chosen on",
        mean_text(results),
        "The sets that were named beforehand, because the previous default failed on them or was better there:",
        named_table(results),
        k_means_text(results),
        "## How it was measured",
        _protocol(results),
        "## All sets",
        _all_sets(results),
    ]
    return re.sub(r"\]\((?!https?:|#)", "](../", "\n\n".join(parts)) + "\n"


def _in_short(results: Results) -> str:
    """What the figures mean for a reader, in everyday words."""
    table, lines = means(results, "nmi"), []
    for group in mean_ranks(results):
        sets = common_sets(table, group)
        others = {name: mean_over(table[name], sets) for name in ALGORITHMS if name not in OURS}
        best = max(others, key=lambda name: others[name])
        plain = f"; KMeans {others['KMeans']:.2f}" if "KMeans" in others and best != "KMeans" else ""
        lines.append(
            f"- {GROUP_WORDS[group]}: Quorate {mean_over(table[DEFAULT], sets):.2f}; the best of the others, "
            f"{best}, {others[best]:.2f}{plain} ({len(sets)} sets)."
        )
    return f"""Quorate makes many clusterings of your measurements and combines them. It was compared with the \
clusterers of scikit-learn on data sets whose classes are known; all got the same measurements and the right \
number of clusters. NMI says how well clusters match the classes, from 0 (not at all) to 1 (exactly). On average:

{chr(10).join(lines)}

**What this means for you.** Where clusters have odd shapes, as below, it finds them and k-means does not. Where they \
are compact, it is about as good as the best simple algorithm. Where classes are no clusters, as in many tables of \
measurements, nothing finds them. On single sets another algorithm may well be better, and you cannot know beforehand \
which."""


def _introduction(results: Results) -> str:
    table = means(results, "nmi")
    told = []
    for group in mean_ranks(results):
        sets = common_sets(table, group)
        best = max((name for name in ALGORITHMS if name not in OURS), key=lambda name: mean_over(table[name], sets))
        own, other = mean_over(table[DEFAULT], sets), mean_over(table[best], sets)
        told.append(f"{group} ({len(sets)} sets): {own:.3f}, best peer {best} {other:.3f}")
    return f"""This page compares `EnsembleClustering(k)` with its defaults with other clusterers that are given the \
same features and the same number of clusters, in {len(results.found):,} runs.

The mean NMI with the classes, on the sets that every algorithm could cluster, is: {"; ".join(told)}. Settings were \
chosen on **half A** (decisions [11](decisions/0011-members-that-suit-the-data.md), \
[62](decisions/0062-the-trial-chooses-the-consensus-too.md), [63](decisions/0063-sparse-eigenvectors.md) and \
[113](decisions/0113-the-trial-and-the-judge.md), which say \
what was changed after half B had been seen); **half B** was only reported there; the sets in **neither** were not \
looked at.

For labels alone, where there are no features to compare neighbours in, all consensus functions are compared in two \
protocols on [the page about the default method](default-method.md), with halves of their own \
(decision [32](decisions/0032-default-consensus.md))."""


def summary(results: Results) -> str:
    """Means of each group over the sets that every algorithm has a result on."""
    tables = {measure: means(results, measure) for measure in ("nmi", "ari", "accuracy", "seconds")}
    ranks = mean_ranks(results)
    sets = {group: common_sets(tables["nmi"], group) for group in ranks}
    rows = []
    for name in ALGORITHMS:
        figures = [
            " / ".join(f"{mean_over(tables[measure][name], sets[group]):.3f}" for measure in ("nmi", "ari", "accuracy"))
            for group in sets
        ]
        places = [f"{found[name]:.1f}" for found, _ in ranks.values()]
        every = [tables["seconds"][name][where] for group in sets for where in sets[group]]
        seconds = f"{np.median(every):.2f}, {max(every):.1f}" if every else ""
        runs = seeds_of(results, name)
        seeds = " / ".join(f"{np.mean([runs[where] for where in sets[group]]):.2g}" for group in sets)
        shown = f"**{name}**" if name == DEFAULT else name
        rows.append([shown, *figures, " / ".join(places), seconds, seeds])
    head = [
        "",
        *(f"{group}, {len(sets[group])} sets" for group in sets),
        "mean ranks",
        "seconds: median, most",
        "seeds",
    ]
    differences = [f"{critical_difference(len(ALGORITHMS), n):.1f} ({group})" for group, (_, n) in ranks.items()]
    return f"""Mean NMI / ARI / accuracy with the classes, over the sets on which every algorithm has a result. \
Mean ranks by NMI are in the order of the columns, 1 is best; ranks that are closer than {", ".join(differences)} do \
not differ (Nemenyi, 5%). Seeds: how many runs a set has, on average in each column.

{table_text(head, rows)}"""


def _balances(results: Results) -> str:
    table = means(results, "nmi")
    rows = []
    for rival in ALGORITHMS:
        if rival != DEFAULT:
            rows.append([rival, *(" / ".join(str(count) for count in balance(table, rival, g)) for g in GROUPS)])
    return f"""Sets on which the NMI of Quorate is higher by more than {LEVEL} / within {LEVEL} / lower by more than \
{LEVEL}. Here every set counts on which both have a result.

{table_text(["against", *GROUPS], rows)}"""


def _losses(results: Results) -> str:
    table, notes = means(results, "nmi"), kinds(results)
    found = losses(table)
    peers = {name for name, ahead in found if any(other not in OURS for other in ahead)}
    rows = [
        [
            group_of(name),
            name,
            f"{table[DEFAULT][name]:.3f}",
            notes.get(name, ""),
            ", ".join(f"{other} {table[other][name]:.3f}" for other in ahead),
        ]
        for name, ahead in found
    ]
    return f"""Of {len(table[DEFAULT])} sets, {len(peers)} are lost by more than {LOSS} to at least one of the peers, \
and {len(found) - len(peers)} more only to another kind of members or to a single member. Which of twelve is \
the best on a set is known only afterwards, by the classes.

{table_text(["", "set", DEFAULT, "kind taken", "ahead"], rows)}"""


def _published(results: Results) -> str:
    return f"""NMI (geometric mean) beside D. Huang et al., "Ultra-scalable spectral clustering and ensemble \
clustering", IEEE TKDE 32 (2020), doi:10.1109/TKDE.2019.2903410, on the same data, with features \
that are not scaled, and with the same measure. Theirs are means of 20 runs on four cores with 64 GB; seconds on other \
hardware cannot be compared closely. Ours are seconds of the processor on one thread.

{printed_table(results)}"""


def _protocol(results: Results) -> str:
    seeds = seeds_of(results, DEFAULT)
    counts = [
        f"{n} on {sum(count == n for count in seeds.values())}" for n in sorted(set(seeds.values()), reverse=True)
    ]
    absent = [name for name in SETS if name not in seeds]
    left = ", ".join(f"{name} ({why})" for name, why in LEFT_OUT.items())
    left += f". Not measured yet: {', '.join(absent)}" if absent else ""
    caps = ", ".join(f"{n} {a.most_objects:,}" for n, a in ALGORITHMS.items() if a.most_objects < 1_000_000)
    dense = ", ".join(name for name, algorithm in ALGORITHMS.items() if algorithm.dense)
    reasons = "\n".join(
        f"- {algorithm}, {reason}: {', '.join(names)}." for (algorithm, reason), names in not_run(results).items()
    )
    return f"""- **Data.** Real measurements are z-normalised, a missing value is the mean of its column; points of \
`shape_*`, the pixels of mnist, and the sets whose names end in `_raw` are not scaled. Texts are weighted by \
tf-idf, rows of length 1; {dense} cannot use sparse rows or thousands of columns and get the {SVD_DIMENSIONS} \
leading singular directions. The classes are for scoring only. Left out: {left}.
- **Algorithms.** The true number of clusters is given. scikit-learn's settings are its defaults, except for 10 starts \
of `KMeans` and the nearest-neighbour graph of `SpectralClustering`; `Ward` is `AgglomerativeClustering`. `HDBSCAN` \
finds its own number of clusters, and what it calls noise is scored as one more cluster. `20 spectral members` and \
`20 k-means members` are `EnsembleClustering` with that kind of members instead of the choice; `one spectral member` \
and `one k-means member` are single clusterings with the true number of clusters.
- **Seeds.** The stochastic ones are run with seeds 0 to {SEEDS - 1}, the others (Ward, HDBSCAN, Birch) once, as \
far as the run has come. Numbers of seeds of Quorate: {", ".join(counts)} sets; the last table shows which. \
Its runs on sets of more than 50,000 objects \
and on `_raw` sets were made before the judge had a say in the trial (decision 113).
- **Limits.** One thread; seconds are those of the processor, on a machine shared with other work. A run may take \
{SECONDS:g} s ({20 * SECONDS:g} s for Quorate, so that its own cost is known) and {GIGABYTES:g} GB. Not run on sets \
with more objects than: {caps}.
- **Measures.** NMI with the geometric mean, adjusted Rand index, accuracy (the best one-to-one matching of clusters \
and classes).

Runs without a result:

{reasons or "none."}"""


def _all_sets(results: Results) -> str:
    tables = {measure: means(results, measure) for measure in ("nmi", "ari", "accuracy", "seconds")}
    notes, seeds = kinds(results), seeds_of(results, DEFAULT)
    others = [name for name in ALGORITHMS if name != DEFAULT]
    rows = []
    for group in GROUPS:
        for name in sets_of(tables["nmi"], group):
            own = [f"{tables[measure][DEFAULT][name]:.3f}" for measure in ("nmi", "ari", "accuracy")]
            cells = [f"{tables['nmi'][other][name]:.3f}" if name in tables["nmi"][other] else "" for other in others]
            seconds = f"{tables['seconds'][DEFAULT][name]:.2f}"
            rows.append(
                [group.removeprefix("half "), name, str(seeds[name]), *own, seconds, notes.get(name, ""), *cells]
            )
    head = [
        "",
        "set",
        "seeds",
        f"{DEFAULT}: NMI",
        "ARI",
        "accuracy",
        "seconds",
        "kind taken",
        *(f"{name}" for name in others),
    ]
    return "Means over seeds; NMI of the other algorithms, empty where there is no result.\n\n" + table_text(head, rows)
