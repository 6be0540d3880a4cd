"""The function `report`: check the arguments, compute, fill in the page, and write it.

The page is written under another name and then renamed.
"""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quorate._check import counted, has, size
from quorate._choose_k.choose_k import Choice
from quorate._consensus.confidence import memberships
from quorate._data.soft_members import harden, members_beside
from quorate._io import refuse_place, write_aside
from quorate._summaries import AMBIGUOUS
from quorate._trust.agreement import beside_measurements
from quorate._trust.subject import Subject, subject_of
from quorate._types import MAX_BYTES, AnyEnsemble, Consensus, Ensemble, FloatArray, SoftEnsemble
from quorate.methods import METHODS
from quorate.reporting.figures import figures
from quorate.reporting.page import ROWS_OF_TABLES, page
from quorate.reporting.points import headline, points
from quorate.reporting.slider import ambiguous_rows, download, object_table, stops
from quorate.reporting.trees import checked_trees, trees_html

if TYPE_CHECKING:
    from quorate.reporting.first_page import Front


def report(
    result: Any,
    ensemble: Any,
    path: str | os.PathLike[str],
    *,
    truth: Any = None,
    title: str | None = None,
    numbers: Any = "auto",
    choice: Choice | None = None,
    ambiguous: float = AMBIGUOUS,
    random_state: int | None = None,
    command: str | None = None,
    overwrite: bool = False,
    features: Any = None,
    coordinates: Any = None,
    language: str | None = None,
    logo: str | os.PathLike[str] | None = None,
    trees: Any = None,
) -> Path:
    """Write one HTML page about the quality of a consensus, which opens offline and fetches nothing.

    The page contains a verdict in words, the labels of the members that each cluster is made of, maps of the objects
    and of the members' labels, sizes and confidence of the clusters, agreement of the members, a table of ambiguous
    objects, the labels for download, and how the consensus was made. Clusters can be renamed in the page. A slider
    shows the maps, the sizes and the labels for other numbers of clusters.

    Parameters
    ----------
    result : Consensus, or labels of the objects
    ensemble : Ensemble, SoftEnsemble, or anything `as_ensemble` or `as_soft_ensemble` takes
        The ensemble that the consensus was made from. Of soft members the figures show the likeliest labels, and the
        memberships in the consensus are those of the memberships themselves.
    path : str or path
        The file to write. It is written under another name and then renamed, so that it never exists in part.
    truth : array of labels, optional
        The known classes of the objects.
    title : str, optional
        The title of the page; by default "Consensus clustering", and a German one if the first page is German.
    numbers : "auto", None, numbers of clusters, or mapping
        The stops of the slider: numbers of clusters at which the tree is cut or for which the method is run again; a
        mapping from numbers to labellings of the same objects; or None for no slider. See Notes for "auto".
    choice : Choice, optional
        The result of `choose_k`; by default the one that the consensus contains.
    ambiguous : float, default 0.6
        Objects whose confidence is below this are called ambiguous.
    random_state : int, optional
        The seed that the consensus was made with, by default the one in ``result.info``. The page states it, and the
        method is run again with it.
    command : str, optional
        The shell command that repeats the work, if it was done from a shell.
    overwrite : bool, default False
        Whether an existing file may be replaced.
    features : data frame, array or mapping, optional
        A table of the same objects in the same order, or with the same names: then the first page says in sentences
        what defines each cluster, as `explain` finds it, and has a map of the objects.
    coordinates : array of shape (n_objects, 2), optional
        The places of the objects on the map, such as a UMAP; by default the two main directions of `features`.
    language : {"en", "de"}, optional
        The language of the first page, which is in everyday words for people who do not know clustering. The page is
        there if any of these four options is given; its language is English by default. The rest is in English.
    logo : path, optional
        A picture for the first page: .png, .jpg or .svg, which is copied into the file.
    trees : Resolutions, SplitTree or several of them, optional
        What `resolutions` returns for the same objects: the page shows which cluster splits into which. Of what
        `significant_splits` returns it shows which splits are real, with their p-values.

    Returns
    -------
    pathlib.Path
        The path of the page.

    Notes
    -----
    "auto" takes up to four numbers of clusters on either side of the result's. They are cuts of its tree if it has one;
    otherwise its method is run again if that is cheap, and its clusters are merged if it is not. Each stop costs about
    as much as `evaluate`. The maps gather objects in about 180 bins. Labels, confidence and ids of all objects are
    included in the page, in this order, while they fit into 2 MB; the page says what was left out.

    Examples
    --------
    >>> import tempfile
    >>> from quorate import consensus, report
    >>> members = {"web": [0, 0, 1, 1, 1], "shop": ["a", "a", "b", "b", None]}
    >>> result = consensus(members, 2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = report(result, members, f"{folder}/report.html", random_state=0)
    ...     "2 clusterings of 5 objects, combined into one of 2 clusters" in path.read_text(encoding="utf-8")
    True
    """
    refuse_page(path, overwrite)
    if choice is not None and not isinstance(choice, Choice):
        raise TypeError(f"choice must be what choose_k returns, got {type(choice).__name__}.")
    front, title = _front(features, coordinates, language, logo, title)
    members = members_beside(result, ensemble)
    labels = harden(members) if isinstance(members, SoftEnsemble) else members
    subject = subject_of(_tested(result, labels, features), labels, truth, ambiguous=ambiguous)
    drawn = checked_trees(trees, subject.ensemble.n_rows)
    if choice is None and subject.result is not None:
        choice = subject.result.info.get("choice")
    _refuse_many_clusters(subject)
    seed = _seed(subject, random_state)
    slider = stops(subject, numbers, seed)
    shown = figures(subject, slider, choice)
    text = page(
        subject,
        front="" if front is None else front.text(subject, title, shown["colours"], choice),
        title=title,
        headline=headline(subject),
        points=points(subject),
        facts=facts(subject, choice, seed),
        redo=redo(subject, seed, command),
        data={
            **shown,
            "objects": object_table(subject, slider),
            "ambiguous": subject.ambiguous,
            "n_ambiguous": int(subject.ensemble.counts[ambiguous_rows(subject)].sum()),
            "download": download(subject, slider),
            "has_ids": subject.ids is not None,
            "id_name": _id_name(subject),
            "rows_of_tables": ROWS_OF_TABLES,
            "renamable": subject.result is not None,
        },
        choice=choice,
        trees=trees_html(subject, drawn),
        memberships=_memberships(subject, members),
        made_by=f"Other numbers of clusters are shown {slider.made_by}." if len(slider.partitions) > 1 else "",
    )
    write_aside(path, lambda file: _write(file, text), overwrite=overwrite)
    return Path(path)


