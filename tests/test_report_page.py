"""What a reader does with the report in a browser: the slider, new names, labels to take away, paper, a phone."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import NO_BROWSER, PROGRAM, Browser, Page, canvas, downloaded, pixels, text
from ensembles import noisy_with_truth
from test_report import HOSTILE, hostile

from quorate import as_ensemble, consensus, report, save_labels

pytestmark = pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)

FORMULAS = ["=1+1", "+49 30", "-cmd|' /C calc'!A0", "@SUM(A1)", "\ttab", "-7", "+1.5e3", "plain", 'a "quote"', "a=b"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Path]:
    _, labels = noisy_with_truth(0, 400, 4, 6, noise=0.35)
    ensemble = as_ensemble(labels, ids=[f"object {row}" for row in range(400)])
    result = consensus(ensemble, 4, method="kmeans", random_state=0).renamed({1: "Bargain hunters"})
    path = tmp_path_factory.mktemp("report") / "report.html"
    command = "quorate consensus " + " ".join(f"--option-number-{place} value" for place in range(12))
    return result, ensemble, report(result, ensemble, path, command=command)


def move(page: Page, place: int) -> None:
    page.run(
        f"{{ const s = document.getElementById('stop'); s.value = {place}; s.dispatchEvent(new Event('input')); }}"
    )


def notes(page: Page) -> list[str]:
    found: list[str] = page.run(
        "[...document.querySelectorAll('.whose')].filter(n => !n.hidden).map(n => n.textContent)"
    )
    return found


def name_clusters(page: Page, names: dict[int, str]) -> None:
    page.run("document.getElementById('rename').click()")
    for cluster, name in names.items():
        page.run(
            f"{{ const i = document.querySelector('#profile-table input[data-of=\"{cluster}\"]');"
            f" i.value = {name!r}; i.dispatchEvent(new Event('change')); }}"
        )


def cluster_table(page: Page) -> list[list[str]]:
    code = "[...document.querySelectorAll('#cluster-table tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    found: list[list[str]] = page.run(code)
    return found


def test_every_part_says_which_number_of_clusters_it_is_about(page: Page) -> None:
    verdict, before = text(page, ".headline"), cluster_table(page)
    assert notes(page) == []
    assert "All other parts are about the consensus of 4 clusters." in text(page, "#slider-told")
    assert "by running the method of the consensus again" in text(page, "#slider-told")
    move(page, 0)
    told = notes(page)
    about = "This part is about the consensus of 4 clusters. The slider is at 2 clusters."
    assert told.count(about) == 4
    assert "The figures of this section show 2 clusters. The verdict is about the consensus of 4 clusters." in told
    assert page.run("['verdict', 'profiles', 'members', 'objects'].every("
                    "id => document.querySelector(`#${id} .own-only`).hidden === false)")  # fmt: skip
    assert text(page, ".headline") == verdict
    # the table of clusters follows the slider and does not invent a confidence
    after = cluster_table(page)
    assert len(after) == 2
    assert sum(int(row[1]) for row in after) == 400
    assert {row[3] for row in after} == {"\u2013"}
    page.run("document.getElementById('stop-own').click()")
    assert notes(page) == []
    assert cluster_table(page) == before


def test_names_given_in_python_are_shown(page: Page) -> None:
    assert "Bargain hunters" in text(page, "#profile-table")
    assert "Bargain hunters" in text(page, "#legend")
    assert "Bargain hunters" in text(page, "#verdict .points")
    assert "Bargain hunters" in {row[0] for row in cluster_table(page)}


def test_new_names_go_everywhere_and_into_the_download(page: Page, made: tuple[Any, Any, Path], tmp_path: Path) -> None:
    before = canvas(page, "cluster-bars")
    name_clusters(page, {0: "  Families ", 1: ""})
    page.run("document.getElementById('rename').click()")
    assert page.run("document.querySelectorAll('#profile-table input').length") == 0
    for part in ("#profile-table", "#legend", "#verdict .points", "#cluster-table", "#in-cluster", "#object-table"):
        assert "Families" in text(page, part), part
    assert canvas(page, "cluster-bars") != before
    assert text(page, "#rename-code code") == 'result = result.renamed({0: "Families"})'
    save_labels(tmp_path / "named.csv", made[0].renamed({0: "Families"}))
    assert downloaded(page, tmp_path / "own") == (tmp_path / "named.csv").read_bytes()
    page.run("document.getElementById('rename-undo').click()")
    save_labels(tmp_path / "first.csv", made[0])
    assert downloaded(page, tmp_path / "again") == (tmp_path / "first.csv").read_bytes()


def test_two_clusters_cannot_have_one_name(page: Page, made: tuple[Any, Any, Path], tmp_path: Path) -> None:
    name_clusters(page, {0: "Bargain hunters"})
    assert text(page, "#rename-told").startswith("Two clusters cannot have the same name, “Bargain hunters”.")
    assert page.run("document.querySelectorAll('#profile-table input[aria-invalid=true]').length") == 2
    page.run("document.getElementById('rename').click()")
    assert page.run("document.querySelectorAll('#profile-table input').length") == 4, "it must stay open"
    save_labels(tmp_path / "first.csv", made[0])
    assert downloaded(page, tmp_path / "own") == (tmp_path / "first.csv").read_bytes()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_a_text(page: Page, name: str) -> None:
    name_clusters(page, {0: name})
    page.run("document.getElementById('rename').click()")
    # an input drops line breaks, and a name of nothing but space leaves the first name
    kept = name.replace("\n", "").strip() or "0"
    assert kept in text(page, "#profile-table")
    assert kept in text(page, "#cluster-table")
    assert page.run("window.__pwned === undefined && document.querySelectorAll('main img, main script').length === 0")


def test_hostile_names_given_in_python(browser: Browser, tmp_path: Path) -> None:
    _, ensemble = hostile()
    result = consensus(ensemble, 3, random_state=0).renamed({0: HOSTILE[1], 1: HOSTILE[3]})
    page = browser.open(report(result, ensemble, tmp_path / "r.html"))
    assert HOSTILE[1] in text(page, "#profile-table")
    assert HOSTILE[3][:39] in text(page, "#verdict .points")
    page.run("document.getElementById('rename').click()")
    assert page.run("[...document.querySelectorAll('#profile-table input')].map(i => i.value)").count(HOSTILE[1]) == 1
    assert page.run("window.__pwned === undefined && document.querySelectorAll('main img, main script').length === 0")
    assert page.complaints() == []
    page.close()


def test_formulas_in_the_download_are_made_harmless(browser: Browser, tmp_path: Path) -> None:
    labels = np.array(["=A1", "-3"], dtype=object)[np.arange(10) % 2]
    ensemble = as_ensemble({"a": np.arange(10) % 2, "b": np.arange(10) % 3}, ids=np.array(FORMULAS, dtype=object))
    page = browser.open(report(labels, ensemble, tmp_path / "r.html"))
    rows = list(csv.reader(io.StringIO(downloaded(page, tmp_path / "safe").decode())))
    harmless = ["'" + name for name in FORMULAS[:5]] + FORMULAS[5:]
    assert [row[0] for row in rows[1:]] == harmless
    assert {row[1] for row in rows[1:]} == {"'=A1", "-3"}
    page.run("document.getElementById('safe-cells').click()")
    rows = list(csv.reader(io.StringIO(downloaded(page, tmp_path / "as_it_is").decode())))
    assert [row[0] for row in rows[1:]] == FORMULAS
    assert {row[1] for row in rows[1:]} == {"=A1", "-3"}
    assert page.complaints() == []
    page.close()


def test_the_column_of_ids_keeps_its_name(browser: Browser, tmp_path: Path) -> None:
    import pandas as pd

    table = pd.DataFrame({"a": [0, 0, 1, 1], "b": ["x", "x", "y", "y"]}, index=pd.Index([5, 6, 7, 8], name="customer"))
    result = consensus(table, 2, random_state=0)
    page = browser.open(report(result, table, tmp_path / "r.html"))
    save_labels(tmp_path / "labels.csv", result)
    assert downloaded(page, tmp_path / "own") == (tmp_path / "labels.csv").read_bytes()
    page.close()


@pytest.mark.parametrize("width", [320, 380])
def test_a_phone_scrolls_tables_and_wraps_commands(browser: Browser, made: tuple[Any, Any, Path], width: int) -> None:
    page = browser.open(made[2], width=width, height=700)
    move(page, 0)
    page.run("document.getElementById('rename').click()")
    page.run("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    for chart in ("heatmap", "map", "cluster-bars", "member-matrix", "histogram"):
        canvas(page, chart)
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("[...document.querySelectorAll('pre')].every(p => p.scrollWidth <= p.clientWidth)")
    wide = "(() => { const t = document.querySelector('#profiles .scroll'); return t.scrollWidth > t.clientWidth; })()"
    assert page.run(wide), "the table is wider than a phone, and scrolls"
    assert page.run("getComputedStyle(document.querySelector('#profiles .scroll')).overflowX") == "auto"
    assert page.complaints() == []
    page.close()


def many_clusters(n_clusters: int) -> tuple[Any, Any]:
    truth = np.arange(40 * n_clusters) % n_clusters
    rng = np.random.default_rng(0)
    members = np.where(
        rng.random((len(truth), 5)) < 0.2, rng.integers(n_clusters, size=(len(truth), 5)), truth[:, None]
    )
    return truth, as_ensemble(members)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Reports by their number of clusters, each written once; the largest has no slider, whose stops take long."""
    folder = tmp_path_factory.mktemp("reports")

    @cache
    def written(n_clusters: int) -> Path:
        numbers = None if n_clusters == 100 else "auto"
        return report(*many_clusters(n_clusters), folder / f"{n_clusters}.html", numbers=numbers)

    return written


