"""Every picture of quorate.plot for 1,000,000 objects: seconds until it is drawn, no peer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.speed.inputs import half_distinct, nearest_point_members
from quorate import as_ensemble, ca_tree, choose_k, compress, consensus, plot


def pictures(n: int, hard: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The calls; what they draw is computed before, except what a picture computes itself."""
    labels = nearest_point_members(n)
    members = as_ensemble(half_distinct(labels) if hard else labels)
    result = consensus(members, 10, random_state=0)
    results = [consensus(members, k, random_state=0) for k in (4, 7, 10, 13)]
    small = as_ensemble(members.labels[: min(n, 30_000)])
    print(f"{'hard' if hard else 'easy'}: n = {n:,}, {compress(members)[0].n_rows:,} distinct rows", flush=True)
    yield "consensus_heatmap", lambda: plot.consensus_heatmap(result, members)
    yield "membership_heatmap", lambda: plot.membership_heatmap(result, members)
    yield "member_nmi", lambda: plot.member_nmi(members, result)
    yield "densities", lambda: plot.densities(result, members)
    if not hard:
        tree = consensus(members, 10, method="eac")
        yield "dendrogram", lambda: plot.dendrogram(tree)
    yield "node_curve", lambda: plot.node_curve(ca_tree(members))
    yield "consensus_cdf", lambda: plot.consensus_cdf({10: members, 11: members})
    yield "delta_area", lambda: plot.delta_area({10: members, 11: members})
    yield "tracking", lambda: plot.tracking(results)
    choice = choose_k(small, (2, 6), random_state=0)
    yield "k_choice", lambda: plot.k_choice(choice)
    yield "item_consensus", lambda: plot.item_consensus(result, members)
    yield "cluster_consensus", lambda: plot.cluster_consensus(results, members)
    yield "silhouette", lambda: plot.silhouette(result, members)
    yield "confidence_histogram", lambda: plot.confidence_histogram(result)


def main(*, quick: bool = False) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for hard in (False, True):
        for name, draw in pictures(20_000 if quick else 1_000_000, hard):
            start = time.perf_counter()
            ax = draw()
            ax.figure.canvas.draw()
            print(f"  {name:<22}{time.perf_counter() - start:8.2f} s", flush=True)
            plt.close(ax.figure)


if __name__ == "__main__":
    main()
