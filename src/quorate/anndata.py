"""Consensus of clusterings in an AnnData object: columns of `obs` are combined into a new column of `obs`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quorate._choose_k.choose_k import Numbers
from quorate._consensus.consensus import consensus
from quorate._data.ensemble import as_ensemble
from quorate._types import Consensus

__all__ = ["consensus_anndata"]


def consensus_anndata(
    adata: Any,
    keys: Sequence[str],
    n_clusters: Numbers = None,
    *,
    key_added: str = "consensus",
    **options: Any,
) -> Consensus:
    """Combine several columns of ``adata.obs`` into one clustering and write it to a new column.

    Parameters
    ----------
    adata : anndata.AnnData
        It is changed in place. ``obs[key_added]`` receives the clusters as categories of text, in the way scanpy writes
        them. ``obs[key_added + "_confidence"]`` receives the confidence, unless it is left out. ``uns[key_added]``
        records how they were computed.
    keys : sequence of str
        Columns of ``adata.obs``, such as clusterings at several resolutions. Missing values are missing labels. The
        result keeps the ``obs_names``, so that scores and reports match cells by name.
    n_clusters : int, "auto", (low, high) or range, optional
        See `consensus`.
    key_added : str
        Name of the new column.
    **options
        Options of `consensus`, such as method, random_state and coarsen, and options of the method.

    Returns
    -------
    Consensus
        The result, which contains what was written and more.

    Notes
    -----
    The package anndata is not imported: any object that has a pandas data frame ``obs`` and a mapping ``uns`` can be
    used.
    """
    import pandas as pd

    if not (isinstance(getattr(adata, "obs", None), pd.DataFrame) and isinstance(getattr(adata, "uns", None), Mapping)):
        raise TypeError(
            f"adata must be an AnnData object, with a data frame obs and a mapping uns, got {type(adata).__name__}."
        )
    _refuse_keys(keys, list(adata.obs.columns), key_added)
    members = as_ensemble({key: adata.obs[key] for key in keys}, orientation="members")
    result = consensus(members, n_clusters, **options)
    names = [str(cluster) for cluster in range(result.n_clusters)]
    adata.obs[key_added] = pd.Categorical.from_codes(result.labels, dtype=pd.CategoricalDtype(names))
    if result.confidence is not None:
        adata.obs[f"{key_added}_confidence"] = result.confidence
    adata.uns[key_added] = {
        "method": result.method,
        "n_clusters": result.n_clusters,
        "keys": list(keys),
        "params": {name: value for name, value in options.items() if isinstance(value, str | int | float)},
    }
    return result


def _refuse_keys(keys: Sequence[str], columns: list[str], key_added: str) -> None:
    """Raise unless all keys are columns of their own, none of which the result would take the place of."""
    if isinstance(keys, str) or not len(keys):
        raise TypeError(f"keys must be a list of columns of adata.obs, got {keys!r}; write [{keys!r}] for one.")
    unknown = [key for key in keys if key not in columns]
    if unknown:
        raise KeyError(f"adata.obs has no column {', '.join(map(repr, unknown))}; it has {columns}.")
    twice = [key for place, key in enumerate(keys) if key in keys[:place] or columns.count(key) > 1]
    if twice:
        raise ValueError(f"{twice[0]!r} is twice in keys or among the columns of adata.obs; name each column once.")
    if not isinstance(key_added, str) or not key_added:
        raise TypeError(f"key_added must be the name of a new column, got {key_added!r}.")
    replaced = [name for name in (key_added, f"{key_added}_confidence") if name in keys]
    if replaced:
        raise ValueError(
            f"key_added={key_added!r} would replace the column {replaced[0]!r}, which is read; name another."
        )
