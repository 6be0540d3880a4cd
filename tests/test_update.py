"""`update`: ids that last over time, and events that were planted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import Consensus, consensus, save_labels, update
from quorate.cli import main

SMALLEST = 40


def planted(kind: str, seed: int) -> tuple[pd.Series, pd.Series, dict[str, Any]]:
    """Two clusterings between which one event happens to cluster 0 (and 1); 5% of the objects change cluster anyway.

    Some objects leave and some come, in proportion, and the new labels are numbered at random.
    """
    rng = np.random.default_rng(seed)
    k = int(rng.integers(4, 9))
    before = np.repeat(np.arange(k), rng.integers(SMALLEST, 200, k))
    after = before.copy()
    n, first = len(before), before == 0
    if kind == "split":
        after[np.flatnonzero(first)[: int(first.sum() * rng.uniform(0.3, 0.5))]] = k
    elif kind == "merge":
        after[before == 1] = 0
    elif kind == "death":
        after[first] = np.where(rng.random(first.sum()) < 0.3, rng.integers(1, k, first.sum()), -1)
    moved = (rng.random(n) < 0.05) & (after >= 0)
    after[moved] = rng.choice(np.unique(after[after >= 0]), moved.sum())
    names = np.array([f"o{row}" for row in range(n)])
    there = (rng.random(n) < 0.9) & (after >= 0)
    came = [*rng.choice(np.unique(after[there]), n // 12)] + ([k] * 60 if kind == "birth" else [])
    labels = np.array([*after[there], *came])
    renumbered = rng.permutation(k + 1)[labels]
    index = [*names[there], *(f"new {row}" for row in range(len(came)))]
    order = rng.permutation(len(labels))
    truth = {"split": ((0,), (0, k)), "merge": ((0, 1), None), "death": ((0,), ()), "birth": ((), (k,)), "none": None}
    return (
        pd.Series(before, index=names),
        pd.Series(renumbered[order], index=np.array(index)[order]),
        {"wanted": truth[kind], "labels": labels[order], "k": k},
    )


def right(kind: str, seed: int) -> bool:
    """Whether exactly the planted event is named, and all other clusters keep their ids."""
    before, after, info = planted(kind, seed)
    found = update(before, after)
    events = [event for event in found.events if event.kind != "kept"]
    if kind == "none":
        return not events
    if [event.kind for event in events] != [kind]:
        return False
    event, wanted = events[0], info["wanted"]
    if kind == "merge":
        return set(event.before) == {0, 1} and event.after[0] in (0, 1)
    return event.before == wanted[0] and set(event.after) == set(wanted[1])


@pytest.mark.parametrize("kind", ["none", "split", "merge", "death", "birth"])
def test_planted_events_are_named_rightly(kind: str) -> None:
    assert np.mean([right(kind, seed) for seed in range(60)]) >= 0.95


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=40), st.permutations(range(6)))
def test_a_replayed_stream_is_never_relabelled(labels: list[int], order: list[int]) -> None:
    """The same clusters in other numbers, in another order, keep their ids, and nothing is said to have happened."""
    before = pd.Series([f"c{label}" for label in labels], index=[f"o{row}" for row in range(len(labels))])
    after = pd.Series([order[label] for label in labels], index=before.index)[::-1]
    found = update(before, after)
    assert found.labels.tolist() == before[::-1].tolist()
    assert {event.kind for event in found.events} == {"kept"}
    assert (found.n_stayed, found.n_moved, found.n_new, found.n_gone) == (len(labels), 0, 0, 0)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 4)), min_size=1, max_size=40).filter(
        lambda rows: any(b >= 0 for _, b in rows)
    )
)
def test_every_cluster_gets_one_id_of_its_own_and_all_objects_are_counted(rows: list[tuple[int, int]]) -> None:
    before, after = [a for a, _ in rows], [b for _, b in rows]
    found = update(before, after)
    ids = {b: {found.labels[row] for row in range(len(rows)) if after[row] == b} for b in set(after) - {-1}}
    assert all(len(one) == 1 for one in ids.values())
    assert len(set.union(*ids.values())) == len(ids)
    assert found.n_stayed + found.n_moved == sum(b >= 0 for b in after)
    assert sum(count for *_, count in found.moved) == found.n_moved
    assert found.before.tolist() == before
    both = zip(found.before.tolist(), found.labels.tolist(), strict=True)
    assert sum(a != b for a, b in both if b is not None) == found.n_moved
    named = {one for event in found.events for one in event.after}
    assert named >= set.union(*ids.values())
    assert {one for event in found.events for one in event.before} >= set(before)


def test_ids_are_never_given_twice_over_many_months() -> None:
    first = update([0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1])
    assert first.events[0].kind == "merge"
    again = update(first, [0, 0, 1, 1, 2, 2])
    assert again.labels.tolist() == [0, 0, 1, 1, 3, 3], "2 was used before"
    assert update([0, 0, 1, 1], [0, 0, 1, 2], used=[7]).labels.tolist() == [0, 0, 1, 8]
    assert update(["a", "a", "new 1", "new 1"], [0, 0, 1, 2]).labels.tolist() == ["a", "a", "new 1", "new 2"]


def test_months_are_saved_with_ids_and_names(tmp_path: Path) -> None:
    index = pd.Index(["ann", "bob", "cid", "dee"], name="customer")
    found = update(pd.Series(["low", "low", "high", "high"], index=index), pd.Series([1, 1, 0, -1], index=index))
    for path, labels in (("a.csv", found), ("b.csv", pd.Series(found.labels, index=index))):
        save_labels(tmp_path / path, labels)
        frame = pd.read_csv(tmp_path / path)
        assert frame.iloc[:, 0].tolist() == list(index)
        assert frame["label"].fillna("-").tolist() == ["low", "low", "high", "-"]
    save_labels(tmp_path / "c.csv", np.array(["x", "y", "x"]))
    assert (tmp_path / "c.csv").read_text() == "label\nx\ny\nx\n"
    save_labels(tmp_path / "c.npz", found)
    with np.load(tmp_path / "c.npz") as kept:
        assert kept["clusters"][kept["labels"][:3]].tolist() == ["low", "low", "high"]
    with pytest.raises(TypeError, match="integers, -1 where missing, names"):
        save_labels(tmp_path / "d.csv", np.array([0.5, 1.5]))


def test_one_object_is_one() -> None:
    before, after = pd.Series([0, 0, 1], index=list("abc")), pd.Series([0, 0, 1], index=list("abd"))
    assert str(update(before, after)).startswith("2 objects stayed, 0 moved, 1 is new, 1 is gone\n")
    unsure = update([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0], confidence=[1, 1, 1, 1, 1, 0.1])
    assert ", 1 unsure one left where it was" in str(unsure)


def test_the_shell_names_former_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for month, labels in (("a1", "001122"), ("a2", "001111"), ("a3", "001122")):
        (tmp_path / f"{month}.csv").write_text("label\n" + "\n".join(labels) + "\n")
    merged, split = str(tmp_path / "b2.csv"), str(tmp_path / "b3.csv")
    assert main(["update", str(tmp_path / "a1.csv"), str(tmp_path / "a2.csv"), "-o", merged]) == 0
    assert "add --used 2 next time" in capsys.readouterr().out
    assert main(["update", merged, str(tmp_path / "a3.csv"), "-o", split, "--used", "2"]) == 0
    assert "add --used 2 next time" in capsys.readouterr().out, "2 is still a former id"
    assert Path(split).read_text().split() == ["label,before", "0,0", "0,0", "1,1", "1,1", "3,1", "3,1"]


def test_unsure_objects_stay_where_they_were() -> None:
    before = [0, 0, 0, 0, 1, 1, 1, 1]
    after = Consensus(np.array([0, 0, 0, 1, 1, 1, 1, 0], dtype=np.int32), 0.0, confidence=np.array([1.0] * 7 + [0.4]))
    found = update(before, after)
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    assert (found.n_unsure, found.n_moved, found.moved) == (1, 1, ((0, 1, 1),))
    assert update(before, after, unsure=0).labels.tolist() == [0, 0, 0, 1, 1, 1, 1, 0]
    assert update(before, after.labels, confidence=after.confidence).labels.tolist() == found.labels.tolist()
    gone = update([0, 0, 1, 1, 1], [0, 0, 0, 0, 0], confidence=[0.1] * 5)
    assert set(gone.labels.tolist()) == {1}, "nobody stays in a cluster that is no more"


def test_a_consensus_keeps_its_names() -> None:
    table = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]}, index=list("wxyz"))
    may = consensus(table, 2).renamed({0: "low", 1: "high"})
    june = consensus(table.iloc[::-1], 2)
    found = update(may, june, unsure=0)
    assert found.labels.tolist() == ["high", "high", "low", "low"]
    assert found.object_ids.tolist() == list("zyxw")
    assert found.to_frame()["kind"].tolist() == ["kept", "kept"]
    assert "low is still there: 2 objects stayed" in repr(found)


def test_the_cost_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred thousand objects need no table of pairs of objects."""
    rng = np.random.default_rng(0)
    before = rng.integers(50, size=200_000)
    found = update(before, rng.permutation(50)[before])
    assert found.n_moved == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: update([0, 1], [0, 1, 1]), "before has 2 objects and after 3; objects are matched by order unless"),
        (lambda: update(pd.Series([0], index=["a"]), pd.Series([0], index=["b"])), "no object in common: 'a' is an id"),
        (lambda: update([0, 1], [0, 1], unsure=2), "unsure must lie in"),
        (lambda: update([0, 1], [0, 1], confidence=[1.0]), "confidence must have one value per object of after, 2"),
        (lambda: update([None, None], [0, 1]), "must label at least one object"),
        (lambda: update(np.zeros((3, 2)), [0, 1, 1]), "must be one label per object, got a table of 2 columns"),
    ],
)
def test_bad_input_is_refused_in_plain_words(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


MAY = "customer,label\na,low\nb,low\nc,low\nd,high\ne,high\n"
JUNE = "customer,label,confidence\ne,1,.9\nb,0,.9\nc,0,1\nd,0,.5\nf,2,1\ng,2,1\n"


def test_the_shell_updates(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("may.csv").write_text(MAY)
    Path("june.csv").write_text(JUNE)
    assert main(["update", "may.csv", "june.csv", "--id", "customer", "-o", "out.csv", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["n_stayed"], facts["n_unsure"], facts["n_new"], facts["n_gone"]) == (4, 1, 2, 1)
    assert (
        Path("out.csv").read_text()
        == "customer,label,before\ne,high,high\nb,low,low\nc,low,low\nd,high,high\nf,new 1,\ng,new 1,\n"
    )
    assert main(["update", "out.csv", "june.csv", "--id", "customer", "-o", "again.csv", "--used", "new 2"]) == 0
    assert "new 1 is still there" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "out.csv"], "may.csv has the column 'customer'; name it with --id"),
        (["--id", "nope", "-o", "out.csv"], "has no column 'nope', which --id names"),
        (["--id", "customer", "-o", "may.csv", "--force"], "-o would replace may.csv"),
        (["--id", "customer", "-o", "out.csv", "--unsure", "x"], "--unsure must be a number from 0 to 1"),
        (["--id", "customer", "-o", "out.csv", "--unsure", "2"], "unsure must lie in"),
        (["--id", "customer", "--label", "segment", "--sep", "comma", "-o", "out.xyz"], "out.xyz"),
    ],
)
def test_the_shell_refuses_bad_input(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("may.csv").write_text(MAY)
    Path("june.csv").write_text(JUNE)
    assert main(["update", "may.csv", "june.csv", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert Path("may.csv").read_text() == MAY
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("used", ["a,b", np.zeros((2, 2)), [["a"]]])
def test_used_ids_are_a_sequence_of_ids(used: Any) -> None:
    with pytest.raises(TypeError, match="used must be a sequence of ids"):
        update([0, 0, 1], [0, 1, 1], used=used)
