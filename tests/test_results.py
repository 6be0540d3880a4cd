"""What a result tells: tables of objects, clusters and members, names of clusters, and files that keep everything."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import oracle_results as oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import label_tables
from test_laws import noisy

import quorate
from quorate import METHODS, Consensus, as_ensemble, consensus, load_consensus, save_consensus, save_labels

PEOPLE = pd.DataFrame(
    {"marketing": ["Deals", "Deals", "Deals", "Gold", "Gold"], "web": ["M", "M", "S", "S", None]},
    index=["ann", "bob", "cid", "dee", "eve"],
)


@given(label_tables(min_objects=3, max_objects=10), st.integers(1, 3))
def test_the_runner_up_is_the_best_other_cluster(table: np.ndarray, k: int) -> None:
    rows = len(np.unique(table, axis=0))
    result = consensus(as_ensemble(table, orientation="objects"), min(k, rows), method="kmeans", random_state=0)
    wanted = oracle.runner_up(table, result.labels.tolist(), [1.0] * table.shape[1])
    assert result.runner_up is not None
    for found, best in zip(result.runner_up.tolist(), wanted, strict=True):
        assert found in best if best else found == -1


def test_soft_members_have_the_runner_up_of_their_labels() -> None:
    labels = noisy(2)
    matrices = [np.eye(labels.max() + 1)[column] for column in labels.T]
    soft, hard = (consensus(members, 3, method="kmeans", random_state=0) for members in (matrices, labels))
    assert np.array_equal(soft.runner_up, hard.runner_up)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_names_a_runner_up_that_is_another_cluster(method: str) -> None:
    result = consensus(noisy(0, missing=0.1), None if METHODS[method].finds_k else 3, method=method, random_state=0)
    assert result.runner_up is not None
    assert (result.runner_up != result.labels).all()
    assert result.runner_up.max() < result.n_clusters


def test_refining_moves_the_runner_up_along() -> None:
    labels = noisy(3)
    inside = consensus(labels, 3, method="kmeans", random_state=0, refine=True)
    wanted = oracle.runner_up(labels, inside.labels.tolist(), [1.0] * labels.shape[1])
    assert all(found in best for found, best in zip(inside.runner_up.tolist(), wanted, strict=True) if best)
    again = quorate.refine(inside, labels)
    assert np.array_equal(again.runner_up, inside.runner_up)


def test_a_frame_has_the_index_of_the_input() -> None:
    frame = consensus(PEOPLE, 2, random_state=0).to_frame()
    assert frame.index.equals(PEOPLE.index)
    assert frame["label"].tolist() == [0, 0, 0, 1, 1]
    assert list(frame.columns) == ["label", "confidence", "runner_up"]
    assert frame["runner_up"].tolist() == [pd.NA, pd.NA, 1, 0, pd.NA]
    assert consensus(PEOPLE.reset_index(drop=True), 2).to_frame().index.equals(pd.RangeIndex(5))


def test_polars_and_arrow_tables_say_the_same() -> None:
    result = consensus(PEOPLE, 2, random_state=0)
    wanted = {"id": list(PEOPLE.index), "label": [0, 0, 0, 1, 1], "runner_up": [None, None, 1, 0, None]}
    for found in (result.to_polars().to_dict(as_series=False), result.to_arrow().to_pydict()):
        assert {name: found[name] for name in wanted} == wanted
        assert found["confidence"] == result.confidence.tolist()
    named = result.renamed({0: "bargain hunters"})
    assert named.to_polars()["label"].to_list() == ["bargain hunters"] * 3 + ["1"] * 2
    assert named.to_arrow()["runner_up"].to_pylist() == [None, None, "1", "bargain hunters", None]
    assert "id" not in consensus([[0, 0, 1], [0, 0, 1]], 2).to_polars().columns


def test_renamed_clusters_are_categories_in_the_order_of_their_numbers() -> None:
    frame = consensus(PEOPLE, 2, random_state=0).renamed({1: "gold", 0: "deals"}).to_frame()
    assert frame["label"].cat.categories.tolist() == ["deals", "gold"]
    assert frame["runner_up"].isna().tolist() == [True, True, False, False, True]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_library_that_is_not_there_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = consensus([[0, 0, 1], [0, 0, 1]], 2)

    def refuse(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", refuse)
    verb = {"pandas": result.to_frame, "polars": result.to_polars, "pyarrow": result.to_arrow}[library]
    with pytest.raises(ImportError, match=f"needs {library}; install it with: pip install"):
        verb()


def test_sizes_count_objects() -> None:
    labels = noisy(0)
    result = consensus(labels, 3, random_state=0)
    assert result.sizes.tolist() == [int((result.labels == c).sum()) for c in range(3)]


def test_ambiguous_objects_come_least_certain_first() -> None:
    result = consensus(noisy(5), 3, random_state=0)
    found = result.ambiguous(below=0.8)
    assert set(found.tolist()) == set(np.flatnonzero(result.confidence < 0.8).tolist())
    assert (np.diff(result.confidence[found]) >= 0).all()
    assert np.array_equal(result.ambiguous(), result.ambiguous(below=0.6))
    with pytest.raises(ValueError, match=r"below must lie in \[0, 1\], got 60"):
        result.ambiguous(60)
    with pytest.raises(ValueError, match="no confidence"):
        Consensus(np.zeros(3, dtype=np.int32), 0.0).ambiguous()


def test_names_of_clusters_are_checked() -> None:
    result = consensus(PEOPLE, 2)
    assert result.renamed({0: "a"}).renamed({1: "b"}).cluster_names == ("a", "b")
    assert result.cluster_names is None
    for names, kind, words in (
        ({2: "x"}, ValueError, "a cluster to rename must be between 0 and 1, got 2"),
        ({"0": "x"}, TypeError, "must be an integer"),
        ({0: ""}, TypeError, "must be a text that is not empty"),
        ({0: 7}, TypeError, "must be a text"),
        ({0: "1"}, ValueError, "two clusters cannot have one name, got '1'"),
        (["x"], TypeError, "names must be a mapping"),
    ):
        with pytest.raises(kind, match=words):
            result.renamed(names)


def test_names_of_clusters_reach_files_scores_and_report(tmp_path: Path) -> None:
    result = consensus(PEOPLE, 2, random_state=0).renamed({0: "bargain hunters"})
    for name in ("labels.csv", "labels.parquet"):
        save_labels(tmp_path / name, result)
        again = quorate.load_labels(tmp_path / name, ids="id", columns=["label"])
        assert [again.categories[0][code] for code in again.labels[:, 0]] == ["bargain hunters"] * 3 + ["1"] * 2
    save_labels(tmp_path / "labels.npz", result)
    with np.load(tmp_path / "labels.npz") as arrays:
        assert arrays["labels"].tolist() == [0, 0, 0, 1, 1]
        assert arrays["clusters"].tolist() == ["bargain hunters", "1"]
    of_labels = quorate.evaluate(result.labels, PEOPLE).as_dict()
    known = {name for name, value in of_labels.items() if value is not None}
    assert {name: value for name, value in quorate.evaluate(result, PEOPLE).as_dict().items() if name in known} == {
        name: of_labels[name] for name in known
    }
    quorate.report(result, PEOPLE, tmp_path / "report.html")
    assert "bargain hunters" in (tmp_path / "report.html").read_text(encoding="utf-8")


@given(label_tables(min_objects=2), st.data())
def test_profiles_count_the_labels_of_each_cluster(table: np.ndarray, data: st.DataObject) -> None:
    labels = data.draw(
        st.lists(st.integers(-1, 2), min_size=len(table), max_size=len(table)).filter(lambda x: max(x) >= 0)
    )
    ensemble = as_ensemble(table, orientation="objects")
    found = quorate.profiles(labels, ensemble)
    clusters = list(dict.fromkeys(label for label in labels if label >= 0))
    wanted = oracle.profiles(table, labels)
    told = {
        (clusters[c], ensemble.member_names.index(e.member), e.label): (e.objects, pytest.approx(e.share))
        for c in range(len(clusters))
        for e in found.of(c)
    }
    assert told == wanted
    assert found.sizes.tolist() == [labels.count(cluster) for cluster in clusters]
    assert [entry["name"] for entry in found.as_dict()["clusters"]] == [str(c) for c in clusters]


def test_profiles_print_one_line_per_cluster_and_make_a_frame() -> None:
    result = consensus(PEOPLE, 2, random_state=0).renamed({0: "bargain hunters"})
    found = result.profiles(PEOPLE)
    assert str(found).splitlines() == [
        "bargain hunters  3 objects (60%)  marketing Deals 100%, web M 67%",
        "1  2 objects (40%)                marketing Gold 100%, web S 100%",
    ]
    frame = found.to_frame()
    assert frame.loc[frame["label"] == "M", ["cluster", "objects", "overall"]].values.tolist() == [
        ["bargain hunters", 2, 0.5]
    ]
    assert [entry.label for entry in found.of(0, least=0.5)] == ["Deals", "M"]
    json.dumps(found.as_dict())
    many = quorate.profiles([0, 0, 1], as_ensemble([[0, 0, 1]] * 9, orientation="members"))
    assert str(many).count("member") == 12
    assert str(many).count("...") == 2


def test_profiles_of_a_member_that_knows_nothing_of_a_cluster() -> None:
    found = quorate.profiles([0, 0, 1], {"a": [0, 0, 1], "b": [0, 0, None]})
    assert [entry.member for entry in found.of(1)] == ["a"]
    assert found.shares[:, 1].sum() == 1


def test_members_tell_who_stands_apart() -> None:
    table = {"a": [0, 0, 1, 1], "b": [0, 0, 1, 2], "odd": [0, 1, 0, 1], "half": [0, None, 1, None]}
    result = consensus(table, 2, method="kmeans", random_state=0)
    found = result.members(table)
    assert [row.member for row in found.rows if row.stands_apart] == ["odd"]
    assert [row.missing for row in found.rows] == [0, 0, 0, 0.5]
    assert [row.nmi for row in found.rows] == [
        pytest.approx(quorate.nmi(result.labels, column), abs=1e-12) for column in table.values()
    ]
    assert found.to_frame().loc["odd", "apart"] == pytest.approx(1)
    assert "stands apart" in str(found)
    json.dumps(found.as_dict())


def test_members_that_cannot_be_compared_say_nothing() -> None:
    alone = quorate.members([0, 0, -1], {"a": [0, 0, None], "b": [None, None, 1]})
    assert [row.nmi for row in alone.rows] == [1.0, None]
    assert [row.with_others for row in alone.rows] == [None, None]
    flat = quorate.members([0, 1, 0, 1], {"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]})
    assert [row.apart for row in flat.rows] == [0, 0]


def same(one: Consensus, other: Consensus) -> None:
    for name in ("labels", "confidence", "tree", "rows", "object_ids", "runner_up"):
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None and right is None) or np.array_equal(left, right)
    for name in ("objective", "n_iter", "converged", "method", "cluster_names"):
        assert getattr(one, name) == getattr(other, name)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_a_saved_consensus_comes_back_whole(method: str, tmp_path: Path) -> None:
    result = consensus(noisy(1), None if METHODS[method].finds_k else 3, method=method, random_state=11)
    save_consensus(tmp_path / "result.npz", result)
    again = load_consensus(tmp_path / "result.npz")
    same(result, again)
    assert again.info["seed"] == 11
    assert "left_out" not in again.info
    assert set(again.info) == set(result.info)


def test_ids_names_choice_and_arrays_come_back(tmp_path: Path) -> None:
    result = consensus(PEOPLE, (2, 3), random_state=0).renamed({0: "bargain hunters"})
    result.info["curve"], result.info["why"], result.info["model"] = np.arange(3.0), {1: (2, None)}, object()
    save_consensus(tmp_path / "result.npz", result)
    again = load_consensus(tmp_path / "result.npz")
    same(result, again)
    assert str(again.info["choice"]) == str(result.info["choice"])
    assert again.info["choice"] == result.info["choice"]
    assert again.info["curve"].tolist() == [0, 1, 2]
    assert again.info["why"] == {1: [2, None]}
    assert again.info["left_out"] == ["model"]
    assert again.to_frame().equals(result.to_frame())


def test_a_seed_drawn_for_none_makes_the_same_consensus_again() -> None:
    labels = noisy(4)
    result = consensus(labels, 3, method="kmeans", n_init=1, max_iter=1)
    assert np.array_equal(
        result.labels,
        consensus(labels, 3, method="kmeans", n_init=1, max_iter=1, random_state=result.info["seed"]).labels,
    )
    assert consensus(labels, 3, method="kmeans", random_state=np.random.default_rng(0)).info["seed"] is None


def test_files_that_are_not_ours_are_refused(tmp_path: Path) -> None:
    result = consensus(PEOPLE, 2)
    good = tmp_path / "good.npz"
    save_consensus(good, result)
    with np.load(good) as found:
        arrays = {name: found[name] for name in found.files}
    mark = "quorate_consensus"
    told = json.loads(arrays[mark].tobytes())

    def refused(words: str, **changed: object) -> None:
        kept = {name: value for name, value in {**arrays, **changed}.items() if value is not None}
        np.savez(tmp_path / "bad.npz", **kept)
        with pytest.raises(ValueError, match=words):
            load_consensus(tmp_path / "bad.npz")

    def text(value: object) -> np.ndarray:
        return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)

    refused("was not written by save_consensus", quorate_consensus=None)
    refused("damaged: its description cannot be read", quorate_consensus=np.arange(5, dtype=np.uint8))
    refused("damaged: its description cannot be read", quorate_consensus=text([]))
    refused("damaged: its description cannot be read", quorate_consensus=text({**told, "format": "other"}))
    refused("another version of quorate", quorate_consensus=text({**told, "version": 99}))
    refused("damaged: it has no labels", labels=None)
    refused("damaged: it has no labels", labels=np.array([0.5] * 5))
    refused("damaged: 5 labels, but confidence", confidence=np.ones(3))
    refused("cannot have labels from 0 to 2147483647", labels=np.array([0, 1, 0, 0, 2**31 - 1], dtype=np.int32))
    refused("runner_up must be integers from -1 to 1", runner_up=np.full(5, 7, dtype=np.int32))
    refused("rows must be integers from -1 to 4", rows=np.full(5, -3))
    refused(r"a tree of shape \(9, 4\) does not belong to 5 objects", tree=np.zeros((9, 4)))
    refused("1 name for 2 clusters", quorate_consensus=text({**told, "cluster_names": ["x"]}))
    refused("damaged: KeyError", quorate_consensus=text({**told, "info": {"x": {"array": "gone"}}}))
    refused("holds Python objects", ids=np.array([{}] * 5, dtype=object))
    with pytest.raises(ValueError, match=r"kept in a \.npz file"):
        save_consensus(tmp_path / "result.csv", result)
    with pytest.raises(TypeError, match="must be a Consensus, got list"):
        save_consensus(tmp_path / "result.npz", [0, 1])
    with pytest.raises(FileExistsError):
        save_consensus(good, result)
    save_consensus(good, result.renamed({0: "x"}), overwrite=True)
    assert load_consensus(good).cluster_names == ("x", "1")
    (tmp_path / "text.npz").write_text("labels")
    with pytest.raises(ValueError, match=r"should be a \.npz file by its name"):
        load_consensus(tmp_path / "text.npz")


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="numpy 2 wrote the pickle")
def test_an_old_pickle_without_the_new_fields_still_tells(tmp_path: Path) -> None:
    result = pickle.loads((Path(__file__).with_name("pickles") / "0.1" / "consensus.pickle").read_bytes())
    assert result.runner_up is None
    assert list(result.to_frame().columns) == ["label", "confidence"]
    save_consensus(tmp_path / "old.npz", result)
    same(result, load_consensus(tmp_path / "old.npz"))


def test_objects_are_matched_by_id() -> None:
    result = consensus(PEOPLE, 2, method="kmeans", random_state=0)
    shuffled = PEOPLE.iloc[[3, 0, 4, 1, 2]]
    assert result.profiles(shuffled).sizes.tolist() == result.sizes.tolist()
    assert sorted(result.profiles(shuffled).of(0)) == sorted(result.profiles(PEOPLE).of(0))
    assert [row.nmi for row in result.members(shuffled).rows] == pytest.approx(
        [row.nmi for row in result.members(PEOPLE).rows]
    )
    assert result.place(PEOPLE, shuffled).labels.tolist() == result.labels.tolist()
    with pytest.raises(ValueError, match="there is no label for 1 of 5 objects: 'zoe'"):
        result.profiles(PEOPLE.rename(index={"bob": "zoe"}))


def test_the_name_of_the_ids_is_kept(tmp_path: Path) -> None:
    result = consensus(PEOPLE.rename_axis("customer"), 2, random_state=0)
    assert result.to_frame().index.name == "customer"
    assert result.to_polars().columns[0] == result.to_arrow().column_names[0] == "customer"
    save_consensus(tmp_path / "result.npz", result)
    assert load_consensus(tmp_path / "result.npz").to_frame().index.name == "customer"
    assert result.place(PEOPLE.rename_axis("new"), PEOPLE).to_frame().index.name == "new"
    assert consensus(PEOPLE, 2).to_frame().index.name is None
    clash = consensus(PEOPLE.rename_axis("label"), 2)
    assert clash.to_polars().columns == ["id", "label", "confidence", "runner_up"]
