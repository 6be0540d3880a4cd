"""A holder in this process, and ensembles that are cut into parts, for tests of methods on rows in parts."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from quorate import Ensemble
from quorate.solvers.label_rows import take
from quorate.solvers.parts import PartedEnsemble, in_parts


class HolderHere:
    """Holds parts in this process; what it calls and hands over must be what another process could be sent.

    `most` is the number of bytes that came back from all parts in one call, at most.
    """

    most = 0

    def call(
        self, function: Callable[..., Any], arguments: Sequence[Any], n_kept: int
    ) -> tuple[list[list[Any]], list[Any]]:
        places = [place for place, value in enumerate(arguments) if getattr(value, "pieces", None) is not None]
        n_parts = len(arguments[places[0]].pieces)
        results = []
        for part in range(n_parts):
            own = [value.pieces[part] if place in places else value for place, value in enumerate(arguments)]
            function, sent = pickle.loads(pickle.dumps((function, own)))
            results.append(function(*sent))
        told = [result[-1] for result in results]
        self.most = max(self.most, sum(len(pickle.dumps(value)) for value in told))
        return [[result[place] for result in results] for place in range(n_kept)], told


def cut_rows(ensemble: Ensemble, cuts: Sequence[int]) -> PartedEnsemble:
    """Cut the rows of an ensemble, which are distinct, before these rows."""
    edges = [0, *cuts, ensemble.n_rows]
    pieces = []
    for start, stop in itertools.pairwise(edges):
        rows = np.arange(start, stop)
        pieces.append(take(ensemble, rows, ensemble.counts[rows]))
    like: Any = {entry.name: getattr(ensemble, entry.name) for entry in fields(Ensemble)[2:]}
    parted = in_parts(HolderHere(), pieces, np.array(edges), like)
    parted.remember(is_distinct=True)
    return parted
