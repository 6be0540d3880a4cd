"""Tables of columns of any kind as measurements, and tables that are not in memory yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate import EnsembleClustering, ari, as_ensemble, consensus, explain, generate, rules
from quorate._data.mixed_columns import mixed_columns
from quorate._data.typed_columns import typed_table
from quorate.cli import main


def customers(n: int = 240) -> tuple[np.ndarray, pd.DataFrame]:
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    towns = np.where(rng.random(n) < 0.9, np.array(["Aix", "Bonn", "Cork"])[truth], "Bonn").astype(object)
    income = rng.normal(20 + 10 * truth, 2)
    income[rng.random(n) < 0.1] = np.nan
    towns[rng.random(n) < 0.1] = None
    frame = pd.DataFrame(
        {
            "income": income,
            "town": towns,
            "news": np.where(rng.random(n) < 0.9, truth == 0, truth == 1),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(300 * truth + rng.integers(0, 99, n), unit="D"),
            "note": [f"remark {place}" for place in range(n)],
        },
        index=[f"c{place}" for place in range(n)],
    )
    return truth, frame


@pytest.fixture(scope="module")
def model() -> EnsembleClustering:
    return EnsembleClustering(3, columns="auto", random_state=0).fit(customers()[1])


def test_planted_customers_are_found_and_the_line_says_what_was_done(model: EnsembleClustering) -> None:
    truth, frame = customers()
    assert ari(model.labels_, truth) > 0.9
    said = repr(model.columns_)
    assert said.startswith("1 number, 1 date, 1 column of yes and no, 1 category with 3 values, each scaled")
    gaps = int(frame.isna().sum().sum())
    assert f"{gaps} gaps filled with means; note left out, which has 240 different texts in 240 objects" in said
    assert model.n_features_in_ == 5
    assert any("income" in sentence or "since" in sentence for sentence in model.profiles_.sentences())


def test_new_objects_are_coded_as_the_old_ones_were(model: EnsembleClustering) -> None:
    _, frame = customers()
    assert np.array_equal(model.predict(frame), model.labels_)
    turned = frame[list(frame)[::-1]].iloc[:9]
    assert np.array_equal(model.predict(turned), model.labels_[:9]), "columns are matched by name"
    strange = frame.iloc[:3].assign(town=["Lille", None, "Aix"], income=np.nan)
    assert model.predict(strange).shape == (3,)
    assert model.transform(frame.iloc[:2]).shape == (2, 3)


@pytest.mark.parametrize("kind", ["polars", "lazy", "arrow", "mapping"])
def test_all_kinds_of_tables_are_taken(kind: str, model: EnsembleClustering) -> None:
    _, frame = customers()
    table = pl.DataFrame(frame.to_dict("series"))
    given_table: Any = {
        "polars": lambda: table,
        "lazy": table.lazy,
        "arrow": table.to_arrow,
        "mapping": lambda: {name: frame[name].to_numpy() for name in frame},
    }[kind]()
    assert np.array_equal(model.predict(given_table), model.labels_)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["number", "yes/no", "category"]))
def test_every_kind_of_column_has_the_same_mean_distance(seed: int, kind: str) -> None:
    """Two objects drawn at random differ by a squared distance of 2, unless one value is very common."""
    rng = np.random.default_rng(seed)
    n = 400
    values: Any = {
        "number": lambda: rng.lognormal(size=n) * 1e6,
        "yes/no": lambda: rng.random(n) < rng.uniform(0.2, 0.8),
        "category": lambda: rng.choice(list("abcd"), n, p=[0.4, 0.3, 0.2, 0.1]),
    }[kind]()
    table = typed_table({"x": values})
    assert table.columns[0].kind == kind
    points = mixed_columns(table).encoded(table)
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    assert distances.mean() == pytest.approx(2, rel=0.02)


def test_rare_values_are_not_further_away_than_anything_else() -> None:
    table = typed_table({"x": np.arange(1000) < 2})
    assert np.ptp(mixed_columns(table).encoded(table)) < 4


def test_gaps_and_unknown_values_lie_in_the_middle() -> None:
    table = typed_table({"x": [1.0, 3.0, None], "c": ["a", "b", None]})
    coded = mixed_columns(table)
    assert coded.names == ("x", "c=a", "c=b")
    assert coded.encoded(table)[2].tolist() == [0, 0, 0]
    assert coded.encoded(typed_table({"c": ["z"], "x": [2.0]}))[0].tolist() == [0, 0, 0]


def test_texts_that_were_numbers_once_are_still_texts() -> None:
    coded = mixed_columns(typed_table({"plan": ["1", "two", "1", "two"]}))
    assert (
        coded.encoded(typed_table({"plan": [1, 1]})).tolist()
        == coded.encoded(typed_table({"plan": ["1", "1"]})).tolist()
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, f: m.predict(f.drop(columns="town")), "X has no column 'town', which the clusters were made from"),
        (lambda m, f: m.predict(f.assign(income="much")), "held numbers when the clusters were made, and holds texts"),
        (lambda m, f: m.predict(f.assign(since=1.5 + np.arange(len(f)))), "held dates .* and holds numbers now"),
        (
            lambda m, f: EnsembleClustering(3, columns="auto").fit(f[["note"]]),
            "no column that can be clustered",
        ),
        (
            lambda m, f: EnsembleClustering(3, columns="auto", scale="z").fit(f),
            "scale must be None with columns",
        ),
        (lambda m, f: EnsembleClustering(3).fit(f[["town"]].dropna()), "Pass columns='auto' for texts, dates"),
        (lambda m, f: EnsembleClustering(3).fit(f[["income"]]), "Pass columns='auto' for texts, dates"),
    ],
)
def test_bad_input_is_refused_in_plain_words(call: Any, message: str, model: EnsembleClustering) -> None:
    with pytest.raises(ValueError, match=message):
        call(model, customers()[1])


def test_the_shell_clusters_a_mixed_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, model: EnsembleClustering
) -> None:
    monkeypatch.chdir(tmp_path)
    _, frame = customers()
    frame.to_csv("customers.csv", sep=";", decimal=",", index_label="customer")
    call = ["cluster", "customers.csv", "--id", "customer", "-k", "3", "--no-null", "--no-reference"]
    assert main([*call, "-o", "plain.csv"]) == 2
    assert "--mixed (EnsembleClustering" in capsys.readouterr().err
    assert main([*call, "-o", "labels.csv", "--mixed", "--report", "page.html"]) == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert 'id="front"' in page, "the columns explain the clusters on a first page"
    assert "income" in page.partition("</section>")[0]
    shown = capsys.readouterr()
    assert "quorate: 1 number, 1 date, 1 column of yes and no, 1 category with 3 values" in shown.err
    found = pd.read_csv("labels.csv", index_col="customer")["label"]
    assert ari(found.to_numpy(), model.labels_) == 1
    for extra, message in (
        (["--scale", "z"], "--scale must be left out with --mixed"),
        (["--memory", "1GB"], "--mixed does not go together with measurements in blocks"),
        (["--columns", "note"], "'note' has 240 different texts"),
    ):
        assert main([*call, "-o", "other.csv", "--mixed", *extra]) == 2
        assert message in capsys.readouterr().err
    assert not Path("other.csv").exists()


def lazy_tables(frame: pd.DataFrame) -> dict[str, Any]:
    arrow = pl.DataFrame(frame.to_dict("series")).to_arrow()
    return {"polars": pl.DataFrame(frame.to_dict("series")).lazy(), "arrow": arrow.to_reader()}


@pytest.mark.parametrize("kind", ["polars", "arrow"])
def test_tables_that_are_not_in_memory_yet_are_read(kind: str) -> None:
    labels = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 0, 0, 1]})
    assert np.array_equal(as_ensemble(lazy_tables(labels)[kind]).labels, as_ensemble(labels).labels)
    assert consensus(lazy_tables(labels)[kind], 2).labels.tolist() == consensus(labels, 2).labels.tolist()
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)), columns=["x", "y"])
    wanted = generate(numbers, 3, k=3, base="kmeans", random_state=0).labels
    assert np.array_equal(generate(lazy_tables(numbers)[kind], 3, k=3, base="kmeans", random_state=0).labels, wanted)
    fitted = EnsembleClustering(3, base="kmeans", random_state=0).fit(lazy_tables(numbers)[kind])
    assert np.array_equal(fitted.labels_, EnsembleClustering(3, base="kmeans", random_state=0).fit(numbers).labels_)


def test_relations_of_duckdb_are_read() -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install duckdb")
    relation = duckdb.sql("select * from (values (0, 'x'), (0, 'x'), (1, 'y')) as t(a, b)")
    assert consensus(relation, 2).labels.tolist() == [0, 0, 1]


OFFICE = {
    "revenue": [f"{10 + 20 * (place % 2) + place % 3},5" for place in range(60)],
    "town": [["Köln", "Graz"][place % 2] for place in range(60)],
    "abo": [["ja", "Nein"][place % 2] for place in range(60)],
    "since": [f"{1 + place % 28:02}.{1 + place % 12:02}.{2018 + place % 2}" for place in range(60)],
    "until": [f"{1 + place % 28:02}/{1 + place % 12:02}/{2020 + place % 2}" for place in range(60)],
}


def test_new_rows_have_the_kinds_of_the_model_however_few_they_are() -> None:
    """Each row alone gets the numbers that it has among all others, which no row alone could show."""
    frame = pd.DataFrame(OFFICE)
    coding = mixed_columns(typed_table(frame))
    assert [code.kind for code in coding.columns] == ["number", "category", "yes/no", "date", "date"]
    whole = coding.encoded(typed_table(frame))
    for place in range(0, 60, 7):
        alone = coding.encoded(typed_table(frame.iloc[[place]], kinds=coding.kinds))
        assert alone.tolist() == whole[[place]].tolist()


@pytest.mark.parametrize(
    ("column", "value", "gap"),
    [
        ("abo", "vielleicht", True),
        ("abo", 7, True),
        ("abo", True, False),
        ("abo", "no", False),
        ("town", "Wien", True),
        ("town", None, True),
        ("town", "yes", True),
        ("since", "2018-02-03", False),
        ("until", "03/04/2020", False),
    ],
)
def test_a_value_that_was_not_there_is_a_gap(column: str, value: Any, gap: bool) -> None:
    frame = pd.DataFrame(OFFICE)
    coding = mixed_columns(typed_table(frame))
    new = frame.head(9).astype(object)
    new[column] = [value] * 9
    found = coding.encoded(typed_table(new, kinds=coding.kinds))
    own = [place for place, name in enumerate(coding.names) if name.split("=")[0] == column]
    assert (found[:, own] == 0).all() == gap


def test_the_shell_predicts_one_row_one_town_and_an_empty_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(OFFICE)
    frame.to_csv("all.csv", sep=";", index_label="customer")
    call = ["cluster", "all.csv", "--id", "customer", "-k", "2", "--members", "3", "--mixed", "--no-null"]
    assert main([*call, "--no-reference", "--model", "model.npz", "-o", "labels.csv"]) == 0
    labels = pd.read_csv("labels.csv")["label"]
    tables = {
        "one": frame.iloc[[5]],
        "town": frame[frame.town == "Graz"],
        "empty": frame.assign(town=""),
        "unknown": frame.assign(town="Wien"),
        "no": frame[frame.abo == "Nein"].assign(revenue="11,5"),
    }
    for name, table in tables.items():
        table.to_csv(f"{name}.csv", sep=";", index_label="customer")
        assert main(["predict", "model.npz", f"{name}.csv", "--id", "customer", "-o", f"{name}.out.csv"]) == 0
        found = pd.read_csv(f"{name}.out.csv", index_col=0)["label"]
        assert len(found) == len(table)
        if name in ("one", "town"):
            assert found.tolist() == labels[table.index].tolist()
    capsys.readouterr()
    frame.drop(columns="town").to_csv("less.csv", sep=";", index_label="customer")
    assert main(["predict", "model.npz", "less.csv", "--id", "customer", "-o", "less.out.csv"]) == 2
    assert "less.csv has no column 'town'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("texts", "kind", "first"),
    [
        (["29.04.2020", "1.2.2021"], "date", "2020-04-29"),
        (["29.04.2020 12:00", "2021-02-01"], "date", "2020-04-29"),
        (["29/04/2020", "01/02/2021"], "date", "2020-04-29"),
        (["04/29/2020", "01/02/2021"], "date", "2020-04-29"),
        (["04/03/2020", "01/02/2021"], "other", None),
        (["29/04/2020", "04/29/2020"], "other", None),
        (["31.02.2020", "01.02.2021"], "category", None),
        (["1.2.3", "1.2.4"], "category", None),
    ],
)
def test_dates_as_offices_write_them(texts: list[str], kind: str, first: str | None) -> None:
    table = typed_table({"day": texts, "x": [1, 2]})
    (column,) = [column for column in (*table.columns, *table.useless) if column.name == "day"]
    assert column.kind == kind
    if first is not None:
        assert str(np.datetime64(int(column.values[0]), "D")) == first
    if kind == "other":
        assert "nobody can say whether the day or the month comes first" in table.left_out["day"]


def test_dates_of_which_the_order_is_open_are_no_gaps_when_new_objects_have_them() -> None:
    coding = mixed_columns(typed_table({"day": ["2020-04-29", "2021-04-29"]}))
    with pytest.raises(ValueError, match="holds dates such as 03/04/2020"):
        coding.encoded(typed_table({"day": ["03/04/2020"]}, kinds=coding.kinds))


def test_rules_and_traits_use_the_words_of_the_table() -> None:
    labels = [place % 2 for place in range(60)]
    assert "abo is Nein" in str(rules(labels, {"abo": OFFICE["abo"]})) or "abo is ja" in str(
        rules(labels, {"abo": OFFICE["abo"]})
    )
    assert "often abo ja (100%, others 0%)" in str(explain(labels, {"abo": OFFICE["abo"]}))
    assert "abo is yes" in str(rules(labels, {"abo": np.arange(60) % 2 == 0}))