def _front(
    features: Any, coordinates: Any, language: str | None, logo: Any, title: str | None
) -> tuple[Front | None, str]:
    """Check the options of the first page and name the page; None if there is no first page, for lack of options."""
    if features is None and coordinates is None and language is None and logo is None:
        return None, "Consensus clustering" if title is None else str(title)
    from quorate.reporting.first_page import checked_front

    front = checked_front(features, coordinates, language, logo)
    return front, front.title if title is None else str(title)


def _tested(result: Any, members: Any, features: Any) -> Any:
    """Return the result, compared with measurements without clusters if members were made from measurements.

    Features that are no numbers, or of other objects, are no measurements that members are made from.
    """
    made = isinstance(members, Ensemble) and members.info.get("k") is not None
    if features is None or not made or not isinstance(result, Consensus) or "reference_test" in result.info:
        return result
    with suppress(ValueError, TypeError):
        found = beside_measurements(result, members, features, 0)
        return result if found is None else replace(result, info={**result.info, "reference_test": found._asdict()})
    return result


MOST_MEMBERSHIPS = 20_000_000
"""Memberships of more objects times clusters are left out of the page: they would take 160 MB and more."""


def _memberships(subject: Subject, members: AnyEnsemble) -> FloatArray | None:
    """How probably each object belongs to each cluster; None if the result has no confidence, or for very many."""
    result = subject.result
    if result is None or result.confidence is None or members.n_rows * subject.n_clusters > MOST_MEMBERSHIPS:
        return None
    return memberships(result, members)


def _refuse_many_clusters(subject: Subject) -> None:
    """Raise if the table between the clusters of the report and those of all members would be too large."""
    of_members = int(subject.ensemble.offsets[-1])
    needed = 8 * subject.n_clusters * of_members
    if needed > MAX_BYTES:
        raise MemoryError(
            f"a report on {counted(subject.n_clusters, 'cluster')} and the {of_members:,} clusters of the members "
            f"would need {size(needed)}; take fewer clusters, or leave out members of very many clusters."
        )


def _seed(subject: Subject, random_state: Any) -> Any:
    """Return the seed that was given, or else the one that the result says it was made with."""
    if random_state is not None or subject.result is None:
        return random_state
    known = subject.result.info.get("seed")
    return known if isinstance(known, int) else None


def _id_name(subject: Subject) -> str:
    """Return the name of the column of ids in the download, as `save_labels` writes it."""
    name = (subject.ensemble if subject.result is None else subject.result).id_name
    return "id" if name in ("", "confidence", "label") else name


