"""AnnData objects: columns of `obs` are combined into a new one, and clusters are explained by genes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quorate._choose_k.choose_k import Numbers
from quorate._consensus.consensus import consensus
from quorate._data.ensemble import as_ensemble
from quorate._evaluation.explanation import Explanation, explain
from quorate._types import Consensus

__all__ = ["consensus_anndata", "explain_anndata"]


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


def explain_anndata(
    adata: Any, key: str = "consensus", *, layer: str | None = None, most: int = 50, key_added: str | None = None
) -> Explanation:
    """Return the genes in which each cluster of ``adata.obs`` differs most from all other cells.

    Parameters
    ----------
    adata : anndata.AnnData
        ``uns[key_added]`` receives the table of the genes; nothing else is changed.
    key : str
        Column of ``adata.obs`` with the clusters. Cells without a cluster are left out.
    layer : str, optional
        The layer to compare, by default ``adata.X``: logarithms of normalised counts are usual. A sparse matrix is
        not made dense.
    most : int
        The largest number of genes for each cluster.
    key_added : str, optional
        Name in ``adata.uns``; by default the key and "_traits".

    Returns
    -------
    Explanation
        As `quorate.explain` returns it, with the names of ``adata.var_names``.

    Notes
    -----
    There are no p-values: if the clusters were made from these genes, a test would always find some. As for
    `consensus_anndata`, the package anndata is not imported: `obs`, `uns`, `X`, `layers` and `var_names` are used.
    """
    import pandas as pd

    if not (isinstance(getattr(adata, "obs", None), pd.DataFrame) and isinstance(getattr(adata, "uns", None), Mapping)):
        raise TypeError(
            f"adata must be an AnnData object, with a data frame obs and a mapping uns, got {type(adata).__name__}."
        )
    if key not in adata.obs.columns:
        raise KeyError(f"adata.obs has no column {key!r}; it has {list(adata.obs.columns)}.")
    if layer is not None and layer not in adata.layers:
        raise KeyError(f"adata has no layer {layer!r}; it has {list(adata.layers)}.")
    matrix = adata.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise ValueError("adata has no X; name a layer.")
    found = explain(adata.obs[key].to_numpy(), matrix, names=[str(name) for name in adata.var_names], most=most)
    # AnnData writes columns of texts, and no column that mixes texts with nothing
    frame = found.to_frame().drop(columns=["kind", "category"])
    adata.uns[f"{key}_traits" if key_added is None else key_added] = frame
    return found


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
