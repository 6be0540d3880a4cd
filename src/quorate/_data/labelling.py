"""The one coder of a single labelling: labels of any type, or a Consensus, as codes beside what they stand for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import code_values
from quorate._data.missing import DEFAULT, missing_rule
from quorate._data.tables import as_table
from quorate._types import Consensus


class Labelling(NamedTuple):
    """One label per object, coded as a member of an ensemble is.

    `codes` are numbered by first appearance, -1 where an object has no label; ``categories[code]`` is the label that a
    code stands for.
    """

    codes: NDArray[np.int32]
    categories: NDArray[Any]

    @property
    def n_clusters(self) -> int:
        return len(self.categories)


def code_labelling(
    labels: Any, name: str, n_rows: int | None = None, *, missing: Any = DEFAULT, advice: str = ""
) -> Labelling:
    """Code one label per object.

    Parameters
    ----------
    labels : array of labels, table of one column, or Consensus
        The clusters of a Consensus keep their numbers.
    name : str
        What errors call the labels.
    n_rows : int, optional
        How many labels there must be: one for each row of an ensemble.
    missing : value or list of values, default -1
        What stands for a missing label, beside nulls.
    advice : str
        What an error about their number tells the user to do.

    Returns
    -------
    Labelling
    """
    if isinstance(labels, Consensus):
        names = np.arange(labels.n_clusters) if labels.cluster_names is None else np.array(labels.cluster_names)
        coded = Labelling(labels.labels.astype(np.int32, copy=False), names)
    else:
        table = as_table(labels, "objects", None)
        if table.shape[1] != 1:
            raise ValueError(
                f"{name} must be one label per object, got a table of {table.shape[1]} columns; choose one of them."
            )
        column = table.columns[0] if table.block is None else table.block[:, 0]
        codes, categories = code_values(column, name, missing_rule(missing))
        coded = Labelling(codes.astype(np.int32), categories)
    if n_rows is not None and len(coded.codes) != n_rows:
        told = advice or "pass the ensemble that the labels were made for"
        raise ValueError(
            f"{name} must have one label per row of the ensemble, {n_rows:,} in all, got {len(coded.codes):,}; {told}."
        )
    if not coded.n_clusters:
        raise ValueError(
            f"{name} must label at least one object, but all of its {len(coded.codes):,} labels are missing."
        )
    return coded