def refuse_page(path: str | os.PathLike[str], overwrite: bool) -> None:
    """Raise an error if the page cannot or must not be written, before any work is done for it."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{os.fspath(path)!r} must end in .html, so that it opens in a browser; rename it.")
    refuse_place(path, overwrite)


def _write(file: Any, text: str) -> None:
    file.write(text.encode("utf-8", "replace"))


def facts(subject: Subject, choice: Choice | None, seed: int | None) -> dict[str, str]:
    """Return what was done, to what, and with which versions."""
    from quorate import __version__

    ensemble, result = subject.ensemble, subject.result
    low, high = int(ensemble.n_clusters.min()), int(ensemble.n_clusters.max())
    clusters = f"{low:,} to {high:,} clusters" if low != high else counted(low, "cluster")
    missing = float(subject.missing.mean())
    entries = {
        "Objects": _objects_fact(subject),
        "Distinct rows": f"{subject.n_distinct:,}",
        "Members": f"{ensemble.n_members:,}, with {clusters} each",
        "Labels missing": f"{missing:.2%}" if missing else "none",
    }
    if not ensemble.unit_weights:
        entries["Weights"] = f"of members, from {ensemble.weights.min():g} to {ensemble.weights.max():g}"
    if ensemble.info.get("k") is not None:
        entries["Members made by"] = f"quorate.generate, {ensemble.info['k']}, seed {ensemble.info.get('seed')}"
    entries |= {"Method": "not known"} if result is None else _method_facts(subject)
    entries["Seed"] = "not known" if seed is None else f"{seed}"
    if choice is not None:
        entries["Choice of k"] = choice.reason
    entries["Versions"] = f"quorate {__version__}, NumPy {np.__version__}, Python {platform.python_version()}"
    entries["Written"] = _now().strftime("%Y-%m-%d %H:%M UTC")
    return entries


def _objects_fact(subject: Subject) -> str:
    n_objects, n_labelled = subject.ensemble.n_objects, int(subject.labelled.rows.n_objects)
    if n_labelled == n_objects:
        return f"{n_objects:,}"
    return f"{n_objects:,}, of which {n_labelled:,} {has(n_labelled)} a label"


def _method_facts(subject: Subject) -> dict[str, str]:
    result = subject.result
    assert result is not None
    method = METHODS.get(result.method)
    entries = {"Method": result.method or "not known"}
    if method is not None:
        entries["Method"] = f"{result.method}: {method.title} ({method.reference})"
    if "auto" in result.info:
        entries["Method chosen"] = f"automatically ({result.info['auto']})"
    state = "converged" if result.converged else "stopped before it converged"
    entries["Outcome"] = f"objective {result.objective:.6g} after {counted(result.n_iter, 'iteration')}, {state}"
    if "coarsen" in result.info:
        merged = result.info["coarsen"]
        taken = merged.get("way", "merged")
        entries["Coarsened"] = (
            f"theta {merged['theta']:g}, keep {merged['keep']:g}: {merged['n_distinct_rows']:,} distinct rows became "
            f"{merged['n_rows']:,} ({merged['why']})"
            if taken == "merged"
            else f"{taken}, the others placed, because merging rows would lose {merged['loss']:.1%} of the agreement"
        )
    if "refine" in result.info:
        moved = result.info["refine"]
        entries["Refined"] = f"{moved['n_moves']:,} moves, starting from an ANMI of {moved['start_anmi']:.4f}"
    return entries


def _now() -> datetime:
    """Return the time, or the time set in SOURCE_DATE_EPOCH, with which two runs can write the same bytes."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.now(timezone.utc) if fixed is None else datetime.fromtimestamp(int(fixed), timezone.utc)


def redo(subject: Subject, seed: int | None, command: str | None) -> dict[str, str]:
    """Return the command that was given, and the same in Python."""
    entries = {} if command is None else {"In a shell": command}
    result = subject.result
    if result is not None and result.method in METHODS:
        entries["In Python"] = (
            "from quorate import consensus, load_labels, report\n\n"
            'ensemble = load_labels("labels.csv")  # your table of labels\n'
            "# add the method's own options, if you gave any\n"
            f"result = consensus(ensemble, {subject.n_clusters}, {_options(result, seed)})\n"
            f'report(result, ensemble, "report.html", random_state={seed})'
        )
    return entries


def _options(result: Consensus, seed: int | None) -> str:
    """Return the known options of the consensus, as they are written in a call."""
    options = [f"method={result.method!r}", f"random_state={seed}"]
    if "coarsen" in result.info:
        done = result.info["coarsen"]
        cut = f"theta={done['theta']}, keep={done['keep']}"
        cut = f"max_rows={done['max_rows']}" if "max_rows" in done else cut
        options.append(f"coarsen=dict({cut})")
    return ", ".join([*options, *(["refine=True"] if "refine" in result.info else [])])
