"""`quorate demo`: invented customers, four segmentations of them, their consensus, a picture and a text."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate import (
    Consensus,
    Ensemble,
    Scores,
    accuracy,
    as_ensemble,
    consensus,
    evaluate,
    load_labels,
    nmi,
    report,
    save_ensemble,
    save_labels,
)
from quorate._evaluation.scores import member_anmi
from quorate._io import refuse_place, write_aside
from quorate._summaries import AMBIGUOUS

Array = NDArray[Any]
# the palette of Okabe and Ito, which people with any kind of colour vision can tell apart; the largest cluster has
# the first colour
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00")
GAP = "#E4E4E4"
QUIET = "#A6A6A6"
DARK = "#222222"


def draw(
    file: IO[bytes], ensemble: Ensemble, labels: Array, names: Sequence[str], right: Sequence[tuple[str, float]]
) -> None:
    """Draw the picture as a PNG file.

    Parameters
    ----------
    file : binary file
        Open for writing.
    ensemble : Ensemble
        The segmentations of the departments.
    labels : array of shape (n_objects,)
        The consensus.
    names : sequence of str
        The name of each cluster of the consensus.
    right : sequence of (str, float)
        The name of each segmentation and the share of customers it places right; the consensus comes last.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(12.5, 7), dpi=130, layout=ConstrainedLayoutEngine(w_pad=0.15, h_pad=0.1))
    left, side = figure.subplots(1, 2, width_ratios=(1.6, 1))
    _draw_table(left, ensemble, labels, names)
    _draw_bars(side, right)
    *singles, (_, ours) = right
    best, share = max(singles, key=lambda pair: pair[1])
    figure.suptitle(
        f"Four partial segmentations, one consensus: {ours:.0%} of the customers placed right\n"
        f"(the best department alone, {best}: {share:.0%})",
        fontsize=15,
        fontweight="bold",
    )
    figure.savefig(file, format="png")


def _draw_table(axes: Any, ensemble: Ensemble, labels: Array, names: Sequence[str]) -> None:
    """Draw one row per customer, large clusters first, and one column per segmentation, the consensus last."""
    # number the clusters by size, so that a number is both a place and a colour
    sizes = np.bincount(labels)
    by_size = np.argsort(-sizes, kind="stable")
    names, sizes = [names[cluster] for cluster in by_size], sizes[by_size]
    ranks = np.argsort(by_size)[labels]
    members = np.column_stack([_translate(column, ranks) for column in ensemble.labels.T])
    order = _row_order(members, ranks)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    places = [*range(ensemble.n_members), ensemble.n_members + 0.25]
    for place, column in zip(places, [*members[order].T, ranks[order]], strict=True):
        _draw_column(axes, place, column, len(sizes))
    for member in range(ensemble.n_members):
        _remark(axes, member, members[order, member], edges, names)
    axes.set(xlim=(-0.5, places[-1] + 0.5), ylim=(edges[-1], 0))
    axes.hlines(edges[1:-1], -0.5, places[-1] + 0.5, color="white", linewidth=4)
    axes.set_xticks(places, [*ensemble.member_names, "consensus"], fontsize=12)
    ticks = [f"{name}\n{size:,}" for name, size in zip(names, sizes, strict=True)]
    axes.set_yticks((edges[1:] + edges[:-1]) / 2, ticks, fontsize=11)
    _explain_table(axes)


def _row_order(members: Array, ranks: Array) -> Array:
    """Sort customers by cluster, within a cluster by the number of segmentations that disagree, equal rows together."""
    disagreeing = ((members >= 0) & (members != ranks[:, None])).sum(axis=1)
    return np.lexsort((*members.T[::-1], disagreeing, ranks))


def _explain_table(axes: Any) -> None:
    _strip(axes)
    axes.xaxis.tick_top()
    axes.set_xlabel(
        "One row per customer, sorted by consensus. A department's segment has the colour of the consensus\n"
        "segment with which it shares most customers. Light grey: no label.",
        fontsize=10,
    )


