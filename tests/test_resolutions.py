"""`resolutions`: stability, consistency, the tree and the choice, against slow formulas and planted clusters."""

from __future__ import annotations

import html
import json
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from quorate import consensus, element_similarities, over_k, plot, report, resolutions
from quorate.cli import main


def sweep(seed: int, centres: int = 5) -> dict[str, Any]:
    X, _ = make_blobs(300, centers=centres, n_features=4, random_state=seed)
    return {
        f"k{k} run {run}": KMeans(k, n_init=1, random_state=100 * k + run).fit_predict(X)
        for k in range(2, 9)
        for run in range(5)
    }


@pytest.mark.parametrize("seed", range(4))
def test_planted_clusters_are_chosen(seed: int) -> None:
    found = resolutions(sweep(seed), groups="k([0-9]+) run")
    assert found.rows[found.chosen].name == "5"
    assert found.rows[found.chosen].adjusted > 0.98
    assert [row.n_runs for row in found.rows] == [5] * 7


def test_stability_and_consistency_are_means_over_pairs_of_runs() -> None:
    runs = sweep(0)
    found = resolutions(runs, groups="k([0-9]+) run")
    for place, row in enumerate(found.rows):
        part = [labels for name, labels in runs.items() if name.startswith(f"k{row.name} ")]
        pairs = [element_similarities(one, other) for one, other in combinations(part, 2)]
        assert row.stability == pytest.approx(np.mean(pairs), abs=1e-6)
        assert found.consistency[:, place] == pytest.approx(np.mean(pairs, axis=0), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 4), st.integers(-1, 4)), min_size=3, max_size=30))
def test_the_tree_counts_every_object_once(rows: list[tuple[int, ...]]) -> None:
    table = np.array(rows)
    if (table.max(axis=0) < 0).any() or (table.max(axis=1) < 0).any():
        return
    found = resolutions(pd.DataFrame(table, columns=["a", "b", "c"]))
    names = [row.name for row in found.rows]
    for one, other in pairwise(names):
        flows = [flow for flow in found.flows if (flow.resolution, flow.next_resolution) == (one, other)]
        frame = pd.DataFrame(table, columns=["a", "b", "c"])
        both = frame[(frame[one] >= 0) & (frame[other] >= 0)]
        wanted = both.groupby([one, other]).size().to_dict()
        assert {(flow.cluster, flow.into): flow.objects for flow in flows} == wanted
        for cluster in {flow.cluster for flow in flows}:
            assert sum(flow.share for flow in flows if flow.cluster == cluster) == pytest.approx(1)
        for into in {flow.into for flow in flows}:
            assert sum(flow.share_of_next for flow in flows if flow.into == into) == pytest.approx(1)


def test_chance_is_that_of_independent_labels() -> None:
    """Independent labels of unequal clusters are alike by chance alone, and equal ones beyond any chance."""
    rng = np.random.default_rng(0)
    sizes = [0.5, 0.3, 0.1, 0.1]
    runs = {f"a{run}": rng.choice(4, 20_000, p=sizes) for run in range(4)}
    same = rng.choice(3, 20_000)
    found = resolutions({**runs, "b0": same, "b1": (same + 1) % 3}, groups="([ab])")
    by_name = {row.name: row for row in found.rows}
    assert by_name["a"].stability > 0.2
    assert abs(by_name["a"].adjusted) < 0.02
    assert by_name["b"].adjusted == pytest.approx(1)


def test_what_over_k_found_can_be_compared() -> None:
    X, _ = make_blobs(150, centers=3, random_state=1)
    found = resolutions(over_k(X, (2, 5), n_members=10, random_state=0))
    assert [row.name for row in found.rows] == ["2", "3", "4", "5"]
    assert found.rows[found.chosen].name == "3"


def test_groups_by_number_and_by_order() -> None:
    runs = {"a": [0, 0, 1, 1], "b": [1, 1, 0, 0], "c": [0, 1, 2, 2]}
    assert [row.name for row in resolutions(runs, groups="clusters").rows] == ["2 clusters", "3 clusters"]
    assert [row.n_runs for row in resolutions(runs, groups=[0.5, 0.5, 1]).rows] == [2, 1]
    frame = resolutions(runs).to_frame()
    assert frame.columns[0] == "resolution"
    assert len(resolutions(runs).as_dict()["flows"]) == len(frame)


