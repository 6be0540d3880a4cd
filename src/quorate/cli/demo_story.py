"""A retailer's customers, made up with a seed, and the story of their segmentations."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._consensus.consensus import consensus
from quorate._data.ensemble import as_ensemble
from quorate._evaluation.scores import accuracy, anmi, evaluate, nmi
from quorate._io import load_labels, refuse_place, save_ensemble, save_labels, write_aside
from quorate._types import Consensus, Ensemble, Scores
from quorate.reporting import report

Array = NDArray[Any]
N_CUSTOMERS = 3_000
TYPES = ("families", "bargain hunters", "young professionals", "pensioners", "gourmets")
NO_PICTURE = 'matplotlib is not installed: pip install "quorate[plot]"'
SHARES = (0.28, 0.24, 0.20, 0.16, 0.12)


class Department(NamedTuple):
    """How one department sees the types: its segments, how often it errs, whom it does not know."""

    segments: tuple[tuple[str, ...], ...]  # for each type, the segments its customers fall into
    error: float
    unknown: tuple[float, ...]  # for each type, the share of customers without a segment


DEPARTMENTS = {
    # segments of old, never given to customers who came since
    "marketing": Department((("Family",), ("Deals",), ("Urban",), ("Silver",), ("Premium",)), 0.24, (0.25,) * 5),
    # by the size of the basket alone
    "finance": Department((("L",), ("S",), ("S",), ("M",), ("XL",)), 0.15, (0.0,) * 5),
    # clusters of clicks: finer than needed, and silent about those who never shop online
    "web": Department((("1", "2"), ("3",), ("4", "5"), ("6",), ("7",)), 0.12, (0.30, 0.35, 0.10, 0.75, 0.30)),
    # a survey that calls everybody who minds the price the same
    "region": Department((("family",), ("thrifty",), ("career",), ("thrifty",), ("quality",)), 0.18, (0.15,) * 5),
}


def customers(seed: int = 0) -> tuple[Ensemble, Array]:
    """The four segmentations, and the type each customer truly is, which no department knows."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(len(TYPES), size=N_CUSTOMERS, p=SHARES)
    table = {name: _segments(truth, department, rng) for name, department in DEPARTMENTS.items()}
    return as_ensemble(table, ids=[f"C{number:04d}" for number in range(1, N_CUSTOMERS + 1)]), truth


def _segments(truth: Array, department: Department, rng: np.random.Generator) -> Array:
    """What one department says of everybody: its segment, somebody else's by mistake, or nothing."""
    mistaken = rng.random(len(truth)) < department.error
    seen = np.where(mistaken, rng.integers(0, len(TYPES), size=len(truth)), truth)
    labels = np.array([rng.choice(department.segments[kind]) for kind in seen], dtype=object)
    labels[rng.random(len(truth)) < np.asarray(department.unknown)[truth]] = None
    return labels


