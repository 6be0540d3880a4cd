"""Consensus in an AnnData object: of columns of `obs`, or of clusterings made here; and the genes of each cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quorate import _check
from quorate._choose_k.choose_k import Numbers
from quorate._consensus.consensus import consensus
from quorate._data.ensemble import as_ensemble
from quorate._evaluation.explanation import Explanation, explain
from quorate._types import Consensus, FloatArray, IntArray

__all__ = ["cluster_cells", "consensus_anndata", "explain_anndata"]


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
    _refuse_object(adata)
    _refuse_keys(keys, list(adata.obs.columns), key_added)
    members = as_ensemble({key: adata.obs[key] for key in keys}, orientation="members")
    result = consensus(members, n_clusters, **options)
    params = {name: value for name, value in options.items() if isinstance(value, str | int | float)}
    _write(adata, result, keys, key_added, params)
    return result


def cluster_cells(
    adata: Any,
    n_clusters: int | str | tuple[int, int] | None = None,
    *,
    keys: Sequence[str] = (),
    use_rep: str | None = None,
    layer: str | None = None,
    key_added: str = "consensus",
    keep_members: bool = False,
    random_state: Any = None,
) -> Consensus:
    """Cluster cells many times, from counts or an embedding, and write the consensus to the AnnData object.

    First the cells are embedded: counts are divided by the total of their cell, logarithms are taken, and principal
    components are computed for three distances (Euclidean, Pearson, Spearman). Then the number of clusters is chosen if
    it is not given. Finally thirty runs of k-means, on 5 to 30 components and with one to two times as many clusters,
    each the best of three starts, are combined, together with columns of ``obs`` if some are named. All are weighed by
    how well they fit 20 components.

    Parameters
    ----------
    adata : anndata.AnnData
        It is changed in place. ``obs[key_added]``, with ``_confidence`` and ``_runner_up`` added to the name, has the
        cluster of each cell, how probably it would stay there, and the cluster that it would go to instead.
        ``uns[key_added]`` has the stability and the markers of each cluster, and how all of this was computed.
    n_clusters : int, "auto" or (low, high), optional
        The number of clusters, or how to choose it; see `quorate.choose_k`. By default it is chosen, and may be 1.
    keys : sequence of str
        Columns of ``adata.obs`` that are members, too, such as runs of Leiden or Louvain.
    use_rep : str, optional
        Name of an embedding in ``adata.obsm`` to use instead of ``adata.X``, such as "X_pca". The distance is then
        Euclidean.
    layer : str, optional
        Name of a layer to use instead of ``adata.X``.
    key_added : str
        Name of the new column.
    keep_members : bool
        Whether to write the clusterings that were combined to ``obsm[key_added + "_members"]``, a column each:
        `quorate.evaluate`, `quorate.report` and the pictures need them.
    random_state : int, numpy.random.Generator or None
        Seed.

    Returns
    -------
    Consensus
        The result, which contains what was written and more.

    See Also
    --------
    consensus_anndata : Combine columns of ``obs`` alone.
    quorate.explain : The markers in full.

    Notes
    -----
    A sparse matrix stays sparse. At most the 5,000 genes whose values vary most are used. Values that are whole numbers
    are taken for counts; other values above 30 for expression without logarithms; the rest is used as it is. Cells
    without any count are refused: filter them first. The package anndata is not imported.

    References
    ----------
    doi:10.1038/nmeth.4236, from which the three distances are taken (SC3).

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> means = np.repeat(rng.gamma(1, 5, (3, 50)), 20, axis=0)
    >>> adata = SimpleNamespace(X=rng.poisson(means), obs=pd.DataFrame(index=range(60)), uns={})
    >>> cluster_cells(adata, 3, random_state=0).labels.tolist() == [0] * 20 + [1] * 20 + [2] * 20
    True
    >>> adata.obs.columns.tolist()
    ['consensus', 'consensus_confidence', 'consensus_runner_up']
    """
    _refuse_object(adata)
    _refuse_keys(keys or None, list(adata.obs.columns), key_added)
    values = None if use_rep is not None else _expression(adata, layer)
    views = [_embedding(adata, use_rep)] if values is None else _views(values)
    rng = _check.generator(random_state)
    number, choice = _number(views[0], n_clusters, int(rng.integers(2**31)))
    names = {key: adata.obs[key] for key in keys}
    members = as_ensemble(names | _runs(views, number, rng), orientation="members")
    judging = views[0][:, :JUDGED_BY]
    result = consensus(members, number, features=judging, random_state=int(rng.integers(2**31)))
    params: dict[str, str | int | float] = {
        "use_rep": use_rep or "",
        "layer": layer or "",
        "random_state": str(random_state),
    }
    _write(adata, result, members.member_names, key_added, params)
    adata.uns[key_added] |= choice
    if keep_members:
        adata.obsm[f"{key_added}_members"] = members.labels
    if values is not None and number > 1:
        adata.uns[key_added]["markers"] = _markers(result, values, adata)
    return result


COMPONENTS = (5, 8, 12, 20, 30)
"""The numbers of principal components that members see."""
RUNS = 30
"""The number of members, at least; the same number for each view and number of components."""
STARTS = 3
"""Each member is the best of so many starts of k-means."""
MOST_MEASURED = 20_000
"""The number of cells by which starts are compared."""
MOST_GENES = 5_000
LOG_FROM = 30.0
"""Values above this are not logarithms yet."""
JUDGED_BY = 20
"""The number of components from which the number of clusters is chosen, and by which members are judged."""
MARKERS = 10
"""The number of markers that are kept for each cluster."""


def _expression(adata: Any, layer: str | None) -> Any:
    """Return the logarithms of expression as a sparse matrix, cells in rows."""
    from scipy import sparse

    if layer is not None and layer not in adata.layers:
        raise KeyError(f"adata.layers has no {layer!r}; it has {list(adata.layers)}.")
    matrix = sparse.csr_array(adata.X if layer is None else adata.layers[layer], dtype=np.float64)
    if not np.isfinite(matrix.data).all() or (matrix.nnz and matrix.data.min() < 0):
        raise ValueError(
            "expression must be finite and not negative; pass counts or their logarithms (layer=...), or an embedding "
            "(use_rep=...)."
        )
    totals = np.asarray(matrix.sum(axis=1)).ravel()
    if len(totals) < 2 or not totals.all():
        raise ValueError(f"{int((totals == 0).sum()):,} of {len(totals):,} cells have no counts; remove them first.")
    is_counts = bool((matrix.data == np.round(matrix.data)).all())
    if is_counts:
        matrix = sparse.csr_array(sparse.diags_array(np.median(totals) / totals) @ matrix)
    if is_counts or matrix.data.max() > LOG_FROM:
        matrix.data = np.log2(1 + matrix.data)
    return matrix


def _views(matrix: Any) -> list[FloatArray]:
    """Return principal components of the cells for Euclidean distances, Pearson and Spearman correlations."""
    from scipy import sparse

    mean = np.asarray(matrix.mean(axis=0)).ravel()
    variance = np.asarray((matrix * matrix).mean(axis=0)).ravel() - mean**2
    genes = np.sort(np.argsort(-variance, kind="stable")[:MOST_GENES])
    chosen = sparse.csr_array(matrix[:, genes])
    chosen.eliminate_zeros()
    none, ranked = np.zeros(chosen.shape[0]), _ranked(chosen)
    return [
        _components(chosen, none, none + 1),
        _components(chosen, *_standardising(chosen)),
        _components(ranked, *_standardising(ranked)),
    ]


def _ranked(matrix: Any) -> Any:
    """Return the ranks of the genes in each cell, less the rank that all zeros share, so that zeros stay zeros."""
    from scipy.stats import rankdata

    ranks = matrix.copy()
    for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        zeros = matrix.shape[1] - (end - start)
        # positive values have the ranks from zeros + 1 on, and zeros share the rank (zeros + 1) / 2
        ranks.data[start:end] = rankdata(matrix.data[start:end]) + (zeros - 1) / 2
    return ranks


def _standardising(matrix: Any) -> tuple[FloatArray, FloatArray]:
    """Return the mean of each row, and one divided by the length of the row less its mean."""
    mean = np.asarray(matrix.mean(axis=1)).ravel()
    square = np.asarray((matrix * matrix).sum(axis=1)).ravel() - matrix.shape[1] * mean**2
    return mean, 1 / np.sqrt(np.maximum(square, 1e-12))


def _components(matrix: Any, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the principal components of ``scale * (matrix - mean)``, row by row, without making it dense."""
    from scipy.sparse.linalg import LinearOperator, svds

    n_cells, n_genes = matrix.shape
    centre = (matrix.T @ scale - (scale * mean).sum()) / n_cells

    def forward(vector: FloatArray) -> FloatArray:
        vector = vector.ravel()
        return np.asarray(scale * (matrix @ vector - mean * vector.sum()) - centre @ vector)

    def backward(vector: FloatArray) -> FloatArray:
        scaled = scale * vector.ravel()
        return np.asarray(matrix.T @ scaled - mean @ scaled - centre * vector.sum())

    operator = LinearOperator((n_cells, n_genes), matvec=forward, rmatvec=backward, dtype=np.float64)
    number = min(COMPONENTS[-1], n_cells - 1, n_genes - 1)
    start = np.random.default_rng(0).standard_normal(min(n_cells, n_genes))
    left, values, _ = svds(operator, k=number, v0=start)
    order = np.argsort(-values)
    return np.ascontiguousarray(left[:, order] * values[order])


