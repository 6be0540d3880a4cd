"""The report in a real browser: it opens without a complaint or a request, and everything in it does what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Browser, Page, canvas, downloaded, needs_browser, pixels, text
from ensembles import noisy_with_truth
from test_report import HOSTILE, hostile

from quorate import as_ensemble, consensus, report, save_labels

pytestmark = needs_browser

TAB, ENTER, RIGHT, LEFT = ("Tab", 9), ("Enter", 13), ("ArrowRight", 39), ("ArrowLeft", 37)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Path]:
    truth, labels = noisy_with_truth(0, 500, 4, 6, noise=0.35, missing=0.1)
    ensemble = as_ensemble(labels, ids=[f"object {row}" for row in range(500)])
    result = consensus(ensemble, 4, method="kmeans", random_state=0)
    path = tmp_path_factory.mktemp("report") / "report.html"
    return result, ensemble, report(result, ensemble, path, truth=truth, random_state=0, command="quorate again")


def rows(page: Page) -> list[list[str]]:
    code = "[...document.querySelectorAll('#object-table tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    found: list[list[str]] = page.run(code)
    return found


def press(page: Page, key: tuple[str, int]) -> None:
    page.press(key[0], code=key[1], text="\r" if key is ENTER else "")


def test_it_opens_and_draws(page: Page) -> None:
    charts = page.run("[...document.querySelectorAll('.chart')].map(c => c.id)")
    assert charts == ["heatmap", "map", "curves", "cluster-bars", "member-bars", "member-matrix", "histogram"]
    for chart in charts:
        picture = canvas(page, chart)
        assert len(picture) > 2_000, chart
    assert page.run("document.getElementById('trouble').hidden")
    shot = pixels(page.screenshot(whole=True))[::9, ::9]
    assert len(np.unique(shot.reshape(-1, shot.shape[2]), axis=0)) > 100


def test_nothing_is_fetched_even_when_asked(browser: Browser, made: tuple[Any, Any, Path]) -> None:
    """The policy of the page itself keeps scripts and addresses from outside away."""
    page = browser.open(made[2])
    asked = "fetch('https://example.org/').then(() => 'fetched', () => 'refused')"
    assert page.run(asked) == "refused"
    page.run(
        "{ const s = document.createElement('script'); s.textContent = 'window.__pwned = 1'; document.body.append(s); }"
    )
    assert page.run("window.__pwned === undefined")
    page.close()


def test_the_slider_recolours_and_counts(page: Page) -> None:
    own = text(page, "#stop-told")
    assert own.startswith("4 clusters · ANMI 0.")
    before = {chart: canvas(page, chart) for chart in ("heatmap", "map", "cluster-bars", "histogram")}
    assert page.run("document.querySelectorAll('#legend li').length") == 4
    page.run("document.getElementById('stop').focus()")
    press(page, RIGHT)
    assert text(page, "#stop-told").startswith("5 clusters")
    assert page.run("document.getElementById('stop').getAttribute('aria-valuetext')").startswith("5 clusters")
    assert page.run("document.querySelectorAll('#legend li').length") == 5
    sizes = page.run("[...document.querySelectorAll('#legend .size')].map(s => Number(s.textContent))")
    assert sum(sizes) == 500
    for chart, picture in before.items():
        assert (canvas(page, chart) == picture) == (chart == "histogram"), chart
    page.run("document.getElementById('stop-own').click()")
    assert text(page, "#stop-told") == own
    assert canvas(page, "map") == before["map"]
    assert page.run("document.activeElement.id") == "stop"


def test_hovering_tells_of_objects(page: Page) -> None:
    canvas(page, "heatmap")
    page.point("#heatmap", 0.4, 0.5)
    page.until("!!document.querySelector('#heatmap .tip')")
    assert "co-association 0." in text(page, "#heatmap .tip")
    assert "such as object " in text(page, "#heatmap .tip")
    canvas(page, "map")
    page.point("#map", 0.5, 0.3)
    page.until("!!document.querySelector('#map .tip')")
    assert text(page, "#map .tip").startswith("member ")
    # what is open lives through a move of the slider
    page.run("{ const s = document.getElementById('stop'); s.value = 5; s.dispatchEvent(new Event('input')); }")
    page.browser.listen(0.5)
    page.point("#map", 0.6, 0.4)
    page.until("!!document.querySelector('#map .tip')")


def test_the_table_sorts_filters_and_turns(page: Page, made: tuple[Any, Any, Path]) -> None:
    result = made[0]
    low = np.flatnonzero(result.confidence < 0.6)
    assert text(page, "#shown") == f"1 to 20 of {len(low)}"
    first = rows(page)
    assert [row[3] for row in first] == sorted(row[3] for row in first)
    assert float(first[0][3]) == pytest.approx(result.confidence.min(), abs=1e-3)
    page.run("document.getElementById('next').click()")
    assert text(page, "#shown").startswith("21 to ")
    assert rows(page) != first
    heads = "document.querySelectorAll('#object-table thead button')"
    page.run(f"{heads}[3].click()")
    assert page.run("document.querySelectorAll('#object-table thead th')[3].ariaSort") == "descending"
    assert float(rows(page)[0][3]) == pytest.approx(result.confidence[low].max(), abs=1e-3)
    page.run(f"{heads}[0].click()")
    numbers = [int(row[0].split()[1]) for row in rows(page)]
    assert numbers == sorted(low.tolist())[:20]
    page.run("{ const f = document.getElementById('find'); f.focus(); }")
    page.call("Input.insertText", text=f"OBJECT {low[3]}")
    wanted = [row for row in low if f"object {row}".startswith(f"object {low[3]}")]
    assert text(page, "#shown") == f"1 to {len(wanted)} of {len(wanted)}"
    page.run("{ const f = document.getElementById('find'); f.value = 'nobody'; f.dispatchEvent(new Event('input')); }")
    assert text(page, "#shown") == "nothing found"
    page.run("{ const f = document.getElementById('find'); f.value = ''; f.dispatchEvent(new Event('input')); }")
    page.run(
        "{ const c = document.getElementById('in-cluster'); c.value = '2'; c.dispatchEvent(new Event('change')); }"
    )
    found = int((result.labels[low] == 2).sum())
    assert text(page, "#shown").endswith(f"of {found}")
    assert {row[1] for row in rows(page)} == {"2"}


def test_the_download_is_what_save_labels_writes(page: Page, made: tuple[Any, Any, Path], tmp_path: Path) -> None:
    result = made[0]
    save_labels(tmp_path / "labels.csv", result)
    assert downloaded(page, tmp_path / "own") == (tmp_path / "labels.csv").read_bytes()
    page.run("{ const s = document.getElementById('stop'); s.value = 0; s.dispatchEvent(new Event('input')); }")
    lines = downloaded(page, tmp_path / "two").decode().splitlines()
    assert lines[0] == "id,label"
    assert len(lines) == 501
    assert len({line.rsplit(",", 1)[1] for line in lines[1:]}) == 2


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(browser: Browser, made: tuple[Any, Any, Path], dark: bool) -> None:
    page = browser.open(made[2], dark=dark)
    shades = ["rgb(255, 255, 255)", "rgb(20, 23, 28)"]
    shade = "getComputedStyle(document.body).backgroundColor"
    assert page.run(shade) == shades[dark]
    assert (pixels(page.screenshot())[..., :3].mean() < 0.4) == dark
    before = canvas(page, "heatmap")
    page.run("document.getElementById('theme').click()")
    assert page.run(shade) == shades[not dark]
    assert page.run("document.getElementById('theme').ariaPressed") == str(not dark).lower()
    assert canvas(page, "heatmap") != before
    page.run("document.getElementById('theme').click()")
    assert page.run(shade) == shades[dark]
    assert page.complaints() == []
    page.close()


def test_every_control_is_reached_by_keyboard(page: Page) -> None:
    seen = []
    for _ in range(60):
        press(page, TAB)
        where = page.run(
            "(() => { const a = document.activeElement; return a.id || a.textContent.trim().slice(0, 30); })()"
        )
        outlined = page.run("getComputedStyle(document.activeElement).outlineStyle !== 'none'")
        if page.run("document.activeElement === document.body"):
            break
        assert outlined, where
        seen.append(where)
    assert seen[0] == "Skip to the verdict"
    order = ["theme", "print", "stop", "find", "in-cluster", "confidence", "next", "download", "Copy"]
    places = [seen.index(name) for name in order]
    assert places == sorted(places)
    page.run("document.getElementById('theme').focus()")
    press(page, ENTER)
    assert page.run("document.documentElement.dataset.theme") == "dark"


def test_controls_and_figures_have_names(page: Page) -> None:
    nameless = """[...document.querySelectorAll('button, input, select, .chart')].filter(
        (e) => !(e.ariaLabel || e.textContent.trim() || (e.labels && e.labels.length))).map((e) => e.outerHTML)"""
    assert page.run(nameless) == []
    assert page.run("document.documentElement.lang") == "en"
    assert page.run("document.querySelectorAll('h1').length") == 1


def test_it_fits_a_narrow_window(browser: Browser, made: tuple[Any, Any, Path]) -> None:
    page = browser.open(made[2], width=360, height=700)
    for chart in ("heatmap", "member-matrix", "histogram"):
        canvas(page, chart)
    assert page.run("document.documentElement.scrollWidth") <= 360
    page.resize(900, 700)
    page.until("document.querySelector('#histogram canvas').clientWidth > 700")
    assert page.complaints() == []
    page.close()


def test_it_prints(page: Page) -> None:
    paper = page.pdf()
    assert paper.startswith(b"%PDF")
    assert len(paper) > 50_000
    # afterwards everything is as it was
    page.until("document.querySelectorAll('details[open]').length === 0")
    assert page.run("document.documentElement.dataset.theme === undefined")
    assert len(canvas(page, "heatmap")) > 2_000


@pytest.mark.parametrize("dark", [False, True])
def test_hostile_texts_do_not_run(browser: Browser, tmp_path: Path, dark: bool) -> None:
    labels, ensemble = hostile()
    path = report(labels, ensemble, tmp_path / "r.html", title=HOSTILE[1], command=HOSTILE[0])
    page = browser.open(path, dark=dark)
    assert page.run("document.title") == HOSTILE[1]
    for chart, x, y in (
        ("heatmap", 0.3, 0.5),
        ("map", 0.6, 0.3),
        ("member-bars", 0.6, 0.5),
        ("cluster-bars", 0.2, 0.4),
    ):
        canvas(page, chart)
        page.point(f"#{chart}", x, y)
        page.browser.listen(0.2)
    page.until("document.querySelectorAll('.tip').length > 0")
    told = page.run("[...document.querySelectorAll('.tip')].map(t => t.textContent).join(' ')")
    assert "<" in told
    page.run("{ const f = document.getElementById('find'); f.value = '<'; f.dispatchEvent(new Event('input')); }")
    assert page.run("window.__pwned === undefined")
    assert page.run("document.querySelectorAll('img, main script').length") == 0
    assert page.complaints() == []
    assert page.requests() == []
    page.close()


@pytest.mark.parametrize(
    ("result", "members"),
    [
        ([0, 1], [[0, 1], [0, 1]]),
        ([0, 0, 0], [[0, 0, 0], [0, 0, 1]]),
        ([0, 0, 1], {"only": [0, 0, 1]}),
        (["a", None, "b"], {"x": [0, 0, 1], "y": [0, None, 1]}),
        ([0, 0, 1, 1], {"a": [0, 1, None, None], "b": [None, None, 0, 1]}),
        (np.arange(400) % 260, [np.arange(400) % 260] * 2),
        (np.arange(240) % 60, as_ensemble(noisy_with_truth(0, 240, 60, 130)[1])),
    ],
    ids=["two objects", "one cluster", "one member", "unlabelled", "nothing shared", "260 clusters", "130 members"],
)
def test_unusual_cases_open(browser: Browser, tmp_path: Path, result: Any, members: Any) -> None:
    page = browser.open(report(result, members, tmp_path / "r.html", numbers=None))
    for chart in page.run("[...document.querySelectorAll('.chart')].filter(c => c.offsetParent).map(c => c.id)"):
        page.run(f"document.getElementById({chart!r}).scrollIntoView({{block: 'center', behavior: 'instant'}})")
        page.until(f"document.querySelectorAll('#{chart} canvas').length > 0")
    assert page.complaints() == []
    assert page.requests() == []
    page.close()


def test_a_hundred_thousand_objects(browser: Browser, tmp_path: Path) -> None:
    _, labels = noisy_with_truth(0, 100_000, 8, 3)
    ensemble = as_ensemble(labels, ids=[f"customer {row:07d}" for row in range(100_000)])
    result = consensus(ensemble, 8, random_state=0)
    page = browser.open(report(result, ensemble, tmp_path / "r.html"))
    save_labels(tmp_path / "labels.csv", result)
    assert downloaded(page, tmp_path / "own") == (tmp_path / "labels.csv").read_bytes()
    assert page.complaints() == []
    page.close()
