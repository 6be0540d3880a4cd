"""over_k and its pictures with members that got samples of the objects; tables of labels are refused."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import QuadMesh

from quorate import as_ensemble, over_k, plot
from quorate._evaluation import binning, consensus_index

mpl.use("agg")


@pytest.fixture(scope="module")
def blocks() -> Any:
    """Three groups that every member finds; each member gets 70% of the objects."""
    X = np.concatenate([np.random.default_rng(0).normal(m, 1, size=(30, 2)) for m in (0, 20, 40)])
    return over_k(X, [2, 3], n_members=30, rows=0.7, random_state=0)


def test_perfect_blocks_of_sampled_members_are_drawn_as_such(blocks: Any) -> None:
    result, members = blocks.results[3], blocks.ensembles[3]
    assert blocks.matrix(3)[:30, :30].min() == 1.0
    assert blocks.cluster_consensus(3)["consensus"].tolist() == [1.0, 1.0, 1.0]
    found = binning.labelled_rows(result, members)
    picture = binning.heatmap(found, 10_000)
    assert set(np.unique(picture.matrix)) == {0.0, 1.0}
    ax = plot.consensus_heatmap(result, members)
    mesh = next(part for part in ax.collections if isinstance(part, QuadMesh))
    assert set(np.unique(mesh.get_array())) == {0.0, 1.0}
    assert consensus_index.closeness(found).own.tolist() == [1.0] * found.rows.n_rows
    assert consensus_index.silhouettes(found).tolist() == [1.0] * found.rows.n_rows
    bins = binning.cut_into_bins(found, np.argsort(found.labels, kind="stable"), 10_000)
    assert np.array_equal(consensus_index.bin_item_consensus(found, bins), np.eye(3)[bins.clusters])
    heights = [bar.get_height() for bar in plot.cluster_consensus(result, members).patches]
    assert heights == [1.0, 1.0, 1.0]
    plt.close("all")


def test_the_tree_of_over_k_is_one_of_the_consensus_matrix(blocks: Any) -> None:
    tree = over_k(blocks.ensembles, [3], method="eac").results[3].tree
    assert tree[:-2, 2].max() == 0.0
    assert tree[-2:, 2].tolist() == [1.0, 1.0]


def test_heatmap_of_samples_is_the_consensus_matrix(blocks: Any) -> None:
    rng = np.random.default_rng(1)
    table = np.where(rng.random((40, 9)) < 0.4, rng.integers(3, size=(40, 9)), np.arange(40)[:, None] % 3)
    table[rng.random(table.shape) < 0.2] = -1
    members = as_ensemble(table, orientation="objects", check=False)
    found = over_k({3: members})
    picture = binning.heatmap(binning.labelled_rows(found.results[3], found.ensembles[3]), 10_000)
    np.testing.assert_allclose(np.sort(picture.matrix, axis=None), np.sort(found.matrix(3), axis=None), atol=1e-12)


def test_cluster_consensus_of_one_number(blocks: Any) -> None:
    whole = blocks.cluster_consensus()
    part = blocks.cluster_consensus(2)
    assert part["n_clusters"].tolist() == [2, 2]
    assert part["consensus"].tolist() == whole[whole["n_clusters"] == 2]["consensus"].tolist()
    with pytest.raises(ValueError, match="n_clusters"):
        blocks.cluster_consensus(7)


@pytest.mark.parametrize("kind", ["integers", "texts", "frame", "lists", "gaps"])
def test_a_table_of_labels_is_refused(kind: str) -> None:
    import pandas as pd

    table = np.random.default_rng(0).integers(0, 4, size=(40, 6))
    given: Any = {
        "integers": table,
        "texts": table.astype(str),
        "frame": pd.DataFrame(table.astype(str)),
        "lists": table.tolist(),
        "gaps": [[None if value == 3 else value for value in row] for row in table.tolist()],
    }[kind]
    with pytest.raises(ValueError, match=r"got a table of labels.*as_ensemble"):
        over_k(given)


def test_measurements_in_whole_numbers_are_not_refused() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.integers(low, low + 50, size=(40, 2)) for low in (0, 500)])
    assert over_k(X, [2], n_members=5, random_state=0).results[2].sizes.tolist() == [40, 40]
    few = rng.integers(0, 3, size=(60, 3))
    assert over_k(few.astype(float), [2], n_members=5, random_state=0).numbers == (2,)
