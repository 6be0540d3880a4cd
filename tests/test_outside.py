"""Objects outside: noise that stays noise, and objects without any label that are kept."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import quorate
from quorate import as_ensemble, consensus, evaluate, join, load_consensus, load_labels, save_consensus, save_labels
from quorate._trust.subject import subject_of
from quorate.cli import main
from quorate.reporting.slider import stops


def slowly_outside(table: np.ndarray, weights: np.ndarray, noise: int, missing: int) -> list[bool]:
    """For each object, whether at least half of the weight of those that know it says noise; or nobody knows it."""
    found = []
    for row in table.tolist():
        says = [(w, value == noise) for w, value in zip(weights.tolist(), row, strict=True) if value != missing]
        found.append(not says or sum(w for w, is_noise in says if is_noise) >= sum(w for w, _ in says) / 2)
    return found


def planted(seed: int = 0) -> np.ndarray:
    """Three clusters of 40 objects by six members; the first ten are noise for four, the next ten for two members."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], 40)
    columns = [np.where(rng.random(120) < 0.1, rng.integers(0, 3, 120), truth) for _ in range(6)]
    table = np.column_stack(columns)
    table[:10, :4] = -1
    table[10:20, :2] = -1
    return table


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_outside_are_those_whom_half_of_the_weight_calls_noise(seed: int, n_members: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(-2, 3, (30, n_members))
    table[:3] = [[0], [1], [2]]
    weights = rng.choice([1.0, 2.0, 3.0], n_members)
    result = consensus(
        table, 2, noise=-1, missing=-2, weights=weights, skip_empty="keep", method="kmeans", confidence=False,
        random_state=0,
    )  # fmt: skip
    outside = slowly_outside(table, weights, -1, -2)
    assert (result.labels < 0).tolist() == outside
    assert result.info.get("outside", 0) == sum(outside)
    assert sorted(set(result.labels[result.labels >= 0].tolist())) == [0, 1]


@pytest.mark.parametrize("method", ["kmeans", "eac", "mcla", "cspa", "auto"])
def test_objects_inside_are_clustered_as_if_the_others_were_not_there(method: str) -> None:
    table = planted()
    whole = consensus(table, 3, noise=-1, method=method, random_state=0)
    part = consensus(table[10:], 3, method=method, random_state=0)
    assert whole.labels[10:].tolist() == part.labels.tolist()
    assert whole.confidence is not None
    assert np.array_equal(whole.confidence[10:], part.confidence)
    assert (whole.labels[:10] == -1).all()


def test_without_the_option_noise_is_a_missing_label() -> None:
    table = planted()
    result = consensus(table, 3, random_state=0)
    assert result.labels.min() == 0
    assert "outside" not in result.info


def test_results_with_objects_outside_are_saved_scored_and_reported(tmp_path: Path) -> None:
    members = as_ensemble(planted(), noise=-1)
    result = consensus(members, 3, method="mcla", random_state=0)
    assert result.sizes.sum() == 110
    frame = result.to_frame()
    assert frame["label"].isna().sum() == frame["confidence"].isna().sum() == 10
    assert result.to_arrow()["label"].null_count == 10
    save_labels(tmp_path / "labels.csv", result)
    assert (tmp_path / "labels.csv").read_text().splitlines()[1] == ","
    save_consensus(tmp_path / "result.npz", result)
    again = load_consensus(tmp_path / "result.npz")
    assert again.labels.tolist() == result.labels.tolist()
    assert again.method_confidence is not None
    assert np.isnan(again.method_confidence[:10]).all()
    inside = as_ensemble(planted()[10:])
    assert evaluate(result, members, null=None).anmi == pytest.approx(
        evaluate(consensus(inside, 3, method="mcla", random_state=0), inside, null=None).anmi
    )
    page = quorate.report(result, members, tmp_path / "page.html")
    assert page.stat().st_size > 100_000
    refined = consensus(members, 3, method="mcla", refine=True, random_state=0)
    assert (refined.labels[:10] == -1).all()


def test_a_table_of_a_result_with_objects_outside_is_scored() -> None:
    table = np.vstack([planted(), np.full((3, 6), -1)])
    result = consensus(table, 3, noise=-1, skip_empty="keep", random_state=0)
    assert evaluate(result, table).n_objects == 110
    with pytest.raises(ValueError, match="3 of 123 objects have no label"):
        evaluate(np.zeros(123, dtype=int), table)


def test_a_camp_keeps_the_noise_of_its_members() -> None:
    members = as_ensemble(np.vstack([planted(), np.full((3, 6), -1)]), noise=-1, skip_empty="keep")
    (camp,) = quorate.camps(members, 3, random_state=0)
    assert np.array_equal(camp.consensus.labels, consensus(members, 3, random_state=0).labels)
    assert (camp.consensus.labels < 0).sum() == 13


def test_methods_are_compared_on_the_objects_inside() -> None:
    members = as_ensemble(np.vstack([planted(), np.full((3, 6), -1)]), noise=-1, skip_empty="keep")
    truth = np.repeat([0, 1, 2, 3], [40, 40, 40, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = quorate.compare(members, ["kmeans", "mcla"], 3, truth=truth, random_state=0)
    alone = quorate.compare(planted()[10:], ["kmeans", "mcla"], 3, truth=truth[10:120], random_state=0)
    assert [row._replace(seconds=None) for row in found.rows] == [row._replace(seconds=None) for row in alone.rows]
    assert len(found.result("kmeans", 3).labels) == 110


def test_objects_outside_are_in_no_part_of_the_tree_of_splits() -> None:
    members = as_ensemble(np.vstack([planted(), np.full((3, 6), -1)]), noise=-1, skip_empty="keep")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = quorate.significant_splits(members)
    alone = quorate.significant_splits(planted()[10:])
    assert found.splits == alone.splits
    assert found.labels[10:120].tolist() == alone.labels.tolist()
    assert (found.labels[[*range(10), *range(120, 123)]] == -1).all()


@pytest.mark.parametrize("method", ["lwgp", "kmeans"])
def test_other_numbers_of_clusters_leave_the_same_objects_outside(method: str, tmp_path: Path) -> None:
    members = as_ensemble(np.vstack([planted(), np.full((3, 6), -1)]), noise=-1, skip_empty="keep")
    result = consensus(members, 3, method=method, random_state=0)
    slider = stops(subject_of(result, members), "auto", 0)
    assert len(slider.partitions) > 2
    assert all(((part.labels < 0) == (result.labels < 0)).all() for part in slider.partitions)


def test_a_joined_table_keeps_its_noise(tmp_path: Path) -> None:
    scan = pd.Series([0, 0, 1, 1, -1, -1], index=list("abcdef"), name="scan")
    web = pd.Series([5, 5, 6, -1], index=list("abcf"), name="web")
    joined = join(scan, web, noise=-1)
    assert joined.noise.tolist() == [[False, False]] * 4 + [[True, False], [True, True]]
    assert consensus(joined, 2, random_state=0).labels.tolist() == [0, 0, 1, 1, -1, -1]
    scan.rename_axis("id").to_csv(tmp_path / "scan.csv")
    web.rename_axis("id").to_csv(tmp_path / "web.csv")
    loaded = load_labels([tmp_path / "scan.csv", tmp_path / "web.csv"], ids="id", noise=-1)
    assert loaded.noise.tolist() == joined.noise.tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx", "npy"])
def test_noise_is_read_from_every_format(suffix: str, tmp_path: Path) -> None:
    table, path = planted(), tmp_path / f"labels.{suffix}"
    frame = pd.DataFrame(table, columns=[f"m{place}" for place in range(6)])
    if suffix == "npy":
        np.save(path, table)
    else:
        write = getattr(frame, {"csv": "to_csv", "parquet": "to_parquet", "xlsx": "to_excel"}[suffix])
        write(path, index=False)
    assert np.array_equal(load_labels(path, noise=-1).noise, table == -1)


def test_noise_may_be_a_text_and_several_values() -> None:
    members = as_ensemble({"a": ["x", "noise", "y", "?"], "b": [1, 1, 2, None]}, noise=["noise", "?"])
    assert members.noise.tolist() == [[False, False], [True, False], [False, False], [True, False]]
    assert [len(values) for values in members.categories] == [2, 2]


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    table = planted()
    with pytest.raises(ValueError, match="call every object noise"):
        consensus([[0, -1, -1, -1], [-1, 1, -1, -1], [-1, -1, 2, -1], [-1, -1, -1, 3]], 2, noise=-1)
    with pytest.raises(ValueError, match="already"):
        consensus(as_ensemble(table), 3, noise=-1)
    with pytest.raises(ValueError, match="Negative values"):
        as_ensemble(table - (table < 0), noise=-1)
    with pytest.raises(ValueError, match="skip_empty must be"):
        as_ensemble(table, skip_empty="drop")
    with pytest.raises(ValueError, match="soft members"):
        consensus([np.eye(3)[np.array([0, 1, 2, 0])]], 2, noise=-1)
    quorate.save_ensemble(tmp_path / "members.npz", as_ensemble(table))
    with pytest.raises(ValueError, match="does not keep"):
        load_labels(tmp_path / "members.npz", noise=-1)


def test_the_shell_keeps_noise_and_empty_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = np.vstack([planted().astype(object), [None] * 6])
    frame = pd.DataFrame(table, columns=[f"m{place}" for place in range(6)]).rename_axis("id")
    frame.to_csv(tmp_path / "labels.csv")
    out = tmp_path / "out.csv"
    line = ["consensus", str(tmp_path / "labels.csv"), "--id", "id", "-k", "3", "--no-null", "-o", str(out)]
    assert main([*line, "--noise", "-1"]) == 2
    assert "--keep-empty" in capsys.readouterr().err
    assert main([*line, "--noise", "-1", "--keep-empty", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["outside"] == 11
    labels = pd.read_csv(out)["label"]
    assert labels.isna().sum() == 11
    # the labelling says by its empty labels what is outside
    named = ["--id", "id", "--noise", "-1"]
    assert main(["score", line[1], str(out), *named, "--no-null", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert (scores["outside"], scores["density"]) == (11, pytest.approx(facts["scores"]["density"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["report", line[1], str(out), *named, "-o", str(tmp_path / "page.html")]) == 0
    assert "11 objects without a label" in capsys.readouterr().out
    assert main(["explain", str(out), line[1], "--id", "id"]) == 0
    assert "11 objects without a label belong to no cluster and are left out" in capsys.readouterr().out
    whole = tmp_path / "whole.csv"
    pd.read_csv(out).fillna({"label": 0}).to_csv(whole, index=False)
    assert main(["score", line[1], str(whole), *named]) == 2
    assert "no label in any member" in capsys.readouterr().err
    assert main([*line, "--noise", "-1", "--keep-empty", "--memory", "1GB", "--json", "--force"]) == 0
    assert json.loads(capsys.readouterr().out)["outside"] == 11
    assert pd.read_csv(out)["label"].isna().sum() == 11
