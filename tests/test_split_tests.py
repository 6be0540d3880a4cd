"""Significant splits: error on sets without clusters, planted clusters, the tree walked, the shell and the picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from benchmarks.trust.split_sets import RESULTS, error_table, null_set, planted_set, power_table

from quorate import ari, as_ensemble, compress, consensus, generate, plot, report, significant_splits
from quorate._trust.split_tests import LEAST_SHARE, _branches, _gain, _judged, _tail, nodes_of
from quorate.cli import main

mpl.use("Agg")


def planted_labels(seed: int, right: float = 0.8) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], 40)
    members = [np.where(rng.random(120) < right, truth, rng.integers(3, size=120)) for _ in range(8)]
    return np.column_stack(members), truth


@pytest.mark.parametrize("seed", range(3))
def test_planted_labels_are_found(seed: int) -> None:
    table, truth = planted_labels(seed)
    found = significant_splits(table)
    assert found.n_clusters == 3
    assert ari(found.labels, truth) > 0.9
    assert found.reference == "permuted labels"


def test_random_labels_are_one_cluster() -> None:
    """12 tables at a level of 5%: three or more would happen once in 50 runs if the error were nominal."""
    divided = [significant_splits(null_set("random labels", number, 5)).n_clusters > 1 for number in range(12)]
    assert sum(divided) <= 2


@pytest.mark.parametrize("kind", ["uniform", "heavy tails", "log-normal", "counts", "binary", "random walks"])
def test_measurements_without_clusters_are_one_cluster(kind: str) -> None:
    divided = 0
    for number in range(3):
        X = null_set(kind, number, 5)
        divided += significant_splits(generate(X, k=(5, 20), base="kmeans", random_state=0), X).n_clusters > 1
    assert divided <= 1


def test_planted_clusters_of_measurements_are_found() -> None:
    X, truth = planted_set(8.0, 1, 5)
    found = significant_splits(generate(X, k=(5, 20), base="kmeans", random_state=0), X)
    assert found.n_clusters == truth.max() + 1
    assert ari(found.labels, truth) > 0.95
    assert found.reference == "measurements without clusters"


def test_members_of_measurements_agree_without_clusters() -> None:
    """Why measurements are asked for: k-means members of a uniform square agree far beyond permuted labels."""
    X = np.random.default_rng(0).random((300, 2))
    members = generate(X, k=(5, 20), base="kmeans", random_state=0)
    assert significant_splits(members).n_clusters > 1
    assert significant_splits(members, X).n_clusters == 1


def test_levels_follow_shares_and_nothing_is_tested_below() -> None:
    found = significant_splits(planted_labels(0)[0])
    sizes = {0: 120}
    adjusted = {0: 0.0}
    for place, split in enumerate(found.splits):
        assert split.node in sizes, "tested below a split that is not significant"
        assert split.size == sizes[split.node]
        wanted = min(1.0, max(adjusted[split.node], split.p_value * 120 / split.size))
        assert split.adjusted == pytest.approx(wanted)
        assert split.is_significant == (wanted <= 0.05)
        assert split.left + split.right + split.n_set_aside == split.size
        if split.is_significant:
            sizes |= {2 * place + 1: split.left, 2 * place + 2: split.right}
            adjusted |= {2 * place + 1: wanted, 2 * place + 2: wanted}
    assert significant_splits(planted_labels(0)[0], alpha=0.0).n_clusters == 1


@pytest.mark.parametrize("method", ["eac", "lwea", "bisecting"])
def test_nodes_hold_the_objects_of_the_cuts(method: str) -> None:
    """The twin of the walk: the two parts of the root are the two clusters of the cut at 2."""
    table, _ = planted_labels(1)
    result = consensus(table, 4, method=method, random_state=0)
    tree = _branches(result)
    assert sorted(tree.of(tree.root).tolist()) == list(range(120))
    one, other = tree.children[-1].tolist()
    cut = result.cut(2).labels
    assert len(set(cut[tree.of(one)].tolist())) == len(set(cut[tree.of(other)].tolist())) == 1
    assert tree.size(one) + tree.size(other) == 120
    found = significant_splits(table, result=result)
    assert found.n_clusters == 3


def test_small_parts_are_set_aside() -> None:
    table = np.array([[0, 0, 0]] * 60 + [[1, 1, 1]] * 60 + [[2, 2, 1]] * 3)
    found = significant_splits(table, min_size=10)
    assert [split.n_set_aside for split in found.splits[:1]] in ([0], [3])
    assert np.bincount(found.labels).tolist() == [60, 63]
    assert LEAST_SHARE < 0.5


def test_the_gain_is_that_of_the_mean_co_association() -> None:
    table, _ = planted_labels(2)
    labels = np.random.default_rng(0).integers(2, size=120).astype(np.int32)
    shared = (table[:, None, :] == table[None, :, :]).mean(axis=2)
    parts = [np.flatnonzero(labels == part) for part in (0, 1)]
    wanted = sum(len(part) / 120 * shared[np.ix_(part, part)].mean() for part in parts) - shared.mean()
    assert _gain(as_ensemble(table), labels) == pytest.approx(wanted)


def test_a_test_ends_when_the_answer_is_clear() -> None:
    rng = np.random.default_rng(0)
    clear = _judged(np.array([50.0]), lambda _: rng.normal(size=1), np.zeros(1), np.full(1, 1e-9), 0.05)
    assert clear.n_draws == 19
    assert clear.p_value < 1e-6
    usual = _judged(np.array([0.0]), lambda _: rng.normal(size=1), np.zeros(1), np.full(1, 1e-9), 0.05)
    assert usual.n_draws == 19
    assert usual.p_value > 0.2
    values = rng.gumbel(size=4000)
    tail = _tail(3.0, values)
    assert tail == pytest.approx(np.exp(-3.0), rel=0.2)
    assert _tail(12.0, values) == pytest.approx(np.exp(-12.0), rel=0.5)


def test_draws_without_a_split_have_no_tail() -> None:
    """One draw in ten has a split: the p-value is what draws can tell, and never that of a tail."""
    rng = np.random.default_rng(0)

    def draw(place: int) -> Any:
        return rng.normal(size=1) * 0.01 if place % 10 == 5 else np.array([np.nan])

    found = _judged(np.array([5.0]), draw, np.zeros(1), np.full(1, 1e-9), 0.05)
    assert found.p_value == pytest.approx(0.01)
    assert found.n_draws == 99
    nothing = _judged(np.array([5.0]), lambda _: np.array([np.nan]), np.zeros(1), np.full(1, 1e-9), 0.004)
    assert nothing.n_draws == 375
    assert nothing.p_value == pytest.approx(1 / 376)


def test_p_values_are_uniform_under_the_null() -> None:
    """Draws from the reference itself: p <= .05 in about 5% of tests."""
    rng = np.random.default_rng(1)
    small = 0
    for _ in range(400):
        own = rng.normal(size=1)
        small += _judged(own, lambda _: rng.normal(size=1), np.zeros(1), np.full(1, 1e-9), 0.05).p_value <= 0.05
    assert 6 <= small <= 36


def test_results_print_and_become_tables(tmp_path: Path) -> None:
    found = significant_splits(planted_labels(0)[0])
    assert "3 clusters at a family-wise error of 0.05, compared with permuted labels." in str(found)
    assert len(found.to_frame()) == len(found.splits)
    assert json.loads(json.dumps(found.as_dict()))["n_clusters"] == 3
    texts = [text.get_text() for text in plot.split_tree(found).texts]
    assert texts.count("120") == 1
    assert sum(text.startswith("p = ") for text in texts) == len(found.splits)
    with pytest.raises(TypeError, match="significant_splits"):
        plot.split_tree(3)  # type: ignore[arg-type]


def test_nodes_are_placed_side_by_side_and_over_their_parts() -> None:
    table, _ = planted_labels(0)
    found = significant_splits(table)
    nodes = nodes_of(found)
    leaves = [node for node in nodes if node.split is None or not node.split.is_significant]
    assert sorted(node.place for node in leaves) == [0.0, 1.0, 2.0]
    assert sum(node.size for node in leaves) + sum(s.n_set_aside for s in found.splits if s.is_significant) == 120
    for place, node in enumerate(nodes):
        below = [other for other in nodes if other.above == place]
        assert len(below) == (0 if node in leaves else 2)
        if below:
            assert node.place == np.mean([other.place for other in below])
            assert {other.level for other in below} == {node.level + 1}


def test_the_report_shows_which_splits_are_real(tmp_path: Path) -> None:
    table, _ = planted_labels(0)
    found = significant_splits(table)
    page = report(consensus(table, 3, confidence=False), table, tmp_path / "page.html", trees=found, numbers=None)
    text = page.read_text(encoding="utf-8")
    part = text.split("<summary>Which splits are real")[1].split("</details>")[0]
    assert "3 clusters follow at a family-wise error of 0.05" in part
    assert part.count("<tr") == 1 + len(found.splits)
    assert part.count("<line") == 4
    assert all(f"p = {split.adjusted:.2g}" in part for split in found.splits)
    with pytest.raises(ValueError, match="pass the same table to significant_splits"):
        report(consensus(table[:60], 3), table[:60], tmp_path / "few.html", trees=[found], numbers=None)


def test_what_cannot_be_tested_is_refused() -> None:
    table, _ = planted_labels(0)
    with pytest.raises(ValueError, match="one row for each object of the members, 120, got 5"):
        significant_splits(table, np.zeros((5, 2)))
    with pytest.raises(ValueError, match="one row per object"):
        significant_splits(compress(as_ensemble(table))[0])
    with pytest.raises(ValueError, match="with a tree"):
        significant_splits(table, result=consensus(table, 3, method="kmeans"))
    with pytest.raises(ValueError, match="alpha"):
        significant_splits(table, alpha=2)


def test_the_shell_tests_splits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 1, size=(60, 2)) for m in (0, 8)])
    members = generate(X, 8, k=(4, 8), base="kmeans", random_state=0).labels
    names = [f"o{place}" for place in range(120)]
    lines = ["id," + ",".join(f"m{member}" for member in range(8))]
    lines += [f"{name}," + ",".join(map(str, row)) for name, row in zip(names, members.tolist(), strict=True)]
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    # the measurements in another order: objects are matched by their ids
    order = rng.permutation(120)
    rows = [f"{names[place]},{X[place, 0]},{X[place, 1]}" for place in order]
    (tmp_path / "features.csv").write_text("\n".join(["id,a,b", *rows]) + "\n")
    files = [str(tmp_path / name) for name in ("labels.csv", "features.csv", "out.csv", "tree.png")]
    command = [
        "splits",
        files[0],
        "--id",
        "id",
        "--features",
        files[1],
        "-o",
        files[2],
        "--picture",
        files[3],
        "--json",
    ]
    assert main(command) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["n_clusters"] == 2
    assert sorted(facts["sizes"]) == [60, 60]
    assert (tmp_path / "tree.png").stat().st_size > 1000
    assert (tmp_path / "out.csv").read_text().splitlines()[1] == "o0,0"
    page = str(tmp_path / "page.html")
    shown = ["report", files[0], files[2], "--id", "id", "--features", files[1], "--splits", "-o", page]
    assert main([*shown, "--quiet"]) == 0
    assert "compared, from the top, with" in Path(page).read_text(encoding="utf-8")
    assert "finds in measurements without clusters" in Path(page).read_text(encoding="utf-8")
    assert main(["splits", files[0], "--id", "id", "--alpha", "many"]) != 0
    assert "--alpha" in capsys.readouterr().err


def test_the_page_has_the_measured_figures() -> None:
    records = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    page = (Path(__file__).parents[1] / "docs/how-to/which-splits-are-real.md").read_text(encoding="utf-8")
    assert error_table(records) in page
    assert power_table(records) in page