def test_one_cluster_is_never_chosen_and_nothing_to_choose_is_said() -> None:
    found = resolutions({"one": [0, 0, 0, 0], "two": [0, 0, 1, 1]})
    assert found.rows[found.chosen].n_clusters == 2
    assert resolutions({"a": [0, 0, 0], "b": [0, 0, 0]}).reason.startswith("no resolution has two clusters")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: resolutions({"a": [0, 0, 1]}), "at least two resolutions are needed"),
        (lambda: resolutions({"a": [0, 1, 1], "b": [0, 1, 1]}, groups="x(.)"), "does not fit the member 'a'"),
        (lambda: resolutions({"a": [0, 1, 1], "b": [0, 1, 1]}, groups="ab"), "must have exactly one group"),
        (lambda: resolutions({"a": [0, 1, 1], "b": [0, 1, 1]}, groups="("), "is no regular expression"),
        (lambda: resolutions({"a": [0, 1, 1], "b": [0, 1, 1]}, groups=[1]), "groups must have one value per member, 2"),
    ],
)
def test_bad_input_is_refused_in_plain_words(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_the_picture_has_a_circle_for_each_cluster() -> None:
    found = resolutions(sweep(1), groups="k([0-9]+) run")
    ax = plot.clustering_tree(found)
    assert [len(circles.get_offsets()) for circles in ax.collections] == [len(c) for c in found.categories]
    assert any("<" in label.get_text() for label in ax.get_yticklabels())
    assert "dark: stable" in ax.get_xlabel()
    with pytest.raises(TypeError, match=r"found must be what quorate.resolutions returns, got dict"):
        plot.clustering_tree({})  # type: ignore[arg-type]


def test_the_report_draws_the_tree_and_says_which_resolution_to_take(tmp_path: Path) -> None:
    table = {f"<b>{name}": labels for name, labels in sweep(1).items()}
    found = resolutions(table, groups="(<b>k[0-9]+) run")
    page = report(consensus(table, 5, confidence=False), table, tmp_path / "page.html", trees=found, numbers=None)
    text = page.read_text(encoding="utf-8")
    picture = text.split('<svg class="levels"')[1].split("</svg>")[0]
    assert picture.count("<circle") == sum(map(len, found.categories))
    assert picture.count("<line") == sum(flow.share_of_next >= 0.05 for flow in found.flows)
    assert html.escape(found.reason) in text
    assert "<b>k" not in text
    few = {name: labels[:200] for name, labels in table.items()}
    result = consensus(few, 5, confidence=False)
    with pytest.raises(ValueError, match=r"trees must be about the objects of the ensemble, 200, got 300"):
        report(result, few, tmp_path / "few.html", trees=found)
    with pytest.raises(TypeError, match=r"trees must be what quorate.resolutions or .* returns, got str"):
        report(result, few, tmp_path / "few.html", trees=["clusters"])


def test_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(sweep(2)).to_csv("runs.csv", index=False)
    call = ["resolutions", "runs.csv", "--groups", "k([0-9]+) run"]
    assert main([*call, "--tree", "tree.csv", "--picture", "tree.png"]) == 0
    assert "5 clusters (5): beyond chance its runs are alike" in capsys.readouterr().out
    assert Path("tree.png").read_bytes().startswith(b"\x89PNG")
    assert (
        Path("tree.csv").read_text().startswith("resolution,cluster,next_resolution,into,objects,share,share_of_next")
    )
    assert main([*call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chosen"] == "5"
    for extra, message in (
        (["--tree", "tree.csv"], "exists already"),
        (["--picture", "tree.gif"], "--picture must end in .png, .svg or .pdf"),
        (["--tree", "runs.csv", "--force"], "--tree would replace runs.csv"),
        (["--tree", "a.csv", "--picture", "a.csv"], "both write to a.csv"),
    ):
        assert main([*call, *extra]) == 2
        assert message in capsys.readouterr().err
