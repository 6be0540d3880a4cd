"""Coarsening of so many rows that no method that "auto" may take fits into memory: block by block, and told."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._coarsening.coarsen import coarsen_as_asked
from quorate._data.compression import compress
from quorate._data.selection import coded_anew, select_rows
from quorate._types import Ensemble

logger = logging.getLogger("quorate")
BLOCK = 1_000_000
"""Rows of a block: its tree takes about half a gigabyte. Ensembles of fewer rows fit into any memory."""
LEAST_BYTES = 70
"""Bytes for each row that the most modest of the methods behind "auto" takes, `kmeans`; see docs/scale.md."""


def coarsen_to_fit(ensemble: Ensemble, max_bytes: int) -> tuple[Ensemble, NDArray[np.intp], dict[str, Any]] | None:
    """Merge similar rows if `kmeans` on all rows would take more than `max_bytes`; None if it would not.

    The rows are taken in blocks of a million, because a CA-tree of all rows would take more memory than the method.
    Each block is coarsened as `coarsen="auto"` does, to its share of the rows that fit; then equal rows of different
    blocks are merged. A warning is logged.

    Returns
    -------
    tuple or None
        The merged rows, the merged row of each row, and a description of what was done for ``info["coarsen"]``.
    """
    if ensemble.n_rows <= BLOCK or LEAST_BYTES * ensemble.n_rows <= max_bytes:
        return None
    labels, counts, joined, thetas = [], [], [], []
    n_rows, share = 0, max(1, max_bytes // LEAST_BYTES // -(-ensemble.n_rows // BLOCK))
    for start in range(0, ensemble.n_rows, BLOCK):
        rows = np.arange(start, min(start + BLOCK, ensemble.n_rows))
        block = select_rows(ensemble, rows, ensemble.counts[rows])
        part, inverse, told = coarsen_as_asked(block, {"max_rows": share})
        labels.append(_in_codes_of(ensemble, part))
        counts.append(part.counts)
        joined.append(inverse + n_rows)
        thetas.append(told["theta"])
        n_rows += part.n_rows
    stacked = replace(ensemble, labels=np.concatenate(labels), counts=np.concatenate(counts), object_ids=None)
    merged, where = compress(coded_anew(stacked))
    return merged, where[np.concatenate(joined)], _told(ensemble, merged, max(thetas), max_bytes)


def _in_codes_of(ensemble: Ensemble, part: Ensemble) -> NDArray[Any]:
    """The labels of a part in the codes of the whole; a member that the part does not have is missing there."""
    labels = np.full((part.n_rows, ensemble.n_members), -1, dtype=ensemble.labels.dtype)
    for place, name in enumerate(part.member_names):
        member = ensemble.member_names.index(name)
        number = {value: code for code, value in enumerate(ensemble.categories[member].tolist())}
        codes = np.array([*(number[value] for value in part.categories[place].tolist()), -1])
        # code -1, a missing label, reads the last place
        labels[:, member] = codes[part.labels[:, place]]
    return labels


def _told(ensemble: Ensemble, merged: Ensemble, theta: float, max_bytes: int) -> dict[str, Any]:
    """Describe what was done, and log it as a warning."""
    needed = LEAST_BYTES * ensemble.n_rows
    why = (
        f"kmeans on {ensemble.n_rows:,} distinct rows would take about {needed:,} bytes, more than max_bytes = "
        f"{max_bytes:,}; rows were merged in blocks of {BLOCK:,}"
    )
    logger.warning("%s, and %s rows are left; a larger max_bytes avoids it", why, f"{merged.n_rows:,}")
    facts = {"theta": theta, "keep": 1.0, "n_distinct_rows": ensemble.n_rows, "why": why}
    return {**facts, "n_rows": merged.n_rows, "weighted": True}
