"""The pages docs/scale.md and docs/measured/scale.md and their pictures, from what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.scale.results import Results, exponent

PAGE = Path("docs/scale.md")
EVIDENCE = Path("docs/measured/scale.md")
PICTURE, STAGES_PICTURE = "scale.png", "scale-stages.png"
JOBS = {
    ("memory", "labels to labels"): "labels in memory to a consensus",
    ("memory", "hard labels to labels"): "the same, nearly all rows distinct",
    ("memory", "features to labels"): "measurements in memory to a consensus",
    ("stream", "labels in Parquet to labels in Parquet"): "labels in Parquet files, read in blocks",
    ("stream", "measurements in Parquet to labels in Parquet"): "measurements in Parquet files, read in blocks",
    ("scikit-learn", "features to labels"): "one run of scikit-learn's MiniBatchKMeans",
}
"""The whole jobs, which the first page shows."""
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

Records = dict[int, dict[str, float]]
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

From the last two lines both grow as the power 1.9 to 2.0. A whole tree of 391,364 such rows took 209 processor seconds
(429 s by the clock, beside eight other processes) and 0.73 GB beside its input of 0.2 GB; 30 seconds are not within
reach of this algorithm. Nine tenths go into merging: a cluster whose candidates are used up
is compared with all others, and each comparison waits for the sums of two clusters that lie far apart in memory
(decisions 96 and 98). For more rows take `lwgp`, or `coarsen="auto"`, which measures what it loses."""
"""Measured on 2026-11-19, by the functions `nearest` and `tree_down_to` of `quorate.solvers.linkage.average_link`, and
the whole tree by `average_link_tree` on 2026-11-20."""

IN_PICTURE = {"stream": "in blocks", "dask": "on Dask"}
"""What is added to the names of stages in the picture, so that each line has a name of its own."""


def write_page(results: Results, page: Path = PAGE, evidence: Path = EVIDENCE) -> None:
    """Write both pages and their pictures."""
    images = page.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    evidence.parent.mkdir(parents=True, exist_ok=True)
    _draw(results, images / PICTURE, JOBS)
    _draw(results, images / STAGES_PICTURE, _drawn_stages(results))
    page.write_text(text(results), encoding="utf-8")
    evidence.write_text(measured(results), encoding="utf-8")


def text(results: Results) -> str:
    """The page for readers; the same results make the same page."""
    parts = [
        "# How it grows",
        _introduction(results),
        _jobs(results),
        "Seconds / the most memory in gigabytes that the process held, its input included; k is a thousand objects, "
        f"M a million.{_busy_note(results)}",
        f"![Seconds and gigabytes of whole jobs over the number of objects](images/{PICTURE})",
        _advice(),
        "[All stages](measured/scale.md) have a page of their own, with methods on rows that are all distinct, and how "
        "it was measured.",
    ]
    return "\n\n".join(parts) + "\n"


def measured(results: Results) -> str:
    """The page behind it: every stage, way and number of objects."""
    parts = [
        "# Time and memory of every stage",
        "[The page before](../scale.md) says what follows from these tables. A cell: seconds, and the most memory "
        "in gigabytes that the process held during the stage, its input included. The exponent e says that time grows "
        f"as n^e, fitted from n = {FITTED_FROM:,} on.{_busy_note(results)}",
        f"![Seconds and gigabytes over n](../images/{STAGES_PICTURE})",
    ]
    for way in results.ways():
        stages = [stage for stage in results.stages(way) if not stage.startswith(METHOD)]
        if stages:
            parts += [f"## {TITLES.get(way, way)}", _table(results, way, stages)]
    parts += ["## When most rows are distinct", _methods(results), "## Exact average link", AVERAGE_LINK]
    parts += ["## How it was measured", _protocol(results)]
    return "\n\n".join(parts) + "\n"


def _introduction(results: Results) -> str:
    cores = sorted({record["cores"] for record in results.found.values() if "cores" in record})
    found = results.of("memory", "labels to labels")
    largest = found[max(found)] if found else None
    most = (
        f" The largest table of labels that was combined in memory has {max(found):,} objects and 20 members, and took "
        f"{largest['seconds']:.0f} seconds and {largest['peak_bytes'] / 1e9:.0f} GB."
        if largest
        else ""
    )
    return (
        "**What this means for you.** Up to a million objects, a consensus is a matter of seconds on a laptop. Beyond "
        "that, time and memory grow in proportion to the objects, or slower: objects with the same labels are counted "
        f"once.{most} All figures are those of a machine with {_listed(map(str, cores))} cores."
    )


def _jobs(results: Results) -> str:
    lines = {words: results.of(*job) for job, words in JOBS.items() if results.of(*job)}
    sizes = sorted({n for records in lines.values() for n in records if n >= FITTED_FROM})
    rows = [["job", *map(_short, sizes)], ["---"] * (len(sizes) + 1)]
    rows += [
        [words, *(_cell(records, n).replace(" s", "").replace(", ", " / ") for n in sizes)]
        for words, records in lines.items()
    ]
    return _lines(rows)


def _short(n: int) -> str:
    return f"{n // 10**6} M" if n >= 10**6 else f"{n // 1000} k"


def _advice() -> str:
    return """\
- **It is too slow.** [Make it faster, or fit into memory](how-to/speed-and-memory.md) says what to try, in which order.
- **The table is larger than memory.** [Read it in blocks](out-of-core.md): memory then depends on the distinct rows.
- **You have a cluster of machines, or a card.** [Dask](dask.md) and [a GPU](gpu.md).
- **Nearly all rows are distinct**, as with many noisy clusterings. Then nothing is gained by counting equal rows; the
  methods that are linear in the rows need seconds for each million of them. Average link (`eac`, `lwea`), which is
  exact, takes time that grows with the square of these rows: a minute of processor time for 200,000 of them, three
  and a half for 390,000, in less than a gigabyte; [what limits it](measured/scale.md#exact-average-link)."""


