"""`explain`, `rules`, `quorate explain` and tables of columns of any kind, against formulas and planted clusters."""

from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import EnsembleClustering, consensus, explain, plot, rules
from quorate._data.typed_columns import TypedTable, typed_table
from quorate._evaluation.explanation import explained, labels_beside
from quorate.cli import main


def slow_effect(inside: list[float], outside: list[float]) -> float:
    """Cohen's d as in a textbook: the difference of means in pooled standard deviations."""
    squares = sum((x - np.mean(side)) ** 2 for side in (inside, outside) for x in side)
    spread = math.sqrt(squares / (len(inside) + len(outside) - 2))
    return float((np.mean(inside) - np.mean(outside)) / spread)


def people(n: int = 120) -> tuple[np.ndarray, pd.DataFrame]:
    """Three clusters: incomes differ between all, the town is that of the cluster, visits are noise with gaps."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 3
    visits = rng.normal(10, 3, n)
    visits[labels == 2] = np.where(rng.random((labels == 2).sum()) < 0.5, np.nan, visits[labels == 2])
    frame = pd.DataFrame(
        {
            "income": rng.normal(30 + 20 * labels, 3),
            "visits": visits,
            "town": np.array(["Aix", "Bonn", "Cork"])[labels],
            "member": labels > 0,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(400 * labels + rng.integers(0, 30, n), unit="D"),
            "note": [f"remark {place}" for place in range(n)],
            "one": 1,
        },
        index=[f"c{place}" for place in range(n)],
    )
    return labels, frame


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-50, 50)), min_size=4, max_size=30))
def test_effects_of_numbers_are_those_of_the_formula(rows: list[tuple[int, int]]) -> None:
    labels, values = [label for label, _ in rows], [float(value) for _, value in rows]
    if min(labels) == max(labels) or min(values) == max(values):
        return
    for trait in explain(labels, {"x": values}).traits:
        inside = [value for label, value in rows if str(label) == trait.cluster]
        outside = [value for label, value in rows if str(label) != trait.cluster]
        assert trait.value == pytest.approx(np.mean(inside))
        assert trait.others == pytest.approx(np.mean(outside))
        if len(set(inside)) > 1 or len(set(outside)) > 1:
            assert trait.effect == pytest.approx(max(-10, min(10, slow_effect(inside, outside))), abs=1e-6)


def test_what_was_planted_comes_first() -> None:
    labels, frame = people()
    found = explain(labels, frame)
    assert dict(found.left_out) == {"note": "has 120 different texts in 120 objects", "one": "has the one value 1"}
    high = found.of(2, most=3)
    assert {trait.column for trait in high} == {"income", "town", "since"}
    gaps = next(trait for trait in found.of(2) if trait.kind == "missing")
    assert gaps.column == "visits"
    assert gaps.effect > 1
    assert gaps.others == 0
    assert "high income" in found.sentences()[2]
    assert "late since" in found.sentences()[2]
    assert len(found.to_frame()) == len(found.traits)
    assert found.as_dict()["clusters"][1]["objects"] == 40
    yes = next(trait for trait in found.of(0) if trait.column == "member")
    assert yes.text == "seldom member (0%, others 100%)"


def test_shares_are_compared_by_arcsines() -> None:
    traits = explain([0, 0, 0, 0, 1, 1, 1, 1], {"town": ["A", "A", "A", "B", "A", "B", "B", None]}).of(0)
    town = next(trait for trait in traits if trait.category == "A")
    assert (town.value, town.others) == (0.75, pytest.approx(1 / 3))
    assert town.effect == pytest.approx(2 * math.asin(math.sqrt(0.75)) - 2 * math.asin(math.sqrt(1 / 3)))


def test_a_sparse_matrix_gives_the_traits_of_the_dense_one() -> None:
    rng = np.random.default_rng(1)
    matrix = scipy.sparse.random_array((200, 30), density=0.2, format="csr", rng=rng)
    labels = rng.integers(0, 3, 200)
    dense = {(t.cluster, t.column): t.effect for t in explain(labels, matrix.toarray()).traits}
    sparse = {(t.cluster, t.column): t.effect for t in explain(labels, matrix, most=30).traits}
    assert sparse.keys() == dense.keys()
    assert all(sparse[key] == pytest.approx(dense[key]) for key in dense)
    assert len(explain(labels, matrix, most=4).of(1)) == 4


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "mapping", "shuffled"])
def test_all_kinds_of_tables_give_the_same(kind: str) -> None:
    labels, frame = people()
    plain = frame.reset_index(names="id")
    table: Any = {
        "polars": lambda: pl.DataFrame(plain.to_dict("list")),
        "pyarrow": lambda: pl.DataFrame(plain.to_dict("list")).to_arrow(),
        "mapping": lambda: {name: plain[name].to_numpy() for name in plain},
        "shuffled": lambda: plain.sample(frac=1, random_state=0),
    }[kind]()
    named = pd.Series(labels, index=frame.index)
    wanted, got = explain(named, frame), explain(named, table, ids="id")
    assert [t[:4] for t in got.traits] == [t[:4] for t in wanted.traits]
    assert np.allclose([t.effect for t in got.traits], [t.effect for t in wanted.traits])


def test_objects_without_a_label_are_left_out() -> None:
    found = explain([0, 0, 1, 1, None], {"x": [1.0, 2.0, 5.0, 6.0, 1e9]})
    assert found.sizes.tolist() == [2, 2]
    assert found.of(0)[0].others == 5.5


def test_a_consensus_explains_itself_by_its_names() -> None:
    labels, frame = people(30)
    result = consensus(pd.DataFrame({"a": labels, "b": labels}, index=frame.index), 3).renamed({2: "rich"})
    assert result.explain(frame).of("rich")[0].cluster == "rich"
    with pytest.raises(ValueError, match="cluster must be one of"):
        result.explain(frame).of("rihc")


def test_rules_find_what_was_planted_and_are_judged_on_the_other_half() -> None:
    labels, frame = people(400)
    noise = np.random.default_rng(3).random(400) < 0.2
    given_labels = np.where(noise, np.random.default_rng(4).integers(0, 3, 400), labels)
    found = rules(given_labels, frame.drop(columns="town"))
    for rule in found.rows:
        assert 1 <= len(rule.conditions) <= 3
        assert 0.7 < rule.precision < 1
        assert 0.7 < rule.recall < 1
    by_town = rules(labels, frame[["town", "visits"]])
    assert [rule.text for rule in by_town.rows] == ["town is Aix", "town is Bonn", "town is Cork"]
    assert "precision 100%" in repr(by_town)
    assert by_town.to_frame().shape == (3, 4)
    assert by_town.as_dict()["rules"][0]["conditions"][0]["relation"] == "is"


def test_the_rule_of_random_labels_is_not_praised() -> None:
    rng = np.random.default_rng(5)
    found = rules(rng.integers(0, 4, 2000), rng.normal(size=(2000, 20)))
    assert all(rule.precision is None or rule.precision < 0.4 for rule in found.rows)


def test_a_rule_that_does_not_tell_a_cluster_apart_is_not_given() -> None:
    rng = np.random.default_rng(0)
    labels, values = rng.integers(0, 4, 400), rng.normal(size=400)
    found = rules(labels, {"x": values})
    assert [row.text for row in found.rows] == ["no rule separates it"] * 4
    assert "precision" not in str(found)
    shifted = rules(labels, {"x": values + 1.5 * (labels == 0)})
    weak = next(row for row in shifted.rows if row.cluster == "0")
    assert weak.precision is not None
    assert weak.precision > 0.4


def test_rules_of_dates_gaps_and_sparse_words() -> None:
    labels, frame = people(300)
    texts = [rule.text for rule in rules(labels, frame[["since"]]).rows]
    assert texts[0].startswith("since until 20")
    assert texts[2].startswith("since after 20")
    words = scipy.sparse.csr_array(np.eye(3)[labels] * 2)
    assert [r.text for r in rules(labels, words, names=["w0", "w1", "w2"]).rows] == [f"w{i} above 1" for i in range(3)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 3, None], "number"),
        (["1,5", "2,25", "1.000,0", ""], "number"),
        (["2026-01-02", "2026-02-01", "", "2026-03-04T10:00"], "date"),
        ([datetime.date(2026, 1, 2), None, datetime.date(2025, 1, 2), datetime.date(2024, 1, 1)], "date"),
        (["yes", "no", "YES", "n/a"], "yes/no"),
        (pd.array([True, False, None, True], dtype="boolean"), "yes/no"),
        (["A", "B", "A", "B"], "category"),
        (["1", "two", "1", "two"], "category"),
        (["1_000", "2", "2", "1_000"], "category"),
    ],
)
def test_kinds_of_columns(values: list[Any], kind: str) -> None:
    assert [column.kind for column in typed_table({"x": values}).columns] == [kind]


def test_decimal_commas_are_read_as_numbers() -> None:
    column = typed_table({"x": ["1.234,5", "2,0", "3"]}).columns[0]
    assert column.values.tolist() == [1234.5, 2.0, 3.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: explain([0, 1], np.zeros((3, 2))), "must have one label per row"),
        (lambda: explain([0, 1, 1], np.eye(3), names=["a"]), "names must name 3 columns, got 1"),
        (lambda: explain([0, 1, 1], {"x": [1, 2, 3]}, most=0), "most must be"),
        (lambda: explain([0, 1, 1], {"x": [1, 2, 3]}, ids="y"), "names a column"),
        (lambda: rules([0, 1, 1], {"x": [1, 2, 3]}, most_conditions=0), "most_conditions must be"),
        (lambda: explain(pd.Series([0, 1], index=["a", "b"]), pd.DataFrame({"x": [1, 2]}, index=["a", "z"])), "'z'"),
        (lambda: explain([0, 1, 1], {"x": [1, 2, 3]}).of(2), "cluster must be"),
        (lambda: plot.traits(explain([0, 1, 1], {"x": [2, 2, 2]})), "no traits"),
    ],
)
def test_bad_input_is_refused_in_plain_words(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_the_estimator_profiles_its_columns() -> None:
    _, frame = people(150)
    X = frame[["income", "visits"]].fillna(10.0)
    model = EnsembleClustering(3, random_state=0).fit(X)
    assert model.profiles_.of(0)[0].column == "income"
    wanted = {(t.cluster, t.column): t.effect for t in explain(model.labels_, X).traits}
    assert all(t.effect == pytest.approx(wanted[t.cluster, t.column]) for t in model.profiles_.traits)


def test_the_picture_shows_every_cluster_and_the_largest_traits() -> None:
    labels, frame = people()
    ax = plot.traits(explain(labels, frame), most=5)
    assert len(ax.get_yticklabels()) == 5
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "1", "2"]


def files(folder: Path) -> tuple[Path, Path]:
    labels, frame = people(60)
    frame["income"] = [f"{value:.2f}".replace(".", ",") for value in frame["income"]]
    frame.to_csv(folder / "table.csv", sep=";", index_label="customer")
    shuffled = pd.DataFrame({"customer": frame.index, "label": labels}).sample(frac=1, random_state=1)
    shuffled.to_csv(folder / "labels.csv", index=False)
    return folder / "labels.csv", folder / "table.csv"


def test_the_shell_explains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels, table = files(tmp_path)
    out = tmp_path / "traits.csv"
    assert main(["explain", str(labels), str(table), "--id", "customer", "--rules", "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "high income" in shown
    assert "left out: note has 60 different texts in 60 objects" in shown
    assert "town is Aix" in shown
    assert "No p-values" in shown
    assert "effect size: about 0.2 is small" in shown
    assert out.read_text().splitlines()[0] == "cluster,column,kind,category,value,others,effect,missing"
    assert main(["explain", str(labels), str(table), "--id", "customer", "--json"]) == 0
    assert [c["objects"] for c in json.loads(capsys.readouterr().out)["clusters"]] == [20, 20, 20]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ([], "both have the column 'customer'; name it with --id"),
        (["--id", "nope"], "has no column 'nope'"),
        (["--id", "customer", "--most", "0"], "most must be"),
        (["--id", "customer", "--columns", "note"], "no column can tell objects apart: 'note' has 60"),
        (["--id", "customer", "-o", "x.npy"], "must be a .csv"),
        (["--id", "customer", "--label", "x", "--columns", "town", "-o", "{table}", "--force"], "would replace"),
    ],
)
def test_the_shell_refuses_bad_input(
    extra: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    labels, table = files(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = table.read_bytes()
    arguments = [str(labels), str(table), *(text.replace("{table}", str(table)) for text in extra)]
    assert main(["explain", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert table.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["labels.csv", "table.csv"]


@pytest.mark.parametrize(("factor", "shift"), [(1e307, 0.0), (1e-9, 0.0), (1e-310, 0.0), (1.0, 1.6e9)])
def test_units_and_zero_points_of_columns_change_no_effect(factor: float, shift: float) -> None:
    """Time stamps had effects of .35 instead of 3.4 in `profiles_`; rules saw no difference below 1e-7."""
    random = np.random.default_rng(0)
    truth = np.repeat([0, 1], 60)
    column = random.normal(size=120) + 6 * truth
    wanted, changed = column[:, None], column[:, None] * factor + shift
    effect = explain(truth, wanted).traits[0].effect
    assert explain(truth, changed).traits[0].effect == pytest.approx(effect, rel=1e-3)
    matrix = as_matrix(changed)
    assert explained(labels_beside(truth, matrix), matrix).traits[0].effect == pytest.approx(effect, rel=1e-3)
    assert rules(truth, changed).rows[0].precision == 1.0
    model = EnsembleClustering(2, columns="auto", n_members=3, random_state=0).fit(pd.DataFrame({"x": changed[:, 0]}))
    assert np.array_equal(model.labels_, truth)


def as_matrix(values: Any) -> TypedTable:
    """A table of numbers that is kept as a matrix, as `profiles_` has it."""
    return TypedTable((), {}, len(values), matrix=values, matrix_names=("x",))


def test_a_mean_of_zero_is_zero() -> None:
    """It was -4.44e-16, the rounding of the mean of all."""
    random = np.random.default_rng(0)
    truth = random.integers(3, size=80)
    found = {trait.cluster: trait.value for trait in explain(truth, {"x": truth * 0.1}).traits}
    assert found["0"] == 0.0


def test_limits_of_rules_have_the_digits_that_they_need() -> None:
    """A limit of 1995.5 was rounded to 1996, so that the year 1996 was on the wrong side."""
    years = np.random.default_rng(0).integers(1980, 2020, 200)
    found = {row.cluster: row for row in rules(years > 1995, {"year": years}).rows}
    assert found["1"].text == "year above 1995.5"
    assert found["1"].precision == found["1"].recall == 1.0


def test_a_cluster_of_one_object_has_no_rule_that_others_fulfil() -> None:
    values = np.random.default_rng(0).normal(size=60)
    for row in rules(range(60), {"x": values}).rows:
        assert row.precision != 0


@pytest.mark.parametrize("table", [pd.DataFrame({"a": []}), np.empty((3, 0)), np.zeros((3, 2, 2)), None, "table.csv"])
def test_what_is_no_table_is_refused_as_such(table: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^table must"):
        explain([0, 1, 1], table)
    with pytest.raises((TypeError, ValueError), match=r"^table must"):
        rules([0, 1, 1], table)


def test_sizes_and_large_numbers_are_written_plainly() -> None:
    words = str(explain([0, 1, 1, 1], {"x": [1e300, 0.0, 1.0, 0.5]}))
    assert "(1 object, 25%)" in words
    assert "1e+300" in words
