"""What a report is about: a labelling beside its ensemble, with all that is computed once and told many times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorate._data.coding import code_values
from quorate._data.ensemble import as_ensemble, compress
from quorate._data.missing import DEFAULT, missing_rule
from quorate._data.tables import as_table
from quorate._evaluation.binning import Labelled, labelled
from quorate._evaluation.scores import _cluster_density, _Labelling, _scored, _truth_scores
from quorate._types import Consensus, Ensemble, FloatArray
from quorate.solvers.confidence import row_confidence
from quorate.solvers.contingency import mean_nmi, nmi
from quorate.solvers.member_agreement import member_pairs, missing_shares, pair_scores


@dataclass(frozen=True, eq=False)
class Subject:
    """A labelling and the ensemble it stands for.

    `labels` are codes of the ensemble's rows, -1 where unlabelled; `names` those of the clusters. `found` are distinct
    pairs of row and cluster, `pair` tells for each labelled row of the ensemble which, and `first` the first such row.
    `n_distinct` counts the distinct rows, labelled or not.
    """

    result: Consensus | None
    ensemble: Ensemble
    labels: NDArray[np.int32]
    names: tuple[str, ...]
    found: Labelled
    pair: NDArray[np.intp]
    first: NDArray[np.intp]
    n_distinct: int
    truth: dict[str, float]

    @property
    def n_clusters(self) -> int:
        return len(self.names)

    @cached_property
    def ids(self) -> NDArray[Any] | None:
        """Names of the objects, from the ensemble or from the result."""
        ids = self.ensemble.object_ids
        return self.result.object_ids if ids is None and self.result is not None else ids

    @cached_property
    def known(self) -> NDArray[np.intp]:
        """Rows of the ensemble that have a label."""
        return np.flatnonzero(self.labels >= 0)

    @cached_property
    def has_own_confidence(self) -> bool:
        return self.result is not None and self.result.confidence is not None

    @cached_property
    def confidence(self) -> FloatArray:
        """Of every row of the ensemble: the result's own, or as most methods have it; NaN where unlabelled."""
        if self.result is not None and self.result.confidence is not None:
            return self.result.confidence
        values = np.full(len(self.labels), np.nan)
        values[self.known] = row_confidence(self.found.rows, self.found.labels)[self.pair]
        return values

    @cached_property
    def scored(self) -> Any:
        return _scored(_Labelling(self.labels, self.n_clusters), self.ensemble)

    @cached_property
    def anmi(self) -> float:
        return mean_nmi(self.scored.tables, self.ensemble.weights, "geometric")

    @cached_property
    def densities(self) -> FloatArray:
        return _cluster_density(self.scored)

    @cached_property
    def member_nmi(self) -> FloatArray:
        """NMI of each member with the labelling; NaN where they share no object."""
        return np.array([nmi(table, "geometric") if table.total else np.nan for table in self.scored.tables])

    @cached_property
    def pairs(self) -> tuple[FloatArray, FloatArray]:
        """NMI of every two members, and on how many objects."""
        return member_pairs(compress(self.ensemble)[0], "geometric")

    @cached_property
    def member_scores(self) -> tuple[float | None, float | None]:
        """Mean NMI over pairs of members, and the ANMI of the best with the others; None where there is no pair."""
        return pair_scores(*self.pairs, self.ensemble.weights)

    @cached_property
    def missing(self) -> FloatArray:
        """Share of the objects that each member leaves out."""
        return missing_shares(self.ensemble)

    @cached_property
    def cluster_confidence(self) -> FloatArray:
        """Mean over the objects of each cluster."""
        weights = self.ensemble.counts[self.known]
        labels = self.labels[self.known]
        sums = np.bincount(labels, weights=self.confidence[self.known] * weights, minlength=self.n_clusters)
        return np.asarray(sums / self.found.sizes, dtype=np.float64)


def subject_of(result: Any, ensemble: Any, truth: Any = None) -> Subject:
    """Check and code all that is told about."""
    ensemble = as_ensemble(ensemble)
    labels, names = _coded(result)
    if len(labels) != ensemble.n_rows:
        raise ValueError(
            f"result and ensemble must speak of the same objects, got {len(labels):,} labels and {ensemble.n_rows:,} "
            f"rows; pass the ensemble that the consensus was made of."
        )
    if not len(names):
        raise ValueError(f"result must label at least one object, but all of its {len(labels):,} labels are missing.")
    found = labelled(result if isinstance(result, Consensus) else labels, ensemble)
    rows, inverse = compress(ensemble)
    known = np.flatnonzero(labels >= 0)
    # in the order of `labelled`: by cluster, then by row
    keys = labels[known].astype(np.int64) * rows.n_rows + inverse[known]
    _, first, pair = np.unique(keys, return_index=True, return_inverse=True)
    scores = {} if truth is None else _truth_scores(_Labelling(labels, len(names)), truth, ensemble)
    return Subject(
        result=result if isinstance(result, Consensus) else None,
        ensemble=ensemble,
        labels=labels,
        names=names,
        found=found,
        pair=pair.reshape(-1),
        first=known[first],
        n_distinct=rows.n_rows,
        truth=scores,
    )


def _coded(result: Any) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Codes and the names of clusters; the numbers of a Consensus are their names."""
    if isinstance(result, Consensus):
        return result.labels.astype(np.int32), tuple(map(str, range(result.n_clusters)))
    table = as_table(result, None, None)
    if table.shape[1] != 1:
        raise ValueError(f"result must be one label an object, got a table of {table.shape[1]} columns; choose one.")
    column = table.columns[0] if table.block is None else table.block[:, 0]
    codes, categories = code_values(column, "result", missing_rule(DEFAULT))
    return codes.astype(np.int32), tuple(map(str, categories.tolist()))
