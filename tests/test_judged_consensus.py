"""consensus(features=X): members that do not fit the measurements count little, and the best answer is given."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from quorate import ari, consensus, evaluate, generate, load_consensus, save_consensus
from quorate._consensus import judged
from quorate._consensus.judged import ALL, filled_by_neighbours, joined
from quorate.cli import main
from quorate.generation.features import as_features
from quorate.generation.judge import scene_of


def rings(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two rings, one inside the other."""
    rng = np.random.default_rng(seed)
    y = np.arange(300) % 2
    angle = rng.uniform(0, 2 * np.pi, 300)
    radius = np.where(y == 0, 1.0, 2.5) + rng.normal(0, 0.08, 300)
    return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), y


def halves(X: np.ndarray, seed: int) -> np.ndarray:
    """What k-means finds in rings: two halves, in a direction of its own."""
    turn = np.random.default_rng(seed).normal(size=2)
    return (X @ turn > 0).astype(int)


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Rings, their truth, and nine members: two nearly right ones and seven halves."""
    X, y = rings(seed)
    rng = np.random.default_rng(seed + 1)
    direction = np.random.default_rng(9).normal(size=2)
    wrong = {f"half {q}": (X @ (direction + rng.normal(0, 0.15, 2)) > 0).astype(int) for q in range(7)}
    right = {f"ring {q}": np.where(rng.random(300) < 0.02, 1 - y, y) for q in range(2)}
    return X, y, {**wrong, **right}


def test_the_right_minority_wins_with_measurements() -> None:
    X, y, members = table()
    assert ari(consensus(members, 2, random_state=0).labels, y) < 0.1
    result = consensus(members, 2, features=X, random_state=0)
    assert ari(result.labels, y) > 0.9
    weights = {name: entry["weight"] for name, entry in result.info["weights"].items()}
    assert max(weights["half 0"], weights["half 6"]) < 0.1 < min(weights["ring 0"], weights["ring 1"])
    assert {frozenset(camp) for camp in result.info["camps"]} == {
        frozenset(name for name in members if name.startswith(kind)) for kind in ("half", "ring")
    }
    assert result.info["judge"]["chosen"] in result.info["judge"]["marks"]
    assert result.info["judge"]["chosen"] in result.info["judge"]["reason"]
    assert result.confidence is not None
    assert len(result.confidence) == len(y)


def test_the_verdict_does_not_blame_a_judged_answer_for_following_few_members() -> None:
    X, _, members = table()
    judged_answer = consensus(members, 2, features=X, random_state=0)
    assert evaluate(judged_answer, members).problem is None
    assert "agree with the members much less" in str(evaluate(replace(judged_answer, info={}), members).problem)


def test_results_are_saved_with_what_the_judge_said(tmp_path: Path) -> None:
    X, _, members = table()
    result = consensus(members, 2, features=X, random_state=0)
    save_consensus(tmp_path / "result.npz", result)
    again = load_consensus(tmp_path / "result.npz")
    assert again.info["judge"] == result.info["judge"]
    assert again.info["weights"] == result.info["weights"]
    assert list(map(tuple, again.info["camps"])) == list(result.info["camps"])


def test_members_that_say_the_same_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, members = table()
    monkeypatch.setattr(judged, "marks", lambda labellings, _: np.zeros(len(labellings)))
    shares = []
    for copies in (0, 4):
        more = {**members, **{f"ring copy {q}": members["ring 0"] for q in range(copies)}}
        found = consensus(more, 2, features=X, random_state=0).info["weights"]
        sums = [sum(found[name]["weight"] for name in found if name.startswith(kind)) for kind in ("ring", "half")]
        shares.append(sums[0] / sums[1])
    assert shares[1] == pytest.approx(shares[0], rel=0.1)
    assert "says much the same as" in found["ring copy 1"]["reason"]


def test_order_of_objects_and_members_and_units_do_not_matter() -> None:
    X, _, members = table(3)
    plain = consensus(members, 2, features=X, random_state=0)
    rows = np.random.default_rng(0).permutation(len(X))
    names = list(members)[::-1]
    other = consensus({name: members[name][rows] for name in names}, 2, features=1024 * X[rows], random_state=0)
    assert ari(other.labels, plain.labels[rows]) == 1
    for name, entry in plain.info["weights"].items():
        assert other.info["weights"][name]["weight"] == pytest.approx(entry["weight"], abs=1e-3)


def test_missing_labels_other_numbers_and_sparse_measurements() -> None:
    X, y, members = table()
    rng = np.random.default_rng(0)
    gaps = np.where(rng.random(300) < 0.2, -1, members["ring 0"])
    finer = 3 * y + rng.integers(0, 3, 300)
    one = np.zeros(300, dtype=int)
    mixed = {**members, "gaps": gaps, "finer": finer, "one cluster": one}
    for measurements in (X, csr_matrix(X)):
        result = consensus(mixed, 2, features=measurements, random_state=0)
        assert ari(result.labels, y) > 0.9
    assert "too few clusters" in result.info["weights"]["one cluster"]["reason"]


def test_a_member_or_camp_is_the_answer_if_its_mark_is_clearly_higher(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, members = table()

    def favour(what: str) -> None:
        monkeypatch.setattr(judged, "_graded", lambda found, *_: {n: 9.0 * n.startswith(what) for n in found})

    for favoured, alike in (("the consensus of the camp of half", "half 0"), ("the member ring", "ring 0")):
        favour(favoured)
        result = consensus(members, 2, features=X, random_state=0)
        assert result.info["judge"]["chosen"].startswith(favoured)
        assert ari(result.labels, members[alike]) > 0.6
        assert result.confidence is not None
    monkeypatch.setattr(judged, "_graded", lambda found, *_: {n: 1.9 * (n != ALL) for n in found})
    assert consensus(members, 2, features=X, random_state=0).info["judge"]["chosen"] == ALL


def test_members_that_err_independently_are_better_together_than_the_best_one() -> None:
    """The best member alone gets nearly all weight, so that the consensus of all members alike must be compared."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 1000)
    X = rng.normal(size=(1000, 5)) + 5 * rng.normal(size=(4, 5))[y]
    errors = [rng.random(1000) < 0.1 + 0.04 * place for place in range(10)]
    members = {f"m{q}": np.where(wrong, rng.integers(0, 4, 1000), y) for q, wrong in enumerate(errors)}
    result = consensus(members, 4, features=X, random_state=0)
    assert result.info["judge"]["chosen"] == judged.ALIKE
    assert np.array_equal(result.labels, consensus(members, 4, random_state=0).labels)
    assert ari(result.labels, y) > max(ari(labels, y) for labels in members.values()) + 0.05
    assert result.confidence is not None


