"""AnnData in and out: clusterings in columns of `obs` made one, in a column of `obs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quorate._consensus.choose_k import Numbers
from quorate._consensus.consensus import consensus
from quorate._data.ensemble import as_ensemble
from quorate._types import Consensus


def consensus_anndata(
    adata: Any,
    keys: Sequence[str],
    n_clusters: Numbers = None,
    *,
    key_added: str = "consensus",
    **options: Any,
) -> Consensus:
    """One clustering out of several columns of ``adata.obs``, written back into it.

    Parameters
    ----------
    adata : anndata.AnnData
        Changed in place. ``obs[key_added]`` gets the clusters, categories of text as scanpy writes them;
        ``obs[key_added + "_confidence"]`` the confidence, where the method gives one; ``uns[key_added]`` tells how they
        were made.
    keys : sequence of str
        Columns of ``adata.obs``, such as clusterings at several resolutions. Missing values are missing labels. The
        result keeps the ``obs_names``, so that scores and reports match cells by name.
    n_clusters : int, "auto", (low, high) or range, optional
        As for `consensus`.
    key_added : str
        Name of the new column.
    **options
        Of `consensus`: method, random_state, coarsen, ..., and of the method.

    Returns
    -------
    Consensus
        What was written, and the rest of what is known about it.

    Notes
    -----
    anndata itself is not imported: any object with ``obs``, a pandas data frame, and ``uns``, a mapping, will do.
    """
    import pandas as pd

    if isinstance(keys, str) or not len(keys):
        raise TypeError(f"keys must be a list of columns of adata.obs, got {keys!r}; write [{keys!r}] for one.")
    unknown = [key for key in keys if key not in adata.obs]
    if unknown:
        raise KeyError(f"adata.obs has no column {', '.join(map(repr, unknown))}; it has {list(adata.obs.columns)}.")
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