def _translate(column: Array, labels: Array) -> Array:
    """Replace each label of a member by the consensus cluster with which it shares most objects; -1 stays."""
    known = column >= 0
    shared = np.zeros((int(column.max()) + 1, int(labels.max()) + 1), dtype=np.int64)
    np.add.at(shared, (column[known], labels[known]), 1)
    return np.where(known, shared.argmax(axis=1)[column], -1)


def _draw_column(axes: Any, place: float, column: Array, n_clusters: int) -> None:
    from matplotlib.colors import ListedColormap

    axes.imshow(
        column[:, None],
        extent=(place - 0.46, place + 0.46, len(column), 0),
        aspect="auto",
        interpolation="nearest",
        cmap=ListedColormap([GAP, *COLOURS[:n_clusters]]),
        vmin=-1.5,
        vmax=n_clusters - 0.5,
    )


def _remark(axes: Any, member: int, column: Array, edges: Array, names: Sequence[str]) -> None:
    """Write a note wherever a member labels less than half of a cluster, or merges it with another one."""
    for cluster, (start, end) in enumerate(pairwise(edges.tolist())):
        part = column[start:end]
        known = part[part >= 0]
        most_frequent = int(np.bincount(known, minlength=len(names)).argmax()) if len(known) else cluster
        if 2 * len(known) < len(part):
            text = "mostly\nno label"
        elif most_frequent != cluster:
            text = "merged with\n" + names[most_frequent]
        else:
            continue
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        axes.text(member, (start + end) / 2, text, ha="center", va="center", fontsize=8.5, color=DARK, bbox=box)


def _draw_bars(axes: Any, right: Sequence[tuple[str, float]]) -> None:
    """Draw one bar per segmentation, the consensus in a darker colour."""
    names, shares = zip(*right, strict=True)
    places = np.arange(len(names))
    axes.barh(places, shares, color=[QUIET] * (len(names) - 1) + [DARK], height=0.62)
    for place, share in zip(places, shares, strict=True):
        axes.text(share + 0.015, place, f"{share:.0%}", va="center", fontsize=13, fontweight="bold")
    axes.set_yticks(places, names, fontsize=12)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12)
    axes.set_xticks([])
    _strip(axes)
    axes.set_title("Share of all customers placed right", fontsize=12, pad=10, loc="left")
    axes.set_xlabel(
        "Segments are matched to the true types in the\nbest way. No label counts as not placed right.",
        fontsize=10,
    )


def _strip(axes: Any) -> None:
    """Remove ticks and frame."""
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


N_CUSTOMERS = 3_000
TYPES = ("families", "bargain hunters", "young professionals", "pensioners", "gourmets")
NO_PICTURE = 'matplotlib is not installed: pip install "quorate[plot]"'
SHARES = (0.28, 0.24, 0.20, 0.16, 0.12)


class Department(NamedTuple):
    """How one department segments the types of customers: its segments, its mistakes, and its missing labels."""

    segments: tuple[tuple[str, ...], ...]  # for each type, the segments its customers fall into
    error: float  # the share of customers that it takes for a type drawn at random
    unknown: tuple[float, ...]  # for each type, the share of customers without a segment


DEPARTMENTS = {
    # old segments that new customers were never given
    "marketing": Department((("Family",), ("Deals",), ("Urban",), ("Silver",), ("Premium",)), 0.24, (0.25,) * 5),
    # segments by the size of the basket alone
    "finance": Department((("L",), ("S",), ("S",), ("M",), ("XL",)), 0.15, (0.0,) * 5),
    # clusters of clicks: finer than the types, and without those who rarely shop online
    "web": Department((("1", "2"), ("3",), ("4", "5"), ("6",), ("7",)), 0.12, (0.30, 0.35, 0.10, 0.75, 0.30)),
    # a survey that puts all customers who mind the price into one segment
    "region": Department((("family",), ("thrifty",), ("career",), ("thrifty",), ("quality",)), 0.18, (0.15,) * 5),
}


