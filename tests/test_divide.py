"""`divide`: sub-clusters of one cluster; `agreed_names`: names from a hierarchy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import agreed_names, ari, as_ensemble, consensus, divide, generate
from quorate.cli import main

CLUSTERS, HALVES = np.repeat([0, 1, 2], 60), np.tile([0, 1], 90)


def nested(seed: int, *, real: bool) -> np.ndarray:
    """Ten members that see three clusters, each of two halves; if they are not real, the halves are drawn by chance."""
    rng = np.random.default_rng(seed)
    own = [2 * CLUSTERS + (HALVES if real else rng.integers(0, 2, 180)) for _ in range(10)]
    return np.column_stack([np.where(rng.random(180) < 0.2, rng.integers(0, 6, 180), column) for column in own])


@pytest.mark.parametrize("seed", range(8))
def test_sub_clusters_are_found_where_there_are_some(seed: int) -> None:
    found = divide(CLUSTERS, 1, nested(seed, real=True), random_state=0)
    assert found.parts.n_clusters == 2
    assert ari(found.parts.labels, HALVES[CLUSTERS == 1]) > 0.9
    assert found.scores is not None
    assert found.scores.p_value is not None
    assert found.scores.p_value <= 0.05
    whole = divide(CLUSTERS, 1, nested(seed, real=False), random_state=0)
    assert (whole.parts.n_clusters, whole.scores) == (1, None)
    assert "left whole" in whole.verdict
    assert sorted(set(whole.labels.tolist())) == ["0", "1", "2"]


def within(k: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three far clusters in the plane, of which the second has k parts 5 standard deviations apart; both labels."""
    rng = np.random.default_rng(seed)
    clusters = np.repeat([0, 1, 2], [120, 90 * k, 120])
    parts = np.zeros(len(clusters), dtype=int)
    parts[clusters == 1] = np.repeat(np.arange(k), 90)
    angle = 2 * np.pi * parts / max(k, 2)
    reach = 2.5 / np.sin(np.pi / max(k, 2)) * (clusters == 1) * (k > 1)
    far = np.array([[0.0, 0.0], [60.0, 0.0], [0.0, 60.0]])[clusters]
    centres = far + reach[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return centres + rng.normal(size=centres.shape), clusters, parts[clusters == 1]


@pytest.mark.parametrize("k", [1, 3])
def test_measurements_say_how_many_sub_clusters_there_are(k: int) -> None:
    X, clusters, parts = within(k, k)
    members = generate(X, 15, k=(8, 20), base="kmeans", random_state=0)
    found = divide(clusters, 1, members, random_state=0, features=X)
    assert found.parts.n_clusters == k
    assert ari(found.parts.labels, parts) > 0.9
    assert found.splits is not None
    assert found.splits.reference == "measurements without clusters"
    assert "measurements without clusters" in found.verdict
    # without them nothing can be tested: members of the same measurements agree within any cluster
    plain = divide(clusters, 1, members, random_state=0)
    assert plain.splits is None
    assert "features=" in plain.verdict


def test_no_more_sub_clusters_than_a_member_has_there() -> None:
    rng = np.random.default_rng(0)
    kinds = np.repeat(np.arange(4), 50)
    sides = [kinds // 2, kinds % 2, kinds // 2, kinds % 2, kinds // 2, kinds % 2, kinds // 2, kinds % 2]
    members = np.column_stack([np.where(rng.random(200) < 0.05, rng.integers(0, 2, 200), side) for side in sides])
    found = divide(np.zeros(200, dtype=int), 0, members, random_state=0)
    assert found.splits is not None
    assert found.splits.n_clusters == 4
    assert found.parts.n_clusters == 2
    assert "No member has more than 2 clusters there" in found.verdict
    assert divide(np.zeros(200, dtype=int), 0, members, 4, random_state=0).parts.n_clusters == 4


def test_labels_are_hierarchical_and_divided_again() -> None:
    members = as_ensemble(pd.DataFrame(nested(0, real=True), index=[f"o{row}" for row in range(180)]))
    coarse = as_ensemble(pd.DataFrame(nested(0, real=True) // 2, index=members.object_ids))
    result = consensus(coarse, 3, random_state=0)
    first = result.divide(1, members, 2)
    assert sorted(set(first.labels.tolist())) == ["0", "1.1", "1.2", "2"]
    outside = result.labels != 1
    assert first.labels[outside].tolist() == [str(label) for label in result.labels[outside].tolist()]
    assert first.result.object_ids.tolist() == members.object_ids.tolist()  # type: ignore[union-attr]
    assert first.result.labels[0] == 0
    assert (first.result.confidence <= result.confidence).all()  # type: ignore[operator]
    assert np.array_equal(first.result.confidence[outside], result.confidence[outside])  # type: ignore[index]
    second = first.result.divide("1.2", members, 2)
    assert sorted(set(second.labels.tolist())) == ["0", "1.1", "1.2.1", "1.2.2", "2"]
    assert second.result.sizes.sum() == 180
    sizes = dict(zip(second.result.shown_names, second.result.sizes.tolist(), strict=True))
    assert sizes["1.2.1"] + sizes["1.2.2"] == (first.labels == "1.2").sum()


def test_objects_outside_stay_outside() -> None:
    labels = np.where(np.arange(180) % 30 == 0, -1, CLUSTERS)
    found = divide(labels, 2, nested(0, real=True), 2, null=None)
    assert (found.result.labels == -1).tolist() == (labels == -1).tolist()
    assert found.labels[0] is None


@pytest.mark.parametrize(
    ("cluster", "k", "message"),
    [("7", None, "there is no cluster '7'"), (7, None, "cluster must be"), (0, 500, "n_clusters = 500")],
)
def test_wrong_clusters_are_refused(cluster: Any, k: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        divide(CLUSTERS, cluster, nested(0, real=True), k)


def test_measurements_of_other_objects_are_refused() -> None:
    with pytest.raises(ValueError, match="features must have one row for each object of the members, 180, got 179"):
        divide(CLUSTERS, 1, nested(0, real=True), features=np.zeros((179, 2)))


PARENTS = {"CD4": "T", "CD8": "T", "T": "immune", "B": "immune", "naive": "CD4", "immune": None, "other": None}


def line_of(node: str | None, parents: dict[str, Any]) -> list[str]:
    return [] if node is None else [node, *line_of(parents.get(node), parents)]


def slowly_named(votes: list[tuple[str, float]], parents: dict[str, Any], share: float) -> str | None:
    """The deepest node with enough votes of which every other such node is an ancestor or a descendant."""
    total = sum(weight for _, weight in votes)
    weight_of: dict[str, float] = {}
    for label, weight in votes:
        for node in line_of(label, parents):
            weight_of[node] = weight_of.get(node, 0.0) + weight
    enough = [node for node, weight in weight_of.items() if weight >= share * total - 1e-12]
    on_one_line = [
        node
        for node in enough
        if all(other in line_of(node, parents) or node in line_of(other, parents) for other in enough)
    ]
    return max(on_one_line, key=lambda node: len(line_of(node, parents)), default=None)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from([0.3, 0.5, 0.75, 1.0]))
def test_names_are_those_of_the_slow_vote(seed: int, n_members: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    nodes = [*PARENTS, None]
    frame = pd.DataFrame({f"m{place}": [nodes[i] for i in rng.integers(0, 8, 20)] for place in range(n_members)})
    frame.loc[0] = "T"
    frame = frame[frame.notna().any(axis=1)].reset_index(drop=True)
    weights = rng.choice([1.0, 2.0], n_members)
    clusters = rng.integers(0, 3, len(frame))
    found = agreed_names(as_ensemble(frame, weights=weights), PARENTS, clusters=clusters, share=share)
    votes = [
        [(label, weight) for label, weight in zip(row, weights.tolist(), strict=True) if isinstance(label, str)]
        for row in frame.to_numpy().tolist()
    ]
    assert found.names.tolist() == [slowly_named(own, PARENTS, share) for own in votes]
    for name, own, agreed in zip(found.names.tolist(), votes, found.shares.tolist(), strict=True):
        with_name = sum(weight for label, weight in own if name in line_of(label, PARENTS))
        assert agreed == pytest.approx(with_name / sum(weight for _, weight in own))
    for entry in found.clusters:
        inside = [vote for own, label in zip(votes, clusters.tolist(), strict=True) if str(label) == entry.cluster
                  for vote in own]  # fmt: skip
        assert entry.name == slowly_named(inside, PARENTS, share)


def test_names_are_told_and_wrong_hierarchies_refused() -> None:
    members = {"a": ["CD4", "CD4", "B"], "b": ["CD4", "CD8", "other"]}
    found = agreed_names(members, PARENTS, clusters=["x", "x", "y"])
    assert str(found) == "x (2 objects): CD4 (75% agree)\ny (1 objects): no name agreed on (0% agree)"
    assert found.to_frame()["depth"].tolist() == [3, 2, 0]
    assert agreed_names(members, PARENTS).as_dict()["unnamed"] == 1
    with pytest.raises(ValueError, match="form a circle"):
        agreed_names(members, {**PARENTS, "immune": "CD4"})
    with pytest.raises(ValueError, match="'b' has the label 'other', which is not in the hierarchy"):
        agreed_names(members, {name: parent for name, parent in PARENTS.items() if name != "other"})
    with pytest.raises(TypeError, match="must be a mapping"):
        agreed_names(members, ["CD4"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="share must be"):
        agreed_names(members, PARENTS, share=0)


def test_the_shell_divides_and_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame(nested(0, real=True), columns=[f"m{place}" for place in range(10)]).rename_axis("id")
    frame.to_csv(tmp_path / "labels.csv")
    pd.DataFrame({"label": CLUSTERS}).rename_axis("id").to_csv(tmp_path / "result.csv")
    table, result, out = (str(tmp_path / name) for name in ("labels.csv", "result.csv", "out.csv"))
    line = ["divide", table, result, "--id", "id", "--cluster"]
    assert main([*line, "1", "-o", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parts"] == {"1.1": 30, "1.2": 30}
    written = pd.read_csv(out, dtype=str)["label"]
    named = divide(CLUSTERS, 1, as_ensemble(frame.rename_axis("cell").reset_index(), ids="cell"), null=None)
    assert named.result.id_name == "cell"
    assert sorted(set(written)) == ["0", "1.1", "1.2", "2"]
    pd.DataFrame({"x": 9.0 * HALVES, "y": 1.0 * np.arange(180)}).rename_axis("id").to_csv(tmp_path / "measured.csv")
    assert main([*line, "1", "--features", str(tmp_path / "measured.csv"), "-o", out, "--force", "--json"]) == 0
    tested = json.loads(capsys.readouterr().out)["splits"]
    assert tested["reference"] == "measurements without clusters"
    assert main([*line, "one"]) == 2
    assert "there is no cluster 'one'" in capsys.readouterr().err

    types = pd.DataFrame({"a": ["CD4", "CD4", "B"], "b": ["CD4", "CD8", "B"]}, index=["x", "y", "z"]).rename_axis("id")
    types.to_csv(tmp_path / "types.csv")
    pd.DataFrame(list(PARENTS.items()), columns=["node", "parent"]).to_csv(tmp_path / "parents.csv", index=False)
    line = ["names", str(tmp_path / "types.csv"), "--id", "id", "--parents", str(tmp_path / "parents.csv")]
    assert main([*line, "-o", out, "--force"]) == 0
    assert pd.read_csv(out)["name"].tolist() == ["CD4", "T", "B"]
    assert main([*line[:-1], str(tmp_path / "types.csv")]) == 2
    assert "must have the columns node and parent" in capsys.readouterr().err
