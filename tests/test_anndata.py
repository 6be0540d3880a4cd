"""Clusterings in obs in, consensus in obs out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from quorate import consensus
from quorate.anndata import consensus_anndata, explain_anndata

pd = pytest.importorskip("pandas", reason="pandas is not installed: adata.obs is a data frame")


def table() -> Any:
    truth = np.arange(60) % 3
    runs = {f"leiden {place}": pd.Categorical([str((label + place) % 3) for label in truth]) for place in range(3)}
    frame = pd.DataFrame(runs, index=[f"cell {place}" for place in range(60)])
    frame.loc["cell 0", "leiden 0"] = None
    return frame


def check(adata: Any) -> None:
    keys = ["leiden 0", "leiden 1", "leiden 2"]
    result = consensus_anndata(adata, keys, 3, key_added="joint", random_state=0)
    assert result.labels.tolist() == (np.arange(60) % 3).tolist()
    assert adata.obs["joint"].tolist() == [str(label) for label in result.labels]
    assert adata.obs["joint"].cat.categories.tolist() == ["0", "1", "2"]
    assert adata.obs["joint_confidence"].tolist() == result.confidence.tolist()
    assert adata.uns["joint"]["keys"] == keys
    assert adata.uns["joint"]["method"] == result.method
    assert adata.uns["joint"]["params"] == {"random_state": 0}


def test_anything_with_obs_and_uns() -> None:
    check(SimpleNamespace(obs=table(), uns={}))


@pytest.mark.parametrize(
    ("keys", "added", "message"),
    [
        (["leiden 0", "leiden 0"], "joint", "'leiden 0' is twice in keys"),
        (["leiden 0", "leiden 1"], "leiden 1", "key_added='leiden 1' would replace the column 'leiden 1'"),
        (["leiden 0", "j_confidence"], "j", "key_added='j' would replace the column 'j_confidence'"),
        (["leiden 0", "leiden 1"], "", "key_added must be the name of a new column"),
    ],
)
def test_keys_that_lose_something_are_refused(keys: list[str], added: str, message: str) -> None:
    adata = SimpleNamespace(obs=table().assign(j_confidence="a"), uns={})
    before = adata.obs.copy()
    with pytest.raises((ValueError, TypeError), match=message):
        consensus_anndata(adata, keys, 3, key_added=added)
    assert adata.obs.equals(before)


def test_two_columns_of_one_name() -> None:
    frame = table()
    frame.columns = ["leiden 0", "leiden 0", "leiden 2"]
    with pytest.raises(ValueError, match="'leiden 0' is twice in keys or among the columns"):
        consensus_anndata(SimpleNamespace(obs=frame, uns={}), ["leiden 0", "leiden 2"], 3)


@pytest.mark.parametrize(
    "adata", [None, table(), SimpleNamespace(obs={"a": [1]}, uns={}), SimpleNamespace(obs=table())]
)
def test_what_is_no_anndata_is_refused(adata: Any) -> None:
    with pytest.raises(TypeError, match="adata must be an AnnData object, with a data frame obs and a mapping uns"):
        consensus_anndata(adata, ["leiden 0", "leiden 1"], 3)


def test_a_method_without_confidence_writes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from quorate import anndata as module

    monkeypatch.setattr(module, "consensus", lambda *a, **o: replace(consensus(*a, **o), confidence=None))
    adata = SimpleNamespace(obs=table(), uns={})
    consensus_anndata(adata, ["leiden 1", "leiden 2"], 3)
    assert "consensus" in adata.obs
    assert "consensus_confidence" not in adata.obs


def test_errors() -> None:
    adata = SimpleNamespace(obs=table(), uns={})
    with pytest.raises(KeyError, match="no column 'louvain'"):
        consensus_anndata(adata, ["leiden 0", "louvain"], 3)
    with pytest.raises(TypeError, match="list of columns"):
        consensus_anndata(adata, "leiden 0", 3)


def test_anndata_and_its_files(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata", reason="anndata is not installed: pip install quorate[anndata]")
    adata = anndata.AnnData(np.zeros((60, 2), dtype=np.float32), obs=table())
    check(adata)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.obs["joint"].tolist() == adata.obs["joint"].tolist()
    assert again.uns["joint"]["n_clusters"] == 3


def cells(matrix: Any) -> Any:
    """Sixty cells of three kinds, with a gene that is high in each kind, and two that are not."""
    obs = pd.DataFrame({"kind": pd.Categorical([f"k{place % 3}" for place in range(60)])})
    obs.loc[0, "kind"] = None
    return SimpleNamespace(
        obs=obs, uns={}, X=matrix, layers={"raw": matrix}, var_names=[f"gene {place}" for place in range(5)]
    )


def expressed() -> np.ndarray:
    rng = np.random.default_rng(0)
    values = rng.poisson(1.0, (60, 5)).astype(float)
    for kind in range(3):
        values[kind::3, kind] += 8
    return values


@pytest.mark.parametrize("kind", ["dense", "sparse", "layer"])
def test_markers_are_the_genes_of_each_kind(kind: str) -> None:
    import scipy.sparse

    values = expressed()
    adata = cells(scipy.sparse.csr_matrix(values) if kind == "sparse" else values)
    found = explain_anndata(adata, "kind", layer="raw" if kind == "layer" else None, most=2)
    for number, name in enumerate(("k0", "k1", "k2")):
        first = found.of(name)[0]
        own = np.array([label == name for label in adata.obs["kind"]])
        others = np.array([label == label and label is not None and label != name for label in adata.obs["kind"]])
        assert first.column == f"gene {number}"
        assert first.value == pytest.approx(values[own, number].mean())
        assert first.others == pytest.approx(values[others, number].mean())
        assert len(found.of(name)) <= 2
    assert list(adata.uns) == ["kind_traits"]
    assert adata.uns["kind_traits"]["column"].tolist() == [trait.column for trait in found.traits]


def test_wrong_cells_are_refused() -> None:
    adata = cells(expressed())
    with pytest.raises(KeyError, match="no column 'leiden'"):
        explain_anndata(adata, "leiden")
    with pytest.raises(KeyError, match="no layer 'counts'"):
        explain_anndata(adata, "kind", layer="counts")
    with pytest.raises(TypeError, match="must be an AnnData object"):
        explain_anndata(adata.obs, "kind")
    adata.X = None
    with pytest.raises(ValueError, match="has no X"):
        explain_anndata(adata, "kind")
