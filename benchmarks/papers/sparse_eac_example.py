"""SPARSE, Figure 1: the cigar set of 250 objects and its co-association matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.papers.paper import Experiment
from benchmarks.papers.records import Case, Record, Values
from benchmarks.papers.sparse_eac_sets import TABLE, features
from quorate import co_association, generate
from quorate.generation import KMeans

NAME = "cigar"


def cases(quick: bool) -> Sequence[Case]:
    return [{"set": NAME, "members": 20 if quick else 150, "repeat": 0}]


def measure(case: Case) -> Values:
    """The matrix in whole numbers of members, row after row, and how much of it is not zero."""
    X, y = features(case["set"], case["repeat"])
    least, most, _ = TABLE[case["set"]].var
    ensemble = generate(X, case["members"], k=(least, most), base=KMeans(), random_state=case["repeat"], n_jobs=1)
    found = co_association(ensemble)
    # the set lists its clusters one after the other, as the paper's picture does
    upper = np.rint(found.matrix.toarray()[np.ix_(*2 * [np.argsort(y, kind="stable")])] * case["members"]).astype(int)
    whole = np.maximum(upper, upper.T)
    share = float((whole > 0).sum() + len(y)) / len(y) ** 2
    apart = np.not_equal.outer(np.sort(y), np.sort(y))
    rows = [" ".join(map(str, row[place + 1 :].tolist())) for place, row in enumerate(whole)]
    blocks = float((np.bincount(y) ** 2).sum()) / len(y) ** 2
    return {
        "rows": rows,
        "density": share,
        "blocks": blocks,
        "between": float((whole[apart] > 0).mean()),
        "pairs": found.n_pairs,
    }


def page(records: list[Record], pictures: Path) -> str:
    record = records[-1]
    values, members = record.values, record.case["members"]
    _draw(record, pictures / "sparse-eac-cigar.png")
    return (
        "![The cigar set and its co-association matrix](images/sparse-eac-cigar.png)\n\n"
        f"{members} k-means members. {100 * values['density']:.1f}% of the entries are not zero (perfect blocks: "
        f"{100 * values['blocks']:.1f}%), and {100 * values['between']:.1f}% of those between two clusters. The paper "
        "prints the picture alone. The geometry of the set is ours (docs/datasets.md)."
    )


def _draw(record: Record, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    X, y = features(record.case["set"], record.case["repeat"])
    whole = np.zeros((len(y), len(y)))
    for place, row in enumerate(record.values["rows"]):
        whole[place, place + 1 :] = [int(value) for value in row.split()]
    whole = (whole + whole.T) / record.case["members"] + np.eye(len(y))
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3.8), dpi=100)
    left.scatter(*X.T, c=np.array(["#0072B2", "#D55E00", "#009E73", "#CC79A7"])[y], s=6)
    left.set(xticks=[], yticks=[], aspect="auto")
    right.imshow(whole, cmap="Greys", vmin=0, vmax=1)
    right.set(xticks=[], yticks=[])
    figure.tight_layout()
    figure.savefig(path)
    pyplot.close(figure)


EXPERIMENT = Experiment("cigar", "Figure 1: the cigar set and its matrix", cases, measure, page)