@pytest.mark.parametrize("n_clusters", [31, 100])
def test_many_clusters_are_told_apart_without_colours(
    browser: Browser, reports: Callable[[int], Path], n_clusters: int
) -> None:
    page = browser.open(reports(n_clusters))
    assert page.run("document.querySelectorAll('#legend li .name').length") == n_clusters
    assert "some colours look alike" in text(page, "#colours-told")
    # clusters that are next to each other in the map, and so in the legend, have different colours
    shades = page.run("[...document.querySelectorAll('#legend .swatch')].map(s => s.style.background)")
    assert all(one != other for one, other in itertools.pairwise(shades))
    told = text(page, "#bars-told")
    assert told == ("The 40 largest of 100 clusters are drawn." if n_clusters == 100 else "")
    assert page.complaints() == []
    page.close()


def paper_pages(paper: bytes, folder: Path) -> list[Any]:
    """The pages of a PDF file as arrays of grey values."""
    program = shutil.which("pdftoppm")
    if program is None:
        pytest.skip("no pdftoppm here: apt-get install poppler-utils")
    (folder / "paper.pdf").write_bytes(paper)
    subprocess.run([program, "-r", "40", "-png", folder / "paper.pdf", folder / "page"], check=True)
    return [pixels(path.read_bytes())[..., :3] for path in sorted(folder.glob("page-*.png"))]