def demo(folder: str | os.PathLike[str], *, overwrite: bool = False) -> str:
    """Play the demo in `folder`; returns the story as text.

    Parameters
    ----------
    folder : str or path
        Made if it is not there. Gets customers.csv, consensus.csv, report.html and, with matplotlib, consensus.png.
    overwrite : bool, default False
        Whether files of an earlier demo may be replaced.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    files = [place / name for name in ("customers.csv", "consensus.csv", "report.html", "consensus.png")]
    for file in files:
        refuse_place(file, overwrite)
    table, labelling, page, picture = files
    made, truth = customers()
    save_ensemble(table, made, overwrite=overwrite)

    ensemble = load_labels(table, ids="id")
    result = consensus(ensemble, len(TYPES), random_state=0)
    scores = evaluate(result, ensemble, truth=truth)
    save_labels(labelling, result, overwrite=overwrite)
    report(
        result,
        ensemble,
        page,
        truth=truth,
        title="Customers, segmented four ways",
        random_state=0,
        command=_report_command(table, page),
        overwrite=overwrite,
    )

    rows = _comparison(ensemble, result, scores, truth)
    drawn = _save_picture(picture, ensemble, result, rows, truth, overwrite)
    return _story(ensemble, result, rows, files, drawn)


def _report_command(table: Path, page: Path) -> str:
    options = ["--id", "id", "-k", str(len(TYPES)), "--report", str(page)]
    return shlex.join(["quorate", "consensus", str(table), *options])


class Row(NamedTuple):
    """How one segmentation does: whom it labels, and its agreement with the others and with the truth."""

    name: str
    n_clusters: int
    labelled: float
    anmi: float
    nmi: float
    right: float


def _comparison(ensemble: Ensemble, result: Consensus, scores: Scores, truth: Array) -> list[Row]:
    rows = []
    for name, labels, k in zip(ensemble.member_names, ensemble.labels.T, ensemble.n_clusters, strict=True):
        labelled = float(np.mean(labels >= 0))
        # who has no segment is not placed right, so the gaps count
        right = accuracy(labels, truth) * labelled
        rows.append(Row(name, int(k), labelled, anmi(labels, ensemble), nmi(labels, truth), right))
    return [*rows, Row("consensus", result.n_clusters, 1.0, scores.anmi, scores.nmi or 0.0, scores.accuracy or 0.0)]


def _save_picture(
    path: Path, ensemble: Ensemble, result: Consensus, rows: list[Row], truth: Array, overwrite: bool
) -> bool:
    """Draw, where matplotlib is installed; a cluster is called after the type most of its customers are."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        return False
    from quorate.cli.demo_picture import draw

    names = [TYPES[np.bincount(truth[result.labels == cluster]).argmax()] for cluster in range(result.n_clusters)]
    right = [(row.name, row.right) for row in rows]
    write_aside(path, lambda file: draw(file, ensemble, result.labels, names, right), overwrite=overwrite)
    return True


def _story(ensemble: Ensemble, result: Consensus, rows: list[Row], files: list[Path], drawn: bool) -> str:
    """What happened, the figures, the files, and how to do it oneself."""
    *singles, ours = rows
    best = max(singles, key=lambda row: row.right)
    unsure = 0 if result.confidence is None else int(np.sum(result.confidence < 0.5))
    table, labelling, page, picture = (str(file) for file in files)
    figures = "\n".join(
        f"  {row.name:<12}{row.n_clusters:>9}{row.labelled:>14.0%}{row.anmi:>12.3f}{row.nmi:>9.3f}{row.right:>13.0%}"
        for row in rows
    )
    return f"""\
A retailer has {ensemble.n_objects:,} customers. Four departments have put them into segments, each in its own way: with
other names, another number of segments, mistakes, and customers they know nothing about.
Nobody knows the truth, except this demo, which made the customers up: there are {len(TYPES)} types.
quorate sees the four columns of labels, nothing else, and makes one segmentation of them.

               segments  have a label   agreement  NMI with  placed right
                                       with all 4     truth  of everybody
{figures}

The consensus labels everybody and places {ours.right:.0%} right; the best of the four, {best.name}, {best.right:.0%}.
Where the departments disagree most it says so: {unsure:,} customers have a confidence below 0.5.
(Agreement is ANMI, which needs no truth. Whom a department does not label, it does not place right.)

  {table:<34} the four segmentations
  {labelling:<34} id, label, confidence
  {page:<34} what it is worth, to look at in a browser
  {picture if drawn else "no picture":<34} {"the picture" if drawn else NO_PICTURE}

The same from the shell (add --force to replace the labels that are there):
  quorate consensus {shlex.quote(table)} --id id -k {len(TYPES)} -o {shlex.quote(labelling)}
  quorate score {shlex.quote(table)} {shlex.quote(labelling)} --id id
  quorate report {shlex.quote(table)} {shlex.quote(labelling)} --id id -o {shlex.quote(page)}

and from Python:
  from quorate import consensus, evaluate, load_labels, save_labels
  ensemble = load_labels({table!r}, ids="id")
  result = consensus(ensemble, {len(TYPES)}, random_state=0)
  print(evaluate(result, ensemble))
  save_labels({labelling!r}, result, overwrite=True)
"""
