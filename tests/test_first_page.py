"""The first page of the report: everyday words, what defines a cluster, a map, a logo, another language; printing."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import browser
import numpy as np
import pandas as pd
import pytest

from quorate import as_ensemble, consensus, report
from quorate._data.typed_columns import typed_table
from quorate.cli import main
from quorate.reporting.first_page import main_directions

TRUTH = np.repeat([0, 1, 2], 30)
NAMES = [f"o{row}" for row in range(90)]
PIXEL = bytes.fromhex("89504e470d0a1a0a")


def members(*, noise: float = 0.1) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {f"m{q}": np.where(rng.random(90) < noise, rng.integers(0, 3, 90), TRUTH) for q in range(8)}
    return pd.DataFrame(columns, index=pd.Index(NAMES, name="id"))


def features() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    town = np.where(TRUTH == 2, "<b>Ulm</b>", "Bonn")
    columns = {"income": rng.normal(30, 1, 90) + 20 * (TRUTH == 1), "age": rng.normal(40, 9, 90), "town": town}
    return pd.DataFrame(columns, index=pd.Index(NAMES, name="id"))


def front(path: Path) -> str:
    """The text of the first page, without its marks."""
    found = re.search(r'<section id="front".*?</section>', path.read_text(encoding="utf-8"), re.DOTALL)
    return "" if found is None else " ".join(re.sub(r"<[^>]*>", " ", found[0]).split())


def points(path: Path) -> int:
    """The number of points on the map."""
    return path.read_text(encoding="utf-8").partition('class="front-map"')[2].partition("</svg>")[0].count("<circle")


def test_without_its_options_there_is_no_first_page(tmp_path: Path) -> None:
    table = members()
    assert front(report(consensus(table, 3, random_state=0), table, tmp_path / "r.html")) == ""


def test_the_first_page_says_what_defines_each_cluster(tmp_path: Path) -> None:
    table, result = members(), consensus(members(), 3, random_state=0).renamed({0: "<i>poor</i>"})
    path = report(result, table, tmp_path / "r.html", features=features().sample(frac=1, random_state=0))
    text = front(path)
    assert "90 objects were sorted into 3 groups." in text
    assert re.search(r"1 \(30, 33%\): high income \([\d.]+, others [\d.]+\)", text), text
    assert "often town &lt;b&gt;Ulm&lt;/b&gt; (100%, others 0%)" in text
    assert "&lt;i&gt;poor&lt;/i&gt; (30, 33%)" in text
    assert "Map of the objects" in text
    assert points(path) == 90


def test_how_far_to_believe_it_follows_the_verdict(tmp_path: Path) -> None:
    good, bad = members(), members(noise=1.0)
    first = front(report(consensus(good, 3, random_state=0), good, tmp_path / "a.html", language="en"))
    assert "Very well" in first or "Well:" in first
    last = front(report(consensus(bad, 3, random_state=0), bad, tmp_path / "b.html", language="en"))
    assert "no better than groups drawn by chance" in last
    assert "could as well belong to another group" in last
    one = consensus(bad, random_state=0)
    assert one.n_clusters == 1
    assert "No groups were found" in front(report(one, bad, tmp_path / "c.html", language="en"))


def test_a_number_of_groups_that_is_not_certain_is_said_to_be(tmp_path: Path) -> None:
    table, result = members(), consensus(members(), random_state=0)
    choice = result.info["choice"]
    assert not choice.undecided
    assert "is not certain" not in front(report(result, table, tmp_path / "a.html", language="en"))
    doubtful = replace(choice, candidates=(3, 2, 5), undecided=True)
    for language, words in (("en", "there may be 2 or 5 as well"), ("de", "Es könnten auch 2 oder 5 sein")):
        path = report(result, table, tmp_path / f"{language}.html", language=language, choice=doubtful)
        assert words in front(path)


def test_the_first_page_in_german_with_a_logo(tmp_path: Path) -> None:
    table, logo = members(), tmp_path / "logo.png"
    logo.write_bytes(PIXEL)
    result = consensus(table, 3, random_state=0)
    path = report(result, table, tmp_path / "r.html", features=features(), language="de", logo=logo)
    text = front(path)
    assert text.startswith("Gruppen aus mehreren Einteilungen 90 Objekte wurden in 3 Gruppen eingeteilt.")
    named = report(result, table, tmp_path / "named.html", language="de", title="Kunden")
    assert front(named).startswith("Kunden 90")
    assert re.search(r"hoch: income \(50(,\d)?; andere \d\d,\d\)", text), text
    assert path.read_text(encoding="utf-8").count("<h1>") == 1
    assert "Wie weit kann man das glauben?" in text
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in path.read_text(encoding="utf-8")


def test_the_map_takes_coordinates_and_skips_objects_outside(tmp_path: Path) -> None:
    table = members()
    labels = np.where(np.arange(90) % 10 == 0, -1, TRUTH)
    places = np.column_stack([np.arange(90), np.arange(90) ** 2.0])
    path = report(labels, table, tmp_path / "r.html", coordinates=places)
    assert points(path) == 81
    assert "at the place that was given" in front(path)


def test_the_main_directions_are_those_of_a_slow_decomposition() -> None:
    values = np.random.default_rng(0).normal(size=(50, 4)) @ np.diag([5.0, 3.0, 1.0, 0.1])
    scaled = (values - values.mean(axis=0)) / values.std(axis=0)
    places, share = main_directions(typed_table(values))
    assert places is not None
    _, singular, _ = np.linalg.svd(typed_values(values), full_matrices=False)
    assert share == pytest.approx((singular[:2] ** 2).sum() / (singular**2).sum())
    assert np.sqrt((places**2).sum(axis=0)) == pytest.approx(singular[:2])
    assert scaled.shape == (50, 4)


def typed_values(values: np.ndarray) -> np.ndarray:
    """The same columns as numbers in which each has the same mean distance."""
    from quorate._data.mixed_columns import mixed_columns

    table = typed_table(values)
    coded = np.asarray(mixed_columns(table).encoded(table))
    return coded - coded.mean(axis=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"language": "fr"}, "language must be"),
        ({"logo": "logo.gif"}, "logo must be a file that ends in"),
        ({"logo": "nothing.png"}, "cannot read the logo"),
        ({"coordinates": np.zeros((90, 3))}, "coordinates must have two columns"),
        ({"features": np.zeros((7, 3))}, "features must have one row per object"),
    ],
)
def test_wrong_options_are_refused_before_a_page_is_written(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    table = members()
    with pytest.raises((ValueError, OSError), match=message):
        report(TRUTH, table, tmp_path / "r.html", **options)
    assert not (tmp_path / "r.html").exists()


def test_the_shell_writes_a_first_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: str(tmp_path / name) for name in ("labels.csv", "result.csv", "features.csv", "r.html")}
    members().to_csv(files["labels.csv"])
    pd.DataFrame({"label": TRUTH}, index=pd.Index(NAMES, name="id")).to_csv(files["result.csv"])
    features().iloc[::-1].to_csv(files["features.csv"])
    line = ["report", files["labels.csv"], files["result.csv"], "--id", "id", "-o", files["r.html"], "--language", "de"]
    assert main([*line, "--features", files["features.csv"]]) == 0
    assert "hoch: income (50" in front(Path(files["r.html"]))
    assert main([*line, "--force", "--features", str(tmp_path / "none.csv")]) == 2
    assert "there is no such file" in capsys.readouterr().err


@pytest.mark.skipif(browser.PROGRAM is None, reason=browser.NO_BROWSER)
def test_a_browser_without_a_window_waits_for_the_figures(tmp_path: Path) -> None:
    table = as_ensemble(members())
    path = report(consensus(table, 3, random_state=0), table, tmp_path / "r.html")
    out = tmp_path / "r.pdf"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    line = [str(browser.PROGRAM), *flags, f"--print-to-pdf={out}", str(path)]
    subprocess.run(line, check=True, capture_output=True, timeout=120)
    # figures are forms or images; a page that was printed too early has none
    drawn = re.findall(rb"/Subtype /(?:Form|Image)", out.read_bytes())
    assert len(drawn) >= 3


def test_features_that_do_not_vary_draw_no_map(tmp_path: Path) -> None:
    table = members()
    constant = pd.DataFrame({"country": "D"}, index=table.index)
    path = report(consensus(table, 3, random_state=0), table, tmp_path / "r.html", features=constant)
    assert "90 objects were sorted into 3 groups." in front(path)
    assert points(path) == 0
