"""The measurements behind docs/trust.md: their cases, that a stopped run goes on, and what both pages say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.trust import (
    cases,
    confidence,
    fresh,
    fresh_noise,
    fresh_sets,
    noise,
    noise_sets,
    numbers,
    page,
    pictures,
)
from benchmarks.trust.__main__ import RESULTS
from benchmarks.trust.runs import PARTS, Results

from quorate._verdict import GRADES, NO_STRUCTURE

ROOT = Path(__file__).parents[1]


def made_up(tmp_path: Path) -> Results:
    """A few records of each part."""
    results = Results(tmp_path / "results.jsonl")
    for number, name in enumerate(["measured / without / 0", "table / without / 1", "table / with / 1"]):
        record = {"level": 1.0, "grade": GRADES[number], "z": 2.0 + number, "reference_z": 1.0, "seconds": 2.0}
        results.write("noise", name, record | ({"findable": 0.9, "ari": 0.9} if "/ with /" in name else {}))
    for number, name in enumerate(
        ["default / iris", "k-means members / wine", "planted labels / 2", "random labels / 3"]
    ):
        bins = [[0, 0.0, 0.0, 0.0]] * 8 + [[10, 8.5, 7.5, 6.0], [10, 9.5, 9.0 - number, 8.0]]
        record = {"objects": 20, "k": 2, "same": 0.8, "now": bins, "before": bins, "times": 2.0}
        results.write("confidence", name, record | ({"clusters": [[20, 0.9, 0.9, 0.8, 0.7]]} if number < 2 else {}))
    verdict = {"sizes": [9], "grade": GRADES[3], "text": "They share it.", "next": "Use the clusters."}
    results.write("cases", "labels as planted", {"ari": 1.0, **verdict})
    results.write("cases", "all labels shuffled", {"ari": 0.0, **verdict, "next": "Do not use these clusters."})
    told = {"objects": 150, "k": 3, "grade": GRADES[3], "ari": 0.9, "reproducibility": 0.8, "z": 9.0}
    results.write("verdict", "iris", told | {"reference_z": None})
    number = {"objects": 300, "classes": 4, "candidates": [4], "undecided": False, "ari": 0.9, "grade": NO_STRUCTURE}
    for name, k in (("A / moons / 0", 4), ("A / grid / 0", 1), ("B / moons / 0", 5)):
        results.write("fresh", name, number | {"k": k})
        results.write("fresh peers", f"{name} / HDBSCAN", {"classes": 4, "k": 4})
    results.write("fresh noise", "A / ball / 2", {"asked": 3, "grade": NO_STRUCTURE, "k": 2})
    return results


def test_the_page_is_made_from_the_stored_results() -> None:
    if not RESULTS.exists():
        pytest.skip("nothing was measured yet")
    results = Results(RESULTS)
    assert (ROOT / "docs" / "trust.md").read_text(encoding="utf-8") == page.text(results)
    assert (ROOT / "docs" / page.EVIDENCE).read_text(encoding="utf-8") == page.evidence(results)


def test_readers_meet_the_meaning_before_any_table_of_sets(tmp_path: Path) -> None:
    results = made_up(tmp_path)
    text = page.text(results)
    assert "Of 2 data sets without clusters, 1 were called" in text
    assert f"images/{page.SHORT}" in text
    assert page.EVIDENCE in text
    assert "iris" not in text
    assert "moons" not in text
    assert "make trust" not in text
    assert "make trust" not in page.evidence(results)


def test_every_part_of_the_page_is_filled_in(tmp_path: Path) -> None:
    results = made_up(tmp_path)
    assert "<!--" not in page.text(results)
    text = page.evidence(results)
    assert "<!--" not in text
    assert "| random labels | 1 | 0 | 1 | 0 | 0 |  |" in text
    assert "| default, half B | 1 | 0.900 | 0.825 | 0.075 | 0.075 |" in text
    assert "| EnsembleClustering | A | 2 | 50% | 50% | 0.69 |" in text
    assert "| HDBSCAN | B | 1 | 100% | 100% | 0.00 |" in text
    assert "0 of 1 bad results end in advice to use the clusters, and 1 of 1 good ones do." in text
    assert "| all labels shuffled | 0.00 | bad | They share it. Do not use these clusters. |" in text
    assert "2 are called" in text
    assert "1 are answered with one cluster" in text
    assert "| moons | 1 of 1 | 0 of 1 |" in text
    assert "| ball | 1 | 1 | 0 |" in text


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    results = made_up(tmp_path)
    with results.path.open("a") as file:
        file.write('{"part": "noise", "ca')  # killed while writing
    again = Results(results.path)
    assert again.found == results.found
    assert "iris" not in again.missing("verdict", quick=True)
    again.write("noise", "table / with / 2", {"grade": NO_STRUCTURE})
    assert Results(results.path).found["noise"]["table / with / 2"] == {"grade": NO_STRUCTURE}
    assert all(set(part.quick) <= set(part.names()) for part in PARTS.values())


def test_there_are_100_sets_without_clusters_and_100_with() -> None:
    names = noise_sets.names()
    assert len(names) == len(set(names)) == 200
    assert sum("/ without /" in name for name in names) == 100
    kinds = {noise_sets.kind_of(name) for name in names if "/ without /" in name}
    assert kinds == {*noise_sets.KINDS, "random labels"}


@pytest.mark.parametrize(
    "name", ["measured / without / 7", "measured / with / 33", "table / without / 3", "table / with / 5"]
)
def test_a_case_is_always_the_same_set(name: str) -> None:
    one, other = noise_sets.make(name), noise_sets.make(name)
    values = [part.X if part.labels is None else part.labels for part in (one, other)]
    assert np.array_equal(*values)
    assert (one.truth is None) == ("/ without /" in name)


def test_planted_centres_are_as_far_apart_as_told() -> None:
    centres = noise_sets._centres(5, 3, np.random.default_rng(0))
    gaps = np.linalg.norm(centres[:, None] - centres[None], axis=-1) + 9 * np.eye(5)
    assert gaps.min() == pytest.approx(1.0)


def test_random_labels_are_called_noise_and_planted_ones_are_not() -> None:
    assert noise.measure_noise("table / without / 0")["grade"] == NO_STRUCTURE
    names = [f"table / with / {number}" for number in range(noise_sets.TABLES)]
    clear = next(name for name in names if noise_sets.make(name).level > 0.8)
    found = noise.measure_noise(clear)
    assert found["grade"] != NO_STRUCTURE
    assert found["findable"] > 0.7


def test_confidence_is_counted_in_bins() -> None:
    record = confidence.measure_confidence("planted labels / 2")
    table = np.array(record["now"])
    assert table[:, 0].sum() == record["objects"]
    assert table[:, 2].sum() / table[:, 0].sum() == pytest.approx(record["same"], abs=0.01)
    assert page.calibration_error(record["now"]) < page.calibration_error(record["before"])


def test_the_calibration_error_is_the_mean_distance_over_bins() -> None:
    assert page.calibration_error([[10, 9.0, 7.0], [30, 12.0, 15.0]]) == pytest.approx((2 + 3) / 40)


def test_the_pictures_are_drawn(tmp_path: Path) -> None:
    results = made_up(tmp_path)
    pictures.draw_reliability(results, tmp_path / "one.png")
    pictures.draw_noise(results, tmp_path / "two.png")
    pictures.draw_short(results, tmp_path / "three.png")
    assert all((tmp_path / name).stat().st_size > 5_000 for name in ("one.png", "two.png", "three.png"))


def test_fresh_sets_are_drawn_by_seed_and_both_families_differ() -> None:
    names = fresh_sets.names()
    assert len(names) == len(set(names)) == 2 * 3 * len(fresh_sets.GEOMETRIES)
    assert len(names) // 2 >= 60
    for name in names:
        data = fresh_sets.make(name)
        assert 200 <= len(data.X) == len(data.y) <= 5_000
        assert 2 <= data.n_classes <= 40
        assert sorted(set(data.y[data.y >= 0].tolist())) == list(range(data.n_classes))
    one, again = fresh_sets.make("A / moons / 0"), fresh_sets.make("A / moons / 0")
    assert np.array_equal(one.X, again.X)
    assert not np.array_equal(one.X[:100], fresh_sets.make("B / moons / 0").X[:100])


@pytest.mark.parametrize("kind", fresh_sets.WITH_NOISE)
def test_background_noise_is_no_class(kind: str) -> None:
    data = fresh_sets.make(f"A / {kind} / 0")
    assert 0.04 < np.mean(data.y == fresh_sets.NOISE) < 0.1


def test_fresh_clouds_and_other_ways_have_a_case_each() -> None:
    assert len(fresh_noise.names()) == 2 * 2 * 10
    for name in fresh_noise.names():
        data = fresh_noise.make(name)
        assert data.X is not None
        assert data.X.shape[1] == int(name.rsplit(" / ", 1)[1])
    assert len(fresh.peer_names()) == 6 * len(fresh_sets.names())
    assert fresh.measure_fresh_peer("A / integer grid / 2 / HDBSCAN")["classes"] == 2


@pytest.mark.parametrize(
    ("name", "kind", "is_used"),
    [
        ("labels as planted", "good", True),
        ("all labels shuffled", "bad", False),
        ("two thirds of the labels shuffled", "bad", False),
        ("single link, 40% errors", "bad", False),
        ("2 clusters asked for, 8 planted", "bad", False),
        ("good members, each five times", "good", True),
    ],
)
def test_verdicts_are_about_the_result_at_hand(name: str, kind: str, is_used: bool) -> None:
    found = cases.measure_case(name)
    assert (cases.kind_of(found), cases.is_used(found)) == (kind, is_used)


def test_numbers_are_counted_by_the_probability_they_were_given() -> None:
    """Two sets of the tuning half; the limits belong to the upper line, and 1 to the last one."""
    names = [name for name in numbers.SETS if numbers.half_of(name) == "tuning half"]
    made = [(0.75, 4), (1.0, 5), (0.4, 4), (0.7, 5)]
    records = [
        {"set": name, "algorithm": numbers.OURS, "classes": 4, "k": k, "table": [{"n_clusters": k, "probability": p}]}
        for name, (p, k) in zip(names, made, strict=False)
    ]
    lines = numbers._reliability(records)[4:]
    cells = [line.split(" | ")[1] for line in lines]
    assert cells == ["1 of 1 (said: 40%)", "0 of 1 (said: 70%)", "1 of 1 (said: 75%)", "0 of 1 (said: 100%)"]
    assert all(line.split(" | ")[2] == "0 of 0" for line in lines)