def _embedding(adata: Any, name: str | None) -> FloatArray:
    if name not in adata.obsm:
        raise KeyError(f"adata.obsm has no {name!r}; it has {list(adata.obsm)}.")
    return np.ascontiguousarray(adata.obsm[name], dtype=np.float64)


def _number(view: FloatArray, n_clusters: int | str | tuple[int, int] | None, seed: int) -> tuple[int, dict[str, Any]]:
    """Return the number of clusters and, if it was chosen, the reason and the other candidates."""
    from quorate.estimators import EnsembleClustering

    if isinstance(n_clusters, int | np.integer) and not isinstance(n_clusters, bool):
        return int(n_clusters), {}
    model = EnsembleClustering("auto" if n_clusters is None else n_clusters, random_state=seed)
    found = model.fit(view[:, :JUDGED_BY]).consensus_
    choice = found.info["choice"]
    return found.n_clusters, {"choice": choice.reason, "candidates": list(choice.candidates)}


def _runs(views: list[FloatArray], n_clusters: int, rng: np.random.Generator) -> dict[str, IntArray]:
    """Return the labels of runs of k-means on each view, for several numbers of components.

    Each run has between `n_clusters` and twice as many clusters, and is the best of several starts.
    """
    from quorate.generation import generate

    each = [(view, number) for view in views for number in _numbers_of_components(view.shape[1], n_clusters)]
    most = max(1, min(2 * n_clusters, len(views[0]) // 2))
    per = -(-RUNS // len(each))
    found: dict[str, IntArray] = {}
    for view, number in each:
        points = view[:, :number]
        for _ in range(per):
            k, seed = int(rng.integers(min(n_clusters, most), most + 1)), int(rng.integers(2**31))
            made = generate(points, STARTS, k=k, base="kmeans", random_state=seed).labels
            best = int(np.argmax([_tightness(points, labels) for labels in made.T]))
            found[f"run {len(found)}"] = made[:, best]
    return found


def _tightness(points: FloatArray, labels: IntArray) -> float:
    """Return the squared lengths of the clusters' means: the higher, the less the cells scatter around them."""
    step = -(-len(points) // MOST_MEASURED)
    points, labels = points[::step], labels[::step]
    sizes = np.maximum(np.bincount(labels), 1)
    sums = (np.bincount(labels, weights=column, minlength=len(sizes)) for column in points.T)
    return float(sum((total**2 / sizes).sum() for total in sums))


def _numbers_of_components(available: int, n_clusters: int) -> list[int]:
    """Return the numbers of components that members see: fewer than `n_clusters` - 1 cannot tell all clusters apart."""
    least = min(n_clusters - 1, COMPONENTS[-1])
    return [number for number in COMPONENTS if least <= number <= available] or [available]


def _markers(result: Consensus, values: Any, adata: Any) -> dict[str, list[str]]:
    """Return the genes that are higher in each cluster than elsewhere, by effect size."""
    from quorate._evaluation.explanation import explain

    names = [str(name) for name in getattr(adata, "var_names", range(values.shape[1]))]
    found = explain(result.labels, values, names=names)
    return {
        str(cluster): [trait.column for trait in found.of(str(cluster)) if trait.effect > 0][:MARKERS]
        for cluster in range(result.n_clusters)
    }


def _refuse_object(adata: Any) -> None:
    import pandas as pd

    if not (isinstance(getattr(adata, "obs", None), pd.DataFrame) and isinstance(getattr(adata, "uns", None), Mapping)):
        raise TypeError(
            f"adata must be an AnnData object, with a data frame obs and a mapping uns, got {type(adata).__name__}."
        )


def _write(
    adata: Any, result: Consensus, keys: Sequence[str], key_added: str, params: dict[str, str | int | float]
) -> None:
    """Write clusters, confidence and runners-up to columns of obs, and how they were computed to uns."""
    import pandas as pd

    kind = pd.CategoricalDtype([str(cluster) for cluster in range(result.n_clusters)])
    adata.obs[key_added] = pd.Categorical.from_codes(result.labels, dtype=kind)
    if result.confidence is not None:
        adata.obs[f"{key_added}_confidence"] = result.confidence
    if result.runner_up is not None:
        adata.obs[f"{key_added}_runner_up"] = pd.Categorical.from_codes(result.runner_up, dtype=kind)
    adata.uns[key_added] = {
        "method": result.method,
        "n_clusters": result.n_clusters,
        "keys": list(keys),
        "params": params,
    }
    if result.stability is not None:
        adata.uns[key_added]["stability"] = np.asarray(result.stability)


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


def _refuse_keys(keys: Sequence[str] | None, columns: list[str], key_added: str) -> None:
    """Raise unless all keys are columns of their own, none of which the result would take the place of."""
    if keys is None:
        keys = ()
    elif isinstance(keys, str) or not len(keys):
        raise TypeError(f"keys must be a list of columns of adata.obs, got {keys!r}; write [{keys!r}] for one.")
    unknown = [key for key in keys if key not in columns]
    if unknown:
        raise KeyError(f"adata.obs has no column {', '.join(map(repr, unknown))}; it has {columns}.")
    twice = [key for place, key in enumerate(keys) if key in keys[:place] or columns.count(key) > 1]
    if twice:
        raise ValueError(f"{twice[0]!r} is twice in keys or among the columns of adata.obs; name each column once.")
    if not isinstance(key_added, str) or not key_added:
        raise TypeError(f"key_added must be the name of a new column, got {key_added!r}.")
    written = (key_added, f"{key_added}_confidence", f"{key_added}_runner_up")
    replaced = [name for name in written if name in keys]
    if replaced:
        raise ValueError(
            f"key_added={key_added!r} would replace the column {replaced[0]!r}, which is read; name another."
        )