def _table(results: Results, way: str, stages: Sequence[str]) -> str:
    sizes = sorted({n for stage in stages for n in results.of(way, stage)})
    rows = [["stage", *(f"n = {n:,}" for n in sizes), "exponent"], ["---"] * (len(sizes) + 2)]
    for stage in stages:
        records = results.of(way, stage)
        told = {n: {"seconds": _seconds(record)} for n, record in records.items()}
        rows.append([stage, *(_cell(records, n) for n in sizes), _number(exponent(told, least=FITTED_FROM))])
    return _lines(rows)


def _cell(records: Records, n: int) -> str:
    if n not in records:
        return ""
    mark = BUSY_MARK if _was_busy(records[n]) else ""
    return f"{_seconds(records[n]):.3g} s{mark}, {records[n]['peak_bytes'] / 1e9:.2f}"


BUSY_MARK = "\\*"


def _was_busy(record: dict[str, float]) -> bool:
    """Whether others wanted the cores so much that the clock says little; the seconds of the processor then count."""
    return record.get("load", 0.0) > 2 * record.get("cores", 1) and "processor_seconds" in record


def _seconds(record: dict[str, float]) -> float:
    return record["processor_seconds" if _was_busy(record) else "seconds"]


def _busy_note(results: Results) -> str:
    """What the mark in tables means, if there is one."""
    if not any(_was_busy(record) for record in results.found.values()):
        return ""
    return f" {BUSY_MARK} Seconds of the processor, all threads together, because other processes kept the cores busy."


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
            seconds, extra = last["processor_seconds"] / last["rows"], last["extra_bytes"] / last["rows"]
            rows.append(
                [
                    stage.removeprefix(METHOD),
                    f"{last['rows']:,}",
                    f"{seconds * 1e6:.2f}",
                    f"{extra:.0f}",
                    _number(exponent(records, "processor_seconds")),
                    f"{seconds * 1e8 / 60:.0f}",
                    f"{extra / 10:.0f}",
                ]
            )
    words = (
        "Rows with a quarter of their labels at random, so that nearly all are distinct, and twelve clusters wanted. "
        "Bytes are those that the method takes beside the rows themselves, which take 20 bytes for labels and 8 for "
        "counts. Times are those of the processor, all threads together. The last two columns extrapolate in "
        "proportion to the rows."
    )
    return f"{words}\n\n{_lines(rows)}"


def _protocol(results: Results) -> str:
    loads = [record["load"] for record in results.found.values() if "load" in record]
    # processes that wait for a core: above the number of cores, seconds are longer than the work
    load = f" The load average of the machine was {min(loads):g} to {max(loads):g} meanwhile." if loads else ""
    return (
        "Every n has a process of its own, in which all "
        "kernels are compiled before the clock starts. Labels are Voronoi cells of points of the plane with 1.25% of "
        "labels replaced at random; features are twelve Gaussians in 16 dimensions, of which twenty k-means members "
        "with 10 to 40 clusters are made. Planted labels are ten clusters seen by twenty members, 5% of labels at "
        "random, and the method is `kmeans`; hard labels are those of the first kind with a quarter of the labels at "
        "random, most of whose rows are distinct, with `max_bytes=14_000_000_000`; tables in blocks are the same or, "
        "with measurements, ten Gaussians in 16 dimensions, with a budget of 2 GB for memory. Dask runs on two workers "
        "of one thread; its memory is that of "
        "the calling process. The lines behind the tables are in `benchmarks/scale/results.jsonl`." + load
    )


def _drawn_stages(results: Results) -> dict[tuple[str, str], str]:
    """The stages of the picture with the names of their lines."""
    stages = [(way, stage) for way in results.ways() for stage in results.stages(way) if not stage.startswith(METHOD)]
    return {(way, s): s if way == "memory" else f"{s} ({IN_PICTURE.get(way, way)})" for way, s in stages}


def _draw(results: Results, path: Path, drawn: dict[tuple[str, str], str]) -> None:
    """Two panels over n with logarithmic axes: seconds and gigabytes of the stages, each way in its own line style."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    many = len(drawn) > len(JOBS)
    figure, axes = pyplot.subplots(1, 2, figsize=(13, 4.6) if many else (9, 4.6), constrained_layout=True)
    for axis in axes:
        axis.set_prop_cycle(color=pyplot.get_cmap("tab20" if many else "tab10").colors)
    for (way, stage), name in drawn.items():
        records = results.of(way, stage)
        if len(records) < 2:
            continue
        style = {"memory": "-", "stream": "--", "dask": "-."}.get(way, ":")
        seconds = [_seconds(record) for record in records.values()]
        gigabytes = [record["peak_bytes"] / 1e9 for record in records.values()]
        for axis, values in zip(axes, (seconds, gigabytes), strict=True):
            axis.plot(list(records), values, style, marker="o", markersize=3, label=name)
    for axis, title in zip(axes, ("seconds", "gigabytes at most"), strict=True):
        axis.set(xscale="log", yscale="log", xlabel="objects", title=title)
        axis.grid(alpha=0.3)
    place, size = ("outside right upper", 8) if many else ("outside lower center", 10)
    figure.legend(*axes[0].get_legend_handles_labels(), loc=place, fontsize=size, frameon=False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _lines(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _listed(words: Iterable[str]) -> str:
    return " or ".join(words)
