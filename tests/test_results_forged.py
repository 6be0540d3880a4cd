"""Files of `save_consensus` that were forged: refused in one line, before anything computes with them."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_results import PEOPLE, same

from quorate import consensus, load_consensus, load_labels, save_consensus
from quorate._consensus import confidence
from quorate._io import numpy_files
from quorate._io.consensus_file import SCALE, SCALE_NUMBERS

TREE = [[0.0, 1.0, 0.1, 2.0], [2.0, 3.0, 0.2, 2.0], [5.0, 6.0, 0.5, 4.0], [4.0, 7.0, 0.9, 5.0]]
"""A linkage of five objects, of which the cases below change one number."""


def changed_tree(merge: int, column: int, value: float) -> np.ndarray:
    tree = np.array(TREE)
    tree[merge, column] = value
    return tree


FORGED_ARRAYS = {
    "a node far away": {"tree": changed_tree(0, 0, 1e9)},
    "a node below 0": {"tree": changed_tree(0, 0, -1.0)},
    "a later node": {"tree": changed_tree(0, 0, 7.0)},
    "a node twice": {"tree": changed_tree(1, 0, 0.0)},
    "a part of a node": {"tree": changed_tree(1, 0, 2.5)},
    "no number as a node": {"tree": changed_tree(1, 0, np.nan)},
    "an infinite height": {"tree": changed_tree(2, 2, np.inf)},
    "a height below 0": {"tree": changed_tree(2, 2, -1.0)},
    "sizes that do not add up": {"tree": changed_tree(2, 3, 3.0)},
    "a short tree": {"tree": np.array([[0.0, 1.0, 0.5, 4.0]])},
    "a tree of float16": {"tree": np.array(TREE).astype(np.float16)},
    "rows beyond the leaves": {"tree": np.array(TREE)[:3], "rows": np.arange(5)},
    "a cluster without objects": {"labels": np.array([0, 0, 2, 2, 2], dtype=np.int32)},
    "confidence of float16": {"confidence": np.ones(5, dtype=np.float16)},
    "confidence above 1": {"confidence": np.full(5, 1.5)},
    "confidence that is no number": {"confidence": np.full(5, np.nan)},
    "complex ids": {"ids": np.ones(5, dtype=complex)},
}
FORGED_FACTS = {
    "method": 7, "objective": "high", "n_iter": -1, "converged": 1, "id_name": None, "cluster_names": 5, "info": [],
}  # fmt: skip
FORGED_INFO = {
    "seed": "none",
    "options": [1],
    "n_rows": "many",
    "coarsen": None,
    "refine": {"map": []},
    "auto": {"map": []},
    "choice": {"Choice": {"map": []}},
    "reference_test": [],
    "confidence": {"map": [["levels", [0.0, 0.0]], ["slope", 1.0], ["divisions", 2]]},
}


@pytest.mark.parametrize("case", FORGED_ARRAYS)
def test_forged_arrays_are_refused_in_one_line(case: str, tmp_path: Path) -> None:
    """The first of them made compiled code write out of bounds, which ended Python."""
    save_consensus(tmp_path / "good.npz", replace(consensus(PEOPLE, 2), tree=np.array(TREE), rows=None))
    assert load_consensus(tmp_path / "good.npz").tree.tolist() == TREE
    with np.load(tmp_path / "good.npz") as found:
        np.savez(tmp_path / "bad.npz", **{**{name: found[name] for name in found.files}, **FORGED_ARRAYS[case]})
    refused_in_one_line(tmp_path / "bad.npz")


@pytest.mark.parametrize("fact", [*FORGED_FACTS, *(f"info {name}" for name in FORGED_INFO), "no curves", "deep"])
def test_forged_facts_are_refused_in_one_line(fact: str, tmp_path: Path) -> None:
    save_consensus(tmp_path / "good.npz", consensus(PEOPLE, 2))
    with np.load(tmp_path / "good.npz") as found:
        arrays = {name: found[name] for name in found.files}
    facts = json.loads(arrays["quorate_consensus"].tobytes())
    facts["info"]["x"] = "HERE"
    if fact in FORGED_FACTS:
        facts[fact] = FORGED_FACTS[fact]
    elif fact == "no curves":
        facts["info"]["confidence"] = None
    elif fact.startswith("info "):
        facts["info"][fact.removeprefix("info ")] = FORGED_INFO[fact.removeprefix("info ")]
    depth = 50_000 * (fact == "deep")
    text = json.dumps(facts).replace('"HERE"', "[" * depth + "1" + "]" * depth)
    np.savez(tmp_path / "bad.npz", **{**arrays, "quorate_consensus": np.frombuffer(text.encode(), dtype=np.uint8)})
    refused_in_one_line(tmp_path / "bad.npz")


@pytest.mark.parametrize("name", confidence.Scale._fields)
def test_forged_curves_of_confidence_are_refused(name: str, tmp_path: Path) -> None:
    result = consensus(PEOPLE, 2)
    curves = result.info["confidence"]
    assert {*SCALE, *SCALE_NUMBERS, "stability"} == set(confidence.Scale._fields) == set(curves)
    wrongs = ["x", np.ones(7), np.ones((2, 2)), np.full(np.shape(curves[name]), np.nan), 10**400]
    if name == "stability":  # it is not known of clusters that no repetition met
        wrongs[3] = np.full(2, 1.5)
    for wrong in wrongs:
        forged = replace(result, info={**result.info, "confidence": {**curves, name: wrong}})
        save_consensus(tmp_path / "bad.npz", forged, overwrite=True)
        refused_in_one_line(tmp_path / "bad.npz")


def refused_in_one_line(path: Path) -> None:
    with pytest.raises(ValueError, match="is damaged") as caught:
        load_consensus(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_entries_that_nobody_needs_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive of 1.5 MB took 1.5 GB."""
    result = consensus(PEOPLE, 2)
    save_consensus(tmp_path / "good.npz", result)
    with np.load(tmp_path / "good.npz") as found:
        arrays = {name: found[name] for name in found.files}
    zeros = np.zeros(60_000_000, dtype=np.uint8)
    np.savez_compressed(tmp_path / "large.npz", **arrays, more=zeros)
    np.savez_compressed(tmp_path / "table.npz", labels=np.array([[0, 1], [1, 0]]), more=zeros)
    tracemalloc.start()
    same(load_consensus(tmp_path / "large.npz"), result)
    assert load_labels(tmp_path / "table.npz").n_members == 2
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000
    monkeypatch.setattr(numpy_files, "_machine_memory", lambda: 1_000_000)
    np.savez_compressed(tmp_path / "labels.npz", labels=np.zeros((2_000_000, 1), dtype=np.int8))
    with pytest.raises(ValueError, match=r"entry 'labels' states a size of 2 MB, more than this machine has"):
        load_labels(tmp_path / "labels.npz")
