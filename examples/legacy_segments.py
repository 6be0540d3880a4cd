"""Five departments segmented the same customers, each with its own names and its own gaps: one segmentation.

Run it with `python examples/legacy_segments.py [picture.png]`; it needs matplotlib (`pip install quorate[plot]`).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from quorate import accuracy, as_ensemble, consensus, evaluate, plot

TYPES = np.array(["bargain hunter", "family", "gourmet", "student"])
# department: (its names for the four types, share of labels it gets wrong, share of customers it never met)
DEPARTMENTS = {
    "sales": (["A", "B", "C", "D"], 0.10, 0.15),
    "online": (["bronze", "silver", "gold", "bronze"], 0.15, 0.45),
    "loyalty card": ([4, 2, 1, 3], 0.20, 0.30),
    "call centre": (["cheap", "large basket", "large basket", "young"], 0.10, 0.60),
    "2009 study": (["I", "II", "III", "IV"], 0.35, 0.20),
}


def segmentations(n_customers: int, rng: np.random.Generator) -> tuple[dict[str, list], np.ndarray]:
    """What each department says of each customer, None where it says nothing; and the truth."""
    truth = rng.choice(len(TYPES), n_customers, p=[0.35, 0.3, 0.15, 0.2])
    table = {}
    for department, (names, wrong, gaps) in DEPARTMENTS.items():
        told = np.where(rng.random(n_customers) < wrong, rng.integers(len(TYPES), size=n_customers), truth)
        known = rng.random(n_customers) >= gaps
        table[department] = [names[place] if there else None for place, there in zip(told, known, strict=True)]
    return table, truth


def main() -> None:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "legacy_segments.png")
    table, truth = segmentations(5_000, np.random.default_rng(0))
    silent = [all(labels) for labels in zip(*([v is None for v in column] for column in table.values()), strict=True)]
    print(f"{sum(silent)} customers are known to no department; they are left out")
    kept = np.flatnonzero(~np.array(silent))
    members = as_ensemble({name: [column[place] for place in kept] for name, column in table.items()})
    result = consensus(members, 4, random_state=0)
    print(members)
    print(result)
    print(evaluate(result, members, truth=truth[kept]))
    for name, column in table.items():
        told = [None if column[place] is None else str(column[place]) for place in kept]
        share = np.mean([label is not None for label in told])
        print(f"{name:>13} alone: right on {accuracy(told, truth[kept]):.0%} of the {share:.0%} it knows")
    doubtful = np.flatnonzero(result.confidence < 0.6)
    print(f"{len(doubtful)} customers to look at by hand, such as {kept[doubtful[:5]].tolist()}")
    draw(members, result, target)


def draw(members, result, target: Path) -> None:
    figure, panels = plt.subplots(2, 2, figsize=(12, 7.5), layout="constrained")
    plot.membership_heatmap(result, members, ax=panels[0, 0])
    plot.confidence_histogram(result, ax=panels[0, 1])
    plot.member_nmi(members, result, ax=panels[1, 0])
    plot.silhouette(result, members, ax=panels[1, 1])
    figure.savefig(target, dpi=110)
    print(f"{target}: {target.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