def customers(seed: int = 0) -> tuple[Ensemble, Array]:
    """Return the four segmentations, and the true type of each customer, which is in none of them."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(len(TYPES), size=N_CUSTOMERS, p=SHARES)
    table = {name: _segments(truth, department, rng) for name, department in DEPARTMENTS.items()}
    return as_ensemble(table, ids=[f"C{number:04d}" for number in range(1, N_CUSTOMERS + 1)]), truth


def _segments(truth: Array, department: Department, rng: np.random.Generator) -> Array:
    """Return the segment that one department gives each customer: the right one, a wrong one by mistake, or None."""
    mistaken = rng.random(len(truth)) < department.error
    seen = np.where(mistaken, rng.integers(0, len(TYPES), size=len(truth)), truth)
    labels = np.array([rng.choice(department.segments[kind]) for kind in seen], dtype=object)
    labels[rng.random(len(truth)) < np.asarray(department.unknown)[truth]] = None
    return labels


def demo(folder: str | os.PathLike[str], *, overwrite: bool = False) -> str:
    """Run the demo in `folder` and return its story as text.

    It makes the customers up, writes and reads their table, finds the consensus, writes the labels, a report and a
    picture, and compares the consensus with each department.

    Parameters
    ----------
    folder : str or path
        Made if it does not exist. Gets customers.csv, consensus.csv, report.html and, with matplotlib, consensus.png.
    overwrite : bool, default False
        Whether files of an earlier demo may be replaced.
    """
    files = _files(Path(folder), overwrite)
    made, truth = customers()
    save_ensemble(files.table, made, overwrite=overwrite)
    ensemble = load_labels(files.table, ids="id")
    result = consensus(ensemble, len(TYPES), random_state=0)
    scores = evaluate(result, ensemble, truth=truth, null="auto")
    save_labels(files.labelling, result, overwrite=overwrite)
    _save_report(files, ensemble, result, truth, overwrite)
    rows = _comparison(ensemble, result, scores, truth)
    is_drawn = _save_picture(files.picture, ensemble, result, rows, truth, overwrite)
    return _story(ensemble, result, scores, rows, files, is_drawn)


class Files(NamedTuple):
    """The files that the demo writes."""

    table: Path
    labelling: Path
    page: Path
    picture: Path


def _files(folder: Path, overwrite: bool) -> Files:
    """Make the folder and return the files in it; raise if one of them must not be replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    files = Files(*(folder / name for name in ("customers.csv", "consensus.csv", "report.html", "consensus.png")))
    for file in files:
        refuse_place(file, overwrite)
    return files


def _save_report(files: Files, ensemble: Ensemble, result: Consensus, truth: Array, overwrite: bool) -> None:
    options = ["--id", "id", "-k", str(len(TYPES)), "--report", str(files.page)]
    report(
        result,
        ensemble,
        files.page,
        truth=truth,
        title="Customers, segmented four ways",
        random_state=0,
        command=shlex.join(["quorate", "consensus", str(files.table), *options]),
        overwrite=overwrite,
    )


class Row(NamedTuple):
    """A row of the story's table: one segmentation, the share of customers it labels, and how good its labels are."""

    name: str
    n_clusters: int
    labelled: float
    agreement: float  # with departments that had no part in it
    nmi: float  # agreement with the truth
    right: float  # share of all customers that are placed right


