"""The pictures of docs/trust.md and the page behind it: grades, reliability diagrams, noise and clusters apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trust.confidence import GROUPS
from benchmarks.trust.noise import FOUND
from benchmarks.trust.runs import Results
from quorate._verdict import GRADES

BLUE, ORANGE = "#0072B2", "#D55E00"
SHADES = (ORANGE, "#BBD7EA", "#5FA4D0", BLUE)
"""Colours of the grades: no structure, weak, clear, strong."""


def draw_short(results: Results, path: Path) -> None:
    """Left the shares of the grades of sets with and without clusters, right confidence beside what stays in place."""
    from benchmarks.trust.page import HALVES, of_group, with_findable, without_clusters

    figure, panels = _figure(1, 2, (9.5, 3.4))
    bars, curve = panels.ravel()
    noise = results.found["noise"]
    for place, (title, records) in enumerate(
        (("clusters that\ncan be found", with_findable(noise)), ("no clusters", without_clusters(noise)))
    ):
        _grades(bars, place, f"{title}\n({len(records)} sets)", [record["grade"] for record in records])
    bars.set(xlim=(0, 1), xlabel="share of the sets")
    bars.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.45, 1), frameon=False, fontsize=9)
    cases = [record for group in GROUPS[:4] for record in of_group(results, group, HALVES[1]).values()]
    curve.plot([0, 1], [0, 1], color="0.8", lw=1)
    if cases:
        _curve(curve, cases, "now", BLUE)
    curve.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="confidence of an object", ylabel="share that stays in place")
    _save(figure, path)


def _grades(axes: Any, place: int, title: str, grades: list[str]) -> None:
    left = 0.0
    for grade, colour in zip(GRADES, SHADES, strict=True):
        share = grades.count(grade) / max(1, len(grades))
        axes.barh(title, share, left=left, color=colour, label=None if place else grade, height=0.55)
        left += share


def draw_reliability(results: Results, path: Path) -> None:
    """One panel for each kind of cases and each half: the share that stays beside confidence, now and before."""
    from benchmarks.trust.page import HALVES, of_group

    figure, panels = _figure(len(HALVES), 3, (9.5, 6.4))
    for row, half in zip(panels, HALVES, strict=True):
        for axes, group in zip(row, GROUPS[:3], strict=True):
            axes.plot([0, 1], [0, 1], color="0.8", lw=1)
            records = list(of_group(results, group, half).values())
            for which, colour in (("before", ORANGE), ("now", BLUE)):
                if records:
                    _curve(axes, records, which, colour)
            axes.set_title(f"{group}, {half}, {len(records)} cases", fontsize=9)
            axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="confidence", ylabel="share that stays in place")
    for which, colour, height in (("before", ORANGE, 0.95), ("now", BLUE, 0.87)):
        panels[0, 0].text(0.03, height, which, color=colour, fontsize=9)
    _save(figure, path)


def _curve(axes: Any, records: list[Any], which: str, colour: str) -> None:
    """Bins of all cases together, in which each case counts alike; the size of a mark tells how many objects it has."""
    table = sum(np.array(record[which])[:, :3] / record["objects"] for record in records)
    filled = table[:, 0] > 0
    shares = table[filled, 0] / len(records)
    x, y = table[filled, 1] / table[filled, 0], table[filled, 2] / table[filled, 0]
    axes.plot(x, y, color=colour, lw=1)
    axes.scatter(x, y, s=8 + 260 * shares, color=colour, alpha=0.75, edgecolors="none")


def draw_noise(results: Results, path: Path) -> None:
    """ROC curves: measurements by the z of the reference, labels by the z of permutations."""
    noise = results.found["noise"]
    figure, panels = _figure(1, 2, (8, 3.8))
    for axes, (kind, score) in zip(panels.ravel(), (("measured", "reference_z"), ("table", "z")), strict=True):
        scores: dict[str, list[float]] = {"without": [], "with": []}
        for name, record in noise.items():
            _, clusters, _ = name.split(" / ")
            value = record[score]
            if name.startswith(kind) and value is not None and record.get("findable", 1.0) >= FOUND:
                scores[clusters].append(value)
        if scores["without"] and scores["with"]:
            _roc(axes, scores["without"], scores["with"])
        axes.set_title(f"{kind}: {len(scores['without'])} sets without, {len(scores['with'])} with", fontsize=9)
        axes.set(xlabel="share of sets without clusters above a limit of z", ylabel="share of sets with clusters above")
    _save(figure, path)


def _roc(axes: Any, without: list[float], with_clusters: list[float]) -> None:
    limits = np.concatenate([[np.inf], np.sort([*without, *with_clusters])[::-1], [-np.inf]])
    x, y = ([float((np.array(values) >= limit).mean()) for limit in limits] for values in (without, with_clusters))
    area = float(np.diff(x) @ (np.array(y[1:]) + y[:-1]) / 2)
    axes.plot(x, y, color=BLUE, lw=1.8)
    axes.plot([0, 1], [0, 1], color="0.85", lw=1)
    axes.text(0.98, 0.05, f"area {area:.3f}", ha="right", fontsize=9)
    axes.set(xlim=(-0.02, 1), ylim=(0, 1.02))


def _figure(rows: int, columns: int, size: tuple[float, float]) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    for axes in panels.ravel():
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def _save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    plt.close(figure)
