"""The page docs/scale.md and its picture, from what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.scale.results import Results, exponent

PAGE = Path("docs/scale.md")
PICTURE = "scale.png"
METHOD = "method "
"""How the stages of `benchmarks.scale.stages.by_method` begin."""
FITTED_FROM = 100_000
"""Exponents are fitted from this n on: below, what does not depend on n takes most of the time."""
TITLES = {
    "memory": "In memory",
    "stream": "Out of core",
    "dask": "On Dask",
    "numpy": "Peer: numpy",
    "scikit-learn": "Peer: scikit-learn",
}

AVERAGE_LINK = """\
`eac` and `lwea` merge distinct rows one pair at a time, exactly, in memory that grows with the labels. Their time
grows nearly with the square of the distinct rows where these are hard. Processor seconds on two shared cores, rows
with a quarter of their labels at random:

| distinct rows | first search for near rows | merging |
| --- | --- | --- |
| 24,957 | 0.1 | 1.2 |
| 49,854 | 0.4 | 3.5 |
| 99,556 | 1.3 | 12.6 |
| 198,700 | 5.2 | 47.5 |

From the last two lines both grow as the power 1.9 to 2.0, so that 389,000 such rows would take about 200 processor
seconds; 30 are not within reach of this algorithm. Nine tenths go into merging: a cluster whose candidates are used up
is compared with all others, and each comparison waits for the sums of two clusters that lie far apart in memory
(decisions 96 and 98). For more rows take `lwgp`, or `coarsen="auto"`, which measures what it loses."""
"""Measured on 2026-11-19, by the functions `nearest` and `tree_down_to` of `quorate.solvers.linkage.average_link`."""

IN_PICTURE = {"stream": "in blocks", "dask": "on Dask"}
"""What is added to the names of stages in the picture, so that each line is told apart."""


def write_page(results: Results, page: Path = PAGE) -> None:
    """Write the page and its picture."""
    _draw(results, page.parent / "images" / PICTURE)
    page.write_text(text(results), encoding="utf-8")


def text(results: Results) -> str:
    """The whole page; the same results make the same page."""
    parts = ["# How it grows", _introduction(results), f"![Seconds and gigabytes over n](images/{PICTURE})"]
    for way in results.ways():
        stages = [stage for stage in results.stages(way) if not stage.startswith(METHOD)]
        if stages:
            parts += [f"## {TITLES.get(way, way)}", _table(results, way, stages)]
    parts += ["## When most rows are distinct", _methods(results), "## Exact average link", AVERAGE_LINK]
    parts += ["## How it was measured", _protocol(results)]
    return "\n\n".join(parts) + "\n"


def _introduction(results: Results) -> str:
    sizes = results.sizes()
    cores = sorted({record["cores"] for record in results.found.values() if "cores" in record})
    return (
        f"Time and memory of every stage for {sizes[0]:,} to {sizes[-1]:,} objects, on {_listed(map(str, cores))} "
        "cores. "
        f"A cell: seconds, and the most memory in gigabytes that the process held during the stage, its input "
        f"included. The exponent e says that time grows as n^e, fitted from n = {FITTED_FROM:,} on."
    )


def _table(results: Results, way: str, stages: Sequence[str]) -> str:
    sizes = sorted({n for stage in stages for n in results.of(way, stage)})
    rows = [["stage", *(f"n = {n:,}" for n in sizes), "exponent"], ["---"] * (len(sizes) + 2)]
    for stage in stages:
        records = results.of(way, stage)
        cells = [
            f"{records[n]['seconds']:.3g} s, {records[n]['peak_bytes'] / 1e9:.2f}" if n in records else ""
            for n in sizes
        ]
        rows.append([stage, *cells, _number(exponent(records, least=FITTED_FROM))])
    return _lines(rows)


def _methods(results: Results) -> str:
    """Bytes and nanoseconds that each linear method takes for a distinct row, and what follows for 10^8 of them."""
    rows = [
        ["", "distinct rows", "microseconds per row", "bytes per row", "exponent", "10^8 rows: minutes", "GB"],
        ["---"] * 7,
    ]
    for stage in results.stages("memory"):
        if stage.startswith(METHOD):
            records = results.of("memory", stage)
            last = records[max(records)]
            seconds, extra = last["seconds"] / last["rows"], last["extra_bytes"] / last["rows"]
            rows.append(
                [
                    stage.removeprefix(METHOD),
                    f"{last['rows']:,}",
                    f"{seconds * 1e6:.2f}",
                    f"{extra:.0f}",
                    _number(exponent(records)),
                    f"{seconds * 1e8 / 60:.0f}",
                    f"{extra / 10:.0f}",
                ]
            )
    words = (
        "Rows with a quarter of their labels at random, so that nearly all are distinct, and twelve clusters wanted. "
        "Bytes are those that the method takes beside the rows themselves, which take 20 bytes for labels and 8 for "
        "counts. The last two columns extrapolate in proportion to the rows."
    )
    return f"{words}\n\n{_lines(rows)}"


def _protocol(results: Results) -> str:
    loads = [record["load"] for record in results.found.values() if "load" in record]
    # processes that wait for a core: above the number of cores, seconds are longer than the work
    load = f" The load average of the machine was {min(loads):g} to {max(loads):g} meanwhile." if loads else ""
    return (
        "`make scale` measures what is missing and writes this page; every n has a process of its own, in which all "
        "kernels are compiled before the clock starts. Labels are Voronoi cells of points of the plane with 1.25% of "
        "labels replaced at random; features are twelve Gaussians in 16 dimensions, of which twenty k-means members "
        "with 10 to 40 clusters are made. Planted labels are ten clusters seen by twenty members, 5% of labels at "
        "random, and the method is `kmeans`; tables in blocks are the same or, with measurements, ten Gaussians in 16 "
        "dimensions, with a budget of 2 GB for memory. Dask runs on two workers of one thread; its memory is that of "
        "the calling process. The lines behind the tables are in `benchmarks/scale/results.jsonl`." + load
    )


def _draw(results: Results, path: Path) -> None:
    """Two panels over n with logarithmic axes: seconds and gigabytes of the stages, each way in its own line style."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(13, 4.6), constrained_layout=True)
    for axis in axes:
        axis.set_prop_cycle(color=pyplot.get_cmap("tab20").colors)
    for way in results.ways():
        for stage in results.stages(way):
            records = results.of(way, stage)
            if stage.startswith(METHOD) or len(records) < 2:
                continue
            style = {"memory": "-", "stream": "--", "dask": "-."}.get(way, ":")
            name = stage if way == "memory" else f"{stage} ({IN_PICTURE.get(way, way)})"
            for axis, values in zip(
                axes, (_values(records, "seconds", 1.0), _values(records, "peak_bytes", 1e9)), strict=True
            ):
                axis.plot(list(records), values, style, marker="o", markersize=3, label=name)
    for axis, title in zip(axes, ("seconds", "gigabytes at most"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="objects", title=title)
        axis.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _values(records: dict[int, dict[str, float]], key: str, unit: float) -> list[float]:
    return [record[key] / unit for record in records.values()]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _lines(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _listed(words: Iterable[str]) -> str:
    return " or ".join(words)
