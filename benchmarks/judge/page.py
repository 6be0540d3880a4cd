"""The page docs/judge.md, from what was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.accuracy.sets import group_of
from benchmarks.accuracy.tables import table_text
from benchmarks.judge.fitting import (
    PENALTY,
    REAL_COUNTS,
    TERMS,
    Floats,
    Table,
    chosen_by,
    fitted,
    left_out,
    mean_ari,
    mean_left_out,
)
from benchmarks.judge.geometries import FAMILIES
from benchmarks.judge.mixed import mixed_text
from benchmarks.judge.pools import POOLS

PAGE = Path("docs/judge.md")


def write_page(tables: Sequence[Table], weights: Floats, page: Path = PAGE) -> None:
    page.write_text(text(tables, weights), encoding="utf-8")
    print(f"wrote {page}: {len(tables):,} sets")


def text(tables: Sequence[Table], weights: Floats) -> str:
    """The whole page; the same tables make the same page."""
    learnt = [table for table in tables if table.group in ("generated", "half A")]
    n_candidates = sum(len(table.candidates) for table in tables)
    return f"""# The judge of labellings

Several labellings of the same measurements, into the same number of clusters: which one is best? Where \
`EnsembleClustering` chooses the kind of members and the consensus function, and where `consensus(..., features=X)` \
weighs members, a judge gives each labelling a mark. It looks at links between nearest neighbours, at what could still \
be split inside clusters, at sizes, at compactness and at Gaussians fitted to the clusters, and never at whether \
labellings agree. The figures come from {n_candidates:,} labellings of {len(tables)} sets.

## Is it right?

Mean ARI with the classes of the labelling that was chosen from a pool. **Lowest cut** is the lowest mean normalised \
cut among 10 neighbours, which chose until version 0.2. The judge was fitted on half A and on generated sets, and its \
last term was chosen on these and on every second set in neither half \
([decision 157](decisions/0157-gaussian-members.md)); it counts where `EnsembleClustering` chooses, and in this \
table, but not for members that a user brings. **Fitted anew** is a judge that was fitted to the same table \
without the sets that it judges: one of {len(FAMILIES)} families of geometries at a time, or a quarter of half A; for \
the other sets it was fitted to all generated ones and half A. Half B is the other half of the labelled data sets.

{_results(tables, learnt, weights)}

Public sets are those of [the accuracy page](accuracy.md) with at most 50,000 objects; of more than 1,500 objects, \
1,500 are drawn. One seed.

## Ensembles of different algorithms

Labels of ten algorithms ({", ".join(POOLS["different algorithms"])}) at the true number of clusters, three seeds. \
Mean ARI of the consensus of the labels alone, of that with the measurements beside them, of the algorithm that is \
best throughout a group, and of the best member of each set.

{mixed_text(group_of)}

## Its weights

The mark is the sum of these terms, each times its weight. A mark alone says nothing; what counts is how much higher \
that of one labelling is than that of another one of the same measurements. The last column says how much a term \
usually contributes to such a difference.

{_weights(learnt, weights)}

Several terms measure nearly the same thing (cuts among 4 and among 10 neighbours, for example), so that the weight of \
one may correct that of another; a single weight has no meaning of its own.

## How it is fitted

The weights of all terms but the last were fitted before there were Gaussian members, and before the last term; they \
were kept, because a judge that is fitted anew is not better (above). They make the mean ARI highest of a candidate \
that is drawn from each pool with chances proportional to exp(mark), less {PENALTY:g} times half the sum of squares of \
the standardised weights. Every set counts once with each pool, a public one as much as {REAL_COUNTS:g} generated \
ones. The {len(FAMILIES)} families of generated sets are: {_families()}. \
Decision [111](decisions/0111-a-trained-judge.md) tells what else was tried.
"""


def _results(tables: Sequence[Table], learnt: Sequence[Table], weights: Floats) -> str:
    by_family = left_out(learnt, lambda table: table.set if table.group == "generated" else None, len(FAMILIES))
    by_set = left_out(learnt, lambda table: table.set if table.group == "half A" else None, 4)
    fresh, rows = fitted(learnt), []
    for pool in (*POOLS, "all"):
        groups = {name: [table for table in tables if table.group == name] for name in ("generated", "half A")}
        groups |= {name: [table for table in tables if table.group == name] for name in ("half B", "neither")}
        anew = [mean_left_out(by_family, pool), mean_left_out(by_set, pool)]
        anew += [mean_ari(groups[name], pool, chosen_by(fresh)) for name in ("half B", "neither")]
        rows.append([f"{pool}: lowest cut", *_means(groups, pool, chosen_by(None))])
        rows.append([f"{pool}: **judge**", *(f"**{value}**" for value in _means(groups, pool, chosen_by(weights)))])
        rows.append([f"{pool}: fitted anew", *(f"{value:.3f}" for value in anew)])
        rows.append([f"{pool}: best, known afterwards", *_means(groups, pool, lambda table: int(np.argmax(table.ari)))])
    sizes = [sum(table.group == name for table in tables) for name in ("generated", "half A", "half B", "neither")]
    names = ("generated", "half A", "half B", "neither")
    return table_text(["pool", *(f"{name} ({size})" for name, size in zip(names, sizes, strict=True))], rows)


def _means(groups: dict[str, list[Table]], pool: str, choose: Callable[[Table], int]) -> list[str]:
    return [f"{mean_ari(tables, pool, choose):.3f}" for tables in groups.values()]


def _weights(learnt: Sequence[Table], weights: Floats) -> str:
    spread = np.mean([table.terms.std(axis=0) for table in learnt], axis=0)
    rows = [
        [name, f"{weight:.2f}", f"{weight * unit:+.2f}"]
        for name, weight, unit in zip(TERMS, weights, spread, strict=True)
    ]
    return table_text(["term", "weight", "times usual difference"], rows)


def _families() -> str:
    told = [f"{name} ({(make.__doc__ or '').split('.')[0].lower()})" for name, (make, _) in FAMILIES.items()]
    return "; ".join(told)
