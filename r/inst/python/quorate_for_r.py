"""What the R package calls: tables of R become ensembles or matrices, and results become what reticulate turns into R.

Numbers pass as bytes in both directions, because a reticulate before 1.38 cannot pass arrays of NumPy 2.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import quorate

Column = Mapping[str, Any]
"""A column of R: its name, its kind and its data; codes of a factor come with their levels."""


def call(name: str, *args: Any, **options: Any) -> dict[str, Any]:
    """Run a function of this module, and return its value with the texts of the warnings it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = FUNCTIONS[name](*args, **options)
    users = [warning for warning in caught if not issubclass(warning.category, DeprecationWarning)]
    return {"value": value, "warnings": list(dict.fromkeys(str(warning.message) for warning in users))}


def column(given: Column) -> Any:
    """Return a column as an array: numbers with NaN for NA, or texts with None for NA."""
    if given["kind"] == "numbers":
        return np.frombuffer(given["data"], dtype=np.float64)
    codes = np.frombuffer(given["data"], dtype=np.int32)
    levels = np.array([*given["levels"], None], dtype=object)
    return levels[np.where(codes < 0, len(levels) - 1, codes)]


def ensemble(columns: Sequence[Column], ids: Sequence[str] | None, options: Mapping[str, Any]) -> Any:
    """Return the ensemble of a data frame or matrix of labels; one column is one member."""
    members = {str(each["name"]): column(each) for each in columns}
    names = None if ids is None else np.array(ids)
    return quorate.as_ensemble(members, orientation="members", ids=names, **plain(options))


def features(columns: Sequence[Column]) -> Any:
    """Return measurements as a matrix if all columns are numbers, and as a data frame otherwise."""
    if all(each["kind"] == "numbers" for each in columns):
        return np.column_stack([column(each) for each in columns])
    import pandas as pd

    return pd.DataFrame({str(each["name"]): column(each) for each in columns})


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of R as those of Python: a number such as 3 is an integer, although R keeps it as 3.0."""
    return {name: _plain(value) for name, value in options.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return plain(value) if isinstance(value, dict) else value


def numbers(n_clusters: Any) -> Any:
    """Return a number of clusters, or the bounds of several: 2:6 and c(2, 6) both mean from 2 to 6."""
    wanted = _plain(n_clusters)
    return (min(wanted), max(wanted)) if isinstance(wanted, list) else wanted


def whole(values: Any) -> bytearray:
    return bytearray(np.ascontiguousarray(values, dtype=np.int32).tobytes())


def real(values: Any) -> bytearray:
    return bytearray(np.ascontiguousarray(values, dtype=np.float64).tobytes())


def result_for_r(result: Any) -> dict[str, Any]:
    """Return what R keeps of a Consensus; clusters are numbered from 0 here, and from 1 in R."""
    choice = result.info.get("choice")
    return {
        "cluster": whole(result.labels),
        "confidence": None if result.confidence is None else real(result.confidence),
        "runner_up": None if result.runner_up is None else whole(result.runner_up),
        "stability": None if result.stability is None else real(result.stability),
        "method": result.method,
        "objective": float(result.objective),
        "converged": bool(result.converged),
        "choice": None if choice is None else str(choice.reason),
        "python": result,
    }


def consensus(members: Any, n_clusters: Any, options: Mapping[str, Any], features: Any = None) -> dict[str, Any]:
    return result_for_r(quorate.consensus(members, numbers(n_clusters), features=features, **plain(options)))


def evaluate(
    labels: Any, members: Any, truth: Column | None, features: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    known = None if truth is None else column(truth)
    scores = quorate.evaluate(labels, members, truth=known, features=features, **plain(options))
    names = [name for name, value in scores.as_dict().items() if value is not None]
    return {
        "names": names,
        "values": real([scores.as_dict()[name] for name in names]),
        "grade": scores.verdict.grade,
        "verdict": str(scores.verdict),
        "stability": _stability(scores.stability, isinstance(labels, quorate.Consensus)),
    }


def _stability(table: Any, from_zero: bool) -> dict[str, Any] | None:
    """Return the stability of each cluster; those of a result are numbered from 0 here, and from 1 in R."""
    if table is None:
        return None
    return {
        "cluster": [str(int(row.cluster) + 1) if from_zero else row.cluster for row in table.rows],
        "objects": whole([row.objects for row in table.rows]),
        "stability": real([np.nan if row.stability is None else row.stability for row in table.rows]),
        "meaning": [row.meaning or "" for row in table.rows],
    }


def ensemble_clustering(table: Any, n_clusters: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    model = quorate.EnsembleClustering(numbers(n_clusters), **plain(options)).fit(table)
    return result_for_r(model.consensus_) | {"model": model, "members": model.ensemble_}


def predict(model: Any, table: Any) -> bytearray:
    return whole(model.predict(table))


def over_k(source: Any, n_clusters: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    wanted = _plain(n_clusters)
    listed = [wanted] if isinstance(wanted, int) else wanted
    found = quorate.over_k(source, listed, **plain(options))
    rows = [row._asdict() for row in found.table]
    table = {name: real([np.nan if row[name] is None else row[name] for row in rows]) for name in rows[0]}
    return {
        "table": table,
        "numbers": list(found.numbers),
        "results": [result_for_r(found.results[k]) for k in found.numbers],
        "cdf": [{"index": real(index), "share": real(share)} for index, share in map(found.cdf, found.numbers)],
        "python": found,
    }


def matrix(found: Any, n_clusters: float) -> bytearray:
    return real(found.matrix(int(n_clusters)))


def item_consensus(found: Any, n_clusters: float) -> bytearray:
    return real(found.item_consensus(int(n_clusters)).to_numpy())


def report(
    result: Any, members: Any, path: str, truth: Column | None, features: Any, options: Mapping[str, Any]
) -> str:
    known = None if truth is None else column(truth)
    written = quorate.report(result, members, path, truth=known, features=features, **plain(options))
    return str(written)


def version() -> str:
    return str(quorate.__version__)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        column, consensus, ensemble, ensemble_clustering, evaluate, features, item_consensus, matrix, over_k, predict,
        report, version,
    )
}  # fmt: skip