@pytest.mark.parametrize("n_clusters", [3, 31, 100])
def test_paper_has_colours_and_no_half_empty_pages(
    browser: Browser, reports: Callable[[int], Path], tmp_path: Path, n_clusters: int
) -> None:
    page = browser.open(reports(n_clusters), dark=True)
    # without the option that prints backgrounds: the page itself must ask for its colours
    paper = page.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"]
    pages = paper_pages(base64.b64decode(paper), tmp_path)
    filled = [np.flatnonzero((image < 0.9).any(axis=(1, 2))).max() / len(image) for image in pages]
    assert min(filled[:-1]) > 0.5, filled
    assert pages[0].mean() > 0.7, "paper is white, also from a dark page"
    # the tiles on the first page have a pale background, which browsers leave out unless the page asks for it
    assert (np.abs(pages[0] - np.array([246, 247, 249]) / 255) < 0.002).all(axis=2).sum() > 500
    assert page.complaints() == []
    page.close()


def test_paper_shows_what_the_slider_shows(page: Page) -> None:
    move(page, 0)
    page.call("Emulation.setEmulatedMedia", media="print")
    shown = "[...document.querySelectorAll('.whose')].every(n => getComputedStyle(n).display !== 'none')"
    assert page.run(shown)
    assert page.run("getComputedStyle(document.getElementById('slider')).display") == "none"
    assert page.run("getComputedStyle(document.documentElement).printColorAdjust") == "exact"
    page.call("Emulation.setEmulatedMedia", media="")