def test_the_number_may_be_open_and_many_objects_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = rings()
    members = generate(X, 10, k=(2, 8), base="spectral", random_state=0)
    result = consensus(members, "auto", features=X, random_state=0)
    assert result.n_clusters == result.info["choice"].n_clusters
    X, y, table_of = table()
    monkeypatch.setattr(judged, "MOST_JUDGED", 150)
    assert ari(consensus(table_of, 2, features=X, random_state=0).labels, y) > 0.9


def test_completed_takes_the_commonest_label_of_neighbours() -> None:
    near = np.array([[1, 2], [0, 2], [0, 1], [4, 0], [3, 0]])
    assert filled_by_neighbours(np.array([0, 0, -1, 1, -1]), near).tolist() == [0, 0, 0, 1, 0]
    lonely = np.array([[1], [0], [3], [2]])
    assert filled_by_neighbours(np.array([1, 1, -1, -1]), lonely).tolist() == [0, 0, 0, 0]


def test_joined_joins_the_clusters_with_most_links() -> None:
    X, y = rings()
    near = scene_of(as_features(X)).near
    quarters = 2 * y + (X[:, 0] > 0)
    assert ari(joined(quarters, 2, near), y) == 1
    assert np.array_equal(joined(y, 2, near), y)
    apart = np.repeat([0, 1, 2], 3)
    rings_of_three = np.array([[3 * (q // 3) + (q + 1) % 3] for q in range(9)])
    assert len(np.unique(joined(apart, 2, rings_of_three))) == 2


def test_wrong_measurements_are_refused() -> None:
    X, _, members = table()
    with pytest.raises(ValueError, match=r"features must have one row per object, 300 in all, got 299"):
        consensus(members, 2, features=X[1:])
    with pytest.raises(ValueError, match="device with features must be one of 'cpu', None"):
        consensus(members, 2, features=X, device="cuda")


def test_the_shell_reads_measurements_by_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y, members = table()
    ids = np.array([f"c{q}" for q in range(300)])
    labels, measurements = tmp_path / "labels.csv", tmp_path / "x.csv"
    rows = zip(ids, *members.values(), strict=True)
    labels.write_text("\n".join([",".join(["id", *members]), *(",".join(map(str, row)) for row in rows)]))
    order = np.random.default_rng(0).permutation(300)
    lines = [f"{ids[q]},{X[q, 0]!r},{X[q, 1]!r}".replace("np.float64(", "").replace(")", "") for q in order]
    measurements.write_text("\n".join(["id,a,b", *lines]))
    command = ["consensus", str(labels), "--id", "id", "-k", "2", "--seed", "0", "--features", str(measurements)]
    out = tmp_path / "out.csv"
    assert main([*command, "-o", str(out), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["judge"]["chosen"] in facts["judge"]["marks"]
    found = [line.split(",")[1] for line in out.read_text().splitlines()[1:]]
    assert ari(found, y) > 0.9
    assert main([*command, "--scale", "z"]) == 0
    assert "judged" in capsys.readouterr().out
    measurements.write_text("\n".join(["id,a,b", *lines[5:]]))
    assert main(command) == 2
    assert "has no measurements of 5 of the 300 objects" in capsys.readouterr().err
    assert main(["consensus", str(labels), "--id", "id", "-k", "2", "--scale", "z"]) == 2
