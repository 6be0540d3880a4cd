"""Look at every page of the built site in Chromium, as a reader with a wide screen and one with a phone would.

Run it as `make docs-look`, or as `python docs/look.py [--shots folder] [pages ...]` after `make docs`. Each page is
opened at two widths, in light and in dark mode. A fault is a message in the console, a request that fails or leaves the
site, a page that scrolls sideways, a picture without a text, text that is hard to read on its background, a search that
finds nothing, or something that the keyboard does not reach.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from browser import Browser, Page, find_browser

SITE = HERE / "_build" / "html"
WIDTHS = {"wide": 1280, "phone": 390}
LOADED = "document.readyState === 'complete' && location.href !== 'about:blank'"
# without movement, so that a menu that slides away is not taken for a part of the page
STILL = """document.head.insertAdjacentHTML('beforeend',
    '<style>*, *::before, *::after { transition: none !important; animation: none !important; }</style>')"""
TOO_WIDE = """[...document.querySelectorAll('body *')].filter(e => {
    const box = e.getBoundingClientRect();
    if (box.width === 0 || box.right <= innerWidth + 1) return false;
    for (let p = e; p && p !== document.body; p = p.parentElement) {
        if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(p).overflowX)) return false;
        if (getComputedStyle(p).position === 'fixed') return false;
    }
    return true;
}).slice(0, 3).map(e => `${e.tagName}.${e.className}`.slice(0, 80))"""
WITHOUT_TEXT = r"""[...document.querySelectorAll('img')]
    .filter(e => !e.alt.trim() || /\.(png|svg|jpe?g)$/.test(e.alt)).map(e => e.getAttribute('src'))"""
# the contrast of WCAG 2.1 between text and the nearest background that is not transparent: at least 4.5 to 1
PALE = """(() => {
    const numbers = c => (c.match(/[0-9.]+/g) || []).map(Number);
    const light = c => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => {
        const v = c[i] / 255;
        return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    }, 0);
    const behind = e => {
        for (; e; e = e.parentElement) {
            const c = numbers(getComputedStyle(e).backgroundColor);
            if (c.length === 3 || c[3] > 0.99) return c;
        }
        return [255, 255, 255];
    };
    const found = [];
    for (const e of document.querySelectorAll('article p, article li, article td, article th, article a, article h1,'
            + 'article h2, article h3, article pre, article code, nav a, footer p')) {
        if (!e.textContent.trim() || e.getBoundingClientRect().width === 0) continue;
        const [a, b] = [light(numbers(getComputedStyle(e).color)), light(behind(e))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const told = `${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 30)}`;
        if (ratio < 4.5) found.push(`${ratio.toFixed(1)} ${told}`);
    }
    return [...new Set(found)].slice(0, 3);
})()"""
OF_THE_THEME = '"value": "[PST]: '
"""What the theme tells the console on every page, for its own developers."""
FOCUSED = "((e) => e ? `${e.tagName} ${e.className} ${e.textContent.trim().slice(0, 40)}` : '')(document.activeElement)"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing: the browser tells what could not be fetched."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine while the block runs, and give its address."""
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def faults_of_page(page: Page, shots: Path | None, name: str) -> list[str]:
    """Return what is wrong with the page that is open, at both widths and in both modes."""
    page.run(STILL)
    found = [f"no text for the picture {source}" for source in page.run(WITHOUT_TEXT)]
    for width, pixels in WIDTHS.items():
        page.resize(pixels, 900)
        for dark in (False, True):
            page.prefer(dark=dark)
            mode = "dark" if dark else "light"
            page.until(f"document.documentElement.dataset.theme === '{mode}'")
            page.browser.listen(0.05)
            where = f"{width}, {mode}"
            if page.run("document.documentElement.scrollWidth") > pixels:
                found.append(f"{where}: scrolls sideways because of {page.run(TOO_WIDE)}")
            found += [f"{where}: contrast {text}" for text in page.run(PALE)]
            if shots is not None:
                target = shots / f"{name.replace('/', '-')}-{width}-{mode}.png"
                target.write_bytes(page.screenshot())
    return found


def faults_of_search(page: Page, address: str) -> list[str]:
    """Search for `consensus` with the keyboard alone, and return what is wrong."""
    page.resize(WIDTHS["wide"], 900)
    page.go(f"{address}/index.html", LOADED)
    seen = []
    for _ in range(12):
        page.press("Tab", code=9)
        seen.append(str(page.run(FOCUSED)))
    found = [
        f"the Tab key does not reach {wanted!r}, only {seen}"
        for wanted in ("Skip to main content", "search-button", "Tutorials", "How-to guides")
        if not any(wanted in place for place in seen)
    ]
    page.call("Input.dispatchKeyEvent", type="keyDown", key="k", code="KeyK", windowsVirtualKeyCode=75, modifiers=2)
    page.call("Input.dispatchKeyEvent", type="keyUp", key="k", code="KeyK", windowsVirtualKeyCode=75, modifiers=2)
    page.browser.listen(0.3)
    if page.run("document.activeElement.tagName") != "INPUT":
        return [*found, "Ctrl-K does not open the search"]
    page.call("Input.insertText", text="consensus")
    page.press("Enter", code=13, text="\r")
    page.until(
        "location.pathname.endsWith('search.html') && document.querySelectorAll('#search-results li a').length > 5"
    )
    first = page.run("[...document.querySelectorAll('#search-results li a')].map(e => e.textContent).join('; ')")
    return found if "quorate.consensus" in first else [*found, f"the search for consensus gave {first[:500]}"]


def look(names: list[str], shots: Path | None) -> list[str]:
    """Look at the pages of these names, all pages if there are none, and return the faults."""
    program = find_browser()
    if program is None:
        raise RuntimeError("no Chromium was found; apt-get install chromium")
    names = names or sorted(
        str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if path.parent.name != "_static"
    )
    found = []
    browser = Browser(program)
    try:
        with served(SITE) as address:
            for name in names:
                page = browser.open(f"{address}/{name}", ready=LOADED)
                wrong = faults_of_page(page, shots, name.removesuffix(".html"))
                wrong += [f"the console says {text}" for text in page.complaints() if OF_THE_THEME not in text]
                wrong += [f"could not be fetched: {text}" for text in page.failures()]
                wrong += [f"leaves the site: {url}" for url in page.requests() if not url.startswith(address)]
                found += [f"{name}: {text}" for text in wrong]
                page.close()
            page = browser.open(f"{address}/index.html", ready=LOADED)
            found += faults_of_search(page, address)
            page.close()
    finally:
        browser.close()
    sys.stdout.write(f"{len(names)} pages at {len(WIDTHS)} widths in 2 modes: {len(found)} faults\n")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("pages", nargs="*", help="names such as index.html; all pages by default")
    parser.add_argument("--shots", type=Path, help="a folder for a picture of every page")
    options = parser.parse_args()
    if options.shots is not None:
        options.shots.mkdir(parents=True, exist_ok=True)
    sys.exit("\n".join(look(options.pages, options.shots)) or 0)


if __name__ == "__main__":
    main()
