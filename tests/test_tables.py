"""Tables as people have them: matched by id, weighted by name, checked and joined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quorate
from quorate import (
    anmi,
    as_ensemble,
    consensus,
    evaluate,
    join,
    load_labels,
    nmi,
    refine,
    report,
    save_ensemble,
)
from quorate._check import did_you_mean, duration, option
from quorate._data.ids import order_of
from quorate._trust.subject import subject_of
from quorate.anndata import consensus_anndata
from quorate.cli import main
from quorate.cli.options import n_bytes, weights

N = 90
TRUTH = np.arange(N) % 3
Output = pytest.CaptureFixture[str]


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {name: np.where(rng.random(N) < 0.2, rng.integers(0, 3, N), TRUTH) for name in "abcd"}
    return pd.DataFrame(columns, index=pd.Index([f"o{place}" for place in range(N)], name="object"))


# ---- matched by id


def test_scores_do_not_depend_on_the_order_of_rows(frame: pd.DataFrame) -> None:
    result = consensus(frame, 3, random_state=0)
    shuffled = frame.sample(frac=1, random_state=1)
    truth = pd.Series(TRUTH, index=frame.index)
    # what is repeated has a seed, and k-means starts from other rows if their order is another
    expected = evaluate(result.labels, frame, truth=TRUTH).as_dict()
    known = {name: value for name, value in expected.items() if value is not None}
    assert known["anmi"] > 0.4
    labels = pd.Series(result.labels, index=frame.index)
    for given_labels in (result, labels, labels.sample(frac=1, random_state=2), labels.to_frame()):
        found = evaluate(given_labels, shuffled, truth=truth).as_dict()
        assert {name: found[name] for name in known} == pytest.approx(known)
    assert anmi(result, shuffled) == pytest.approx(anmi(result, frame))
    assert nmi(labels, truth.sample(frac=1, random_state=3)) == nmi(result.labels, TRUTH)


def test_a_frame_of_any_kind_by_its_id_column(frame: pd.DataFrame) -> None:
    result = consensus(frame, 3, random_state=0)
    shuffled = frame.sample(frac=1, random_state=1).reset_index()
    expected = anmi(result, frame)
    labels = pd.DataFrame({"object": frame.index, "label": result.labels}).sample(frac=1, random_state=2)
    for made in (pl.from_pandas, pa.Table.from_pandas, lambda table: table):
        ensemble = as_ensemble(made(shuffled), ids="object")
        assert ensemble.id_name == "object"
        assert anmi(result, ensemble) == pytest.approx(expected)
        assert anmi(made(labels.reset_index(drop=True)), ensemble) == pytest.approx(expected)


def test_a_report_and_a_picture_of_a_shuffled_table(frame: pd.DataFrame, tmp_path: Path) -> None:
    result = consensus(frame, 3, random_state=0, method="eac")
    shuffled = frame.sample(frac=1, random_state=1)
    subject, other = subject_of(result, frame), subject_of(result, shuffled)
    assert subject.anmi == pytest.approx(other.anmi)
    at = [shuffled.index.get_loc(name) for name in frame.index]
    assert np.array_equal(other.labels[at], subject.labels)
    assert np.array_equal(other.confidence[at], subject.confidence)
    assert np.array_equal(subject.pairs.sizes, other.pairs.sizes)
    assert report(result, shuffled, tmp_path / "page.html").exists()
    matrices = [quorate.plot.consensus_heatmap(result, table).collections[0].get_array() for table in (frame, shuffled)]
    assert np.array_equal(*matrices)


def test_refine_starts_from_the_right_labels(frame: pd.DataFrame) -> None:
    start = pd.Series(TRUTH, index=frame.index)
    expected = refine(start, frame)
    found = refine(start.sample(frac=1, random_state=0), frame)
    assert np.array_equal(found.labels, expected.labels)
    assert found.id_name == "object"


def test_series_of_a_mapping_are_put_in_the_order_of_the_first(frame: pd.DataFrame) -> None:
    columns = {name: frame[name].sample(frac=1, random_state=place) for place, name in enumerate("abcd")}
    ensemble = as_ensemble(columns)
    assert ensemble.object_ids is not None
    assert ensemble.object_ids.tolist() == columns["a"].index.tolist()
    again = as_ensemble(frame.loc[columns["a"].index])
    assert np.array_equal(ensemble.labels, again.labels)
    assert np.array_equal(as_ensemble(list(columns.values()), orientation="members").labels, again.labels)
    mixed = as_ensemble({"a": columns["a"], "b": columns["b"].to_numpy()})
    assert np.array_equal(mixed.labels[:, 1], as_ensemble(columns["b"].to_numpy()).labels[:, 0])


def test_soft_members_are_matched_by_index(frame: pd.DataFrame) -> None:
    soft = pd.get_dummies(frame.a).astype(float)
    plain = consensus([soft, frame.b], 3, random_state=0)
    shuffled = consensus([soft, frame.b.sample(frac=1, random_state=0)], 3, random_state=0)
    assert np.array_equal(plain.labels, shuffled.labels)
    assert plain.object_ids is not None
    assert plain.object_ids.tolist() == frame.index.tolist()


def test_cells_keep_their_names(frame: pd.DataFrame) -> None:
    class Cells:
        obs = frame.copy()
        uns: dict[str, Any] = {}  # noqa: RUF012

    result = consensus_anndata(Cells(), list("abcd"), 3, random_state=0)
    assert anmi(result, frame.sample(frac=1, random_state=0)) == pytest.approx(anmi(result, frame))


def test_arrays_are_taken_by_order(frame: pd.DataFrame) -> None:
    shuffled = frame.sample(frac=1, random_state=0).reset_index(drop=True).sample(frac=1, random_state=1)
    labels = shuffled.a.to_numpy()
    assert anmi(labels, shuffled) == pytest.approx(anmi(labels, shuffled.to_numpy()))


@given(st.permutations(list(range(12))), st.sampled_from(["text", "number", "mixed"]))
def test_order_of_is_the_permutation(order: list[int], kind: str) -> None:
    kinds: dict[str, Any] = {"text": [f"n{i}" for i in range(12)], "number": list(range(100, 112))}
    wanted = np.array(kinds.get(kind, [str(i) for i in range(100, 112)]))
    found = np.array(kinds.get(kind, list(range(100, 112))))[order]
    places = order_of(wanted, found, "labels")
    assert np.array_equal(np.arange(12) if places is None else np.asarray(order)[places], np.arange(12))


def test_an_estimator_takes_a_sample_with_repetition(frame: pd.DataFrame) -> None:
    sample = frame.sample(frac=1, replace=True, random_state=0)
    model = quorate.ConsensusClustering(3, random_state=0).fit(sample)
    assert np.array_equal(model.labels_, consensus(sample.to_numpy(), 3, random_state=0).labels)
    assert model.consensus_.object_ids is None


# ---- weights, check, names


def test_weights_by_name(frame: pd.DataFrame) -> None:
    expected = consensus(frame, 3, weights=[1, 5, 1, 2], random_state=0)
    for given_weights in ({"b": 5, "d": 2}, pd.Series({"d": 2.0, "b": 5.0})):
        assert np.array_equal(consensus(frame, 3, weights=given_weights, random_state=0).labels, expected.labels)
        assert as_ensemble(frame, weights=given_weights).weights.tolist() == [1, 5, 1, 2]


def test_consensus_reads_as_as_ensemble_does(frame: pd.DataFrame) -> None:
    wide = frame.to_numpy().T
    expected = consensus(frame, 3, random_state=0).labels
    assert np.array_equal(consensus(wide, 3, orientation="members", random_state=0).labels, expected)
    gaps = frame.assign(e=1).replace(2, 9)
    result = consensus(gaps, 2, missing=[9], ids=range(N), random_state=0, method="kmeans")
    direct = consensus(as_ensemble(gaps, missing=[9]), 2, random_state=0, method="kmeans")
    assert np.array_equal(result.labels, direct.labels)
    assert result.object_ids is not None
    assert result.object_ids.tolist() == list(range(N))


def test_check_can_be_left_out() -> None:
    measured = np.linspace(0, 1, 30)
    assert as_ensemble(measured, check=False).n_clusters.tolist() == [30]
    assert consensus(np.column_stack([measured] * 2), 30, check=False, random_state=0).n_clusters == 30
    for small in (np.arange(20), np.array([0.5, 1.5, 0.5, 0.5])):
        assert as_ensemble(small).n_members == 1


def test_words() -> None:
    assert did_you_mean("kmean", ["kmeans", "eac"]) == " (did you mean 'kmeans'?)"
    assert did_you_mean("xyz", ["kmeans", "eac"]) == ""
    assert option("--id", "the id") == "--id 'the id'"
    assert option("--drop", "a,b", "c") == "--drop '\"a,b\",c'"
    assert option("--missing", "-9") == "--missing=-9"
    assert [duration(seconds) for seconds in (0.2, 30, 200, 9000)] == ["1 s", "30 s", "3 min", "2.5 hours"]
    assert [n_bytes(text, "x") for text in ("8e9", "1GB", "1.5 kB", "2MiB", "10B")] == [8e9, 1e9, 1500, 2**21, 10]
    assert weights("1,2", "x") == [1, 2]
    assert weights('a=2,"b,c=d"=0.5'.replace('"b,c=d"=0.5', '"b,c=0.5"'), "x") == {"a": 2, "b,c": 0.5}


# ---- several tables


def test_join_is_an_outer_join(frame: pd.DataFrame) -> None:
    first, second = frame[["a", "b"]].iloc[:80], frame[["b", "c"]].iloc[10:].sample(frac=1, random_state=0)
    joined = join(first, second)
    assert joined.member_names == ("a", "table 0.b", "table 1.b", "c")
    assert joined.info["joined"] == {"table 0": 80, "table 1": 80}
    table = pd.concat([first, second.add_suffix("2")], axis=1)
    direct = as_ensemble(table.loc[joined.object_ids])
    assert np.array_equal(joined.labels, direct.labels)
    for mine, theirs in zip(joined.categories, direct.categories, strict=True):
        assert mine.tolist() == theirs.tolist()
    assert joined.id_name == "object"
    frames = join({"x": pl.from_pandas(first.reset_index()), "y": as_ensemble(second)}, ids="object", weights={"a": 2})
    assert np.array_equal(frames.labels, joined.labels)
    assert frames.weights.tolist() == [2, 1, 1, 1]


def test_files_are_joined(frame: pd.DataFrame, tmp_path: Path, capsys: Output) -> None:
    pytest.importorskip("pyarrow")
    first, second, third = frame[["a", "b"]].iloc[:80], frame[["b", "c"]].iloc[10:], frame[["d"]]
    first.to_csv(tmp_path / "one.csv")
    second.reset_index().to_parquet(tmp_path / "two.parquet")
    third.sample(frac=1, random_state=0).to_csv(tmp_path / "three.tsv", sep="\t")
    paths = [tmp_path / name for name in ("one.csv", "two.parquet", "three.tsv")]
    ensemble = load_labels(paths, ids="object")
    assert ensemble.member_names == ("a", "one.b", "two.b", "c", "d")
    assert np.array_equal(ensemble.labels, join({"one": first, "two": second, "three": third}).labels)
    out = tmp_path / "out.csv"
    shell = [*map(str, paths), "--id", "object"]
    assert main(["consensus", *shell, "-k", "3", "-o", str(out)]) == 0
    told = capsys.readouterr().out
    assert "clusterings  5: a (3 clusters, 11.1% missing), one.b (3 clusters, 11.1% missing)" in told
    assert "joined       one has 80, two has 80, three has 90 of 90 objects" in told
    assert out.read_text().startswith("object,label,confidence\n")
    assert main(["score", *shell[:-2], str(out), "--id", "object", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["joined"] == {"one": 80, "two": 80, "three": 90}
    assert main(["score", *shell[:-2], str(out), "--id", "object", "--drop", "c", "--truth", "d"]) == 0
    told = capsys.readouterr().out
    assert "clusterings  3: a" in told
    assert "accuracy" in told
    picked = load_labels(paths, ids="object", columns=["a", "d", "c"], drop=["b"])
    assert picked.member_names == ("a", "c", "d")


def test_an_array_brings_its_own_ids(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame[["a", "b"]].to_csv(tmp_path / "one.csv")
    save_ensemble(tmp_path / "two.npz", as_ensemble(frame[["c", "d"]].sample(frac=1, random_state=0)))
    joined = load_labels([tmp_path / "one.csv", tmp_path / "two.npz"], ids="object")
    assert np.array_equal(joined.labels, as_ensemble(frame).labels)


def test_files_of_one_stem_are_told_apart(frame: pd.DataFrame, tmp_path: Path) -> None:
    for name in ("x.csv", "x.tsv"):
        frame[["a"]].to_csv(tmp_path / name, sep="\t" if name.endswith("tsv") else ",")
    ensemble = load_labels([tmp_path / "x.csv", tmp_path / "x.tsv"], ids="object")
    assert ensemble.member_names == ("x.csv.a", "x.tsv.a")


TEN = np.array([0, 1, 0, 1, 1, 0, 0, 1, 0, 1])
THIRTY = pd.DataFrame(np.random.default_rng(0).integers(3, size=(30, 4)), columns=list("abcd"))


@pytest.mark.parametrize("first", ["default", "other"])
def test_series_with_a_default_and_another_index_are_matched_by_name(first: str) -> None:
    """They were put together by order: ten objects instead of fifteen, without a word."""
    members = {"x": pd.Series(TEN), "y": pd.Series(TEN, index=range(5, 15))}
    members = members if first == "default" else dict(reversed(members.items()))
    with pytest.raises(ValueError, match=r"in 'x' there is no label for 5 of 10 objects: 10, 11, 12, 13, 14"):
        as_ensemble(members)
    soft = [pd.DataFrame(np.eye(2)[TEN], index=member.index) for member in members.values()]
    with pytest.raises(ValueError, match="there is no label for 5 of 10 objects"):
        quorate.as_soft_ensemble(soft)
    equal = as_ensemble({"x": pd.Series(TEN), "y": pd.Series(TEN, index=np.arange(10))})
    assert equal.n_objects == 10


@pytest.mark.parametrize(("labels", "rows"), [(10, 0), (0, 10), (5, 0), (10, 20)])
def test_labels_of_other_rows_are_refused(labels: int, rows: int) -> None:
    table, own = THIRTY.iloc[rows : rows + 10], pd.Series(TEN, index=pd.RangeIndex(labels, labels + 10))
    with pytest.raises(ValueError, match=r"in labels there is no label for \d+ of 10 objects"):
        quorate.evaluate(own, table)
    with pytest.raises(ValueError, match=r"in truth there is no label for \d+ of 10 objects"):
        quorate.evaluate(TEN, table, truth=own)
    # arrays have no names, so that they are matched by order
    by_order = quorate.evaluate(TEN, table).anmi
    assert quorate.evaluate(own, table.to_numpy()).anmi == by_order
    assert quorate.evaluate(own.set_axis(table.index), table).anmi == by_order
    assert quorate.evaluate(own.reset_index(drop=True), table.reset_index(drop=True)).anmi == by_order