def _comparison(ensemble: Ensemble, result: Consensus, scores: Scores, truth: Array) -> list[Row]:
    rows = []
    # the agreement of a department with the others, and of the consensus with each department left out in turn
    others = member_anmi(ensemble)
    for name, labels, k, agreement in zip(
        ensemble.member_names, ensemble.labels.T, ensemble.n_clusters, others.tolist(), strict=True
    ):
        labelled = float(np.mean(labels >= 0))
        # a customer without a segment is not placed right
        right = accuracy(labels, truth) * labelled
        rows.append(Row(name, int(k), labelled, agreement, nmi(labels, truth), right))
    fair = (scores.agreement or 0.0, scores.nmi or 0.0, scores.accuracy or 0.0)
    return [*rows, Row("consensus", result.n_clusters, 1.0, *fair)]


def _save_picture(
    path: Path, ensemble: Ensemble, result: Consensus, rows: list[Row], truth: Array, overwrite: bool
) -> bool:
    """Draw if matplotlib is installed, and return whether it is; a cluster has the name of its most frequent type."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        return False

    names = [TYPES[np.bincount(truth[result.labels == cluster]).argmax()] for cluster in range(result.n_clusters)]
    right = [(row.name, row.right) for row in rows]
    write_aside(path, lambda file: draw(file, ensemble, result.labels, names, right), overwrite=overwrite)
    return True


def _story(ensemble: Ensemble, result: Consensus, scores: Scores, rows: list[Row], files: Files, is_drawn: bool) -> str:
    """Return the text of the demo: what was done, the scores, the files written, and how to do the same."""
    *departments, ours = rows
    best = max(departments, key=lambda row: row.right)
    n_unsure = 0 if result.confidence is None else int(np.sum(result.confidence < AMBIGUOUS))
    table, labelling, page, picture = (str(file) for file in files)
    return f"""\
A retailer has {ensemble.n_objects:,} customers. Four departments have put them into segments, each in its own way: the
names and the number of segments differ, there are mistakes, and most departments have no label for some customers.
The truth is known only because this demo made the customers up: there are {len(TYPES)} types of customers.
quorate gets only the four columns of labels, and combines them into one segmentation.

               segments     customers   agreement  NMI with     customers
                         with a label with others     truth  placed right
{_figures(rows)}

The consensus labels all customers and places {ours.right:.0%} of them right.
The best department, {best.name}, places {best.right:.0%} of them right.
It also shows where the departments disagree most: {n_unsure:,} customers have a confidence below {AMBIGUOUS:g}.
{scores.verdict.text}
{scores.verdict.next_step}

(Agreement is the mean NMI with departments that had no part in a segmentation: a department is compared with the other
three, and the consensus of any three with the fourth. It needs no truth. A customer without a label counts as not
placed right.)

  {table:<34} the four segmentations
  {labelling:<34} the consensus: id, label, confidence
  {page:<34} a report about the consensus, to open in a browser
  {picture if is_drawn else "no picture":<34} {"a picture of all five segmentations" if is_drawn else NO_PICTURE}

{_instructions(table, labelling, page)}"""


def _figures(rows: list[Row]) -> str:
    return "\n".join(
        f"  {row.name:<12}{row.n_clusters:>9}{row.labelled:>14.0%}{row.agreement:>12.3f}{row.nmi:>10.3f}"
        f"{row.right:>14.0%}"
        for row in rows
    )


def _instructions(table: str, labelling: str, page: str) -> str:
    """Return the commands and the Python code that do the same; they can be pasted as they are."""
    shell_table, shell_labelling = shlex.quote(table), shlex.quote(labelling)
    return f"""\
The same from the shell (add --force to replace files that exist):
  quorate consensus {shell_table} --id id -k {len(TYPES)} -o {shell_labelling}
  quorate score {shell_table} {shell_labelling} --id id
  quorate report {shell_table} {shell_labelling} --id id -o {shlex.quote(page)}

and from Python:
  from quorate import consensus, evaluate, load_labels, save_labels
  ensemble = load_labels({table!r}, ids="id")
  result = consensus(ensemble, {len(TYPES)}, random_state=0)
  print(evaluate(result, ensemble, null="auto"))
  save_labels({labelling!r}, result, overwrite=True)
"""
