"""The demo: invented customers of a retailer, four segmentations of them, their consensus, and a text about it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any, NamedTuple

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
from quorate._result_table import AMBIGUOUS

Array = NDArray[Any]
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
    found = (scores.agreement or 0.0, scores.nmi or 0.0, scores.accuracy or 0.0)
    return [*rows, Row("consensus", result.n_clusters, 1.0, *found)]


def _save_picture(
    path: Path, ensemble: Ensemble, result: Consensus, rows: list[Row], truth: Array, overwrite: bool
) -> bool:
    """Draw if matplotlib is installed, and return whether it is; a cluster has the name of its most frequent type."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        return False
    from quorate.cli.demo_picture import draw

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
